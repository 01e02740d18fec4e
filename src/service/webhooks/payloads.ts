/** What a webhook is sent of events and records: without deltas and without secrets. */

import type { JsonObject } from '../../event/shapes.ts'
import { hashText } from '../../event/text.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { StoredEvent } from '../../store/contract/query.ts'
import { shownId } from '../conversations/find-conversation.ts'
import { wireEvent } from '../events/pages.ts'
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
    throw new Error(`${message.path} was rejected: the receiver responded with ${response.status}`)
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

/** Events of one message: up to which position they go, and the message; null when nothing in them is to be sent. */
export interface Batch {
  readonly next: number
  readonly message: Message | null
}

const encoder = new TextEncoder()

/**
 * As many of the events as go into one message; the same events of the same conversation always make the same message.
 * O(bytes).
 */
export function batchOf(
  webhook: Webhook,
  { id: conversationId, createdAt }: { readonly id: string; readonly createdAt: string },
  events: readonly StoredEvent[],
): Batch {
  const texts: string[] = []
  let bytes = 2
  let next = events[0]?.seq ?? 0
  let first = -1
  let last = -1
  for (const stored of events) {
    const event = wireEvent(stored)
    const isDeliveryCursor =
      event !== null &&
      event.kind !== 'StreamingDeltaEvent' &&
      (webhook.kinds === null || webhook.kinds.has(event.kind))
    if (isDeliveryCursor) {
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

/** An id as a part of a path; one that would mean a step up in it is escaped once more. */
const segmentOf = (id: string): string =>
  /^\.\.?$/.test(id) ? id.replaceAll('.', '%252E') : encodeURIComponent(id)

/**
 * What has become of a conversation; `createdAt` is when it was created, and separates it from an earlier one with
 * its id.
 */
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

/** What of a record is sent when it changes; the status stands in the log. */
export const digestOf = ({ title, public: open, tags }: ConversationRecord): string =>
  hashText(JSON.stringify([title, open, Object.entries(tags).toSorted(([a], [b]) => (a < b ? -1 : 1))]))
