/** Checks lists of conversations, with instants, folded text and the cursor's position ready for any adapter. */

import { isLegalId } from '../../../event/ids.ts'
import { parseInstant } from '../../../event/time.ts'
import { checkBoolean, checkId, checkInstant, checkText, invalidQuery } from './check-value.ts'
import { type CheckedPage, checkPage, cursorAfter, type PagedList } from './page.ts'
import type {
  ConversationFilter,
  ConversationQuery,
  ConversationRecord,
} from '../../contract/conversation-record.ts'
import { foldText } from './message-text.ts'

/** A filter that every store reads alike; null does not narrow. */
export interface CheckedConversationFilter {
  /** Part of the title, folded by `foldText` as the title must be. */
  readonly titleContains: string | null
  readonly public: boolean | null
  readonly parentConversationId: string | null
  /** Tags that must be there, by key. */
  readonly tags: readonly (readonly [key: string, value: string])[]
  readonly createdFrom: bigint | null
  readonly createdUntil: bigint | null
  readonly updatedFrom: bigint | null
  readonly updatedUntil: bigint | null
}

/** A page to list: at most `limit` records beyond `after`, by (time, id), ids by code points. */
export interface CheckedConversationQuery extends CheckedConversationFilter, CheckedPage<ConversationPlace> {
  readonly by: 'createdAt' | 'updatedAt'
}

/** The place of a conversation in a list. */
interface ConversationPlace {
  readonly time: bigint
  readonly id: string
}

type Order = 'created_at' | 'created_at_desc' | 'updated_at' | 'updated_at_desc'

const CONVERSATIONS: PagedList<Order, ConversationPlace> = {
  name: 'conversations',
  orders: ['created_at', 'created_at_desc', 'updated_at', 'updated_at_desc'],
  defaultOrder: 'created_at_desc',
  placeOf: (time, id) => (isLegalId(id) ? { time, id } : null),
}

/**
 * Checks which conversations a caller wants. O(tags).
 * @throws `invalid_query` naming the field in `data.field`.
 *
 * @example
 * checkConversationFilter({ titleContains: 'Plan' }).titleContains // 'plan'
 */
export function checkConversationFilter(filter: ConversationFilter = {}): CheckedConversationFilter {
  const title = checkText('titleContains', filter.titleContains)
  return {
    titleContains: title === null ? null : foldText(title),
    public: checkBoolean('public', filter.public),
    parentConversationId: checkId('parentConversationId', filter.parentConversationId),
    tags: tagList(filter.tags),
    createdFrom: checkInstant('createdAtGte', filter.createdAtGte),
    createdUntil: checkInstant('createdAtLt', filter.createdAtLt),
    updatedFrom: checkInstant('updatedAtGte', filter.updatedAtGte),
    updatedUntil: checkInstant('updatedAtLt', filter.updatedAtLt),
  }
}

/**
 * Checks a whole list. O(tags + length of the cursor).
 * @throws `invalid_query` naming the field in `data.field`; `invalid_cursor` saying why in `data.reason`.
 *
 * @example
 * checkConversationQuery().descending // true
 */
export function checkConversationQuery(query: ConversationQuery = {}): CheckedConversationQuery {
  const filter = checkConversationFilter(query)
  const { order, ...page } = checkPage(CONVERSATIONS, filter, query)
  return { ...filter, ...page, by: order.startsWith('created_at') ? 'createdAt' : 'updatedAt' }
}

/** The cursor of the page that follows the one that ends with this record. O(length of the scope). */
export function conversationCursor(
  query: Pick<CheckedConversationQuery, 'scope' | 'by'>,
  last: ConversationRecord,
): string {
  return cursorAfter(query.scope, parseInstant(last[query.by]) as bigint, last.id)
}

function tagList(tags: unknown): readonly (readonly [string, string])[] {
  if (tags === undefined || tags === null) return []
  if (typeof tags !== 'object' || Array.isArray(tags)) return invalidQuery('tags', 'must be an object')
  return Object.entries(tags)
    .map(([key, value]: [string, unknown]): [string, string] => [
      key,
      typeof value === 'string' ? value : invalidQuery(`tags.${key}`, 'must be a string'),
    ])
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}
