/** How far each webhook has come with each conversation: what is kept of it, and where. */

import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Collection, LeaseProof } from '../records/collection.ts'
import { digestOf } from './payloads.ts'
import type { Webhook } from './webhook.ts'

/** How far a webhook has come with a conversation. */
export interface DeliveryCursor {
  /** When the conversation was created: another one may have its id later. */
  readonly born: string
  /** The position of the next event to send. */
  readonly next: number
  /**
   * Where the message ends that is being sent, null while none is. It is kept before the message is sent: after a crash
   * the same message is sent again, with the same id, however many events there are by then.
   */
  readonly until: number | null
  /**
   * What was last sent of the record; null while its creation is being sent, of which the receiver may know before it
   * is known here.
   */
  readonly digest: string | null
  /** The status that was last sent; null: none. */
  readonly status: string | null
}

/** How far a webhook has come with finding out what was there before it. */
interface Begun {
  /** Conversations created from then on are sent from their beginning, by the store's clock; null: all are. */
  readonly since: string | null
  readonly done: boolean
}

/** What is kept under one key. */
export type Entry = DeliveryCursor | Begun

/** Where it is kept, and with which lease. */
export interface ToldParts {
  readonly records: Collection<Entry>
  /** All that is kept, as it is now. */
  readonly told: ReadonlyMap<string, Entry>
  readonly lease: LeaseProof
  readonly signal: AbortSignal
}

export const isDeliveryCursor = (entry: Entry | undefined): entry is DeliveryCursor =>
  entry !== undefined && 'born' in entry

/**
 * Where it is kept how far a webhook has come with a conversation; without one, with its beginning. No id holds a line
 * break.
 */
export const keyOf = ({ id }: Webhook, conversationId = ''): string => `${id}\n${conversationId}`

/** The conversations that a webhook was sent. O(entries). */
export function* conversationsOf(
  webhook: Webhook,
  told: ReadonlyMap<string, Entry>,
): IterableIterator<string> {
  const prefix = keyOf(webhook)
  for (const key of told.keys())
    if (key.length > prefix.length && key.startsWith(prefix)) yield key.slice(prefix.length)
}

/** What a webhook that knows all of a conversation was sent. */
export const caughtUpCursor = (record: ConversationRecord): DeliveryCursor => ({
  born: record.createdAt,
  next: record.version,
  until: null,
  digest: digestOf(record),
  status: null,
})

/**
 * Whether a record is of another conversation than the one that was sent: deleted, and made again under the same id.
 */
export const isReplaced = (record: ConversationRecord, told: DeliveryCursor): boolean =>
  record.createdAt !== told.born || record.version < told.next
