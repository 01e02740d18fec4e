import { isLegalId } from '../../../event/ids.ts'
import { parseInstant } from '../../../event/time.ts'
import type {
  ConversationFilter,
  ConversationQuery,
  ConversationRecord,
} from '../../contract/conversation-record.ts'
import { type Count, type CountOptions, MAX_PAGE_SIZE, MAX_COUNTED, type Page } from '../../contract/query.ts'
import { isKeepable, MAX_TAG, MAX_TAGS, STATUS, TAG_KEY } from '../record.ts'
import {
  checkBoolean,
  checkId,
  checkInteger,
  checkOneOf,
  checkOptionNames,
  checkInstant,
  checkText,
  invalidQuery,
} from '../../../event/check-value.ts'
import { foldText } from './message-text.ts'
import { type CheckedPage, encodeCursor, pageOf, placeAfter, scopeOf, timeInKey } from './page.ts'

/** A key by which conversations can be listed: its name and value. */
export type ListKey = readonly [name: string, value: string]

/** A checked filter, which all stores read in the same way. A null field matches every conversation. */
export interface CheckedConversationFilter {
  /** Whether any conversation can match; if not, no database is queried. */
  readonly isPossible: boolean
  /** Part of the title, folded by `foldText`; fold the title too. */
  readonly titleContains: string | null
  /** The filter's `public`, except that true becomes null, because `keys` then contains this condition. */
  readonly public: boolean | null
  /** Keys that a record must have, see `keysOf`. The first key is probably the rarest. */
  readonly keys: readonly ListKey[]
  readonly createdFrom: bigint | null
  readonly createdUntil: bigint | null
  readonly updatedFrom: bigint | null
  readonly updatedUntil: bigint | null
}

/** The range of rows that a listing reads, and the filter for each row. */
export interface Walk {
  readonly by: 'createdAt' | 'updatedAt'
  /** The key whose conversations are read; null for all. */
  readonly key: ListKey | null
  readonly from: bigint | null
  readonly until: bigint | null
  readonly titleContains: string | null
  readonly public: boolean | null
  readonly keys: readonly ListKey[]
  readonly otherFrom: bigint | null
  readonly otherUntil: bigint | null
}

/** A checked query: at most `limit` records after `after`, sorted by time, then by id (by code points). */
export interface CheckedConversationQuery extends CheckedConversationFilter, CheckedPage<ConversationPlace> {
  readonly by: 'createdAt' | 'updatedAt'
}

export interface ConversationPlace {
  readonly time: bigint
  readonly id: string
}

const ORDERS = ['created_at', 'created_at_desc', 'updated_at', 'updated_at_desc'] as const

const OPTIONS =
  'titleContains public parentConversationId sandboxId owner status tags createdAtGte createdAtLt updatedAtGte updatedAtLt order cursor limit'

/**
 * Checks a filter of conversations. O(tags). @throws `invalid_query` with `data.field`; `invalid_argument`
 * for an unknown option.
 * @example
 * checkConversationFilter({ titleContains: 'Plan' }).titleContains // 'plan'
 */
export function checkConversationFilter(filter: ConversationFilter = {}): CheckedConversationFilter {
  checkOptionNames(filter, OPTIONS)
  const title = checkText('titleContains', filter.titleContains)
  const open = checkBoolean('public', filter.public)
  const status = checkText('status', filter.status)
  const { parentConversationId } = filter
  const parent = parentConversationId === '' ? '' : checkId('parentConversationId', parentConversationId)
  const sandbox = checkId('sandboxId', filter.sandboxId)
  const owner = checkId('owner', filter.owner)
  const tags = tagList(filter.tags)
  // Lists read the rows of the first key: the key that probably has the fewest rows is first.
  const keys: readonly (ListKey | false)[] = [
    parent !== null && parent !== '' && ['parent', parent],
    ...tags.map(([key, value]): ListKey => [`tag.${key}`, value]),
    sandbox !== null && ['sandbox', sandbox],
    owner !== null && ['owner', owner],
    status !== null && ['status', status],
    open === true && ['public', 'true'],
    parent === '' && ['parent', ''],
  ]
  return {
    isPossible:
      (title === null || isKeepable(title, Number.MAX_SAFE_INTEGER)) &&
      (status === null || status === '' || STATUS.test(status)) &&
      tags.length <= MAX_TAGS &&
      tags.every(([key, value]) => TAG_KEY.test(key) && isKeepable(value, MAX_TAG)),
    titleContains: title === null ? null : foldText(title),
    public: open === true ? null : open,
    keys: keys.filter((key) => key !== false),
    createdFrom: checkInstant('createdAtGte', filter.createdAtGte),
    createdUntil: checkInstant('createdAtLt', filter.createdAtLt),
    updatedFrom: checkInstant('updatedAtGte', filter.updatedAtGte),
    updatedUntil: checkInstant('updatedAtLt', filter.updatedAtLt),
  }
}

