/** All conversations of a store, page after page. */

import type { ConversationQuery, ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Page } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'

/** Those that a query finds, in its order. O(conversations). @throws ColloquyError `invalid_query`. */
export async function* walkConversations(
  store: Pick<Store, 'listConversations'>,
  query: ConversationQuery = {},
): AsyncGenerator<ConversationRecord, void, undefined> {
  let next = query.cursor ?? null
  do {
    const page: Page<ConversationRecord> = await store.listConversations({
      ...query,
      ...(next !== null && { cursor: next }),
    })
    yield* page.items
    next = page.next_page_id
  } while (next !== null)
}

/** The ids of the conversations that were made for one, or forked from it, the oldest first. O(those). */
export async function childIdsOf(store: Pick<Store, 'listConversations'>, id: string): Promise<string[]> {
  const ids: string[] = []
  const query = { parentConversationId: id, order: 'created_at' } as const
  for await (const child of walkConversations(store, query)) ids.push(child.id)
  return ids
}
