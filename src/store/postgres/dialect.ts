import { type FeedPage, SHARDS } from '../contract/feed.ts'
import type { Item, ItemClaim } from '../contract/items.ts'
import type { CheckedFeedQuery, FeedPart, FeedRow } from '../kit/feed.ts'
import { feedEnd, planFeed, rowsFor, FEED_CHANGE, VISITED_ROWS } from '../kit/feed.ts'
import { type CheckedChange, itemConflict, itemOf } from '../kit/items.ts'
import { compareIds } from '../kit/record.ts'
import type { Bigint, EventRow } from '../kit/row.ts'
import {
  all,
  confirm,
  DESCENDING,
  type Dialect,
  type EventRange,
  type FeedTrimmer,
  first,
  NOTHING,
  type RangeForm,
  sql,
  type SqlValue,
  type Statement,
  statement,
  type Table,
  type Work,
} from '../sql/dialect.ts'
import { blobReads } from '../sql/blobs.ts'
import { EVENT_COLUMNS } from '../sql/events.ts'
import { ITEM_COLUMNS, itemOfRow, type ItemRow } from '../sql/items.ts'

/** SQL for the current time in microseconds since 1970. A float is fast, and exact until the year 2255. */
export const NOW = `(date_part('epoch', clock_timestamp()) * 1000000)::bigint`

/** SQL for a feed row's moment (a number). The conversation's row must already be locked; see `feed_moment`. */
export const FEED_MOMENT = `greatest(
    pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1
  )`

/** Settings of `synchronous_commit` that lose acknowledged writes in a crash or a failover (design D12). */
const WEAK = `('off', 'local', 'remote_write')`

/** Makes this transaction's commit wait for the disk, and for the synchronous standby if there is one. */
export const BE_DURABLE = `SELECT CASE WHEN current_setting('synchronous_commit') IN ${WEAK}
  THEN set_config('synchronous_commit', 'on', true) END`

export const DURABLE = `(${BE_DURABLE}) AS durable`

export function postgresDialect(schema: string): Dialect {
  const table = (name: Table): string => `${schema}.${name}`
  const elements = 'json_array_elements_text(CAST(? AS json)) AS listed (value)'
  // Only the index of ids fits both this range and this order, so the planner uses it.
  const withId = `CROSS JOIN LATERAL (SELECT * FROM ${table('event')} AS e WHERE e.log = l.number
    AND e.id BETWEEN listed.value AND listed.value AND e.lane IS NOT NULL ORDER BY e.id LIMIT 1) AS e`
  return {
    table,
    by: () => '',
    now: `coalesce(CAST(? AS bigint), ${NOW})`,
    greatest: 'greatest',
    find: 'strpos',
    lock: ' FOR NO KEY UPDATE',
    elements,
    entries: 'json_each_text(CAST(? AS json)) AS listed (key, value)',
    // Forces a look-up for each row. The planner would read the whole of a table that seems to be short.
    lookUp: (name, alias, condition, order) =>
      `CROSS JOIN LATERAL (SELECT * FROM ${table(name)} AS ${alias} WHERE ${condition}${
        order === undefined ? '' : ` ORDER BY ${order}`
      } LIMIT 1) AS ${alias}`,
    // Bounds and order begin with all columns of one index, so that no other index has the order.
    walk({ key, time, descending, start, end }) {
      const prefix = key.flatMap(([column, value]) => (value === null ? [] : [column]))
      const values = key.flatMap(([, value]) => value ?? [])
      const marks = values.map(() => '?, ').join('')
      const columns = [...prefix, time].join(', ')
      const isNull = key.flatMap(([column, value]) => (value === null ? [`${column} IS NULL`] : []))
      return {
        sql: [
          ...isNull,
          `(${columns}, conversation_id) ${descending ? '<' : '>'} (${marks}?, ?)`,
          `(${columns}) ${descending ? '>=' : '<'} (${marks}?)`,
        ].join(' AND '),
        values: [...values, start.time, start.id, ...values, end],
        order: [...key.map(([column]) => column), time, 'conversation_id'],
      }
    },
    withIds: (columns) => {
      const text = `SELECT ${columns} FROM ${elements} CROSS JOIN ${table('log')} AS l ${withId} WHERE l.conversation_id = ?`
      return (conversationId, ids) => statement(text, ids, conversationId)
    },
    kinds: table('event'),
    firstUnindexed: () => null,
    // A trigger deletes them, see `drop_events`.
    deleteEvents: () => [],
    pageOfRanges: (form, ranges, columns, limit) =>
      pageOfRanges(table('event'), form, ranges, columns, limit),
    countRanges: (form, ranges) => countRanges(table('event'), form, ranges),
    // Texts are deleted with their log.
    textFits: '',
    feedColumn: ', moment',
    feedValue: `, ${schema}.feed_moment()`,
  }
}

