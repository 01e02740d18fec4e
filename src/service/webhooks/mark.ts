/** Marks conversations as to be sent to a webhook, from what its follower is given. */

import { hasCode } from '../../event/errors.ts'
import { parseInstant } from '../../event/time.ts'
import type { FollowItem } from '../../conversation/follow/follow.ts'
import type { ItemChange } from '../../store/contract/items.ts'
import type { Store } from '../../store/contract/store.ts'
import {
  type Collections,
  cursorOf,
  type DeliveryCursor,
  itemOf,
  knownCursor,
  newCursor,
} from './delivery-cursor.ts'

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
export interface Marking {
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
