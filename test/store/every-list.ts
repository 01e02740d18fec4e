/** Every list of conversations in the contract: all combinations of filters and orders, first and second pages. */

import type {
  ConversationFilter,
  ConversationOrder,
  ConversationQuery,
} from '../../src/store/contract/conversation-record.ts'
import { checkConversationQuery } from '../../src/store/kit/query/conversation-query.ts'
import { encodeCursor } from '../../src/store/kit/query/page.ts'

/** The values of each part of a filter. */
const PARTS: readonly (readonly ConversationFilter[])[] = [
  [{}, { titleContains: 't' }],
  [{}, { public: true }, { public: false }],
  [{}, { parentConversationId: 'p' }, { parentConversationId: '' }],
  [{}, { sandboxId: 's' }],
  [{}, { owner: 'o' }],
  [{}, { status: 'idle' }],
  [{}, { tags: { a: 'x' } }, { tags: { a: 'x', b: 'y' } }],
  [{}, { createdAtGte: '1970-01-01T00:00:00Z', createdAtLt: '2100-01-01T00:00:00Z' }],
  [{}, { updatedAtGte: '1970-01-01T00:00:00Z', updatedAtLt: '2100-01-01T00:00:00Z' }],
]

export const ORDERS: readonly ConversationOrder[] = [
  'created_at',
  'created_at_desc',
  'updated_at',
  'updated_at_desc',
]

export const everyFilter = (): readonly ConversationFilter[] =>
  PARTS.reduce<readonly ConversationFilter[]>(
    (all, part) => all.flatMap((filter) => part.map((more) => ({ ...filter, ...more }))),
    [{}],
  )

/** The first page of a list, and a page from its middle. */
export const bothPages = (filter: ConversationFilter, order: ConversationOrder): ConversationQuery[] => {
  const { scope } = checkConversationQuery({ ...filter, order })
  return [
    { ...filter, order },
    { ...filter, order, cursor: encodeCursor(scope, ['25000', 't1']) },
  ]
}

export const everyList = (): readonly ConversationQuery[] =>
  everyFilter().flatMap((filter) => ORDERS.flatMap((order) => bothPages(filter, order)))