/** Returns SQL for all ranges as one value, because `unnest` with a list for each column is several times slower. */
function rowsOf(ranges: readonly EventRange[]): Statement {
  const rows = ranges.map(({ kind, source, lane, low, high }) => {
    const times = { low_time: String(low.time), high_time: String(high.time) }
    return { kind, source, lane, low_seq: String(low.seq), high_seq: String(high.seq), ...times }
  })
  return sql`json_to_recordset(CAST(${JSON.stringify(rows)} AS json))
    AS r (kind text, source text, lane int, low_time bigint, low_seq bigint, high_time bigint, high_seq bigint)`
}

/**
 * Returns SQL that selects the rows of a range `r`, in order. The bounds and ORDER BY both start with all
 * columns of one index, so only this index returns rows in this order. For a range of positions, the
 * condition on `kind` is written so that PostgreSQL cannot use a partial index.
 */
function rangeSql(
  event: string,
  form: RangeForm,
  ranges: readonly EventRange[],
  selected: string,
): Statement {
  const { isByKind, text } = form
  const columns = isByKind ? 'e.kind, e.source, e.time, e.seq' : 'e.seq'
  const bound = (name: string): string =>
    isByKind ? `r.kind, r.source, r.${name}_time, r.${name}_seq` : `r.${name}_seq`
  const isFound = isByKind ? 'e.kind IS NOT NULL' : "coalesce(e.kind, '') <> ''"
  const isInLane = `AND e.lane ${isByKind ? '=' : 'IS NOT DISTINCT FROM'} r.lane`
  return sql`SELECT ${statement(selected)} FROM ${statement(event)} AS e WHERE e.log = ${String(form.log)}
    AND ${statement(`${isFound} AND (${columns}) > (${bound('low')}) AND (${columns}) < (${bound('high')})
    ${ranges.some(({ lane }) => lane !== null) ? isInLane : ''}`)}
    ${text === null ? NOTHING : sql`AND strpos(e.message, ${text}) > 0`}
    ORDER BY ${statement(columns.replaceAll(/(?=,|$)/g, form.descending ? ' DESC' : ''))}`
}

function pageOfRanges(
  event: string,
  form: RangeForm,
  ranges: readonly EventRange[],
  columns: Statement,
  limit: number,
): Statement {
  const way = form.descending ? DESCENDING : NOTHING
  return sql`SELECT ${columns} FROM ${rowsOf(ranges)} CROSS JOIN LATERAL (
      ${rangeSql(event, form, ranges, '*')} LIMIT ${limit}
    ) AS e ORDER BY e.time${way}, e.seq${way} LIMIT ${limit}`
}

const countRanges = (event: string, form: RangeForm, ranges: readonly EventRange[]): Statement =>
  sql`SELECT coalesce(sum(e.count), 0) AS count FROM ${rowsOf(ranges)} CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM (${rangeSql(event, form, ranges, '1 AS one')}) AS e
  ) AS e`

const numberOf = (value: Bigint | null | undefined): number | null =>
  value === null || value === undefined ? null : Number(value)

