import type { JsonObject } from '../../event/shapes.ts'
import { hashText } from '../../event/text.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { StoredEvent } from '../../store/contract/query.ts'
import { shownId } from '../conversations/find-conversation.ts'
import { wireEvent } from '../events/search.ts'
import { signWebhook } from './sign.ts'
import { addressOf, type Webhook } from './webhook-options.ts'

/** One request to a webhook. */
export interface Message {
  readonly path: string
  /** Id of the message, the same for each retry. */
  readonly id: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Responses up to this number of bytes are read, to reuse their connection. Longer responses are cancelled. */
const MAX_RESPONSE_BYTES = 65_536

/** Sends a message to a webhook. Rejects unless the receiver accepts the message. */
export async function post(webhook: Webhook, message: Message, signal: AbortSignal): Promise<void> {
  const { secret, timeout } = webhook
  const signed = await signWebhook(secret, message.id, Math.floor(Date.now() / 1_000), message.body)
  // The service's headers replace configured headers of the same name in any letter case.
  const headers = new Headers(webhook.headers)
  const required = { 'content-type': 'application/json', ...message.headers, ...signed }
  for (const [name, value] of Object.entries(required)) headers.set(name, value)
  const ended = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
  const response = await fetch(addressOf(webhook, message.path), {
    method: 'POST',
    body: message.body,
    headers,
    // Follow no redirect: the operator configured only this address.
    redirect: 'manual',
    signal: ended,
  }).catch((error: unknown) => {
    throw ended.aborted
      ? error
      : new Error(`${message.path} was not sent: ${whyNot(error)}`, { cause: error })
  })
  // The status is enough; the body is not awaited.
  const isShort = Number(response.headers.get('content-length') ?? Infinity) <= MAX_RESPONSE_BYTES
  void (isShort ? response.arrayBuffer() : response.body?.cancel())?.catch(() => undefined)
  const { ok, status: cause } = response
  if (!ok) throw new Error(`${message.path} was rejected: the receiver responded with ${cause}`, { cause })
}

/** Returns why a request failed. `fetch` puts the reason into the error's `cause`, not into its message. */
function whyNot(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof Error) return 'code' in cause ? String(cause.code) : cause.message
  return error instanceof Error ? error.message : String(error)
}

const encoder = new TextEncoder()

/**
 * Returns a message with the first events (null if no event is to be sent), and the position after these
 * events. A message with the same events has the same id.
 */
export function batchOf(
  webhook: Webhook,
  { id: conversationId, createdAt }: { readonly id: string; readonly createdAt: string },
  events: readonly StoredEvent[],
): { readonly next: number; readonly message: Message | null } {
  const texts: string[] = []
  let bytes = 2
  let next = events[0]?.seq ?? 0
  let first = -1
  let last = -1
  for (const stored of events) {
    const event = wireEvent(stored)
    if (event !== null && (webhook.kinds === null || webhook.kinds.has(event.kind))) {
      const text = JSON.stringify(event)
      const size = encoder.encode(text).length + 1
      if (texts.length > 0 && bytes + size > webhook.maxBatchBytes) break
      texts.push(text)
      bytes += size
      if (first < 0) first = stored.seq
      last = stored.seq
    }
    next = stored.seq + 1
  }
  if (texts.length === 0) return { next, message: null }
  return {
    next,
    message: {
      path: `/events/${segmentOf(shownId(conversationId))}`,
      id: `events_${hashText(`${conversationId}\n${createdAt}`)}_${first}_${last}`,
      body: `[${texts.join(',')}]`,
      headers: { 'x-colloquy-sequence': `${first}-${last}` },
    },
  }
}

/** Returns an id as a path segment. `.` and `..` are escaped twice, so that no client resolves them. */
const segmentOf = (id: string): string =>
  /^\.\.?$/.test(id) ? id.replaceAll('.', '%252E') : encodeURIComponent(id)

/** Returns a conversation's message. Conversation ids can recur, so the message id contains `createdAt`. */
export function conversationMessage(
  type: 'created' | 'updated' | 'deleted',
  createdAt: string,
  info: JsonObject,
): Message {
  const body = JSON.stringify(info)
  return {
    path: '/conversations',
    id: `conversation_${hashText(`${type}\n${createdAt}\n${body}`)}`,
    body,
    headers: { 'x-colloquy-event': `conversation.${type}` },
  }
}

export const recordDigest = ({ title, public: isPublic, tags }: ConversationRecord): string =>
  hashText(JSON.stringify([title, isPublic, Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : 1))]))
