/** The configuration of a webhook, checked, with its defaults. */

import { ColloquyError } from '../../event/errors.ts'
import type { EventKind } from '../../event/kinds.ts'
import { isLegalId } from '../../event/ids.ts'

/** Where to send what happens, and how. */
export interface WebhookOptions {
  /**
   * Events are posted to `<url>/events/<conversation id>`, conversations to `<url>/conversations`; a query stays behind
   * that. It is asked as it is, wherever it leads, also into a private network, and no redirect is followed: take it
   * from the operator of the service, never from a client.
   */
  readonly url: string
  /** Signs what is sent: `whsec_` and base64, or any text of at least 16 characters. */
  readonly secret: string
  /** Names how far it has come; keep it when the URL changes. Default: the URL, without its query. */
  readonly id?: string
  /**
   * What to begin with when it is new: all that is there, or what comes from then on. Conversations created since then
   * are sent as a whole; of those that were there, what is appended after they were found, which takes some time.
   * Default: now.
   */
  readonly from?: 'start' | 'now'
  /** Only events of these kinds. Default: all that are kept. */
  readonly kinds?: readonly EventKind[]
  /** Sent along with each request; those of the signature and of the content are not for these to set. */
  readonly headers?: Readonly<Record<string, string>>
  /** Most events in one request. Default: 100. */
  readonly maxBatchEvents?: number
  /** Most bytes in one request, unless one event alone has more. Default: 1 MiB. */
  readonly maxBatchBytes?: number
  /**
   * Requests at once by one process, each for another conversation; those that failed before take half of them at most.
   * Default: 8.
   */
  readonly concurrency?: number
  /** Milliseconds that a response is waited for. Default: 30,000. */
  readonly timeout?: number
  /** Milliseconds before the first repetition; doubled each time, and varied by half. Default: 1,000. */
  readonly retryDelay?: number
  /** Most milliseconds between two repetitions. Default: 60,000. */
  readonly maxRetryDelay?: number
}

/** The same, complete. */
export interface Webhook extends Omit<Required<WebhookOptions>, 'kinds'> {
  readonly kinds: ReadonlySet<EventKind> | null
}

const COUNTS = [
  'maxBatchEvents',
  'maxBatchBytes',
  'concurrency',
  'timeout',
  'retryDelay',
  'maxRetryDelay',
] as const
/** What a timer can wait, in milliseconds, and no other option needs more. */
const MOST = 2 ** 31 - 1

/** @throws ColloquyError `invalid_argument` for one that cannot be; it says nothing of what may be secret. */
export function checkWebhook(options: WebhookOptions): Webhook {
  const { url, secret, kinds, headers = {} } = options
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (
    parsed === null ||
    !['http:', 'https:'].includes(parsed.protocol) ||
    parsed.username + parsed.password !== ''
  ) {
    throw invalid('The url of a webhook must be one of http or https, without a user in it.')
  }
  // A query may hold a token: it is no part of any message.
  const name = `${parsed.origin}${parsed.pathname}`
  const { id = name } = options
  if (secret.length < 16) throw invalid(`The secret of webhook ${name} must have at least 16 characters.`)
  if (!isLegalId(id)) throw invalid(`The id of webhook ${name} must be 1 to 200 printable characters.`)
  if (!areHeaders(headers)) throw invalid(`The headers of webhook ${name} cannot be sent.`)
  const webhook: Webhook = {
    from: 'now',
    maxBatchEvents: 100,
    maxBatchBytes: 2 ** 20,
    concurrency: 8,
    timeout: 30_000,
    retryDelay: 1_000,
    maxRetryDelay: 60_000,
    ...options,
    headers,
    id,
    kinds: kinds === undefined ? null : new Set(kinds),
  }
  for (const field of COUNTS) {
    const count = webhook[field]
    if (!Number.isSafeInteger(count) || count < 1 || count > MOST) {
      throw invalid(`${field} of webhook ${name} must be a whole number from 1 to ${MOST}.`)
    }
  }
  return webhook
}

const invalid = (message: string): ColloquyError => new ColloquyError('invalid_argument', message)

function areHeaders(headers: Readonly<Record<string, string>>): boolean {
  try {
    return new Headers(headers) instanceof Headers
  } catch {
    return false
  }
}

/** Where a message goes: below the path of the URL, before its query. */
export function addressOf({ url }: Pick<Webhook, 'url'>, path: string): URL {
  const address = new URL(url)
  address.pathname = `${address.pathname.replace(/(?<!\/)\/+$/, '')}${path}`
  address.hash = ''
  return address
}

/** How long to wait before a repetition, in milliseconds: longer each time, and never for two at the same time. */
export function waitBefore(
  { retryDelay: retry, maxRetryDelay }: Pick<Webhook, 'retryDelay' | 'maxRetryDelay'>,
  tries: number,
): number {
  const most = Math.min(maxRetryDelay, retry * 2 ** Math.min(tries - 1, 30))
  return most / 2 + Math.random() * (most / 2)
}
