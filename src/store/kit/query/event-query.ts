import { EVENT_KINDS, type EventKind, isEventKind } from '../../../event/kinds.ts'
import { type Source, SOURCES } from '../../../event/shapes.ts'
import {
  checkId,
  checkOptionNames,
  checkInstant,
  checkInteger,
  checkOneOf,
  checkText,
  invalidArgument,
  invalidQuery,
} from '../../../event/check-value.ts'
import { BLOB_MODES } from '../blobs.ts'
import { type CheckedPage, encodeCursor, placeAfter, scopeOf, timeInKey } from './page.ts'
import { foldText } from './message-text.ts'
import { type EventFilter, type EventQuery, MAX_PAGE_SIZE, type StoredEvent } from '../../contract/query.ts'
import type { ReadOptions } from '../../contract/store.ts'

/** A checked filter, which all stores read in the same way. A null field matches every event. */
export interface CheckedEventFilter {
  readonly conversationId: string
  /** `kinds` without `excludeKinds`, in the order of EVENT_KINDS. With `text`, only MessageEvent remains. */
  readonly kinds: ReadonlySet<EventKind> | null
  readonly source: Source | null
  readonly text: string | null
  /** Microseconds since 1970; `from` is inclusive, `until` exclusive. */
  readonly from: bigint | null
  readonly until: bigint | null
  readonly leafId: string | null
}

/** A checked query: at most `limit` events after `after`, ordered by (time, seq). */
export interface CheckedEventQuery extends CheckedEventFilter, CheckedPage<EventPlace> {
  /** Total size of bodies, in bytes, at which a page ends; null for no maximum. */
  readonly maxBytes: number | null
  readonly refs: boolean
}

export interface EventPlace {
  readonly time: bigint
  readonly seq: number
}

const OPTIONS =
  'conversationId kinds excludeKinds source text timestampGte timestampLt leafId order cursor limit maxBytes blobs'

/**
 * Checks a filter of events. O(kinds). @throws `invalid_query` with `data.field`; `invalid_argument` for an
 * unknown option.
 * @example
 * checkEventFilter({ conversationId: 'c', timestampGte: '1970-01-01T00:00:01Z' }).from // 1000000n
 */
export function checkEventFilter(filter: EventFilter): CheckedEventFilter {
  checkOptionNames(filter, OPTIONS)
  const text = checkText('text', filter.text)
  return {
    conversationId:
      checkId('conversationId', filter.conversationId) ?? invalidQuery('conversationId', 'is missing'),
    kinds: kindsOf(filter, text !== null),
    source: checkOneOf('source', filter.source, SOURCES),
    text: text === null ? null : foldText(text),
    from: checkInstant('timestampGte', filter.timestampGte),
    until: checkInstant('timestampLt', filter.timestampLt),
    leafId: checkId('leafId', filter.leafId),
  }
}

/**
 * Checks a query of events. O(kinds + length of the cursor).
 * @throws `invalid_query` with `data.field`; `invalid_cursor` with `data.reason`; `invalid_argument` for an
 *   unknown option.
 * @example
 * const query = checkEventQuery({ conversationId: 'c' })
 * query.limit // 100
 * checkEventQuery({ conversationId: 'c', cursor: eventCursor(query, { time: '7', seq: 3 }) }).after // { time: 7n, seq: 3 }
 */
export function checkEventQuery(query: EventQuery): CheckedEventQuery {
  const filter = checkEventFilter(query)
  const order = checkOneOf('order', query.order, ['timestamp', 'timestamp_desc']) ?? 'timestamp'
  const scope = scopeOf('events', order, filter)
  return {
    ...filter,
    descending: order === 'timestamp_desc',
    limit: checkInteger('limit', query.limit, 1, MAX_PAGE_SIZE, MAX_PAGE_SIZE),
    scope,
    after: placeAfter(scope, query.cursor, ([digits = '', seq = '']) => {
      const time = timeInKey(digits)
      return time !== null && /^\d{1,15}$/.test(seq) ? { time, seq: Number(seq) } : null
    }),
    maxBytes: checkInteger('maxBytes', query.maxBytes, 1, Number.MAX_SAFE_INTEGER, null),
    refs: checkOneOf('blobs', query.blobs, BLOB_MODES) === 'refs',
  }
}

/** Returns the cursor of the page after this event. O(length of the scope). */
export const eventCursor = (
  { scope }: Pick<CheckedEventQuery, 'scope'>,
  { time, seq }: EventPlace | Pick<StoredEvent, 'time' | 'seq'>,
): string => encodeCursor(scope, [String(time), String(seq)])

/** Checks options of a read. A null `from` is the first fact, or the last if `backward`. @throws `invalid_argument`. */
export function checkReadOptions(options: ReadOptions): {
  readonly from: number | null
  readonly backward: boolean
  readonly limit: number
  readonly refs: boolean
} {
  checkOptionNames(options, 'from direction limit blobs')
  return {
    from: checkInteger('from', options.from, 0, Number.MAX_SAFE_INTEGER, null, invalidArgument),
    backward:
      checkOneOf('direction', options.direction, ['forward', 'backward'], invalidArgument) === 'backward',
    limit: checkInteger('limit', options.limit, 1, Number.MAX_SAFE_INTEGER, 1000, invalidArgument),
    refs: checkOneOf('blobs', options.blobs, BLOB_MODES, invalidArgument) === 'refs',
  }
}

function kindsOf(filter: EventFilter, messagesOnly: boolean): ReadonlySet<EventKind> | null {
  const requested = kindList('kinds', filter.kinds)
  const excluded = kindList('excludeKinds', filter.excludeKinds) ?? []
  if (requested === null && excluded.length === 0 && !messagesOnly) return null
  const fits = (kind: EventKind): boolean =>
    (requested?.includes(kind) ?? true) &&
    !excluded.includes(kind) &&
    (!messagesOnly || kind === 'MessageEvent')
  return new Set(EVENT_KINDS.filter(fits))
}

function kindList(field: string, value: unknown): readonly EventKind[] | null {
  if (value === undefined || value === null) return null
  if (!Array.isArray(value)) return invalidQuery(field, 'must be a list of event kinds')
  return value.map((kind: unknown) =>
    isEventKind(kind) ? kind : invalidQuery(field, `may contain only the kinds ${EVENT_KINDS.join(', ')}`),
  )
}
