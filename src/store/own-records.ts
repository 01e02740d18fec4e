/** A store that a service shares goes in, the conversations of its users come out: the service's own records stand there as conversations do, and are none. */

import type { ConversationQuery, ConversationRecord } from './conversation-record.ts'
import type { Page } from './query.ts'
import type { Store } from './store.ts'

/** How the ids of a service's own records begin: its keys, profiles, positions of webhooks. */
export const OWN_RECORDS = 'colloquy:'

/**
 * Whether an id belongs to a service's own records. O(1).
 *
 * @example
 * isReservedId('colloquy:api-keys') // true
 */
export const isReservedId = (id: string): boolean => id.startsWith(OWN_RECORDS)

/** How many are looked at beyond a page, to tell whether anything is there: a service has a handful of records. */
const BEYOND = 10

/**
 * One page of the conversations in a store, without a service's own records: full whenever there is enough to fill it, and `next_page_id`
 * is null exactly when nothing is left. O(limit), in two queries and seldom more.
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
  const { cursor, limit = 100, ...list } = query
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
