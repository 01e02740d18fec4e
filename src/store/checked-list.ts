/** Lists of conversations as callers ask for them go in; checked ones come out, with instants, folded text and the cursor's place. */

import { ColloquyError } from '../event/errors.ts'
import { isLegalId } from '../event/ids.ts'
import { parseInstant } from '../event/time.ts'
import { checkBoolean, checkId, checkInstant, checkInteger, checkOneOf, checkText, refuse } from './check.ts'
import type { ConversationFilter, ConversationQuery, ConversationRecord } from './conversation-record.ts'
import { decodeCursor, encodeCursor, scopeOf } from './cursor.ts'
import { foldText } from './message-text.ts'

const ORDERS = ['created_at', 'created_at_desc', 'updated_at', 'updated_at_desc'] as const

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
export interface CheckedConversationQuery extends CheckedConversationFilter {
  readonly by: 'createdAt' | 'updatedAt'
  readonly descending: boolean
  readonly limit: number
  readonly after: { readonly time: bigint; readonly id: string } | null
  readonly scope: string
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
  const order = checkOneOf('order', query.order, ORDERS) ?? 'created_at_desc'
  const limit = checkInteger('limit', query.limit, 1, 100, 100)
  const scope = scopeOf('conversations', order, filter)
  const cursor = checkText('cursor', query.cursor)
  return {
    ...filter,
    by: order.startsWith('created_at') ? 'createdAt' : 'updatedAt',
    descending: order.endsWith('_desc'),
    limit,
    scope,
    after: cursor === null ? null : conversationPlace(scope, cursor),
  }
}

/** The cursor of the page that follows the one that ends with this record. O(length of the scope). */
export function conversationCursor(
  query: Pick<CheckedConversationQuery, 'scope' | 'by'>,
  last: ConversationRecord,
): string {
  return encodeCursor(query.scope, [String(parseInstant(last[query.by])), last.id])
}

function tagList(tags: unknown): readonly (readonly [string, string])[] {
  if (tags === undefined || tags === null) return []
  if (typeof tags !== 'object' || Array.isArray(tags)) return refuse('tags', 'must be an object')
  return Object.entries(tags)
    .map(([key, value]: [string, unknown]): [string, string] => [
      key,
      typeof value === 'string' ? value : refuse(`tags.${key}`, 'must be a string'),
    ])
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function conversationPlace(scope: string, cursor: string): { readonly time: bigint; readonly id: string } {
  const [time = '', id = ''] = decodeCursor(scope, cursor)
  if (!/^-?\d{1,18}$/.test(time) || !isLegalId(id)) {
    throw new ColloquyError('invalid_cursor', 'The cursor cannot be used: its place is none.', {
      reason: 'altered',
    })
  }
  return { time: BigInt(time), id }
}
