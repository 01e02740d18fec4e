/** Pages and counts of conversations for all faces, whose own cursors stay valid whichever index a page was read by. */

import type {
  ConversationFilter,
  ConversationOrder,
  ConversationQuery,
  ConversationRecord,
} from '../../store/contract/conversation-record.ts'
import { type Count, MOST_COUNTED, type Page } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { checkConversationQuery } from '../../store/kit/query/conversation-query.ts'
import { decodeCursor, encodeCursor, scopeOf } from '../../store/kit/query/page.ts'
import { boolean, withDefault } from '../http/parameters.ts'

/** What a face lists. */
export interface Listing {
  /** Name of the list: a cursor of another one, of another order or of another filter is refused. */
  readonly list: string
  readonly order: ConversationOrder
  /** What was asked for; the store may be asked for less, and the face then compares by itself. */
  readonly filter: object
  readonly cursor: string | null
  readonly limit: number
}

/**
 * One page of what the store's filter lets through. A page may be short, or empty, and have one after it.
 * @throws ColloquyError `invalid_query`, `invalid_cursor`.
 */
export async function listPage(
  store: Pick<Store, 'listConversations'>,
  asked: ConversationFilter,
  { list, order, filter, cursor, limit }: Listing,
): Promise<Page<ConversationRecord>> {
  const own = scopeOf(list, order, filter)
  const { scope } = checkConversationQuery({ ...asked, order })
  const place = cursor === null ? null : encodeCursor(scope, decodeCursor(own, cursor))
  const { items, next_page_id: next } = await store.listConversations({
    ...asked,
    order,
    limit,
    ...(place !== null && { cursor: place }),
  })
  return { items, next_page_id: next === null ? null : encodeCursor(own, decodeCursor(scope, next)) }
}

/** How a request asks for a count. */
export const exact = withDefault(boolean(), false)

/** What a count responds, for the document. */
export const COUNTED = {
  200: {
    description: `As many as a search finds, counted to ${MOST_COUNTED} unless it is to be exact; the header X-Count says \`exact\`, or \`at-least\` where there may be more`,
    schema: { type: 'integer' },
  },
} as const

/**
 * A count as the interface has it, a number alone; the header says whether everything was counted. O(1).
 *
 * @example
 * countReply({ count: 10_000, more: true }).headers.get('x-count') // 'at-least'
 */
export const countReply = ({ count, more }: Count): Response =>
  new Response(JSON.stringify(count), {
    headers: { 'content-type': 'application/json', 'x-count': more ? 'at-least' : 'exact' },
  })

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
