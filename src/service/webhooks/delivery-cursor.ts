/** How far each webhook has come with each conversation: what is kept of it, and where. */

import { hashText } from '../../event/text.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Item, NewItem } from '../../store/contract/items.ts'
import type { Store } from '../../store/contract/store.ts'
import { type Records, recordsOf } from '../records/records.ts'
import { digestOf } from './payloads.ts'

/** How far a webhook has come with a conversation. Its item is due when there may be something to send. */
export interface DeliveryCursor {
  /** When the conversation was created: another one may have its id later. */
  readonly born: string
  /** The position of the next event to send; null where that is the next one that happens. */
  readonly next: number | null
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
  /** Whether it was sent that it was deleted. Default: false. */
  readonly isGone?: boolean
  /** How often in a row it has failed. Default: 0. */
  readonly tries?: number
}

/** The collections of a webhook. A conversation has an item in one of the first two, if any. */
export interface Collections {
  /** Those that did not fail at last. */
  readonly cursors: string
  /** Those that failed, until they are taken. */
  readonly failing: string
  /** What happened in a conversation while it was being sent, or waited for its repetition. */
  readonly news: string
}

/** Returns the collections of a webhook. */
export function collectionsOf(webhookId: string): Collections {
  const name = hashText(webhookId)
  return { cursors: `webhook-${name}`, failing: `webhook-failing-${name}`, news: `webhook-news-${name}` }
}

/** How far a webhook has come with finding out what was there before it. */
export interface Begun {
  /** Conversations created from then on are sent from their beginning, by the store's clock; null: all are. */
  readonly since: string | null
  readonly done: boolean
}

/** Which webhooks have begun, by their ids. */
export const begunIn = (store: Store): Records<Begun> => recordsOf<Begun>(store, 'webhooks')

/** What is kept of a cursor, and in how many milliseconds it is due. */
export const itemOf = (cursor: DeliveryCursor, dueIn: number | null): NewItem => ({
  body: { ...cursor },
  dueIn,
})

/** The cursor that an item keeps. */
export const cursorOf = (item: Item): DeliveryCursor => item.body as object as DeliveryCursor

/** What a webhook knows of a conversation that it begins with: nothing. */
export const newCursor = (record: ConversationRecord): DeliveryCursor => ({
  born: record.createdAt,
  next: 0,
  until: null,
  digest: null,
  status: null,
})

/** What a webhook knows of a conversation that was there before it: all up to the next event. */
export const knownCursor = (record: ConversationRecord, next: number | null): DeliveryCursor => ({
  ...newCursor(record),
  next,
  digest: digestOf(record),
})

/**
 * Whether a record is of another conversation than the one that was sent: deleted, and made again under the same id.
 */
export const isReplaced = (record: ConversationRecord, told: DeliveryCursor): boolean =>
  record.createdAt !== told.born || record.version < (told.next ?? 0)
