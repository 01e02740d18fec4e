/** How far each webhook has come with each conversation: what is kept of it, and where. */

import type { FollowItem } from '../../conversation/follow/follow.ts'
import { hasCode } from '../../event/errors.ts'
import { hashText } from '../../event/text.ts'
import { parseInstant } from '../../event/time.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Item, ItemChange, NewItem } from '../../store/contract/items.ts'
import type { Store } from '../../store/contract/store.ts'
import { walkConversations } from '../conversations/listing.ts'
import { Jobs } from '../jobs.ts'
import { digestOf } from './payloads.ts'

/** How many conversations are marked at once. */
const BATCH = 40

/** What has happened in a conversation. */
export interface News {
  /** The position of the first event, null when there is none. */
  readonly first: number | null
  /** Whether its record was changed. */
  readonly isChanged: boolean
  /** Whether it was deleted. */
  readonly isDeleted: boolean
}

/** What is known of one that was found otherwise. */
export const NOTHING: News = { first: null, isChanged: false, isDeleted: false }

/** What a webhook marks. */
interface Marking {
  readonly store: Store
  readonly collections: Collections
  /** Conversations created from then on are sent from their beginning, by the store's clock; null: all are. */
  readonly since: string | null
}

/** What has happened, by conversations. */
export function newsIn(items: readonly FollowItem[]): ReadonlyMap<string, News> {
  const news = new Map<string, News>()
  for (const item of items) {
    // All that there is comes behind it.
    if (item.type === 'reset') continue
    const before = news.get(item.conversationId) ?? NOTHING
    news.set(item.conversationId, withItem(before, item))
  }
  return news
}

function withItem(news: News, item: Exclude<FollowItem, { type: 'reset' }>): News {
  if (item.type === 'event') return { ...news, first: news.first ?? item.seq }
  // What happened before a deletion is no event of the conversation that may come after it.
  return item.type === 'changed'
    ? { ...news, isChanged: true }
    : { first: null, isChanged: true, isDeleted: true }
}

/**
 * Marks the conversations created since a time, by the store's clock. One that was created before is sent what is
 * appended from now on. Can be repeated. O(conversations that are created since).
 */
export async function markCreatedSince(marking: Marking, signal: AbortSignal): Promise<void> {
  const { store, since } = marking
  const query = since === null ? {} : { createdAtGte: since }
  const found = new Map<string, News>()
  for await (const { id } of walkConversations(store, { order: 'created_at', ...query })) {
    signal.throwIfAborted()
    found.set(id, NOTHING)
    if (found.size < BATCH) continue
    await mark(marking, found)
    found.clear()
  }
  await mark(marking, found)
}

/** Makes them due; those that are being sent, or wait for a repetition, are looked at again before they rest. */
export async function mark(marking: Marking, news: ReadonlyMap<string, News>): Promise<void> {
  const all = [...news]
  for (let at = 0; at < all.length; at += BATCH) {
    const batch = all.slice(at, at + BATCH)
    while (!(await tryMark(marking, batch)));
  }
}

/** False when one of them was changed meanwhile. */
async function tryMark(marking: Marking, batch: readonly (readonly [string, News])[]): Promise<boolean> {
  const changes = (await Promise.all(batch.map(([id, news]) => changesFor(marking, id, news)))).flat()
  if (changes.length === 0) return true
  try {
    await marking.store.changeItems(changes)
    return true
  } catch (error) {
    if (hasCode(error, 'version_conflict')) return false
    throw error
  }
}

async function changesFor(
  { store, collections, since }: Marking,
  id: string,
  { first, isChanged, isDeleted }: News,
): Promise<readonly ItemChange[]> {
  const { cursors, failing, news } = collections
  const item = (await store.getItem(cursors, id)) ?? (await store.getItem(failing, id))
  if (item !== null) {
    const { collection, version, body } = item
    const cursor = cursorOf(item)
    const named = { collection, id, expected: version }
    // From now on it is known, also where that takes the item from who sends: it is due for another one.
    if (cursor.next === null && first !== null)
      return [{ ...named, put: itemOf({ ...cursor, next: first }, 0) }]
    if (item.dueAt === null) return [{ ...named, put: { body, dueIn: 0 } }]
    return [named, { collection: news, id, put: { body: {} } }]
  }
  const record = await store.getConversation(id)
  const absent = { collection: failing, id, expected: null }
  const begin = (cursor: DeliveryCursor): readonly ItemChange[] => [
    absent,
    { collection: cursors, id, expected: null, put: itemOf(cursor, 0) },
  ]
  if (record === null) {
    // Of one that came and went unseen there is nothing to send; one that was there before has gone.
    if (since === null || !isDeleted) return []
    return begin({ born: '', next: null, until: null, digest: '', status: null })
  }
  const isKnown = since !== null && (parseInstant(record.createdAt) ?? 0n) < (parseInstant(since) ?? 0n)
  const known = knownCursor(record, first)
  return begin(isKnown ? { ...known, ...(isChanged && { digest: '' }) } : newCursor(record))
}

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

/** The collections of a webhook. A conversation has an item in `cursors` or `failing`, if any. */
export interface Collections {
  /** The one job that finds the conversations that existed before the webhook. */
  readonly start: string
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
  return {
    start: `webhook-start-${name}`,
    cursors: `webhook-${name}`,
    failing: `webhook-failing-${name}`,
    news: `webhook-news-${name}`,
  }
}

/** How far a webhook has come with the conversations that existed before it. */
export interface WebhookStart {
  /** Conversations created from then on, by the store's clock, are sent from their beginning; null: all are. */
  readonly since?: string | null
  readonly isDone: boolean
}

/** The jobs that send the conversations of a webhook. */
export const deliveryJobs = (
  store: Store,
  { cursors, failing }: Collections,
  ttl: number,
): Jobs<DeliveryCursor> =>
  new Jobs({
    store,
    collection: cursors,
    collectionOf: ({ tries = 0 }) => (tries > 0 ? failing : cursors),
    ttl,
  })

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
