/** Sends one signed message; whatever but a 2xx response is an error. */

import { signWebhook } from './sign.ts'
import { addressOf, type Webhook } from './webhook.ts'

/** What is sent. */
export interface Message {
  /** Below the webhook's URL. */
  readonly path: string
  /** The same for each repetition. */
  readonly id: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Most bytes of a response that are read, so that its connection can be used again. */
const MOST_READ = 65_536

/** Sends it once. @throws Error when the receiver does not take it, the signal's reason when that is aborted. */
export async function post(webhook: Webhook, message: Message, signal: AbortSignal): Promise<void> {
  const { secret, timeout, headers } = webhook
  const signed = await signWebhook(secret, message.id, Math.floor(Date.now() / 1_000), message.body)
  const ended = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
  const response = await fetch(addressOf(webhook, message.path), {
    method: 'POST',
    body: message.body,
    headers: headersOf(headers, { 'content-type': 'application/json', ...message.headers, ...signed }),
    // Where it is sent on to was never agreed to.
    redirect: 'manual',
    signal: ended,
  }).catch((error: unknown) => {
    throw ended.aborted
      ? error
      : new Error(`${message.path} was not sent: ${whyNot(error)}`, { cause: error })
  })
  // Whether it was taken stands in the head; the rest is not waited for.
  const isShort = Number(response.headers.get('content-length') ?? Infinity) <= MOST_READ
  void (isShort ? response.arrayBuffer() : response.body?.cancel())?.catch(() => undefined)
  if (!response.ok)
    throw new Error(`${message.path} was not taken: the receiver responded with ${response.status}`)
}

/** What fetch says in its cause, by the code where there is one: the message alone says only that it failed. */
function whyNot(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.message
  return error instanceof Error ? error.message : String(error)
}

/** What is ours comes before what is configured, in whatever case that was written. */
function headersOf(
  configured: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Headers {
  const headers = new Headers(configured)
  for (const [name, value] of Object.entries(own)) headers.set(name, value)
  return headers
}
