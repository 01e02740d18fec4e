/** Brings a database to the latest version; one process does it while the others wait. */

import { ColloquyError } from '../../event/errors.ts'
import type { PostgresClient } from './driver.ts'
import { codeOf } from './to-store-error.ts'
import { quoteName, quoteText } from './identifier.ts'
import { type Functions, FUNCTIONS } from './schema/functions.ts'
import { type Migration, MIGRATIONS } from './schema/migrations.ts'

/** The table of the version is not there, or not yet. */
const MISSING = ['42P01', '3F000']

/** Two processes made the same thing at once, and one of them was refused: it finds it made when it looks again. */
const OVERTAKEN = ['23505', '42P06', '42P07', '42723', '40001', '40P01', 'XX000']

const ATTEMPTS = 10

/**
 * Isolation in which a transaction sees what there was when it began, and not what it waited for: items and what is
 * kept beside a conversation are guarded by locks, behind which their functions look again.
 */
const STRICTER: readonly unknown[] = ['repeatable read', 'serializable']

/** A right is missing. */
export const FORBIDDEN = '42501'

/**
 * Brings a schema to the latest version and its functions to the latest revision, in one transaction, which is one
 * statement and so needs no client held; does nothing but read one row where both are there already. Several processes
 * may do so at once: they queue at the row that holds the version.
 *
 * @throws `store_newer` for a schema that a later version of the library made; `store_unavailable` where transactions
 * are isolated more strictly than the functions bear; what the driver throws.
 */
export async function migrate(
  client: PostgresClient,
  schemaName: string,
  migrations: readonly Migration[] = MIGRATIONS,
  functions: Functions = FUNCTIONS,
): Promise<void> {
  const latest = migrations.length
  for (let attempt = 1; ; attempt += 1) {
    const { version, revision, isolation } = await versionOf(client, schemaName)
    if (STRICTER.includes(isolation)) throw stricter(isolation)
    if (version > latest) throw newer(schemaName, version, latest)
    if (version === latest && revision >= functions.revision) return
    try {
      await client.query(statement(schemaName, migrations, functions))
    } catch (error) {
      if (!OVERTAKEN.includes(codeOf(error)) || attempt === ATTEMPTS) throw error
    }
  }
}

/**
 * How far a schema is: the number of steps done, and the revision of its functions, 0 for none; and how transactions of
 * the connection are isolated.
 */
interface Version {
  readonly version: number
  readonly revision: number
  readonly isolation: unknown
}

const ISOLATION = `current_setting('transaction_isolation') AS isolation`

/**
 * The version that a schema has.
 * @throws `store_unavailable` for a user who may not even read it; what the driver throws.
 */
export async function versionOf(client: PostgresClient, schemaName: string): Promise<Version> {
  try {
    const { rows } = await client.query(
      `SELECT version, functions AS revision, ${ISOLATION} FROM ${quoteName(schemaName)}.schema_version`,
    )
    return toVersion(rows)
  } catch (cause) {
    if (MISSING.includes(codeOf(cause))) return toVersion((await client.query(`SELECT ${ISOLATION}`)).rows)
    if (codeOf(cause) !== FORBIDDEN) throw cause
    throw new ColloquyError(
      'store_unavailable',
      `PostgreSQL does not let this user read the schema ${schemaName}; grant the rights on it and on its tables.`,
      { schema: schemaName, sqlState: FORBIDDEN },
      { cause },
    )
  }
}

function toVersion([row]: readonly unknown[]): Version {
  const { version = 0, revision = 0, isolation } = (row ?? {}) as Partial<Version>
  return { version: Number(version), revision: Number(revision), isolation }
}

/** The statement that locks the version, takes every step that is missing, and makes the functions. */
function statement(schemaName: string, migrations: readonly Migration[], functions: Functions): string {
  const schema = quoteName(schemaName)
  const steps = migrations.map(
    (step, index) => `
  IF v_version < ${index + 1} THEN
${step(schema)}
  END IF;`,
  )
  return `DO $migration$
DECLARE
  v_version integer;
  v_revision integer;
BEGIN
  IF current_setting('server_encoding') <> 'UTF8' THEN
    RAISE EXCEPTION 'the database must have the encoding UTF8, not %', current_setting('server_encoding');
  END IF;
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = ${quoteText(schemaName)}) THEN
    CREATE SCHEMA ${schema};
  END IF;
  CREATE TABLE IF NOT EXISTS ${schema}.schema_version (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL,
    functions integer NOT NULL DEFAULT 0
  );
  INSERT INTO ${schema}.schema_version (version) VALUES (0) ON CONFLICT (one) DO NOTHING;
  SELECT version, functions INTO v_version, v_revision FROM ${schema}.schema_version FOR UPDATE;
${steps.join('\n')}
  -- Those of a later library stay, if it left the tables as they are.
  IF v_version < ${migrations.length} OR (v_version = ${migrations.length} AND v_revision < ${functions.revision}) THEN
${functions.make(schema)}
    UPDATE ${schema}.schema_version SET version = ${migrations.length}, functions = greatest(functions, ${functions.revision});
  END IF;
END
$migration$`
}

function stricter(isolation: unknown): ColloquyError {
  return new ColloquyError(
    'store_unavailable',
    `PostgreSQL runs transactions here as ${String(isolation)} by default, and the store needs read committed: ` +
      `set default_transaction_isolation back for its user (ALTER ROLE … SET) or its connections.`,
    { isolation },
  )
}

function newer(schemaName: string, version: number, known: number): ColloquyError {
  return new ColloquyError(
    'store_newer',
    `The schema ${schemaName} has version ${version}, and this library knows ${known}; upgrade the library.`,
    { schema: schemaName, version, known },
  )
}
