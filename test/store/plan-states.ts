/** What the planner of PostgreSQL may have counted, and the databases that it counts. */

/** How many conversations are put beside those of the test. */
export const OTHERS = 20_000

/** As many conversations again as a server may have, of one event each; then the planner counts. */
const MANY = [
  `INSERT INTO colloquy.conversations
    (conversation_id, title_folded, public, tags, metadata, parent_conversation_id, sandbox_id, status, created_at, updated_at)
  SELECT 't' || i, 't' || i, i % 2 = 0, CASE WHEN i % 3 = 0 THEN '{a=x,b=y}' ELSE '{}' END::text[], '{}',
    CASE WHEN i % 5 = 0 THEN 'p' END, CASE WHEN i % 7 = 0 THEN 's' END, 'idle', i, i
  FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO colloquy.events
    (conversation_id, seq, lane, time, max_time, can_be_head, stamped, id, kind, source, body)
  SELECT 't' || i, 0, 0, i, i, true, true, 'e0', 'PauseEvent', 'user', '{"kind":"PauseEvent"}'
  FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO colloquy.lanes (conversation_id, lane, last_seq) SELECT 't' || i, 0, 0 FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO colloquy.snapshot_parts SELECT 't' || i, 0, '' FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO colloquy.items (collection, id, due_at, keys, body)
  SELECT 'plans', 't' || i, 9e15, '{"k":"v"}', '{}' FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO colloquy.item_keys SELECT 'plans', 'k', 'v', 't' || i FROM generate_series(1, ${OTHERS}) i`,
  'ANALYZE',
]

/**
 * As if counted while each conversation had one event: then any index that begins with the conversation seems to
 * lead to one row.
 */
const ONE_EACH = [
  'ALTER TABLE colloquy.events ALTER conversation_id SET (n_distinct = -1)',
  'ANALYZE colloquy.events',
  `UPDATE pg_statistic SET stakind1 = 0, stakind2 = 0, stakind3 = 0, stakind4 = 0, stakind5 = 0
  WHERE starelid = 'colloquy.events'::regclass AND staattnum = 1`,
  'ALTER TABLE colloquy.events ALTER conversation_id RESET (n_distinct)',
]

const refilled = (index: string, percent: number): string[] => [
  `ALTER INDEX colloquy.${index} SET (fillfactor = ${percent})`,
  `REINDEX INDEX colloquy.${index}`,
]

/**
 * What the planner may have counted. Which of two indexes it takes for the cheaper one goes by their depths, so by the
 * size that a database happens to have: a deep one is made by leaving its pages all but empty.
 */
export const STATES: readonly State[] = [
  { name: 'that was never counted' },
  { name: 'that was counted', statements: ['ANALYZE'] },
  ...['events_pkey', 'events_by_id', 'events_by_time', 'events_by_kind', 'events_by_lane'].map((index) => ({
    name: `that takes each event for a conversation, where ${index} is deep`,
    statements: [...ONE_EACH, ...refilled(index, 10)],
    after: refilled(index, 100),
    modes: ['force_generic_plan'],
    lists: false,
  })),
  { name: 'where most conversations have one event', isFull: true, statements: MANY },
]

/** A state of the database, and what brings it about. */
export interface State {
  readonly name: string
  readonly statements?: readonly string[]
  readonly after?: readonly string[]
  readonly modes?: readonly string[]
  readonly lists?: boolean
  readonly isFull?: boolean
}
