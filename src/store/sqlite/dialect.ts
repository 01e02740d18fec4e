import type { Fact } from '../../event/quarantine.ts'
import type { AppendOptions } from '../contract/store.ts'
import { type FeedPage, SHARDS } from '../contract/feed.ts'
import type { Item, ItemClaim } from '../contract/items.ts'
import { isColloquyError } from '../../event/errors.ts'
import { attempt } from '../../event/json.ts'
import { unknownConversation } from '../kit/errors.ts'
import {
  type CheckedFeedQuery,
  feedEnd,
  type FeedPart,
  type FeedRow,
  positionNumber,
  planFeed,
  rowsFor,
  shardOf,
  FEED_CHANGE,
  VISITED_ROWS,
  WEIGHTS,
} from '../kit/feed.ts'
import type { AppendDecision } from '../kit/append/decide-append.ts'
import { type CheckedChange, itemConflict, itemOf } from '../kit/items.ts'
import { type EventRow, readObject } from '../kit/row.ts'
import {
  KnownLog,
  LOG_COLUMNS,
  type LogRow,
  appendResult,
  searchColumns,
  StaleLog,
  TIP_COLUMNS,
  tipValues,
} from '../sql/append.ts'
import { isTaken } from './errors.ts'
import {
  all,
  DESCENDING,
  type Dialect,
  type EventRange,
  type FeedTrimmer,
  first,
  joined,
  NOTHING,
  type RangeForm,
  sql,
  type SqlValue,
  type Statement,
  statement,
  type Work,
} from '../sql/dialect.ts'
import { EVENT_COLUMNS, eventReads } from '../sql/events.ts'
import { itemOfRow, type ItemRow } from '../sql/items.ts'
import { schemaOf } from '../sql/schema.ts'
import { blobReads, saveBlobs } from '../sql/blobs.ts'
import { type Digests, referencesText, splitBody } from '../kit/blobs.ts'
import { textRow } from '../sql/texts.ts'
import { TEXT_SCHEMA, writeTexts } from './texts.ts'

const table = (name: string): string => `colloquy_${name}`

/**
 * Number of events of a log that are indexed together, because each event alone would write a page of every
 * index. Reads visit the events that are not indexed yet. Existing databases depend on this number.
 */
const INDEXED_AT_ONCE = 32

const INDEXED = statement(String(INDEXED_AT_ONCE))

const indexedEnd = (version: number): number => version - (version % INDEXED_AT_ONCE)

const NEXT_POSITION = `1 + max(coalesce((SELECT max(number) FROM colloquy_event), 0),
  coalesce((SELECT max(position) FROM colloquy_feed), 0))`

