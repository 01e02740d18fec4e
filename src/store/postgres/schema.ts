/** Creates the schema of PostgreSQL: its tables, and the functions that the store calls. */

import { ColloquyError } from '../../event/errors.ts'
import { FEED_CHANGE } from '../kit/feed.ts'
import { LOG_COLUMNS, TIP_COLUMNS } from '../sql/append.ts'
import { schemaOf } from '../sql/schema.ts'
import { BE_DURABLE, FEED_MOMENT, NOW, postgresDialect } from './dialect.ts'
import { codeOf, type PostgresClient } from './driver.ts'
import { textStatements } from './texts.ts'

const VERSION = 1

/** The table of the version does not exist, or not yet. */
const MISSING = ['42P01', '3F000']

/** Another process created the same at once: the refused one finds it when it checks again. */
const OVERTAKEN = ['23505', '42P06', '42P07', '42723', '40001', '40P01', 'XX000']

const MAX_ATTEMPTS = 10

/** Isolation levels that see only the transaction's beginning: statements must reread behind locks. */
const STRICTER: readonly unknown[] = ['repeatable read', 'serializable']

export const FORBIDDEN = '42501'

/**
 * Creates the schema in one statement, which holds no client; reads one row where it exists. Safe for
 * concurrent processes.
 * @throws `store_newer`; `store_unavailable` where transactions are isolated more strictly than the store supports; what
 * the driver throws.
 */