/**
 * Checks a query of conversations. O(tags + length of the cursor).
 * @throws `invalid_query` with `data.field`; `invalid_cursor` with `data.reason`; `invalid_argument` for an
 *   unknown option.
 * @example
 * const query = checkConversationQuery({ tags: { team: 'a' }, limit: 1 })
 * const record = newRecord({ id: 'c', tags: { team: 'a' } }, 0n)
 * keysOf(record).at(-1) // ['tag.team', 'a']
 * walkOf(query, query.by).key // ['tag.team', 'a']
 * countWalkOf(query).by // 'createdAt'
 * lookedPage(query, [record], null) // { items: [record], cursor: null }
 * checkConversationQuery({ tags: { team: 'a' }, cursor: conversationCursor(query, record) }).after.id // 'c'
 */
export function checkConversationQuery(query: ConversationQuery = {}): CheckedConversationQuery {
  const filter = checkConversationFilter(query)
  const order = checkOneOf('order', query.order, ORDERS) ?? 'created_at_desc'
  const scope = scopeOf('conversations', order, filter)
  return {
    ...filter,
    by: order.startsWith('created_at') ? 'createdAt' : 'updatedAt',
    descending: order.endsWith('_desc'),
    limit: checkInteger('limit', query.limit, 1, MAX_PAGE_SIZE, MAX_PAGE_SIZE),
    scope,
    after: placeAfter(scope, query.cursor, ([digits = '', id = '']) => {
      const time = timeInKey(digits)
      return time !== null && isLegalId(id) ? { time, id } : null
    }),
  }
}

/**
 * Returns the range of rows that a listing reads, and the filter for each row. A range by time of creation has
 * only conversations with the filter's first key, if any. A range by time of change does not depend on keys. O(1).
 */
export function walkOf(filter: CheckedConversationFilter, by: Walk['by']): Walk {
  const { titleContains, public: open, keys } = filter
  const created = [filter.createdFrom, filter.createdUntil] as const
  const updated = [filter.updatedFrom, filter.updatedUntil] as const
  const [[from, until], [otherFrom, otherUntil]] =
    by === 'createdAt' ? [created, updated] : [updated, created]
  const key = by === 'createdAt' ? (keys[0] ?? null) : null
  const rest = key === null ? keys : keys.slice(1)
  return { by, key, keys: rest, titleContains, public: open, from, until, otherFrom, otherUntil }
}

/** Returns the `Walk` of a count: by change time if the filter limits only that time, else by creation time. O(1). */
export const countWalkOf = (filter: CheckedConversationFilter): Walk => {
  const { keys, createdFrom, createdUntil, updatedFrom, updatedUntil } = filter
  const isByChange =
    keys.length === 0 &&
    createdFrom === null &&
    createdUntil === null &&
    (updatedFrom !== null || updatedUntil !== null)
  return walkOf(filter, isByChange ? 'updatedAt' : 'createdAt')
}

/**
 * Returns a page of the matches of a walk. O(limit).
 * @param matches at most `limit` + 1 records; the additional record shows that a page follows
 * @param looked the last position read, if the walk ended at {@link MAX_VISITED}
 */
export function lookedPage(
  query: CheckedConversationQuery,
  matches: readonly ConversationRecord[],
  looked: ConversationPlace | null,
): Page<ConversationRecord> {
  const page = pageOf(matches, query.limit, (last) => conversationCursor(query, last))
  const end = looked && encodeCursor(query.scope, [String(looked.time), looked.id])
  return { ...page, cursor: page.cursor ?? end }
}

/** Returns the result of a count. `looked`: rows read, at most {@link MAX_COUNTED} + 1 unless `exact`. */
export const lookedCount = (count: number, looked: number, exact: boolean): Count =>
  exact || looked <= MAX_COUNTED
    ? { count, more: false }
    : { count: Math.min(count, MAX_COUNTED), more: true }

/** Whether a count must be exact. @throws `invalid_query`; `invalid_argument` for an unknown option. */
export function checkCountOptions(options: CountOptions = {}): boolean {
  checkOptionNames(options, 'exact')
  return checkBoolean('exact', options.exact) ?? false
}

/** Returns the keys by which a record is listed. O(tags). */
export function keysOf(
  record: Pick<
    ConversationRecord,
    'parentConversationId' | 'sandboxId' | 'owner' | 'status' | 'public' | 'tags'
  >,
): ListKey[] {
  const { parentConversationId: parent, sandboxId, owner, status, public: open, tags } = record
  return [
    ['parent', parent ?? ''],
    ['status', status ?? ''],
    ...(sandboxId === null ? [] : [['sandbox', sandboxId] as const]),
    ...(owner === null ? [] : [['owner', owner] as const]),
    ...(open ? [['public', 'true'] as const] : []),
    ...Object.entries(tags).map(([key, value]): ListKey => [`tag.${key}`, value]),
  ]
}

/** Returns the cursor of the page after this record, for the same query only. O(length of the query). */
export function conversationCursor(
  query: Pick<CheckedConversationQuery, 'scope' | 'by'>,
  last: ConversationRecord,
): string {
  return encodeCursor(query.scope, [String(parseInstant(last[query.by])), last.id])
}

function tagList(tags: unknown): readonly ListKey[] {
  if (tags === undefined || tags === null) return []
  if (typeof tags !== 'object' || Array.isArray(tags)) return invalidQuery('tags', 'must be an object')
  return Object.entries(tags)
    .map(([key, value]: [string, unknown]): [string, string] => [
      key,
      typeof value === 'string' ? value : invalidQuery(`tags.${key}`, 'must be a string'),
    ])
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}