export const SQLITE: Dialect = {
  table,
  by: (index) => ` INDEXED BY colloquy_${index}`,
  now: '?',
  greatest: 'max',
  find: 'instr',
  lock: '',
  elements: 'json_each(?) AS listed',
  entries: 'json_each(?) AS listed',
  lookUp: (name, alias, condition) => `CROSS JOIN ${table(name)} AS ${alias} ON ${condition}`,
  walk({ key, time, descending, start, end }) {
    const equal = key.map(([column, value]) => (value === null ? `${column} IS NULL` : `${column} = ?`))
    const beyond = `(${time}, conversation_id) ${descending ? '<' : '>'} (?, ?)`
    return {
      sql: [...equal, beyond, `${time} ${descending ? '>=' : '<'} ?`].join(' AND '),
      values: [...key.flatMap(([, value]) => value ?? []), start.time, start.id, end],
      order: [time, 'conversation_id'],
    }
  },
  deleteEvents: (conversationId) => [
    // Feed positions outlive their events, so that no reader loses its position.
    sql`INSERT INTO colloquy_feed (position, shard, witness, number, conversation_id, change, from_seq, until_seq)
    SELECT e.number, ${shardOf(conversationId)}, e.witness, e.log, ${conversationId}, ${FEED_CHANGE.events}, e.seq, e.seq + 1
    FROM changed CROSS JOIN colloquy_event AS e ON e.log = changed.number`,
    ...['event', 'event_id', 'event_kind'].map((name) =>
      statement(`DELETE FROM ${table(name)} WHERE log = (SELECT changed.number FROM changed)`),
    ),
    statement(
      `INSERT INTO colloquy_text_gone (log) SELECT changed.number FROM changed
      WHERE EXISTS (SELECT 1 FROM colloquy_text AS t WHERE t.log = changed.number)
        OR EXISTS (SELECT 1 FROM colloquy_text_pending AS t WHERE t.log = changed.number)`,
    ),
  ],
  withIds: (columns) => (conversationId, ids) =>
    sql`SELECT ${statement(columns)} FROM json_each(${ids}) AS listed CROSS JOIN colloquy_log AS l
    CROSS JOIN colloquy_event_id AS i ON i.log = l.number AND i.id = listed.value
    CROSS JOIN colloquy_event AS e ON e.number = i.number WHERE l.conversation_id = ${conversationId}
    UNION ALL SELECT ${statement(columns)} FROM colloquy_log AS l
    CROSS JOIN colloquy_event AS e ON e.log = l.number AND e.seq >= l.version - l.version % ${INDEXED}
    WHERE l.conversation_id = ${conversationId} AND e.lane IS NOT NULL
      AND e.id IN (SELECT listed.value FROM json_each(${ids}) AS listed)`,
  kinds: 'colloquy_event_kind',
  firstUnindexed: (version) => (version % INDEXED_AT_ONCE === 0 ? null : indexedEnd(version)),
  pageOfRanges,
  countRanges,
  textFits: 't.log NOT IN (SELECT log FROM colloquy_text_gone)',
  feedColumn: ', position',
  feedValue: `, ${NEXT_POSITION}`,
}

export const SCHEMA: readonly string[] = [
  ...schemaOf(
    SQLITE,
    {
      text: 'TEXT',
      int: 'INTEGER',
      big: 'INTEGER',
      bytes: 'BLOB',
      identityKey: 'INTEGER PRIMARY KEY AUTOINCREMENT',
      identity: 'INTEGER PRIMARY KEY AUTOINCREMENT',
      tableOptions: ' STRICT',
      // New rows of all logs are at the end of the table, so they share pages.
      eventPosition:
        '\n  number INTEGER PRIMARY KEY,\n  log INTEGER NOT NULL,\n  seq INTEGER NOT NULL,\n  witness INTEGER NOT NULL,',
      eventKey: '',
      feedPosition: '\n  position INTEGER PRIMARY KEY,',
      feedKey: '',
    },
    'colloquy_',
  ),
  'CREATE UNIQUE INDEX colloquy_event_seq ON colloquy_event (log, seq)',
  `CREATE TABLE colloquy_event_id (log INTEGER NOT NULL, id TEXT NOT NULL, number INTEGER NOT NULL,
  PRIMARY KEY (log, id)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE colloquy_event_kind (log INTEGER NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL,
  time INTEGER NOT NULL, seq INTEGER NOT NULL, number INTEGER NOT NULL,
  PRIMARY KEY (log, kind, source, time, seq)) STRICT, WITHOUT ROWID`,
  `CREATE TRIGGER colloquy_blob_unused AFTER DELETE ON colloquy_blob_use
  WHEN NOT EXISTS (SELECT 1 FROM colloquy_blob_use WHERE hash = OLD.hash)
  BEGIN DELETE FROM colloquy_blob WHERE hash = OLD.hash; END`,
  ...TEXT_SCHEMA,
]

/**
 * Splits a range into parts that SQLite can walk in an index. If only some events of the first or last time
 * are in the range, these events are a separate part.
 */
