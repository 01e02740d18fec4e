/** Lists conversations. A cursor stays valid even if the next page is read with another store filter. */

import type {
  ConversationFilter,
  ConversationOrder,
  ConversationRecord,
} from '../../store/contract/conversation-record.ts'
import { type Count, MAX_COUNTED, type Page } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { checkConversationQuery } from '../../store/kit/query/conversation-query.ts'
import { allConversations, decodeCursor, encodeCursor, scopeOf } from '../../store/kit/query/page.ts'
import { boolean, withDefault } from '../http/parameters.ts'

interface Listing {
  /** Name of the list. A cursor of another list, order or filter is rejected. */
  readonly list: string
  readonly order: ConversationOrder
  /** The client's filter. The store's filter may match more conversations; the caller must then filter the page. */
  readonly filter: object
  readonly cursor: string | null
  readonly limit: number
}

/** Returns a page of conversations that match `storeFilter`. Even a short or empty page may have a next page. */
export async function listPage(
  store: Pick<Store, 'listConversations'>,
  storeFilter: ConversationFilter,
  { list, order, filter, cursor, limit }: Listing,
): Promise<Page<ConversationRecord>> {
  const listScope = scopeOf(list, order, filter)
  const { scope } = checkConversationQuery({ ...storeFilter, order })
  const storeCursor = cursor === null ? null : encodeCursor(scope, decodeCursor(listScope, cursor))
  const paging = { order, limit, ...(storeCursor !== null && { cursor: storeCursor }) }
  const { items, cursor: next } = await store.listConversations({ ...storeFilter, ...paging })
  return { items, cursor: next === null ? null : encodeCursor(listScope, decodeCursor(scope, next)) }
}

export const exact = withDefault(boolean(), false)

export const COUNTED = {
  description: `The number of results of a search, counted up to ${MAX_COUNTED} unless \`exact\` is true; the header X-Count is \`exact\`, or \`at-least\` if there may be more`,
  returns: { type: 'integer' },
} as const

export const countReply = ({ count, more }: Count): Response =>
  new Response(JSON.stringify(count), {
    headers: { 'content-type': 'application/json', 'x-count': more ? 'at-least' : 'exact' },
  })

export async function childIdsOf(store: Pick<Store, 'listConversations'>, id: string): Promise<string[]> {
  const ids: string[] = []
  const query = { parentConversationId: id, order: 'created_at' } as const
  for await (const child of allConversations(store, query)) ids.push(child.id)
  return ids
}
