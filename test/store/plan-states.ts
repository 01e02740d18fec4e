/** Planner statistics of PostgreSQL, and databases that produce them. */

/** Number of conversations that are added to the tested ones. */
export const OTHERS = 20_000

/** A server full of conversations with one event each, then ANALYZE. */
const MANY = [
  `INSERT INTO colloquy.conversation
    (conversation_id, title, title_folded, public, tags, metadata, parent_conversation_id, sandbox_id, owner, status, created_at)
  SELECT 't' || i, 't' || i, 't' || i, 1 - i % 2, CASE WHEN i % 3 = 0 THEN '{"a":"x","b":"y"}' ELSE '{}' END, '{}',
    CASE WHEN i % 5 = 0 THEN 'p' END, CASE WHEN i % 7 = 0 THEN 's' END, CASE WHEN i % 9 = 0 THEN 'o' END, 'idle', i
  FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO colloquy.tag (number, conversation_id, name, value, created_at)
  SELECT number, conversation_id, 'tag.' || key, value, created_at FROM colloquy.conversation
  CROSS JOIN LATERAL json_each_text(tags::json) ON CONFLICT DO NOTHING`,
  `INSERT INTO colloquy.log (number, conversation_id, created_at, updated_at)
  SELECT number, conversation_id, created_at, created_at FROM colloquy.conversation WHERE conversation_id LIKE 't%'`,
  `INSERT INTO colloquy.event (log, seq, lane, time, id, kind, source, body)
  SELECT number, 0, 0, created_at, 'e0', 'PauseEvent', 'user', '{"kind":"PauseEvent"}'
  FROM colloquy.log WHERE conversation_id LIKE 't%'`,
  `INSERT INTO colloquy.lane (log, lane, time) SELECT number, 0, 0 FROM colloquy.log WHERE conversation_id LIKE 't%'`,
  `INSERT INTO colloquy.snapshot SELECT number, 1 FROM colloquy.log WHERE conversation_id LIKE 't%'`,
  `INSERT INTO colloquy.snapshot_part SELECT number, 1, 0, '' FROM colloquy.log WHERE conversation_id LIKE 't%'`,
  `INSERT INTO colloquy.item (collection, id, due_at, keys, body)
  SELECT 'plans', 't' || i, 9e15, '{"k":"v"}', '{}' FROM generate_series(1, ${OTHERS}) i`,
  `INSERT INTO colloquy.item_key SELECT 'plans', 'k', 'v', 't' || i FROM generate_series(1, ${OTHERS}) i`,
  'ANALYZE',
]

/** Stale statistics, of one event per conversation: every index on the conversation looks unique. */
const ONE_EACH = [
  'ALTER TABLE colloquy.event ALTER log SET (n_distinct = -1)',
  'ANALYZE colloquy.event',
  `UPDATE pg_statistic SET stakind1 = 0, stakind2 = 0, stakind3 = 0, stakind4 = 0, stakind5 = 0
  WHERE starelid = 'colloquy.event'::regclass AND staattnum = 1`,
  'ALTER TABLE colloquy.event ALTER log RESET (n_distinct)',
]

const refilled = (index: string, percent: number): string[] => [
  `ALTER INDEX colloquy.${index} SET (fillfactor = ${percent})`,
  `REINDEX INDEX colloquy.${index}`,
]

/**
 * Statistics that the planner may have. It chooses between two indexes by their depth, which depends on the size
 * of the database. Nearly empty pages make an index deep.
 */
export const STATES: readonly State[] = [
  { name: 'without statistics' },
  { name: 'after ANALYZE', statements: ['ANALYZE'] },
  ...['event_pkey', 'event_id', 'event_kind'].map((index) => ({
    name: `with stale statistics of one event per conversation and a deep index ${index}`,
    statements: [...ONE_EACH, ...refilled(index, 10)],
    after: refilled(index, 100),
    modes: ['force_generic_plan'],
    lists: false,
  })),
  { name: 'with 20,000 conversations of one event', isFull: true, statements: MANY },
]

export interface State {
  readonly name: string
  readonly statements?: readonly string[]
  readonly after?: readonly string[]
  readonly modes?: readonly string[]
  readonly lists?: boolean
  readonly isFull?: boolean
}