function boundsOf({ low, high }: EventRange): Statement[] {
  const [isLowPart, isHighPart] = [low.seq >= 0, high.seq >= 0]
  if (isLowPart && low.time === high.time)
    return [sql`w.time = ${low.time} AND w.seq > ${low.seq} AND w.seq < ${high.seq}`]
  return [
    ...(isLowPart ? [sql`w.time = ${low.time} AND w.seq > ${low.seq}`] : []),
    sql`w.time ${statement(isLowPart ? '>' : '>=')} ${low.time} AND w.time < ${high.time}`,
    ...(isHighPart ? [sql`w.time = ${high.time} AND w.seq < ${high.seq}`] : []),
  ]
}

const PLACES = statement('w.time AS time, w.seq AS seq, w.number AS number')
const COUNT = statement('count(*) AS count')
const WITH_EVENT = statement('CROSS JOIN colloquy_event AS e ON e.number = w.number')
const [EVENT, WALKED] = [statement('e'), statement('w')]

/** Returns a range's SELECTs. For a range of positions, they name an index, so that SQLite uses it and never sorts. */
function rangeStatements(form: RangeForm, range: EventRange, columns: Statement): Statement[] {
  const { log, isByKind, text } = form
  const { kind, source, lane, low, high } = range
  const event = isByKind ? EVENT : WALKED
  const joinedEvent = lane !== null || text !== null ? WITH_EVENT : NOTHING
  const rows = isByKind
    ? sql`colloquy_event_kind AS w ${joinedEvent} WHERE w.log = ${log} AND w.kind = ${kind} AND w.source = ${source}`
    : sql`colloquy_event AS w INDEXED BY colloquy_event_seq WHERE w.kind IS NOT NULL AND w.log = ${log}`
  const bounds = isByKind ? boundsOf(range) : [sql`w.seq > ${low.seq} AND w.seq < ${high.seq}`]
  const isInLane = lane === null ? NOTHING : sql` AND ${event}.lane = ${lane}`
  const hasText = text === null ? NOTHING : sql` AND instr(${event}.message, ${text}) > 0`
  return bounds.map((bound) => sql`SELECT ${columns} FROM ${rows} AND ${bound}${isInLane}${hasText}`)
}

/** Selects a page of events. SQLite walks each range in an index, and merges the walks without sorting. */
function pageOfRanges(
  form: RangeForm,
  ranges: readonly EventRange[],
  columns: Statement,
  limit: number,
): Statement {
  const parts = ranges.flatMap((range) => rangeStatements(form, range, PLACES))
  const way = form.descending ? DESCENDING : NOTHING
  const order = form.isByKind ? sql`time${way}, seq${way}` : sql`seq${way}`
  return sql`SELECT ${columns} FROM (${joined(parts, ' UNION ALL ')} ORDER BY ${order} LIMIT ${limit}) AS range
    CROSS JOIN colloquy_event AS e ON e.number = range.number`
}

function countRanges(form: RangeForm, ranges: readonly EventRange[]): Statement {
  const parts = ranges.flatMap((range) => rangeStatements(form, range, COUNT))
  return sql`SELECT sum(count) AS count FROM (${joined(parts, ' UNION ALL ')})`
}

const events = eventReads(SQLITE)

const FIND_LOG = `SELECT ${LOG_COLUMNS} FROM colloquy_log WHERE conversation_id = ?`

const insertEvent = (
  log: string,
): string => `INSERT INTO colloquy_event (number, seq, witness, id, parent_id, time, lane, kind, source,
  message, body, blobs, log) VALUES (${NEXT_POSITION}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${log})`

const INSERT_EVENT = insertEvent('?')

