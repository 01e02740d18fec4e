/** A database in whatever version goes in, and is brought to the latest, by one process while the others wait. */

import { ColloquyError } from '../../event/errors.ts'
import type { PostgresClient } from './driver.ts'
import { codeOf } from './failure.ts'
import { quoteName, quoteText } from './identifier.ts'
import { MIGRATIONS } from './schema/migrations.ts'

/** The table of the version is not there, or not yet. */
const MISSING = ['42P01', '3F000']

/** Two processes made the same thing at once, and one of them was refused: it finds it made when it looks again. */
const OVERTAKEN = ['23505', '42P06', '42P07', '42723', '40001', '40P01', 'XX000']

const ATTEMPTS = 10

/** A right is missing. */
export const FORBIDDEN = '42501'

/** A step: a quoted schema goes in, statements come out. */
export type Migration = (typeof MIGRATIONS)[number]

/**
 * Brings a schema to the latest version, in one transaction, which is one statement and so needs no client held; does nothing but read
 * one row where it is there already. Several processes may do so at once: they queue at the row that holds the version.
 *
 * @throws `store_newer` for a schema that a later version of the library made; what the driver throws.
 */
export async function migrate(
  client: PostgresClient,
  schemaName: string,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const latest = migrations.length
  for (let attempt = 1; ; attempt += 1) {
    const version = await versionOf(client, schemaName)
    if (version > latest) throw newer(schemaName, version, latest)
    if (version === latest) return
    try {
      await client.query(statement(schemaName, migrations))
    } catch (error) {
      if (!OVERTAKEN.includes(codeOf(error)) || attempt === ATTEMPTS) throw error
    }
  }
}

/**
 * The version that a schema has, 0 for none.
 * @throws `store_unavailable` for a user who may not even read it; what the driver throws.
 */
export async function versionOf(client: PostgresClient, schemaName: string): Promise<number> {
  try {
    const { rows } = await client.query(`SELECT version FROM ${quoteName(schemaName)}.schema_version`)
    return Number((rows[0] as { readonly version?: unknown } | undefined)?.version ?? 0)
  } catch (cause) {
    if (MISSING.includes(codeOf(cause))) return 0
    if (codeOf(cause) !== FORBIDDEN) throw cause
    throw new ColloquyError(
      'store_unavailable',
      `PostgreSQL does not let this user read the schema ${schemaName}; grant the rights on it and on its tables.`,
      { schema: schemaName, sqlState: FORBIDDEN },
      { cause },
    )
  }
}

/** The statement that locks the version and takes every step that is missing. */
function statement(schemaName: string, migrations: readonly Migration[]): string {
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
BEGIN
  IF current_setting('server_encoding') <> 'UTF8' THEN
    RAISE EXCEPTION 'the database must have the encoding UTF8, not %', current_setting('server_encoding');
  END IF;
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = ${quoteText(schemaName)}) THEN
    CREATE SCHEMA ${schema};
  END IF;
  CREATE TABLE IF NOT EXISTS ${schema}.schema_version (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL
  );
  INSERT INTO ${schema}.schema_version (version) VALUES (0) ON CONFLICT (one) DO NOTHING;
  SELECT version INTO v_version FROM ${schema}.schema_version FOR UPDATE;
${steps.join('\n')}
  UPDATE ${schema}.schema_version SET version = ${migrations.length} WHERE version < ${migrations.length};
END
$migration$`
}

function newer(schemaName: string, version: number, known: number): ColloquyError {
  return new ColloquyError(
    'store_newer',
    `The schema ${schemaName} has version ${version}, and this library knows ${known}; upgrade the library.`,
    { schema: schemaName, version, known },
  )
}
