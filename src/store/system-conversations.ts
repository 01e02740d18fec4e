/**
 * Separates a service's system conversations, which hold its records, from those of its users, so that a list shows
 * users theirs alone.
 */

import type { ConversationQuery, ConversationRecord } from './contract/conversation-record.ts'
import { MAX_PAGE_SIZE, type Page } from './contract/query.ts'
import type { Store } from './contract/store.ts'

/** How the ids of system conversations begin: a service keeps its keys, profiles and webhook cursors in them. */
export const SYSTEM_PREFIX = 'colloquy:'

/**
 * Whether an id is that of a system conversation. O(1).
 *
 * @example
 * isReservedId('colloquy:api-keys') // true
 */
export const isReservedId = (id: string): boolean => id.startsWith(SYSTEM_PREFIX)

/** How many are looked at beyond a page, to see whether anything is there: a service has a handful of records. */
const BEYOND = 10

/**
 * One page of the conversations in a store, without system conversations: full whenever there is enough to fill it, and
 * `next_page_id` is null exactly when nothing is left. O(limit), in two queries and seldom more.
 *
 * @throws ColloquyError `invalid_query`, `invalid_cursor`, as `store.listConversations`.
 *
 * @example
 * const store = memoryStore()
 * await store.createConversation({ id: 'plan' })
 * await store.createConversation({ id: 'colloquy:api-keys' })
 * const { items } = await listUserConversations(store)
 * items.length // 1
 */
export async function listUserConversations(
  store: Pick<Store, 'listConversations'>,
  query: ConversationQuery = {},
): Promise<Page<ConversationRecord>> {
  const { cursor, limit = MAX_PAGE_SIZE, ...list } = query
  const items: ConversationRecord[] = []
  let next = cursor ?? null
  do {
    const page = await store.listConversations({
      ...list,
      limit: limit - items.length,
      ...(next !== null && { cursor: next }),
    })
    items.push(...page.items.filter(({ id }) => !isReservedId(id)))
    next = page.next_page_id
  } while (next !== null && items.length < limit)
  const more = next !== null && (await isAnyBeyond(store, { ...list, cursor: next }))
  return { items, next_page_id: more ? next : null }
}

async function isAnyBeyond(
  store: Pick<Store, 'listConversations'>,
  query: ConversationQuery,
): Promise<boolean> {
  const rest = userConversations(store, { ...query, limit: BEYOND })
  return (await rest.next()).done !== true
}

/** All of them, page after page. O(conversations). @throws ColloquyError `invalid_query`. */
export async function* userConversations(
  store: Pick<Store, 'listConversations'>,
  query: ConversationQuery = {},
): AsyncGenerator<ConversationRecord, void, undefined> {
  let next = query.cursor ?? null
  do {
    const page: Page<ConversationRecord> = await store.listConversations({
      ...query,
      ...(next !== null && { cursor: next }),
    })
    yield* page.items.filter(({ id }) => !isReservedId(id))
    next = page.next_page_id
  } while (next !== null)
}