export function* changeItems(
  schema: string,
  changes: readonly CheckedChange[],
  now: bigint | null,
): Work<(Item | null)[]> {
  if (changes.length === 0) return []
  const values = changes.map(({ collection, id, expected, put }, index) => ({
    nth: index + 1,
    collection,
    id,
    expected: expected === null ? 0 : expected,
    put: put === undefined ? null : put !== null,
    due_in: put?.dueIn,
    keys: JSON.stringify(put?.keys ?? {}),
    body: JSON.stringify(put?.body ?? null),
  }))
  const rows = yield* all<{
    readonly nth: number
    readonly put_version: Bigint | null
    readonly put_due_at: Bigint | null
    readonly fits: boolean
  }>(`SELECT * FROM ${schema}.change_items(CAST(? AS json), ?)`, JSON.stringify(values), now)
  const byNumber = new Map(rows.map((row) => [row.nth - 1, row]))
  return changes.map((change, index) => {
    const row = byNumber.get(index)
    const version = numberOf(row?.put_version)
    if (row?.fits === false) throw itemConflict(change, version)
    if (version === null || change.put === undefined || change.put === null) return null
    return itemOf(change, change.put, version, numberOf(row?.put_due_at))
  })
}

/**
 * Claims due items, except items that other transactions claim or change. The due items are selected once,
 * whatever the plan. Rows are updated by physical address, because look-ups by id slow down with the number
 * of items. The limit is hidden from the planner, which would otherwise plan each claim again if many items
 * are due.
 */
export function* claimItems(
  schema: string,
  collection: string,
  { ttl, limit }: Required<ItemClaim>,
  now: bigint | null,
): Work<Item[]> {
  const time = sql`coalesce(CAST(${now} AS bigint), ${statement(NOW)}) / 1000`
  const item = statement(`${schema}.item`)
  const rows = yield* all<ItemRow & { readonly was: Bigint }>(
    sql`WITH due AS MATERIALIZED (
      SELECT i.ctid AS address, i.id, i.due_at AS was FROM ${item} i
      WHERE i.collection = ${collection} AND i.due_at <= (SELECT ${time})
      ORDER BY i.due_at, i.id LIMIT (SELECT CAST(${limit} AS bigint)) FOR UPDATE SKIP LOCKED
    )
    UPDATE ${item} i SET version = DEFAULT, due_at = ${time} + CAST(${ttl} AS bigint)
    FROM due, ${statement(DURABLE)}
    WHERE i.ctid = ANY (ARRAY(SELECT address FROM due)) AND i.collection = ${collection} AND i.id = due.id
    RETURNING ${statement(ITEM_COLUMNS)}, due.was`,
  )
  return rows.toSorted((a, b) => Number(a.was) - Number(b.was) || compareIds(a.id, b.id)).map(itemOfRow)
}

interface Row {
  readonly moment: Bigint
  readonly position: Bigint
  readonly witness: Bigint
  readonly number: Bigint
  readonly conversation_id: string
  readonly change: number
  readonly from_seq: number
  readonly until_seq: number
  readonly is_there: boolean
  readonly is_behind: boolean
}

