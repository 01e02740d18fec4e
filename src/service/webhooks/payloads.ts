/** What a webhook is sent of events and records: without deltas and without secrets. */

import { hashText } from '../../event/text.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { StoredEvent } from '../../store/contract/stored-event.ts'
import { shownId } from '../conversations/find.ts'
import { wireEvent } from '../events/pages.ts'
import type { Message } from './post.ts'
import type { Webhook } from './webhook.ts'

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
