import { ColloquyError } from '../../event/errors.ts'
import { FEED_CHANGE } from '../kit/feed.ts'
import { LOG_COLUMNS, TIP_COLUMNS } from '../sql/append.ts'
import { schemaOf } from '../sql/schema.ts'
import { BE_DURABLE, FEED_MOMENT, NOW, postgresDialect } from './dialect.ts'
import { codeOf, type PostgresClient } from './driver.ts'
import { cells, TEXT_COLUMNS, textStatements } from './texts.ts'

const VERSION = 1

/** SQLSTATEs: the table with the version, or its schema, does not exist. */
const MISSING = ['42P01', '3F000']

/**
 * Isolation levels whose statements all read the transaction's first snapshot. The store must read current
 * rows after it locks them.
 */
const STRICTER: readonly unknown[] = ['repeatable read', 'serializable']

export const FORBIDDEN = '42501'

/** Creates the schema in one statement, which needs no transaction. Safe for concurrent processes. */
export async function createSchema(client: PostgresClient, schemaName: string, again = false): Promise<void> {
  const { version, isolation } = await versionOf(client, schemaName)
  if (STRICTER.includes(isolation))
    throw new ColloquyError(
      'store_unavailable',
      `The transaction isolation is ${String(isolation)}, but the store requires read committed. ` +
        `Set \`default_transaction_isolation\` to 'read committed' for the user, with ALTER ROLE.`,
      { isolation },
    )
  if (version > VERSION)
    throw new ColloquyError(
      'store_newer',
      `The schema ${schemaName} has version ${version}, but this library supports only versions up to ${VERSION}. Upgrade the library.`,
      { schema: schemaName, version, known: VERSION },
    )
  if (version === VERSION) return
  await client.query(creation(schemaName, again))
  return createSchema(client, schemaName, true)
}

