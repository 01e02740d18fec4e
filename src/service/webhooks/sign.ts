/** Signs messages, and verifies them for receivers, as Standard Webhooks does. */

import { checkOptionNames } from '../../event/check-value.ts'
import { attempt } from '../../event/json.ts'

/** Headers of one message, named as in the Standard Webhooks specification. */
export type SignedHeaders = {
  /** Id of the message, the same for each retry. */
  readonly 'webhook-id': string
  /** Time of the request, in seconds since 1970. */
  readonly 'webhook-timestamp': string
  /** `v1,` and the HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64. */
  readonly 'webhook-signature': string
}

const encoder = new TextEncoder()

/**
 * Returns the headers that sign a message. O(body).
 * @param seconds time of the message, in seconds since 1970
 * @example
 * const headers = await signWebhook('a secret of the two', 'm1', 1_700_000_000, '[]')
 * await verifyWebhook('a secret of the two', headers, '[]', { now: 1_700_000_010 }) // true
 * await verifyWebhook('a secret of the two', headers, '[1]', { now: 1_700_000_010 }) // false
 */
export async function signWebhook(
  secret: string,
  id: string,
  seconds: number,
  body: string,
): Promise<SignedHeaders> {
  const key = await keyOf(secret, 'sign')
  const signature = await crypto.subtle.sign('HMAC', key, encoder.encode(`${id}.${seconds}.${body}`))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`,
  }
}

/**
 * Whether a message was signed with a secret, and not too long ago. For receivers of webhooks. Pass the body
 * as received, not parsed and serialized again. Pass the headers of a web `Request` or of a Node request, or an
 * object with lower-case names. O(body).
 * @param options.now seconds since 1970; default: the system's time
 * @param options.tolerance maximum difference from `now` in seconds; default: 300
 */
export async function verifyWebhook(
  secret: string,
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>,
  body: string,
  options: { readonly now?: number; readonly tolerance?: number } = {},
): Promise<boolean> {
  checkOptionNames(options, 'now tolerance')
  const { now = Date.now() / 1_000, tolerance = 300 } = options
  // Other packages have their own `Headers`, so the class cannot be tested.
  const fields = Symbol.iterator in headers ? Object.fromEntries(headers as Headers) : headers
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
  const [id = '', timestamp = '', signatures = ''] = names.map((name) => String(fields[name] ?? ''))
  if (id === '' || !/^\d{1,12}$/.test(timestamp) || Math.abs(now - Number(timestamp)) > tolerance)
    return false
  const key = await keyOf(secret, 'verify')
  const signed = encoder.encode(`${id}.${timestamp}.${body}`)
  for (const part of signatures.split(' ')) {
    const [version, text = ''] = part.split(',')
    const signature = version === 'v1' ? decodeBase64(text) : null
    if (signature !== null && (await crypto.subtle.verify('HMAC', key, signature, signed))) return true
  }
  return false
}

function keyOf(secret: string, use: 'sign' | 'verify') {
  const decoded = secret.startsWith('whsec_') ? decodeBase64(secret.slice(6)) : null
  return crypto.subtle.importKey(
    'raw',
    decoded ?? encoder.encode(secret),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    [use],
  )
}

const decodeBase64 = (base64: string): Uint8Array<ArrayBuffer> | null =>
  attempt(() => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)), null)
