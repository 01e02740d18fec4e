import type { FollowItem } from '../../conversation/follow/follow.ts'
import { hasCode } from '../../event/errors.ts'
import { hashText } from '../../event/text.ts'
import { parseInstant } from '../../event/time.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { ItemChange, NewItem } from '../../store/contract/items.ts'
import type { Store } from '../../store/contract/store.ts'
import { allConversations } from '../../store/kit/query/page.ts'
import { recordDigest } from './payloads.ts'

const BATCH = 40

interface News {
  readonly first: number | null
  readonly isChanged: boolean
  readonly isDeleted: boolean
}

const NO_NEWS: News = { first: null, isChanged: false, isDeleted: false }

interface Marking {
  readonly store: Store
  readonly collections: Collections
  readonly since: string | null
}

export function newsIn(items: readonly FollowItem[]): ReadonlyMap<string, News> {
  const news = new Map<string, News>()
  for (const item of items) {
    // Ignore a reset: the items after it repeat everything.
    if (item.type === 'reset') continue
    const before = news.get(item.conversationId) ?? NO_NEWS
    news.set(item.conversationId, withItem(before, item))
  }
  return news
}

function withItem(news: News, item: Exclude<FollowItem, { type: 'reset' }>): News {
  if (item.type === 'event') return { ...news, first: news.first ?? item.seq }
  // Events before a deletion do not belong to a later conversation with the same id.
  return item.type === 'changed'
    ? { ...news, isChanged: true }
    : { first: null, isChanged: true, isDeleted: true }
}

/**
 * Schedules the sending of each conversation that was created at or after `since` (a time of the store's clock), or
 * of all conversations if `since` is null. For earlier conversations, only new events are sent. Can be called again.
 */
export async function markCreatedSince(marking: Marking, signal: AbortSignal): Promise<void> {
  const { store, since } = marking
  const query = since === null ? {} : { createdAtGte: since }
  const created = new Map<string, News>()
  for await (const { id } of allConversations(store, { order: 'created_at', ...query })) {
    signal.throwIfAborted()
    created.set(id, NO_NEWS)
    if (created.size < BATCH) continue
    await mark(marking, created)
    created.clear()
  }
  await mark(marking, created)
}

/**
 * Makes conversations due for sending. If a conversation is being sent or waits for a retry, its changes are
 * recorded, and sent afterwards.
 */
export async function mark(marking: Marking, news: ReadonlyMap<string, News>): Promise<void> {
  const all = [...news]
  for (let start = 0; start < all.length; start += BATCH) {
    const batch = all.slice(start, start + BATCH)
    while (!(await tryMark(marking, batch)));
  }
}

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
    const cursor = body as object as DeliveryCursor
    const unchanged = { collection, id, expected: version }
    // This write ends the lease of the current sender. Another sender can claim the job immediately.
    if (cursor.next === null && first !== null)
      return [{ ...unchanged, put: itemOf({ ...cursor, next: first }, 0) }]
    if (item.dueAt === null) return [{ ...unchanged, put: { body, dueIn: 0 } }]
    return [unchanged, { collection: news, id, put: { body: {} } }]
  }
  const record = await store.getConversation(id)
  const absent = { collection: failing, id, expected: null }
  const begin = (cursor: DeliveryCursor): readonly ItemChange[] => [
    absent,
    { collection: cursors, id, expected: null, put: itemOf(cursor, 0) },
  ]
  if (record === null) {
    // With `since`, the conversation may be older and known to the receiver, so its deletion is sent.
    if (since === null || !isDeleted) return []
    return begin({ born: '', next: null, until: null, digest: '', status: null })
  }
  const isKnown = since !== null && (parseInstant(record.createdAt) ?? 0n) < (parseInstant(since) ?? 0n)
  const known = knownCursor(record, first)
  return begin(isKnown ? { ...known, ...(isChanged && { digest: '' }) } : newCursor(record))
}

export interface DeliveryCursor {
  /** Creation time of the conversation. Distinguishes it from a later conversation with the same id. */
  readonly born: string
  /** The position of the next event to send; null until a new event is appended. */
  readonly next: number | null
  /**
   * The next batch has only events before this position; null for no limit. Stored before the batch is
   * sent, so that the same batch is sent again after a crash.
   */
  readonly until: number | null
  /** Digest of the last sent record; null until the receiver has accepted the conversation's creation. */
  readonly digest: string | null
  readonly status: string | null
  readonly isGone?: boolean
  readonly tries?: number
}

/** The collections of a webhook. A conversation has at most one item, in `cursors` or in `failing`. */
export interface Collections {
  /** Collection with a single job. When the webhook first starts, the job makes conversations due for sending. */
  readonly start: string
  readonly cursors: string
  readonly failing: string
  readonly news: string
}

export function collectionsOf(webhookId: string): Collections {
  const name = hashText(webhookId)
  return {
    start: `webhook-start-${name}`,
    cursors: `webhook-${name}`,
    failing: `webhook-failing-${name}`,
    news: `webhook-news-${name}`,
  }
}

export interface WebhookStart {
  /** Conversations created at or after this time of the store's clock are sent in full; null for all. */
  readonly since?: string | null
  readonly isDone: boolean
}

/** Returns a cursor as an item that is due in `dueIn` milliseconds, or never if `dueIn` is null. */
export const itemOf = (cursor: DeliveryCursor, dueIn: number | null): NewItem => ({
  body: { ...cursor },
  dueIn,
})

export const newCursor = (record: ConversationRecord): DeliveryCursor => ({
  born: record.createdAt,
  next: 0,
  until: null,
  digest: null,
  status: null,
})

/** The cursor of a conversation that existed before the webhook. Only events from `next` on are sent. */
const knownCursor = (record: ConversationRecord, next: number | null): DeliveryCursor => ({
  ...newCursor(record),
  next,
  digest: recordDigest(record),
})

export const isReplaced = (record: ConversationRecord, cursor: DeliveryCursor): boolean =>
  record.createdAt !== cursor.born || record.version < (cursor.next ?? 0)
