/**
 * Fills a database with conversations in one statement or transaction: a million through the service
 * would take too long.
 */

import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'

/** The database of a store. */
export type Location = { readonly file: string } | { readonly url: string; readonly schema: string }

/** Opens the store, which waits for the disk as by default. */
export const openStore = (location: Location): Store =>
  'file' in location
    ? sqliteStore({ file: location.file })
    : postgresStore({ url: location.url, schema: location.schema })

/** Microseconds between the creation of two conversations. */
const STEP = 1_000_000n

export const createdAt = (nth: number): bigint => BigInt(Date.UTC(2026, 0, 1)) * 1_000n + BigInt(nth) * STEP

/** One event finishes a conversation, the other pauses it. */
const REPLY =
  '{"kind":"MessageEvent","id":"e0","source":"agent","llm_message":{"role":"assistant","content":[{"type":"text","text":"Done."}]}}'
const PAUSE = '{"kind":"PauseEvent","id":"e0","source":"user"}'

/**
 * Every status, tag, parent and sandbox covers ten in ten thousand conversations, so that a page of ten
 * is full at any size. As many items; a hundred are due at any time.
 */
const SHARE = 100

export async function fill(location: Location, count: number): Promise<void> {
  const store = openStore(location)
  // Creates the tables.
  await store.getConversation('none')
  await store.close()
  if ('file' in location) fillSqlite(location.file, count)
  else await fillPostgres(location.url, location.schema, count)
}

function fillSqlite(file: string, count: number): void {
  const database = new DatabaseSync(file)
  const time = `${createdAt(0)} + i * ${STEP}`
  const rare = `i % ${SHARE} = 0`
  database.exec(`PRAGMA foreign_keys = OFF; PRAGMA cache_size = -200000; BEGIN;
    CREATE TEMP TABLE n (i INTEGER PRIMARY KEY);
    INSERT INTO n WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1}) SELECT i FROM n;
    INSERT INTO colloquy_conversation
      (conversation_id, title, title_folded, public, tags, metadata, parent_conversation_id, sandbox_id, status, created_at)
    SELECT 'c' || i, 'Title ' || i, 'title ' || i, 0, '{"group":"' || (i % ${SHARE}) || '"}', '{}',
      CASE WHEN i % ${SHARE} = 3 THEN 'c0' END, 's' || (i % ${SHARE}), CASE WHEN ${rare} THEN 'paused' ELSE 'finished' END, ${time} FROM n;
    INSERT INTO colloquy_tag (number, conversation_id, name, value, created_at)
    SELECT number, conversation_id, 'tag.group', tags ->> 'group', created_at FROM colloquy_conversation;
    INSERT INTO colloquy_log (number, conversation_id, created_at, updated_at, version, time, head_seq, head_id, head_lane,
      head_time, last_lane, last_lane_end)
    SELECT number, conversation_id, created_at, created_at, 1, created_at, 0, 'e0', 0, created_at, 0, 0 FROM colloquy_conversation;
    INSERT INTO colloquy_event (number, log, seq, witness, id, time, lane, kind, source, body)
    SELECT number, number, 0, 0, 'e0', created_at, 0, CASE status WHEN 'paused' THEN 'PauseEvent' ELSE 'MessageEvent' END,
      CASE status WHEN 'paused' THEN 'user' ELSE 'agent' END, CASE status WHEN 'paused' THEN '${PAUSE}' ELSE '${REPLY}' END
    FROM colloquy_conversation;
    INSERT INTO colloquy_lane (log, lane, time) SELECT number, 0, created_at FROM colloquy_conversation;
    INSERT INTO colloquy_item (collection, id, keys, due_at, body)
    SELECT 'bench', 'i' || i, '{}', CASE WHEN i < 100 THEN 0 ELSE 9000000000000 + i END, '{}' FROM n;
    DROP TABLE n; COMMIT; PRAGMA wal_checkpoint(TRUNCATE)`)
  database.close()
}

async function fillPostgres(url: string, schema: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const n = `generate_series(0, ${count - 1}) AS i`
  const time = `(${createdAt(0)} + i * ${STEP}::bigint)`
  const rare = `i % ${SHARE} = 0`
  for (const statement of [
    `INSERT INTO ${schema}.conversation (conversation_id, title, title_folded, public, tags, metadata, parent_conversation_id,
      sandbox_id, status, created_at)
    SELECT 'c' || i, 'Title ' || i, 'title ' || i, 0, '{"group":"' || (i % ${SHARE}) || '"}', '{}',
      CASE WHEN i % ${SHARE} = 3 THEN 'c0' END, 's' || (i % ${SHARE}), CASE WHEN ${rare} THEN 'paused' ELSE 'finished' END,
      ${time} FROM ${n}`,
    `INSERT INTO ${schema}.tag (number, conversation_id, name, value, created_at)
    SELECT number, conversation_id, 'tag.group', tags::json ->> 'group', created_at FROM ${schema}.conversation`,
    `INSERT INTO ${schema}.log (number, conversation_id, created_at, updated_at, version, time, head_seq, head_id, head_lane,
      head_time, last_lane, last_lane_end)
    SELECT number, conversation_id, created_at, created_at, 1, created_at, 0, 'e0', 0, created_at, 0, 0
    FROM ${schema}.conversation`,
    `INSERT INTO ${schema}.event (log, seq, id, time, lane, kind, source, body)
    SELECT number, 0, 'e0', created_at, 0, CASE status WHEN 'paused' THEN 'PauseEvent' ELSE 'MessageEvent' END,
      CASE status WHEN 'paused' THEN 'user' ELSE 'agent' END, CASE status WHEN 'paused' THEN '${PAUSE}' ELSE '${REPLY}' END
    FROM ${schema}.conversation`,
    `INSERT INTO ${schema}.lane (log, lane, time) SELECT number, 0, created_at FROM ${schema}.conversation`,
    `INSERT INTO ${schema}.item (collection, id, due_at, keys, body)
    SELECT 'bench', 'i' || i, CASE WHEN i < 100 THEN 0 ELSE 9000000000000 + i END, '{}', '{}' FROM ${n}`,
    `VACUUM ANALYZE`,
    `CHECKPOINT`,
  ])
    await client.query(statement)
  await client.end()
}
