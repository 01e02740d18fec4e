/** A webhook as it is configured goes in, checked and with its defaults filled in it comes out. */

import type { EventKind } from '../../event/kinds.ts'
import { isLegalId } from '../../event/ids.ts'

/** Where to send what happens, and how. */
export interface WebhookOptions {
  /** Events are posted to `<url>/events/<conversation id>`, conversations to `<url>/conversations`. */
  readonly url: string
  /** Signs what is sent: `whsec_` and base64, or any text of at least 16 characters. */
  readonly secret: string
  /** Names how far it has come; keep it when the URL changes. Default: the URL. */
  readonly id?: string
  /** What to begin with when it is new: all that is there, or what comes from then on. Default: now. */
  readonly from?: 'start' | 'now'
  /** Only events of these kinds. Default: all that are kept. */
  readonly kinds?: readonly EventKind[]
  /** Sent along with each request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Most events in one request. Default: 100. */
  readonly batch?: number
  /** Most bytes in one request, unless one event alone has more. Default: 1 MiB. */
  readonly batchBytes?: number
  /** Requests at once, each for another conversation. Default: 8. */
  readonly concurrency?: number
  /** Milliseconds that an answer is waited for. Default: 30,000. */
  readonly timeout?: number
  /** Milliseconds before the first repetition; doubled each time, and varied by half. Default: 1,000. */
  readonly retry?: number
  /** Most milliseconds between two repetitions. Default: 60,000. */
  readonly maxRetry?: number
}

/** The same, complete. */
export interface Webhook extends Omit<Required<WebhookOptions>, 'kinds'> {
  readonly kinds: ReadonlySet<EventKind> | null
}

/** @throws RangeError for one that cannot be. */
export function checkWebhook(options: WebhookOptions): Webhook {
  const { url, secret, kinds, id = url } = options
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (
    parsed === null ||
    !['http:', 'https:'].includes(parsed.protocol) ||
    parsed.username + parsed.password !== ''
  ) {
    throw new RangeError('The url of a webhook must be one of http or https, without a user in it.')
  }
  if (secret.length < 16)
    throw new RangeError(`The secret of webhook ${url} must have at least 16 characters.`)
  if (!isLegalId(id)) throw new RangeError(`The id of webhook ${url} must be 1 to 200 printable characters.`)
  const webhook: Webhook = {
    from: 'now',
    headers: {},
    batch: 100,
    batchBytes: 2 ** 20,
    concurrency: 8,
    timeout: 30_000,
    retry: 1_000,
    maxRetry: 60_000,
    ...options,
    url: url.replace(/\/+$/, ''),
    id,
    kinds: kinds === undefined ? null : new Set(kinds),
  }
  for (const name of ['batch', 'batchBytes', 'concurrency', 'timeout', 'retry', 'maxRetry'] as const) {
    if (!Number.isSafeInteger(webhook[name]) || webhook[name] < 1) {
      throw new RangeError(`${name} of webhook ${url} must be a whole number above 0.`)
    }
  }
  return webhook
}

/** How long to wait before a repetition, in milliseconds: longer each time, and never for two at the same moment. */
export function waitBefore({ retry, maxRetry }: Pick<Webhook, 'retry' | 'maxRetry'>, tries: number): number {
  const most = Math.min(maxRetry, retry * 2 ** Math.min(tries - 1, 30))
  return most / 2 + Math.random() * (most / 2)
}