/** Inserts an event. If the log or lease is not as assumed, or the id exists, `log` is null, so the insertion fails. */
const INSERT_NEXT_EVENT =
  insertEvent(`(SELECT number FROM colloquy_log AS l WHERE number = ? AND version = ? AND head_id IS ?
  AND time_zone IS ? AND text_version = ? AND (? IS NULL OR (lease_owner = ? AND lease_generation = ?))
  AND NOT EXISTS (SELECT 1 FROM colloquy_event_id AS i WHERE i.log = l.number AND i.id = ?)
  AND (? OR NOT EXISTS (SELECT 1 FROM colloquy_event AS e WHERE e.log = l.number AND e.seq >= ? AND e.id = ?)))`)

const INDEX_EVENTS = [
  `INSERT INTO colloquy_event_id (log, id, number) SELECT log, id, number FROM colloquy_event
  WHERE log = ? AND seq >= ? AND seq < ? AND lane IS NOT NULL`,
  `INSERT INTO colloquy_event_kind (log, kind, source, time, seq, number)
  SELECT log, kind, source, time, seq, number FROM colloquy_event
  WHERE log = ? AND seq >= ? AND seq < ? AND kind IS NOT NULL`,
]

const INSERT_LANE = `INSERT INTO colloquy_lane (log, lane, time, parent_lane, parent_seq, parent_time)
  VALUES (?, ?, ?, ?, ?, ?)`

const UPDATE_LOG = `UPDATE colloquy_log SET updated_at = max(updated_at, ?), ${TIP_COLUMNS.map((name) => `${name} = ?`).join(', ')},
  text_version = ? WHERE number = ?`

export interface Appended {
  readonly decision: AppendDecision
  readonly log: KnownLog
}

/**
 * Appends facts. To save look-ups, first assumes that the id of a single event is new, and that `known` (the
 * log after this store's last append) is current. If the insertion fails, decides again on the stored log.
 */
export function* append(
  conversationId: string,
  facts: readonly Fact[],
  options: AppendOptions,
  known: KnownLog | null,
  now: bigint,
  fullText: boolean,
): Work<Appended> {
  let appended = known === null ? null : yield* appendNew(known, facts, options, now, fullText)
  if (appended === null) {
    const row = yield* first<LogRow>(FIND_LOG, conversationId)
    if (row === undefined) throw unknownConversation(conversationId)
    appended = yield* appendNew(new KnownLog(conversationId, row, events), facts, options, now, fullText)
    if (appended === null) {
      const log = new KnownLog(conversationId, row, events)
      const decision = yield* log.decide(facts, options)
      if (decision.added.length > 0) yield* write(log, decision, now, fullText, null)
      appended = { decision, log }
    }
  }
  const { within } = options
  const { decision } = appended
  if (within !== undefined && decision.added.length > 0)
    yield { callback: (handle) => within(handle, appendResult(decision)) }
  return appended
}

/** Appends an event if `log` is current and the event's id is new. Otherwise writes nothing, and returns null. */
function* appendNew(
  log: KnownLog,
  facts: readonly Fact[],
  options: AppendOptions,
  now: bigint,
  fullText: boolean,
): Work<Appended | null> {
  const id = facts.length === 1 ? facts[0]?.id : undefined
  if (typeof id !== 'string') return null
  try {
    const decision = yield* log.decide(facts, options, true)
    if (decision.added.length === 0) return null
    const { owner = null, generation = null } = options.lease ?? {}
    const { timeZone, textVersion, tip } = log
    const lease = [owner, owner, generation]
    const end = indexedEnd(tip.version)
    const ids = [id, Number(log.knownFrom <= end), end, id]
    const state = [tip.version, tip.head?.id ?? null, timeZone, textVersion, ...lease, ...ids]
    yield* write(log, decision, now, fullText, state)
    return { decision, log }
  } catch (error) {
    if (!isTaken(error) && !isColloquyError(error) && !(error instanceof StaleLog)) throw error
    // The append was rejected, or an assumption is wrong: the stored log decides.
    return null
  }
}