export async function createSchema(client: PostgresClient, schemaName: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const { version, isolation } = await versionOf(client, schemaName)
    if (STRICTER.includes(isolation))
      throw new ColloquyError(
        'store_unavailable',
        `The transaction isolation is ${String(isolation)}, but the store requires read committed. ` +
          `Set default_transaction_isolation to 'read committed' for the user, with ALTER ROLE.`,
        { isolation },
      )
    if (version > VERSION)
      throw new ColloquyError(
        'store_newer',
        `The schema ${schemaName} has version ${version}, and this library supports versions up to ${VERSION}. Upgrade the library.`,
        { schema: schemaName, version, known: VERSION },
      )
    if (version === VERSION) return
    try {
      await client.query(creation(schemaName))
    } catch (error) {
      if (!OVERTAKEN.includes(codeOf(error)) || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

function creation(schemaName: string): string {
  const schema = quoteName(schemaName)
  return `DO $creation$
BEGIN
  IF current_setting('server_encoding') <> 'UTF8' THEN
    RAISE EXCEPTION 'the database must have the encoding UTF8, not %', current_setting('server_encoding');
  END IF;
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = ${quoteText(schemaName)}) THEN
    CREATE SCHEMA ${schema};
  END IF;
  CREATE TABLE ${schema}.schema_version (one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL);
  INSERT INTO ${schema}.schema_version (version) VALUES (${VERSION});
${schemaStatements(schema).join(';\n')};
END
$creation$`
}

interface Version {
  readonly version: number
  readonly isolation: unknown
}

const ISOLATION = `current_setting('transaction_isolation') AS isolation`

/**
 * Returns the version of a schema, 0 without one, and the transaction isolation of the connection.
 * @throws `store_unavailable` for a user without the right to read it; what the driver throws.
 */
export async function versionOf(client: PostgresClient, schemaName: string): Promise<Version> {
  try {
    const sql = `SELECT version, ${ISOLATION} FROM ${quoteName(schemaName)}.schema_version`
    return toVersion((await client.query(sql)).rows)
  } catch (cause) {
    if (MISSING.includes(codeOf(cause)))
      return toVersion((await client.query(`SELECT 0 AS version, ${ISOLATION}`)).rows)
    if (codeOf(cause) !== FORBIDDEN) throw cause
    throw new ColloquyError(
      'store_unavailable',
      `PostgreSQL does not let this user read the schema ${schemaName}. Grant the user rights on the schema and its tables.`,
      { schema: schemaName, sqlState: FORBIDDEN },
      { cause },
    )
  }
}

function toVersion([row]: readonly unknown[]): Version {
  const { version = 0, isolation } = (row ?? {}) as Partial<Version>
  return { version: Number(version), isolation }
}

/**
 * A name in quotes, for a schema. O(length).
 * @throws `invalid_id` for one that PostgreSQL would cut (it keeps 63 bytes), that is empty, or contains a NUL, `?`,
 * `$body$` or `$creation$`: these mark values and functions in the statements that the name appears in.
 * @example
 * quoteName('my "own"') // '"my ""own"""'
 */
export function quoteName(name: string): string {
  const bytes = new TextEncoder().encode(name).length
  if (
    bytes === 0 ||
    bytes > 63 ||
    ['\u0000', '?', '$body$', '$creation$'].some((mark) => name.includes(mark))
  )
    throw new ColloquyError(
      'invalid_id',
      'The schema name must be 1 to 63 bytes long, without NUL, ?, $body$ or $creation$.',
      { name },
    )
  return `"${name.replaceAll('"', '""')}"`
}

/** A text as a literal. O(length). */
const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`

function schemaStatements(schema: string): string[] {
  return [
    ...schemaOf(
      postgresDialect(schema),
      {
        text: 'text COLLATE "C"',
        int: 'integer',
        big: 'bigint',
        bytes: 'bytea',
        identityKey: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
        identity: 'bigint NOT NULL GENERATED ALWAYS AS IDENTITY',
        tableOptions: '',
        eventPosition: `\n  log bigint NOT NULL REFERENCES ${schema}.log (number) ON DELETE CASCADE,\n  seq integer NOT NULL,`,
        eventKey: ',\n  PRIMARY KEY (log, seq)',
        feedPosition: '\n  moment bigint NOT NULL,\n  position bigint NOT NULL GENERATED ALWAYS AS IDENTITY,',
        feedKey: ',\n  PRIMARY KEY (shard, moment, position)',
        textLog: `bigint NOT NULL REFERENCES ${schema}.log (number) ON DELETE CASCADE`,
      },
      '',
    ),
    `CREATE UNIQUE INDEX event_id ON ${schema}.event (log, id) WHERE lane IS NOT NULL`,
    `CREATE INDEX event_kind ON ${schema}.event (log, kind, source, time, seq) WHERE kind IS NOT NULL`,
    ...textStatements(schema),
    feedMomentFunction(schema),
    dropBlobsFunction(schema),
    `CREATE TRIGGER blob_unused AFTER DELETE ON ${schema}.blob_use REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.drop_blobs()`,
    appendFunction(schema),
    changeItemsFunction(schema),
  ]
}

/**
 * `feed_moment` orders the feed. Readers see rows below the oldest running transaction (`pg_snapshot_xmin`),
 * so a row's moment must not be below its own transaction's number: then no row appears before one already
 * read. That number does not follow a conversation's order: a transaction gets it before waiting for the
 * conversation's row. With the row locked, `pg_snapshot_xmax` is beyond every ended transaction. Selecting it
 * from a table prevents inlining, so it sees the latest commits.
 */
const feedMomentFunction = (schema: string): string => `
CREATE FUNCTION ${schema}.feed_moment() RETURNS bigint LANGUAGE sql VOLATILE AS $body$
  SELECT ${FEED_MOMENT} FROM (VALUES (1)) AS one
$body$`

/**
 * `drop_blobs` deletes blobs after their last use. It waits for transactions about to use one; the second
 * statement sees their commits.
 */
const dropBlobsFunction = (schema: string): string => `
CREATE FUNCTION ${schema}.drop_blobs() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $body$
BEGIN
  IF NOT EXISTS (SELECT FROM gone) THEN
    RETURN NULL;
  END IF;
  PERFORM FROM ${schema}.blob b WHERE b.hash IN (SELECT hash FROM gone) ORDER BY b.hash FOR UPDATE;
  DELETE FROM ${schema}.blob b WHERE b.hash IN (SELECT hash FROM gone)
    AND NOT EXISTS (SELECT FROM ${schema}.blob_use u WHERE u.hash = b.hash);
  RETURN NULL;
END
$body$`

/**
 * `change_items` returns the stored items by number from 1; or, unchanged, one row with the first unexpected
 * item's version. `expected`: null for any version, 0 for no item; `put`: true for a put, false for a
 * deletion, null for a comparison. Names are locked in a global order, so that no missing item is created
 * meanwhile; later statements see other commits. Claims lock rows only and do not wait.
 */
const changeItemsFunction = (schema: string): string => {
  const changes = `json_to_recordset(p_changes)
    AS n (nth integer, collection text, id text, expected bigint, put boolean, due_in bigint, keys text, body text)`
  const stored = `JOIN ${schema}.item i ON i.collection = n.collection AND i.id = n.id`
  const wrong = `SELECT n.nth, i.version FROM ${changes} LEFT ${stored}
    WHERE n.expected <> coalesce(i.version, 0) ORDER BY n.nth LIMIT 1`
  const fits = `current_setting('colloquy.fits', true) = 'true'`
  return `
CREATE FUNCTION ${schema}.change_items(p_changes json, p_now bigint)
RETURNS TABLE (nth integer, put_version bigint, put_due_at bigint, fits boolean) LANGUAGE sql VOLATILE AS $body$
  ${BE_DURABLE};
  SELECT pg_advisory_xact_lock(l.name) FROM (
    SELECT DISTINCT hashtextextended(n.collection || E'\\n' || n.id, 0) AS name FROM ${changes} ORDER BY 1
  ) l;
  SELECT 1 FROM ${changes} ${stored} FOR UPDATE OF i;
  SELECT set_config('colloquy.fits', (NOT EXISTS (${wrong}))::text, true);
  DELETE FROM ${schema}.item_key k
  USING ${changes} ${stored} CROSS JOIN LATERAL json_each_text(i.keys::json) AS o (name, value)
  WHERE ${fits} AND n.put IS NOT NULL AND k.collection = i.collection AND k.id = i.id AND k.name = o.name
    AND k.value = o.value AND n.keys::json ->> o.name IS DISTINCT FROM o.value;
  DELETE FROM ${schema}.item i USING ${changes}
  WHERE ${fits} AND NOT n.put AND i.collection = n.collection AND i.id = n.id;
  INSERT INTO ${schema}.item (collection, id, due_at, keys, body)
  SELECT n.collection, n.id, coalesce(p_now, ${NOW}) / 1000 + n.due_in, n.keys, n.body
  FROM ${changes} WHERE ${fits} AND n.put
  ON CONFLICT (collection, id) DO UPDATE SET
    version = DEFAULT, due_at = excluded.due_at, keys = excluded.keys, body = excluded.body;
  INSERT INTO ${schema}.item_key (collection, name, value, id)
  SELECT n.collection, o.name, o.value, n.id
  FROM ${changes} CROSS JOIN LATERAL json_each_text(n.keys::json) AS o (name, value)
  WHERE ${fits} AND n.put
  ON CONFLICT DO NOTHING;
  SELECT n.nth, i.version, i.due_at, true FROM ${changes} ${stored} WHERE ${fits} AND n.put
  UNION ALL
  SELECT w.nth, w.version, NULL, false FROM (${wrong}) w WHERE NOT ${fits};
$body$`
}

const TIP_TYPES: Readonly<Record<(typeof TIP_COLUMNS)[number], string>> = {
  version: 'integer',
  time: 'bigint',
  in_order: 'integer',
  head_id: 'text',
  head_parent_id: 'text',
  head_seq: 'integer',
  head_lane: 'integer',
  head_time: 'bigint',
  last_lane: 'integer',
  last_lane_end: 'integer',
}

/**
 * `append` writes the decisions for one conversation or more, each with an answer of its own: true if it is
 * written; else, unchanged, the log's row if log, zone or lease differs, or an id exists; or null without a
 * log, or with one that is locked, unless `p_waits`; "blobs" if a long string's bytes are neither stored nor
 * passed. Long strings and waits require a single conversation. `p_appends` and the like: the number of the
 * conversation, from 1. It locks blobs against deletion, by hash, as `drop_blobs` does.
 * It reads elements by number, since `unnest` of many lists takes ten times as long; custom plans would
 * copy the lists each time.
 */
const appendFunction = (schema: string): string => `
CREATE FUNCTION ${schema}.append(
  p_now bigint, p_waits boolean, p_full_text boolean,
  p_conversations text[], p_numbers bigint[], p_zones text[], p_owners text[], p_generations integer[],
  p_shards integer[], p_witnesses bigint[], p_froms integer[],
  ${TIP_COLUMNS.map((name) => `p_${name} ${TIP_TYPES[name]}[]`).join(', ')},
  p_appends integer[], p_seqs integer[], p_ids text[], p_parent_ids text[], p_times bigint[], p_lanes integer[],
  p_kinds text[], p_sources text[], p_messages text[], p_blobs text[], p_bodies text,
  p_opened_appends integer[], p_opened integer[], p_opened_times bigint[], p_opened_parent_lanes integer[],
  p_opened_parent_seqs integer[], p_opened_parent_times bigint[],
  p_text_appends integer[], p_text_numbers bigint[], p_text_seqs integer[], p_text_times bigint[],
  p_text_roles integer[], p_text_sizes integer[], p_text_lines text,
  p_use_seqs integer[], p_use_hashes text[], p_hashes text[], p_sizes bigint[],
  p_piece_hashes text[], p_piece_starts bigint[], p_piece_base64s integer[], p_piece_lengths integer[],
  p_piece_bytes bytea
) RETURNS jsonb LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $body$
DECLARE
  v_bodies text[] := string_to_array(p_bodies, E'\n');
  v_lines text[] := string_to_array(p_text_lines, E'\n');
  v_fits boolean[];
  v_indexed boolean[];
  v_answers jsonb[];
  known integer;
BEGIN
  IF p_waits THEN
    PERFORM FROM ${schema}.log WHERE conversation_id = p_conversations[1] FOR NO KEY UPDATE;
  END IF;
  WITH taken AS MATERIALIZED (
    SELECT p_appends[e] AS n FROM generate_series(1, cardinality(p_ids)) AS e CROSS JOIN LATERAL (
      SELECT FROM ${schema}.event x WHERE x.log = p_numbers[p_appends[e]] AND x.id BETWEEN p_ids[e] AND p_ids[e]
      AND x.lane IS NOT NULL ORDER BY x.id LIMIT 1
    ) AS x WHERE p_lanes[e] IS NOT NULL
  ), checked AS (
    SELECT l.number = p_numbers[n] AND l.version = p_froms[n] AND l.time_zone IS NOT DISTINCT FROM p_zones[n]
      AND (p_owners[n] IS NULL OR (l.lease_owner, l.lease_generation) IS NOT DISTINCT FROM (p_owners[n], p_generations[n]))
      AND n <> ALL (ARRAY(SELECT taken.n FROM taken)) AS fits, p_full_text AND l.text_version = p_froms[n] AS is_indexed,
      to_jsonb(l) AS current
    FROM generate_series(1, cardinality(p_numbers)) AS n LEFT JOIN LATERAL (
      SELECT ${LOG_COLUMNS} FROM ${schema}.log WHERE conversation_id = p_conversations[n]
      FOR NO KEY UPDATE SKIP LOCKED
    ) AS l ON true
  )
  SELECT array_agg(fits), array_agg(fits AND is_indexed), array_agg(CASE WHEN fits THEN 'true' ELSE current END)
  INTO v_fits, v_indexed, v_answers FROM checked;
  IF v_fits[1] AND cardinality(p_hashes) > 0 THEN
    SELECT count(*) INTO known FROM (
      SELECT FROM ${schema}.blob b WHERE b.hash = ANY (p_hashes) ORDER BY b.hash FOR KEY SHARE
    ) AS b;
    IF known < cardinality(p_hashes) THEN
      IF p_piece_bytes IS NULL THEN
        RETURN '["blobs"]';
      END IF;
      WITH new AS (
        INSERT INTO ${schema}.blob AS b (hash, bytes)
        SELECT n.hash, n.bytes FROM unnest(p_hashes, p_sizes) AS n (hash, bytes) ORDER BY n.hash
        ON CONFLICT (hash) DO UPDATE SET bytes = b.bytes RETURNING b.hash, b.xmax = 0 AS is_new
      )
      INSERT INTO ${schema}.blob_piece (hash, start, base64, bytes)
      SELECT p.hash, p.start, p.base64, substring(p_piece_bytes FROM p.first FOR p.length) FROM (
        SELECT n.*, (1 + sum(n.length) OVER (ORDER BY n.nth) - n.length)::integer AS first
        FROM unnest(p_piece_hashes, p_piece_starts, p_piece_base64s, p_piece_lengths) WITH ORDINALITY
          AS n (hash, start, base64, length, nth)
      ) AS p JOIN new ON new.hash = p.hash AND new.is_new;
    END IF;
  END IF;
  IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  IF cardinality(p_opened) > 0 THEN
    INSERT INTO ${schema}.lane (log, lane, time, parent_lane, parent_seq, parent_time)
    SELECT p_numbers[p_opened_appends[o]], p_opened[o], p_opened_times[o], p_opened_parent_lanes[o],
      p_opened_parent_seqs[o], p_opened_parent_times[o]
    FROM generate_series(1, cardinality(p_opened)) AS o WHERE v_fits[p_opened_appends[o]];
  END IF;
  WITH events AS (
    INSERT INTO ${schema}.event (log, seq, id, parent_id, time, lane, kind, source, message, body, blobs)
    SELECT p_numbers[p_appends[e]], p_seqs[e], p_ids[e], p_parent_ids[e], p_times[e], p_lanes[e], p_kinds[e],
      p_sources[e], p_messages[e], v_bodies[e], p_blobs[e]
    FROM generate_series(1, cardinality(p_ids)) AS e WHERE v_fits[p_appends[e]]
  ), logs AS (
    UPDATE ${schema}.log SET ${TIP_COLUMNS.map((name) => `${name} = p_${name}[n]`).join(', ')},
      text_version = CASE WHEN v_indexed[n] THEN p_version[n] ELSE text_version END,
      updated_at = greatest(updated_at, coalesce(p_now, ${NOW}))
    FROM generate_series(1, cardinality(p_numbers)) AS n WHERE number = p_numbers[n] AND v_fits[n]
  )
  INSERT INTO ${schema}.feed (shard, witness, number, conversation_id, change, from_seq, until_seq, moment)
  SELECT p_shards[n], p_witnesses[n], p_numbers[n], p_conversations[n], ${FEED_CHANGE.events}, p_froms[n],
    p_version[n], ${FEED_MOMENT}
  FROM generate_series(1, cardinality(p_numbers)) AS n WHERE v_fits[n];
  IF v_fits[1] AND cardinality(p_hashes) > 0 THEN
    INSERT INTO ${schema}.blob_use (log, seq, hash)
    SELECT p_numbers[1], u.seq, u.hash FROM unnest(p_use_seqs, p_use_hashes) AS u (seq, hash);
  END IF;
  IF p_full_text THEN
    PERFORM ${schema}.write_text(
      p_numbers[p_text_appends[t]], p_text_numbers[t], p_text_seqs[t], p_text_times[t], p_text_roles[t],
      p_text_sizes[t], v_lines[t]
    ) FROM generate_series(1, cardinality(p_text_numbers)) AS t WHERE v_indexed[p_text_appends[t]];
  END IF;
  RETURN to_jsonb(v_answers);
END
$body$`
