import { type FeedItem, type FeedPage, type FeedQuery, FEED_ROWS, SHARDS } from '../contract/feed.ts'
import type { Item } from '../contract/items.ts'
import { MAX_PAGE_SIZE, type StoredEvent } from '../contract/query.ts'
import {
  checkBoolean,
  checkFunction,
  checkInteger,
  checkOneOf,
  checkOptionNames,
  checkText,
  type Given,
  invalidArgument,
} from '../../event/check-value.ts'
import { attempt } from '../../event/json.ts'
import { decodeCursor, encodeCursor, refuseCursor, scopeOf } from './query/page.ts'

/** The kinds of rows: appended events, a changed record, a deleted conversation. */
export const FEED_CHANGE = { events: 0, changed: 1, deleted: 2 } as const

/** A row of the feed. Its position never changes, so a reader remembers only the position of the last row read. */
export interface FeedRow {
  readonly position: string
  /** A random number, by which a reader notices that a restore has put another row at this position. */
  readonly witness: string
  readonly conversationId: string
  readonly change: number
  /** `from`: position of the first event. `until`: position after the last event. In a row without events: 0 and 1. */
  readonly from: number
  readonly until: number
  readonly isThere: boolean
  /** In a page's first row, whether a `deleted` row after both it and `start` was removed: the reader must restart. */
  readonly isBehind?: boolean
  readonly log?: number
}

interface FeedPosition extends Pick<FeedRow, 'position' | 'witness' | 'until'> {
  /** Position of the feed's last row when the reader started. The reader needs no earlier deletion. */
  readonly start: string
}

/** A checked query of the feed. */
export interface CheckedFeedQuery {
  readonly shard: number | null
  readonly limit: number
  /** Position of the last row read; null for the start. */
  readonly after: FeedPosition | null
  readonly fromEnd: boolean
  readonly scope: string
}

/**
 * Returns the shard of a conversation. Shards have equal size if the last characters of ids are evenly
 * distributed. O(1).
 * @example
 * shardOf('0f8fad5b-d9cb-469f-a165-70867728950e') // 43
 */
export function shardOf(conversationId: string): number {
  const last = [...conversationId].slice(-WEIGHTS.length).toReversed()
  return last.reduce((sum, char, i) => sum + (char.codePointAt(0) ?? 0) * (WEIGHTS[i] ?? 0), 0) % SHARDS
}

/** Weights of an id's last characters, the last character first, for `shardOf`. Databases use the same formula. */
export const WEIGHTS = [1, 11, 37, 53] as const

/**
 * Checks a query of the feed. O(1). @throws `invalid_query`, `invalid_cursor`; `invalid_argument` for an
 * unknown option.
 */
export function checkFeedQuery(query: FeedQuery = {}): CheckedFeedQuery {
  checkOptionNames(query, 'after from shard limit')
  const shard = checkInteger('shard', query.shard, 0, SHARDS - 1, null)
  const limit = checkInteger('limit', query.limit, 1, MAX_PAGE_SIZE, MAX_PAGE_SIZE)
  const from = checkOneOf('from', query.from, ['start', 'end'] as const)
  const scope = scopeOf('feed', '', { shard })
  const cursor = checkText('after', query.after)
  if (cursor === null) return { shard, limit, after: null, fromEnd: from === 'end', scope }
  const [position = '', witness = '', until = '', start = '0'] = decodeCursor(scope, cursor)
  if (position === '') return { shard, limit, after: null, fromEnd: false, scope }
  if (!POSITION.test(position) || !COUNT.test(until) || !POSITION.test(start)) refuseCursor('altered')
  return { shard, limit, after: { position, witness, until: Number(until), start }, fromEnd: false, scope }
}

/** Matches one or two whole numbers, separated by a space. Each fits into a signed 64-bit integer. */
const POSITION = /^\d{1,18}(?: \d{1,18})?$/
const COUNT = /^\d{1,15}$/

export function positionNumber({ after }: Pick<CheckedFeedQuery, 'after'>): number {
  if (after === null) return 0
  return COUNT.test(after.position) ? Number(after.position) : refuseCursor('altered')
}

/** Checks options that several stores have, and returns `feedRows`. @throws `invalid_argument`. */
export function checkStoreOptions(options: Readonly<Record<string, Given>>): number {
  checkFunction('clock', options['clock'] ?? undefined)
  for (const name of ['fullText', 'readOnly', 'listen', 'prepare'])
    checkBoolean(name, options[name], invalidArgument)
  return checkInteger('feedRows', options['feedRows'], 1, Number.MAX_SAFE_INTEGER, FEED_ROWS, invalidArgument)
}