function* write(
  log: KnownLog,
  decision: AppendDecision,
  now: bigint,
  fullText: boolean,
  assumed: readonly SqlValue[] | null,
): Work<void> {
  const { number } = log
  const { added, opened, tip } = decision
  const before = log.tip.version
  log.advance(decision, fullText)
  const digests: Digests = new Map()
  for (const placed of added) {
    const { event, time, node } = placed
    const { kind, source, message } = searchColumns(placed)
    const { seq, id, parentId, fact } = event
    const split = splitBody(fact, digests)
    const body = split?.body ?? JSON.stringify(fact)
    const blobs = split === null ? null : referencesText(split.strings)
    // oxfmt-ignore
    const values = [
      seq, Math.floor(Math.random() * 2 ** 32), id, parentId, time, node?.lane ?? null, kind, source, message, body, blobs, number,
    ]
    yield assumed === null
      ? statement(INSERT_EVENT, ...values)
      : statement(INSERT_NEXT_EVENT, ...values, ...assumed)
    if (split !== null) yield* saveBlobs(SQLITE, number, seq, split.strings)
  }
  for (const { lane, time, parent } of opened) {
    const { lane: parentLane = null, seq = null, time: parentTime = null } = parent ?? {}
    yield statement(INSERT_LANE, number, lane, time, parentLane, seq, parentTime)
  }
  const indexed = [indexedEnd(before), indexedEnd(tip.version)] as const
  if (indexed[0] < indexed[1]) for (const sql of INDEX_EVENTS) yield statement(sql, number, ...indexed)
  yield statement(UPDATE_LOG, now, ...tipValues(tip, log.isSearchable), log.textVersion, number)
  // If the text index lacks earlier events, `TextIndexer` adds these later, in order.
  if (fullText && log.textVersion === tip.version)
    yield* writeTexts(
      number,
      added.flatMap(({ event, time, node }) => textRow(event, node !== null, time) ?? []),
    )
}

type HeldItem = Pick<ItemRow, 'version' | 'keys'>

const FIND_ITEM = 'SELECT version, keys FROM colloquy_item WHERE collection = ? AND id = ?'

/** The item's version is the new row's number, which is unique. */
const PUT_ITEM = `REPLACE INTO colloquy_item (collection, id, keys, due_at, body) VALUES (?, ?, ?, ?, ?) RETURNING version`

/** Changes items. `now` in milliseconds. */
export function* changeItems(changes: readonly CheckedChange[], now: number): Work<(Item | null)[]> {
  const before: (HeldItem | null)[] = []
  for (const { collection, id } of changes)
    before.push((yield* first<HeldItem>(FIND_ITEM, collection, id)) ?? null)
  for (const [index, change] of changes.entries()) {
    const version = before[index]?.version ?? null
    if (change.expected !== undefined && change.expected !== version)
      throw itemConflict(change, version === null ? null : Number(version))
  }
  const items: (Item | null)[] = []
  for (const [index, change] of changes.entries()) {
    const { put, collection, id } = change
    const keys = before[index]?.keys
    let item: Item | null = null
    if (put === null && keys !== undefined)
      yield statement('DELETE FROM colloquy_item WHERE collection = ? AND id = ?', collection, id)
    if (put !== null && put !== undefined) {
      const dueAt = put.dueIn === null ? null : now + put.dueIn
      const values = [JSON.stringify(put.keys), dueAt, JSON.stringify(put.body)]
      const row = yield* first<{ readonly version: number }>(PUT_ITEM, collection, id, ...values)
      item = itemOf(change, put, row?.version ?? 0, dueAt)
    }
    if (put !== undefined) yield* changeKeys(change, keys ?? '{}', put?.keys ?? {})
    items.push(item)
  }
  return items
}

