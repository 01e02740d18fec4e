/** A database in whatever version goes in, and is brought to the latest, by one process while the others wait. */

import { ColloquyError } from '../../event/errors.ts'
import type { PostgresClient } from './driver.ts'
import { codeOf } from './failure.ts'
import { quoteName, quoteText } from './identifier.ts'
import { LATEST, MIGRATIONS } from './schema/migrations.ts'

/** The table of the version is not there, or not yet. */
const MISSING = ['42P01', '3F000']

/** Two processes made the same thing at once, and one of them was refused: it finds it made when it looks again. */
const OVERTAKEN = ['23505', '42P06', '42P07', '42723', '40001', '40P01', 'XX000']

const ATTEMPTS = 10

/**
 * Brings a schema to the latest version, in one transaction, which is one statement and so needs no client held; does nothing but read
 * one row where it is there already. Several processes may do so at once: they queue at the row that holds the version.
 *
 * @throws `store_newer` for a schema that a later version of the library made; what the driver throws.
 */
export async function migrate(client: PostgresClient, schemaName: string): Promise<void> {
  const schema = quoteName(schemaName)
  for (let attempt = 1; ; attempt += 1) {
    const version = await versionOf(client, schema)
    if (version > LATEST) throw newer(schemaName, version)
    if (version === LATEST) return
    try {
      await client.query(migration(schemaName, schema))
    } catch (error) {
      if (!OVERTAKEN.includes(codeOf(error)) || attempt === ATTEMPTS) throw error
    }
  }
}

async function versionOf(client: PostgresClient, schema: string): Promise<number> {
  try {
    const { rows } = await client.query(`SELECT version FROM ${schema}.schema_version`)
    return Number((rows[0] as { readonly version?: unknown } | undefined)?.version ?? 0)
  } catch (error) {
    if (MISSING.includes(codeOf(error))) return 0
    throw error
  }
}

/** The statement that locks the version and takes every step that is missing. */
function migration(schemaName: string, schema: string): string {
  const steps = MIGRATIONS.map(
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
  UPDATE ${schema}.schema_version SET version = ${LATEST} WHERE version < ${LATEST};
END
$migration$`
}

function newer(schemaName: string, version: number): ColloquyError {
  return new ColloquyError(
    'store_newer',
    `The schema ${schemaName} has version ${version}, and this library knows ${LATEST}; upgrade the library.`,
    { schema: schemaName, version, known: LATEST },
  )
}