/** Milliseconds for which the feed keeps unread rows for a follower that has stopped: 30 days. */
export const HOLD_TIME = 30 * 86_400_000

/** Maximum number of rows that a store checks after each deletion, to remove rows of deleted conversations. */
export const VISITED_ROWS = 2_000

/**
 * Returns, for each shard, the lowest position of its followers, as one or two numbers; null for a shard
 * without followers. The feed must keep the shard's rows from that position on. O(items).
 * @example
 * heldPositions([])[0] // null
 */
export function heldPositions(items: readonly Pick<Item, 'id' | 'body'>[]): (readonly bigint[] | null)[] {
  const lowest = Array.from({ length: SHARDS }, (): readonly bigint[] | null => null)
  for (const { id, body } of items) {
    const position = positionOf(Number(id), body['cursor'])
    const [first = 0n, second = 0n] = lowest[Number(id)] ?? [2n ** 63n]
    const isEarlier = position[0] === first ? (position[1] ?? 0n) < second : (position[0] ?? 0n) < first
    if (isEarlier) lowest[Number(id)] = position
  }
  return lowest
}

/** Returns a follower's position. If the follower has no readable cursor, its position is the start. */
const positionOf = (shard: number, cursor: unknown): readonly bigint[] =>
  attempt(() => {
    const [position = ''] = decodeCursor(scopeOf('feed', '', { shard }), String(cursor))
    return position.split(' ').map(BigInt)
  }, [0n])

/** Returns how many rows to read for a page: the row at `after`, `limit` rows, and one row of the next page. */
export const rowsFor = ({ limit }: CheckedFeedQuery): number => limit + 2

/** The part of a row that is on a page. */
export interface FeedPart {
  readonly row: FeedRow
  readonly from: number
  readonly until: number
}

/** The parts of a page, and the position of the next page. */
export interface FeedPlan {
  readonly parts: readonly FeedPart[]
  readonly page: Omit<FeedPage, 'items'>
}

/** Returns the empty page at the end of the feed. @param last the last row, if there is one */
export function feedEnd({ scope }: CheckedFeedQuery, last: FeedRow | undefined): FeedPage {
  return { items: [], next: cursorAt(scope, last ?? null, '0'), more: false, reset: false }
}

/**
 * Plans a page of the feed. O(rows).
 * @param rows the rows from `after` on, including the row at `after`, in order; at most {@link rowsFor}
 * @param end the last row that was read, if the adapter skipped rows and more rows may follow
 * @param newest the feed's last row, read before `rows`, if the adapter removes rows and `after` is null
 */
export function planFeed(
  query: CheckedFeedQuery,
  rows: readonly FeedRow[],
  end?: FeedRow,
  newest?: Pick<FeedRow, 'position'>,
): FeedPlan {
  const { after, scope, limit } = query
  const start = after?.start ?? newest?.position ?? '0'
  const [first] = rows
  const isKnown = first?.position === after?.position && first?.witness === after?.witness
  if (after !== null && (!isKnown || first?.isBehind === true))
    return { parts: [], page: { next: cursorAt(scope, null, start), more: true, reset: true } }
  const parts: FeedPart[] = []
  let last: Omit<FeedPosition, 'start'> | null = after
  let more = rows.length === rowsFor(query)
  let remaining = limit
  for (const row of rows) {
    const from = row.position === after?.position ? Math.max(row.from, after.until) : row.from
    if (from >= row.until) continue
    const until = Math.min(row.until, from + remaining)
    if (until < row.until) more = true
    if (remaining === 0) break
    remaining -= until - from
    last = { position: row.position, witness: row.witness, until }
    if (row.isThere || row.change === FEED_CHANGE.deleted) parts.push({ row, from, until })
  }
  if (end !== undefined && !more) {
    last = end
    more = true
  }
  return { parts, page: { next: cursorAt(scope, last, start), more, reset: false } }
}

/** Returns the planned page. @param eventsOf returns a part's events in order, without deleted events */
export function fillFeed(
  { parts, page }: FeedPlan,
  eventsOf: (part: FeedPart) => readonly StoredEvent[],
): FeedPage {
  const items = parts.flatMap((part): FeedItem[] => {
    const { conversationId, change } = part.row
    if (change === FEED_CHANGE.events)
      return eventsOf(part).map((event) => ({ type: 'event', conversationId, event }))
    return [{ type: change === FEED_CHANGE.deleted ? 'deleted' : 'changed', conversationId }]
  })
  return { items, ...page }
}

const cursorAt = (scope: string, index: Omit<FeedPosition, 'start'> | null, start: string): string =>
  encodeCursor(scope, index === null ? [''] : [index.position, index.witness, String(index.until), start])