/** Claims items that are due at `now`, a time in milliseconds. */
export function* claimItems(
  collection: string,
  { ttl, limit }: Required<ItemClaim>,
  now: number,
): Work<Item[]> {
  const rows = yield* all<ItemRow>(
    sql`REPLACE INTO colloquy_item (collection, id, keys, due_at, body)
    SELECT collection, id, keys, ${now + ttl}, body FROM colloquy_item INDEXED BY colloquy_item_due
    WHERE collection = ${collection} AND due_at <= ${now} ORDER BY due_at, id LIMIT ${limit}
    RETURNING collection, id, version, due_at AS due, keys, body`,
  )
  // SQLite returns the rows in any order, but numbers them in the order of the selection.
  return rows.toSorted((a, b) => Number(a.version) - Number(b.version)).map(itemOfRow)
}

function* changeKeys(
  { collection, id }: Pick<Item, 'collection' | 'id'>,
  heldKeys: string,
  after: Item['keys'],
): Work<void> {
  const before = attempt(() => readObject(heldKeys, 'An item', { collection, id }), null)
  // The row is damaged, so the whole collection is searched for its keys.
  if (before === null)
    yield statement('DELETE FROM colloquy_item_key WHERE collection = ? AND id = ?', collection, id)
  for (const [name, value] of Object.entries((before ?? {}) as Item['keys']))
    if (after[name] !== value)
      yield sql`DELETE FROM colloquy_item_key
        WHERE collection = ${collection} AND name = ${name} AND value = ${value} AND id = ${id}`
  for (const [name, value] of Object.entries(after))
    if (before?.[name] !== value)
      yield sql`INSERT INTO colloquy_item_key (collection, name, value, id)
        VALUES (${collection}, ${name}, ${value}, ${id})`
}

const feedSql = (where: string): string =>
  `SELECT number AS position, witness, log, ${FEED_CHANGE.events} AS change, seq AS "from", seq + 1 AS "until",
    NULL AS id, NULL AS shard FROM colloquy_event WHERE number ${where}
  UNION ALL SELECT position, witness, number, change, from_seq, until_seq, conversation_id, shard
    FROM colloquy_feed WHERE position ${where}`

const SHARD = `(${WEIGHTS.map(
  (weight, index) => `${weight} * coalesce(unicode(substr(log.conversation_id, ${-1 - index}, 1)), 0)`,
).join(' + ')}) % ${SHARDS}`

export const FEED_LAST = `${feedSql('> 0')} ORDER BY position DESC LIMIT 1`

/**
 * Selects the row at a position, in any shard, and later rows of a shard (null: of all shards), up to a limit.
 * Another limit applies to all visited rows: the feed has no index by shard, because it would slow down appends.
 */
export const FEED_ROWS = `SELECT feed.*, coalesce(feed.id, log.conversation_id) AS conversationId, log.number IS NOT NULL AS isThere
  FROM (${feedSql('>= ?')} ORDER BY position LIMIT ?) AS feed LEFT JOIN colloquy_log AS log ON log.number = feed.log
  WHERE feed.position = ? OR coalesce(?, feed.shard, ${SHARD}) = coalesce(feed.shard, ${SHARD}) LIMIT ?`

const FEED_VISITED = `${feedSql('>= ?')} ORDER BY position LIMIT 1 OFFSET ?`

const IS_BEHIND = `SELECT 1 FROM colloquy_feed AS mark WHERE mark.position < 0 AND mark.shard = coalesce(?, mark.shard)
  AND mark.number > ? LIMIT 1`

const FEED_EVENTS = `SELECT ${EVENT_COLUMNS}, e.number FROM json_each(?) AS listed
  CROSS JOIN colloquy_event AS e ON e.number = listed.value`