/** Returns SQL for rows of one or all shards. Omits a row if a running transaction may insert another before it. */
function rowsSql(schema: string, shard: number | null, isAfter: boolean, order: string): string {
  const rows = (of: string): string => `SELECT f.* FROM ${schema}.feed f
    WHERE f.shard = ${of} AND f.moment >= 0 AND f.moment < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
    ${isAfter ? 'AND (f.moment, f.position) >= (p.moment, p.position)' : ''}
    ORDER BY f.moment ${order}, f.position ${order} LIMIT p.maximum`
  const from =
    shard === null
      ? `generate_series(0, ${SHARDS - 1}) AS s (shard) CROSS JOIN LATERAL (${rows('s.shard')}) r`
      : `LATERAL (${rows(String(shard))}) r`
  return `SELECT r.*, l.number IS NOT NULL AS is_there, (r.moment, r.position) = (p.moment, p.position) AND EXISTS (
      SELECT FROM generate_series(${shard ?? 0}, ${shard ?? SHARDS - 1}) AS s (shard) CROSS JOIN LATERAL (
        SELECT FROM ${schema}.feed m WHERE m.shard = s.shard AND m.moment = -1
        AND (m.witness, m.number) > (p.moment, p.position) AND (m.witness, m.number) > (p.start, p.start_position) LIMIT 1
      ) m
    ) AS is_behind
    FROM (
      SELECT CAST(? AS bigint) AS moment, CAST(? AS bigint) AS position, CAST(? AS bigint) AS start,
        CAST(? AS bigint) AS start_position, CAST(? AS bigint) AS maximum
    ) p
    CROSS JOIN LATERAL (
      SELECT r.* FROM ${from} ORDER BY r.moment ${order}, r.position ${order} LIMIT p.maximum
    ) r LEFT JOIN LATERAL (SELECT l.number FROM ${schema}.log l WHERE l.number = r.number LIMIT 1) l ON true
    ORDER BY r.moment ${order}, r.position ${order}`
}

/**
 * Returns a page of the feed. O(limit + log n) for a shard, O(64 · limit) for all. Waits for the standby if
 * there are new rows, so that neither returned items nor positions can be lost.
 */
export function* readFeed(schema: string, query: CheckedFeedQuery): Work<FeedPage> {
  const { shard, after, fromEnd } = query
  // A removed deletion may be later than the last row of its shard, but not than the last row of all shards.
  const newestOf = rowsSql(schema, fromEnd ? shard : null, false, 'DESC')
  const last = after === null ? yield* first<Row>(newestOf, 0, 0, 0, 0, 1) : undefined
  const newest = last && rowOf(last)
  if (fromEnd) return feedEnd(query, newest)
  const [moment = '0', position = '0'] = after?.position.split(' ') ?? []
  const [start = '0', startPosition = '0'] = after?.start.split(' ') ?? []
  const values = [moment, position, start, startPosition, rowsFor(query)]
  const rows = yield* all<Row>(rowsSql(schema, shard, true, 'ASC'), ...values)
  const plan = planFeed(query, rows.map(rowOf), undefined, newest)
  if (plan.page.reset) yield* settleFeed(schema)
  const wanted = plan.parts.filter(({ row }) => row.change === FEED_CHANGE.events)
  const events = wanted.length === 0 ? [] : yield* eventsOfParts(schema, wanted)
  if (rows.length > (after === null ? 0 : 1)) yield* confirm()
  return yield* blobReads(postgresDialect(schema)).fillPage(
    plan,
    events,
    ({ nth }) => wanted[nth - 1] as FeedPart,
  )
}

/** Reads the events of feed parts, each as a range of the primary key, whatever the planner estimates. */
const eventsOfParts = (
  schema: string,
  parts: readonly FeedPart[],
): Work<readonly (EventRow & { readonly nth: number })[]> =>
  all(
    `SELECT ${EVENT_COLUMNS}, w.nth::integer AS nth
    FROM unnest(CAST(? AS bigint[]), CAST(? AS integer[]), CAST(? AS integer[])) WITH ORDINALITY AS w (log, first, beyond, nth)
    CROSS JOIN LATERAL (
      SELECT * FROM ${schema}.event e WHERE e.log = w.log AND e.seq >= w.first AND e.seq < w.beyond ORDER BY e.seq LIMIT 100
    ) e ORDER BY w.nth, e.seq`,
    parts.map(({ row }) => String(row.log)),
    parts.map(({ from }) => String(from)),
    parts.map(({ until }) => String(until)),
  )

/**
 * Moves the rows of a restored dump to the start of the feed if this server has lower transaction numbers
 * than the dumped server. Otherwise, readers would not see these rows. O(shards), and once O(rows).
 */