/** Returns SQL that creates the schema. If several processes run it at once, the first creates it; others wait. */
function creation(schemaName: string, again: boolean): string {
  const schema = quoteName(schemaName)
  return `DO $creation$
BEGIN
  IF current_setting('server_encoding') <> 'UTF8' THEN
    RAISE EXCEPTION 'the database must have the encoding UTF8, not %', current_setting('server_encoding');
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(${quoteText(`colloquy ${schemaName}`)}, 0));
  IF to_regclass(${quoteText(`${schema}.schema_version`)}) IS NOT NULL THEN
    ${again ? "RAISE EXCEPTION 'the table schema_version has no row that this user can read'" : 'RETURN'};
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
      `PostgreSQL does not let this user read the schema ${schemaName}. Grant the user privileges on the schema and its tables.`,
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
 * Returns the name of a schema or channel in quotes. O(length).
 * @throws `invalid_id` for a name that is empty or longer than 63 bytes, or contains a NUL, `?`, `$body$` or
 *   `$creation$`. In the store's statements, the last three mark values and functions.
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
        eventPosition: '\n  log bigint NOT NULL,\n  seq integer NOT NULL,',
        eventKey: ',\n  PRIMARY KEY (log, seq)',
        feedPosition: '\n  moment bigint NOT NULL,\n  position bigint NOT NULL GENERATED ALWAYS AS IDENTITY,',
        feedKey: ',\n  PRIMARY KEY (shard, moment, position)',
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
    dropEventsFunction(schema),
    `CREATE TRIGGER log_gone AFTER DELETE ON ${schema}.log REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.drop_events()`,
    appendFunction(schema),
    changeItemsFunction(schema),
  ]
}

/**
 * `feed_moment` orders the feed. Readers see only rows whose moment is below the oldest running transaction
 * (`pg_snapshot_xmin`). A row's moment is at least the number of its transaction, so no new row precedes a
 * row that was already read. The number alone is not enough, because a transaction gets its number before it
 * waits for the conversation's row. So a moment is also at least `pg_snapshot_xmax - 1`, read while that row
 * is locked. This value is not below the number of any ended transaction, so moments follow the order of a
 * conversation. The FROM clause prevents inlining, so the function sees the latest commits.
 */
const feedMomentFunction = (schema: string): string => `
CREATE FUNCTION ${schema}.feed_moment() RETURNS bigint LANGUAGE sql VOLATILE AS $body$
  SELECT ${FEED_MOMENT} FROM (VALUES (1)) AS one
$body$`

/**
 * `drop_blobs` deletes blobs after their last use. It waits for transactions that are about to use one of
 * these blobs, so that its DELETE sees their commits.
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
 * `drop_events` deletes a log's events and texts. Its statements also see events that were committed while
 * the deletion waited. The alternatives are slower: a foreign key would look up each event's log; a join
 * could read all rows.
 */
const dropEventsFunction = (schema: string): string => `
CREATE FUNCTION ${schema}.drop_events() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $body$
BEGIN
  DELETE FROM ${schema}.event WHERE log = ANY (ARRAY(SELECT number FROM gone));
  DELETE FROM ${schema}.text WHERE log = ANY (ARRAY(SELECT number FROM gone));
  RETURN NULL;
END
$body$`

/**
 * `change_items` returns the stored items, numbered from 1. If versions differ from the expected versions, it
 * changes nothing, and returns one row with the version of the first such item. `expected`: null for any
 * version, 0 for no item; `put`: true for a put, false for a deletion, null for a comparison. Locks the names
 * of the items in a global order, so that no other call creates a missing item. The statements after the lock
 * see the commits of earlier calls. `claimItems` locks only rows and does not wait.
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

const ENTRY_COLUMNS = `nth integer, conversation text, number bigint, time_zone text, owner text, generation integer,
  shard integer, witness bigint, from_seq integer, from_head text, version integer, time bigint, in_order integer, head_id text,
  head_parent_id text, head_seq integer, head_lane integer, head_time bigint, last_lane integer, last_lane_end integer,
  first_event integer, last_event integer, first_lane integer, last_lane_row integer, first_text integer, last_text integer`

const [EVENT_COLUMNS, LANE_COLUMNS] = [
  'id text, lane integer, parent_id text, time bigint, kind text, source text, message text, blobs text',
  'lane integer, time bigint, parent_lane integer, parent_seq integer, parent_time bigint',
]

const namesOf = (columns: string): string => columns.replaceAll(/ \w+(?=,|$)/g, '')

/**
 * `append` writes the decisions for one or more conversations, and returns an answer for each:
 * - true: it wrote them. With any other answer, it changed nothing.
 * - the log's row: the log's number, version, HEAD, zone or lease differs, or an id exists.
 * - null: there is no log, or the log is locked and `p_waits` is false.
 * - "blobs": a long string's bytes are neither stored nor passed.
 *
 * Long strings and `p_waits` require a single conversation. Blobs are locked against deletion in the order of
 * hashes, as in `drop_blobs`. Each list parameter has the rows of all conversations, one after another. The
 * function has few parameters, statements and casts, because each call prepares them.
 */
const appendFunction = (schema: string): string => {
  const fits = `o.number = l.number AND o.version = l.from_seq AND o.head_id IS NOT DISTINCT FROM l.from_head
      AND o.time_zone IS NOT DISTINCT FROM l.time_zone
      AND (l.owner IS NULL OR (o.lease_owner, o.lease_generation) IS NOT DISTINCT FROM (l.owner, l.generation))
      AND NOT EXISTS (
        SELECT FROM generate_series(l.first_event, l.last_event) AS e CROSS JOIN LATERAL (
          SELECT FROM ${schema}.event x WHERE x.log = l.number AND x.id BETWEEN p_events[e][1] AND p_events[e][1]
          AND x.lane IS NOT NULL ORDER BY x.id LIMIT 1
        ) AS x WHERE p_events[e][2] IS NOT NULL
      )`
  return `
CREATE TYPE ${schema}.entry AS (${ENTRY_COLUMNS});
CREATE FUNCTION ${schema}.append(
  p_now bigint, p_waits boolean, p_full_text boolean, p_entries text[], p_events text[], p_bodies text, p_lanes text[],
  p_texts text[], p_lines text, p_uses text[], p_strings text[], p_pieces text[], p_piece_bytes bytea
) RETURNS jsonb LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $body$
DECLARE
  v_entries ${schema}.entry[] := p_entries::${schema}.entry[];
  v_bodies text[] := string_to_array(p_bodies, E'\n');
  v_lines text[] := string_to_array(p_lines, E'\n');
  v_strings integer := array_length(p_strings, 1);
  v_locked integer[];
  v_written integer[];
  v_indexed integer[];
  v_stored integer;
BEGIN
  IF NOT p_waits THEN
    v_locked := ARRAY(SELECT l.nth FROM unnest(v_entries) AS l CROSS JOIN LATERAL (
      SELECT FROM ${schema}.log WHERE conversation_id = l.conversation FOR NO KEY UPDATE SKIP LOCKED
    ) AS o);
  END IF;
  IF v_strings > 0 THEN
    PERFORM FROM unnest(v_entries) AS l JOIN ${schema}.log AS o ON ${fits} FOR NO KEY UPDATE OF o;
    IF FOUND THEN
      SELECT count(*) INTO v_stored FROM (
        SELECT FROM ${schema}.blob b WHERE b.hash = ANY (p_strings[:][1:1]) ORDER BY b.hash FOR KEY SHARE
      ) AS b;
      IF v_stored < v_strings THEN
        IF p_piece_bytes IS NULL THEN
          RETURN '["blobs"]';
        END IF;
        WITH new AS (
          INSERT INTO ${schema}.blob AS b (hash, bytes)
          SELECT p_strings[s][1], p_strings[s][2]::bigint FROM generate_series(1, v_strings) AS s ORDER BY 1
          ON CONFLICT (hash) DO UPDATE SET bytes = b.bytes RETURNING b.hash, b.xmax = 0 AS is_new
        )
        INSERT INTO ${schema}.blob_piece (hash, start, base64, bytes)
        SELECT p.hash, p.start, p.base64, substring(p_piece_bytes FROM p.first FOR p.length) FROM (
          SELECT p.*, (1 + sum(p.length) OVER (ORDER BY p.nth) - p.length)::integer AS first FROM (
            SELECT p AS nth, p_pieces[p][1] AS hash, p_pieces[p][2]::bigint AS start, p_pieces[p][3]::integer AS base64,
              p_pieces[p][4]::integer AS length FROM generate_series(1, array_length(p_pieces, 1)) AS p
          ) AS p
        ) AS p JOIN new ON new.hash = p.hash AND new.is_new;
      END IF;
    END IF;
  END IF;
  IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  WITH written AS (
    UPDATE ${schema}.log AS o SET ${TIP_COLUMNS.map((name) => `${name} = l.${name}`).join(', ')},
      text_version = CASE WHEN p_full_text AND o.text_version = l.from_seq THEN l.version ELSE o.text_version END,
      updated_at = greatest(o.updated_at, coalesce(p_now, ${NOW}))
    FROM unnest(v_entries) AS l WHERE (p_waits OR l.nth = ANY (v_locked)) AND ${fits}
    RETURNING l.nth, o.text_version = l.version AS is_indexed
  )
  SELECT array_agg(nth), array_agg(nth) FILTER (WHERE is_indexed) INTO v_written, v_indexed FROM written;
  IF array_length(p_lanes, 1) > 0 THEN
    INSERT INTO ${schema}.lane (log, ${namesOf(LANE_COLUMNS)})
    SELECT l.number, ${cells('p_lanes', 'r', LANE_COLUMNS)} FROM unnest(v_entries) AS l
    CROSS JOIN LATERAL generate_series(l.first_lane, l.last_lane_row) AS r WHERE l.nth = ANY (v_written);
  END IF;
  WITH events AS (
    INSERT INTO ${schema}.event (log, seq, body, ${namesOf(EVENT_COLUMNS)})
    SELECT l.number, l.from_seq + e - l.first_event, v_bodies[e], ${cells('p_events', 'e', EVENT_COLUMNS)} FROM unnest(v_entries) AS l
    CROSS JOIN LATERAL generate_series(l.first_event, l.last_event) AS e WHERE l.nth = ANY (v_written)
  )
  INSERT INTO ${schema}.feed (shard, witness, number, conversation_id, change, from_seq, until_seq, moment)
  SELECT l.shard, l.witness, l.number, l.conversation, ${FEED_CHANGE.events}, l.from_seq, l.version, ${FEED_MOMENT}
  FROM unnest(v_entries) AS l WHERE l.nth = ANY (v_written);
  IF v_strings > 0 AND cardinality(v_written) > 0 THEN
    INSERT INTO ${schema}.blob_use (log, seq, hash)
    SELECT (v_entries[1]).number, p_uses[u][1]::integer, p_uses[u][2] FROM generate_series(1, array_length(p_uses, 1)) AS u;
  END IF;
  IF cardinality(v_indexed) > 0 AND array_length(p_texts, 1) > 0 THEN
    PERFORM ${schema}.write_text(l.number, ${cells('p_texts', 't', TEXT_COLUMNS)}, v_lines[t]) FROM unnest(v_entries) AS l
    CROSS JOIN LATERAL generate_series(l.first_text, l.last_text) AS t WHERE l.nth = ANY (v_indexed);
  END IF;
  IF cardinality(v_written) = cardinality(v_entries) THEN
    RETURN to_jsonb(array_fill(true, ARRAY[cardinality(v_entries)]));
  END IF;
  RETURN (
    SELECT jsonb_agg(CASE
      WHEN l.nth = ANY (v_written) THEN 'true'
      WHEN p_waits OR l.nth = ANY (v_locked) THEN to_jsonb(o)
    END ORDER BY l.nth)
    FROM unnest(v_entries) AS l LEFT JOIN LATERAL (
      SELECT ${LOG_COLUMNS} FROM ${schema}.log WHERE conversation_id = l.conversation
    ) AS o ON true
  );
END
$body$`
}
