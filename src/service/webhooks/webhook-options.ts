import { checkOptionNames, invalid } from '../../event/check-value.ts'
import { attempt } from '../../event/json.ts'
import type { EventKind } from '../../event/kinds.ts'
import { isLegalId } from '../../event/ids.ts'

/** URL and delivery options of a webhook. */
export interface WebhookOptions {
  /**
   * Events are posted to `<url>/events/<conversation id>`, conversations to `<url>/conversations`, with the
   * URL's query. Redirects are not followed, but the URL can be in a private network. So accept only a URL of
   * the operator, never one of a client.
   */
  readonly url: string
  /** Key that signs the requests: `whsec_` followed by base64, or a text of at least 16 characters. */
  readonly secret: string
  /** Unique name of the delivery progress in the store. Keep it if the URL changes. Default: the URL without query. */
  readonly id?: string
  /**
   * `start` sends all conversations from their beginning. `now` (default) sends what happens after a service first
   * started with this webhook's `id`: new conversations, and new events and changes of older conversations.
   */
  readonly from?: 'start' | 'now'
  /** Kinds of events to send. Default: all stored events. */
  readonly kinds?: readonly EventKind[]
  /** Additional headers of each request. Default: none. */
  readonly headers?: Readonly<Record<string, string>>
  /** Maximum events of one request. After a 413 response, the next request has fewer. Default: 100. */
  readonly maxBatchEvents?: number
  /** Maximum bytes of a request, unless one event is larger. Default: 1 MiB. */
  readonly maxBatchBytes?: number
  /** Maximum concurrent requests of a process: one per conversation, and at most half are retries. Default: 8. */
  readonly concurrency?: number
  /** Milliseconds to wait for a response. Default: 30,000. */
  readonly timeout?: number
  /**
   * Maximum milliseconds before the first retry. The maximum doubles with each further retry. The actual
   * delay is a random value between half of this maximum and the maximum. Retries never end. Default: 1,000.
   */
  readonly retryDelay?: number
  /** Maximum milliseconds between two retries. Default: 60,000. */
  readonly maxRetryDelay?: number
}

export interface Webhook extends Omit<Required<WebhookOptions>, 'kinds'> {
  readonly kinds: ReadonlySet<EventKind> | null
}

const DEFAULTS = {
  maxBatchEvents: 100,
  maxBatchBytes: 2 ** 20,
  concurrency: 8,
  timeout: 30_000,
  retryDelay: 1_000,
  maxRetryDelay: 60_000,
}

const MAX_COUNT = 2 ** 31 - 1

/** Checks a webhook, and adds defaults. @throws `invalid_argument`; the message contains no secret. */
export function checkWebhook(options: WebhookOptions): Webhook {
  checkOptionNames(
    options,
    'url secret id from kinds headers maxBatchEvents maxBatchBytes concurrency timeout',
    'retryDelay maxRetryDelay',
  )
  const { url, secret, kinds, headers = {} } = options
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (
    parsed === null ||
    !['http:', 'https:'].includes(parsed.protocol) ||
    parsed.username + parsed.password !== ''
  ) {
    throw invalid('The `url` of a webhook must be an http or https URL without a user name or password.')
  }
  // The query may contain a token, so error messages omit it.
  const name = `${parsed.origin}${parsed.pathname}`
  const { id = name } = options
  if (secret.length < 16) throw invalid(`The secret of webhook ${name} must have at least 16 characters.`)
  if (!isLegalId(id)) throw invalid(`The id of webhook ${name} must be 1 to 200 printable characters.`)
  if (!areHeaders(headers))
    throw invalid(`The headers of webhook ${name} must have valid HTTP names and values.`)
  const webhook: Webhook = {
    from: 'now',
    ...DEFAULTS,
    ...options,
    headers,
    id,
    kinds: kinds === undefined ? null : new Set(kinds),
  }
  for (const field of Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[]) {
    const count = webhook[field]
    if (!Number.isSafeInteger(count) || count < 1 || count > MAX_COUNT)
      throw invalid(`\`${field}\` of webhook ${name} must be an integer from 1 to ${MAX_COUNT}.`)
  }
  return webhook
}

const areHeaders = (headers: Readonly<Record<string, string>>): boolean =>
  attempt(() => new Headers(headers) instanceof Headers, false)

export function addressOf({ url }: Pick<Webhook, 'url'>, path: string): URL {
  const address = new URL(url)
  address.pathname = `${address.pathname.replace(/(?<!\/)\/+$/, '')}${path}`
  address.hash = ''
  return address
}