export function* settleFeed(schema: string): Work<void> {
  yield statement(`UPDATE ${schema}.feed SET moment = least(moment, 0), witness = CASE WHEN moment < 0 THEN 0 ELSE witness END
  WHERE moment <> 0 AND EXISTS (
    SELECT FROM generate_series(0, 63) AS s (shard)
    WHERE (SELECT max(f.moment) FROM ${schema}.feed f WHERE f.shard = s.shard) > pg_snapshot_xmax(pg_current_snapshot())::text::bigint
  )`)
}

/**
 * Returns the trimmer of the feed. Each call of `trim` continues where the previous call stopped. In each
 * shard, a row with the moment -1 records the latest trimmed deletion: `witness` is its moment,
 * `number` its position.
 */
export function feedTrimmer(schema: string, keep: number): FeedTrimmer {
  let from: readonly SqlValue[] = [0, 0, 0]
  const newest = `SELECT max(r.position) AS position FROM generate_series(0, ${SHARDS - 1}) AS s (shard) CROSS JOIN LATERAL (
    SELECT f.position FROM ${schema}.feed f WHERE f.shard = s.shard ORDER BY f.moment DESC, f.position DESC LIMIT 1
  ) r`
  const trim: FeedTrimmer['trim'] = function* (positions) {
    const row = yield* first<Pick<Row, 'moment' | 'position'> & { readonly shard: number }>(
      `WITH visited AS MATERIALIZED (
        SELECT f.* FROM ${schema}.feed f WHERE (f.shard, f.moment, f.position) > (CAST(? AS int), CAST(? AS bigint), CAST(? AS bigint))
        ORDER BY f.shard, f.moment, f.position LIMIT ${VISITED_ROWS}
      ), newest AS (${newest}), removed AS (
        DELETE FROM ${schema}.feed f
        USING visited v, newest n, unnest(CAST(? AS bigint[]), CAST(? AS bigint[])) WITH ORDINALITY AS b (moment, position, nth)
        WHERE f.shard = v.shard AND f.moment = v.moment AND f.position = v.position AND f.moment >= 0 AND b.nth = v.shard + 1
        AND (v.moment, v.position) < (b.moment, b.position) AND v.position <= n.position - CAST(? AS bigint)
        AND NOT EXISTS (SELECT FROM ${schema}.log l WHERE l.number = v.number) RETURNING f.*
      ), marked AS (
        INSERT INTO ${schema}.feed AS m (shard, moment, position, witness, number, conversation_id, change, from_seq, until_seq)
        OVERRIDING SYSTEM VALUE
        SELECT DISTINCT ON (r.shard) r.shard, -1, 0, r.moment, r.position, '', r.change, 0, 0 FROM removed r
        WHERE r.change = ${FEED_CHANGE.deleted} ORDER BY r.shard, r.moment DESC, r.position DESC
        ON CONFLICT (shard, moment, position) DO UPDATE SET witness = excluded.witness, number = excluded.number
        WHERE (excluded.witness, excluded.number) > (m.witness, m.number)
      )
      SELECT shard, moment, position FROM visited ORDER BY shard, moment, position LIMIT 1 OFFSET ${VISITED_ROWS - 1}`,
      ...from,
      positions.map((position) => String(position?.[0] ?? LAST)),
      positions.map((position) => String(position === null ? LAST : (position[1] ?? 0))),
      keep,
    )
    from = row === undefined ? [0, 0, 0] : [row.shard, String(row.moment), String(row.position)]
  }
  return {
    trim,
    *isLong() {
      return Number((yield* first<{ readonly position: number | null }>(newest))?.position ?? 0) > keep
    },
  }
}

const LAST = 2n ** 63n - 1n

const rowOf = (row: Row): FeedRow => ({
  position: `${row.moment} ${row.position}`,
  witness: String(row.witness),
  conversationId: row.conversation_id,
  change: row.change,
  from: row.from_seq,
  until: row.until_seq,
  isThere: row.is_there,
  isBehind: row.is_behind,
  log: Number(row.number),
})
