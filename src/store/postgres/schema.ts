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
          `Set default_transaction_isolation to 'read committed' for the user (ALTER ROLE … SET).`,
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
 * item's version. `p_expected`: null for any version, 0 for no item; `p_puts`: true for a put, false for a
 * deletion, null for a comparison. Bodies and keys: one JSON line each. Names are locked in a global order,
 * so that no missing item is created meanwhile; later statements see other commits. Claims lock rows only and
 * do not wait.
 */
const changeItemsFunction = (schema: string): string => {
  const wrong = `SELECT n.nth, i.version FROM unnest(p_collections, p_ids, p_expected) WITH ORDINALITY AS n (collection, id, expected, nth)
    LEFT JOIN ${schema}.item i ON i.collection = n.collection AND i.id = n.id
    WHERE n.expected <> coalesce(i.version, 0) ORDER BY n.nth LIMIT 1`
  const fits = `current_setting('colloquy.fits', true) = 'true'`
  return `
CREATE FUNCTION ${schema}.change_items(
  p_collections text[], p_ids text[], p_expected bigint[], p_puts boolean[], p_due_in bigint[],
  p_keys text, p_bodies text, p_now bigint
) RETURNS TABLE (nth integer, put_version bigint, put_due_at bigint, fits boolean) LANGUAGE sql VOLATILE AS $body$
  ${BE_DURABLE};
  SELECT pg_advisory_xact_lock(l.name) FROM (
    SELECT DISTINCT hashtextextended(n.collection || E'\\n' || n.id, 0) AS name
    FROM unnest(p_collections, p_ids) AS n (collection, id) ORDER BY 1
  ) l;
  SELECT 1 FROM unnest(p_collections, p_ids) AS n (collection, id)
  JOIN ${schema}.item i ON i.collection = n.collection AND i.id = n.id FOR UPDATE OF i;
  SELECT set_config('colloquy.fits', (NOT EXISTS (${wrong}))::text, true);
  DELETE FROM ${schema}.item_key k
  USING unnest(p_collections, p_ids, p_puts, string_to_array(p_keys, E'\\n')) AS n (collection, id, put, keys)
  JOIN ${schema}.item i ON i.collection = n.collection AND i.id = n.id
  CROSS JOIN LATERAL json_each_text(i.keys::json) AS o (name, value)
  WHERE ${fits} AND n.put IS NOT NULL AND k.collection = i.collection AND k.id = i.id AND k.name = o.name
    AND k.value = o.value AND n.keys::json ->> o.name IS DISTINCT FROM o.value;
  DELETE FROM ${schema}.item i USING unnest(p_collections, p_ids, p_puts) AS n (collection, id, put)
  WHERE ${fits} AND NOT n.put AND i.collection = n.collection AND i.id = n.id;
  INSERT INTO ${schema}.item (collection, id, due_at, keys, body)
  SELECT n.collection, n.id, coalesce(p_now, ${NOW}) / 1000 + n.due_in, n.keys, n.body
  FROM unnest(
    p_collections, p_ids, p_puts, p_due_in, string_to_array(p_keys, E'\\n'), string_to_array(p_bodies, E'\\n')
  ) AS n (collection, id, put, due_in, keys, body)
  WHERE ${fits} AND n.put
  ON CONFLICT (collection, id) DO UPDATE SET
    version = DEFAULT, due_at = excluded.due_at, keys = excluded.keys, body = excluded.body;
  INSERT INTO ${schema}.item_key (collection, name, value, id)
  SELECT n.collection, o.name, o.value, n.id
  FROM unnest(p_collections, p_ids, p_puts, string_to_array(p_keys, E'\\n')) AS n (collection, id, put, keys)
  CROSS JOIN LATERAL json_each_text(n.keys::json) AS o (name, value)
  WHERE ${fits} AND n.put
  ON CONFLICT DO NOTHING;
  SELECT n.nth::integer, i.version, i.due_at, true
  FROM unnest(p_collections, p_ids, p_puts) WITH ORDINALITY AS n (collection, id, put, nth)
  JOIN ${schema}.item i ON i.collection = n.collection AND i.id = n.id WHERE ${fits} AND n.put
  UNION ALL
  SELECT w.nth::integer, w.version, NULL, false FROM (${wrong}) w WHERE NOT ${fits};
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
 * `append` writes a decision and returns "written"; or, unchanged, the log's row if log, zone or lease
 * differs, or an id exists; null for an unknown conversation; "blobs" if a long string's bytes are neither
 * stored nor passed. It locks blobs against deletion, by hash, as `drop_blobs` does.
 */
const appendFunction = (schema: string): string => `
CREATE FUNCTION ${schema}.append(
  p_conversation text, p_number bigint, p_zone text, p_owner text, p_generation integer,
  p_now bigint, p_shard integer, p_witness bigint, p_from integer,
  ${TIP_COLUMNS.map((name) => `p_${name} ${TIP_TYPES[name]}`).join(', ')},
  p_ids text[], p_parent_ids text[], p_times bigint[], p_lanes integer[], p_kinds text[], p_sources text[],
  p_messages text[], p_bodies text, p_blobs text[], p_use_seqs integer[], p_use_hashes text[], p_hashes text[],
  p_sizes bigint[], p_opened integer[], p_opened_times bigint[], p_opened_parent_lanes integer[],
  p_opened_parent_seqs integer[], p_opened_parent_times bigint[], p_full_text boolean, p_text_numbers bigint[],
  p_text_seqs integer[], p_text_times bigint[], p_text_roles integer[], p_text_sizes integer[], p_text_lines text,
  p_piece_hashes text[], p_piece_starts bigint[], p_piece_base64s integer[], p_piece_lengths integer[],
  p_piece_bytes bytea
) RETURNS jsonb LANGUAGE plpgsql SET enable_seqscan = off AS $body$
DECLARE
  v ${schema}.log%ROWTYPE;
  known integer;
BEGIN
  SELECT * INTO v FROM ${schema}.log WHERE conversation_id = p_conversation FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF v.number <> p_number OR v.version <> p_from OR v.time_zone IS DISTINCT FROM p_zone
    OR (p_owner IS NOT NULL AND (v.lease_owner IS DISTINCT FROM p_owner OR v.lease_generation <> p_generation))
    OR EXISTS (
      SELECT FROM unnest(p_ids, p_lanes) AS n (id, lane) CROSS JOIN LATERAL (
        SELECT FROM ${schema}.event e
        WHERE e.log = p_number AND e.id BETWEEN n.id AND n.id AND e.lane IS NOT NULL ORDER BY e.id LIMIT 1
      ) e WHERE n.lane IS NOT NULL
    )
  THEN
    RETURN (SELECT to_jsonb(r) FROM (
      SELECT ${LOG_COLUMNS} FROM ${schema}.log WHERE number = v.number
    ) r);
  END IF;
  IF cardinality(p_hashes) > 0 THEN
    SELECT count(*) INTO known FROM (
      SELECT FROM ${schema}.blob b WHERE b.hash = ANY (p_hashes) ORDER BY b.hash FOR KEY SHARE
    ) AS b;
    IF known < cardinality(p_hashes) THEN
      IF p_piece_bytes IS NULL THEN
        RETURN '"blobs"';
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
  INSERT INTO ${schema}.event (log, seq, id, parent_id, time, lane, kind, source, message, body, blobs)
  SELECT p_number, p_from + (n - 1)::integer, f.id, f.parent_id, f.time, f.lane, f.kind, f.source, f.message, f.body,
    f.blobs
  FROM unnest(
    p_ids, p_parent_ids, p_times, p_lanes, p_kinds, p_sources, p_messages, string_to_array(p_bodies, E'\n'),
    p_blobs
  ) WITH ORDINALITY AS f (id, parent_id, time, lane, kind, source, message, body, blobs, n);
  IF cardinality(p_hashes) > 0 THEN
    INSERT INTO ${schema}.blob_use (log, seq, hash)
    SELECT p_number, u.seq, u.hash FROM unnest(p_use_seqs, p_use_hashes) AS u (seq, hash);
  END IF;
  IF cardinality(p_opened) > 0 THEN
    INSERT INTO ${schema}.lane (log, lane, time, parent_lane, parent_seq, parent_time)
    SELECT p_number, o.* FROM unnest(
      p_opened, p_opened_times, p_opened_parent_lanes, p_opened_parent_seqs, p_opened_parent_times
    ) AS o;
  END IF;
  IF p_full_text AND v.text_version = p_from THEN
    v.text_version := p_version;
    IF cardinality(p_text_numbers) > 0 THEN
      PERFORM ${schema}.write_texts(
        p_number, p_text_numbers, p_text_seqs, p_text_times, p_text_roles, p_text_sizes, p_text_lines
      );
    END IF;
  END IF;
  UPDATE ${schema}.log SET text_version = v.text_version,
    ${TIP_COLUMNS.map((name) => `${name} = p_${name}`).join(', ')},
    updated_at = greatest(updated_at, coalesce(p_now, ${NOW}))
  WHERE number = p_number;
  INSERT INTO ${schema}.feed (shard, witness, number, conversation_id, change, from_seq, until_seq, moment)
  VALUES (p_shard, p_witness, p_number, p_conversation, ${FEED_CHANGE.events}, p_from, p_version, ${FEED_MOMENT});
  RETURN '"written"';
END
$body$`
