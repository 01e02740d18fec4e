/** Creates the schema of PostgreSQL: its tables, and the functions that the store calls. */

import { ColloquyError } from '../../event/errors.ts'
import { schemaOf } from '../sql/schema.ts'
import { appendFunction } from './append.ts'
import { BE_DURABLE, FEED_MOMENT, NOW, postgresDialect } from './dialect.ts'
import { codeOf, type PostgresClient } from './driver.ts'
import { textStatements } from './texts.ts'

const VERSION = 1

/** The table of the version does not exist, or not yet. */
const MISSING = ['42P01', '3F000']

/** Another process created the same at once: the refused one finds it when it checks again. */
const OVERTAKEN = ['23505', '42P06', '42P07', '42723', '40001', '40P01', 'XX000']

const MAX_ATTEMPTS = 10

/**
 * Isolation that sees only the transaction's beginning: statements must read again behind the locks of items
 * and conversations.
 */
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
        `The transaction isolation is ${String(isolation)}, and the store requires read committed. ` +
          `Set default_transaction_isolation for the user (ALTER ROLE … SET) or its connections.`,
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
 *
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
        eventPlace: `\n  log bigint NOT NULL REFERENCES ${schema}.log (number) ON DELETE CASCADE,\n  seq integer NOT NULL,`,
        eventKey: ',\n  PRIMARY KEY (log, seq)',
        eventOfLog: 'e.log = l.number',
        feedPlace: '\n  moment bigint NOT NULL,\n  place bigint NOT NULL GENERATED ALWAYS AS IDENTITY,',
        feedKey: ',\n  PRIMARY KEY (shard, moment, place)',
        textLog: `bigint NOT NULL REFERENCES ${schema}.log (number) ON DELETE CASCADE`,
      },
      '',
    ),
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