/** Returns the trimmer of the feed. Each call of `trim` continues where the previous call stopped. */
export function feedTrimmer(keep: number): FeedTrimmer {
  let from = 0
  const findEnd = function* (): Work<number> {
    return ((yield* first<FeedEnd>(FEED_LAST))?.position ?? 0) - keep
  }
  const trim: FeedTrimmer['trim'] = function* (positions) {
    const end = yield* findEnd()
    const visited = yield* first<Pick<FeedEnd, 'position'>>(
      sql`SELECT position FROM colloquy_feed WHERE position > ${from} AND position <= ${end}
      ORDER BY position LIMIT 1 OFFSET ${VISITED_ROWS - 1}`,
    )
    const to = visited?.position ?? end
    const bounds = JSON.stringify(positions.map((position) => position && Number(position[0])))
    // Deletes rows of deleted conversations, except rows that a follower must still read.
    const removed = yield* all<Pick<FeedEnd, 'position' | 'change'> & { readonly shard: number }>(
      sql`DELETE FROM colloquy_feed AS feed WHERE feed.position > ${from} AND feed.position <= ${to}
        AND feed.position < coalesce(json_extract(${bounds}, '$[' || feed.shard || ']'), feed.position + 1)
        AND NOT EXISTS (SELECT 1 FROM colloquy_log AS log WHERE log.number = feed.number)
      RETURNING shard, position, change`,
    )
    // A row for the shard, with a negative position. Its `number` is the position of the last removed
    // deletion.
    for (const { shard, position, change } of removed)
      if (change === FEED_CHANGE.deleted)
        yield sql`INSERT INTO colloquy_feed (position, shard, witness, number, conversation_id, change, from_seq, until_seq)
          VALUES (-1 - ${shard}, ${shard}, 0, ${position}, '', ${change}, 0, 0)
          ON CONFLICT (position) DO UPDATE SET number = max(number, excluded.number)`
    from = to < end ? to : 0
  }
  return {
    trim,
    *isLong() {
      return (yield* findEnd()) > 0
    },
  }
}

export interface FeedEnd {
  readonly position: number
  readonly witness: number
  readonly change: number
  readonly from: number
  readonly until: number
  readonly log: number
}

export interface FeedEntry extends FeedEnd {
  readonly conversationId: string
  readonly isThere: number
}

export function* readFeed(query: CheckedFeedQuery): Work<FeedPage> {
  const { shard, fromEnd } = query
  if (fromEnd) return feedEnd(query, endOf(yield* first<FeedEnd>(FEED_LAST)))
  const looked = rowsFor(query) * (shard === null ? 1 : SHARDS)
  const from = positionNumber(query)
  // The cheapest statement is first, because a unit of work repeats its first statement in a transaction.
  const reached = Math.max(from, Number(query.after?.start ?? 0))
  const isBehind = (yield* first(IS_BEHIND, shard, reached)) !== undefined
  const newest = query.after === null ? yield* first<FeedEnd>(FEED_LAST) : undefined
  const entries = yield* all<FeedEntry>(FEED_ROWS, from, from, looked, from, shard, rowsFor(query))
  // If a shard has few rows, its page ends after the maximum number of visited rows.
  const end =
    shard === null || entries.length === rowsFor(query)
      ? undefined
      : yield* first<FeedEnd>(FEED_VISITED, from, from, looked - 1)
  const plan = planFeed(
    query,
    entries.map((row) => rowOf(row, isBehind)),
    endOf(end),
    endOf(newest),
  )
  const parts = new Map(
    plan.parts.flatMap((part) =>
      part.row.change === FEED_CHANGE.events ? [[Number(part.row.position), part]] : [],
    ),
  )
  const numbers = JSON.stringify([...parts.keys()])
  const rows = yield* all<EventRow & { readonly number: number }>(FEED_EVENTS, numbers)
  return yield* blobReads(SQLITE).fillPage(plan, rows, ({ number }) => parts.get(number) as FeedPart)
}

const rowOf = (row: FeedEntry, isBehind = false): FeedRow => ({
  ...row,
  position: String(row.position),
  witness: String(row.witness),
  isThere: row.isThere === 1,
  isBehind,
})

const endOf = (end: FeedEnd | undefined): FeedRow | undefined =>
  end && rowOf({ ...end, conversationId: '', isThere: 0 })
