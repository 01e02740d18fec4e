/** Brings a database to the version that this code writes, or says why it cannot. */

import { ColloquyError } from '../../event/errors.ts'
import type { Connection } from './connection.ts'
import { type Migration, MIGRATIONS } from './migrations.ts'

/**
 * The steps done are rows of a table of our own: the database may be shared with tables of others, who count theirs
 * elsewhere.
 */
const TABLE = `CREATE TABLE IF NOT EXISTS colloquy_migration (
  version INTEGER NOT NULL PRIMARY KEY,
  done_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
) STRICT`

/**
 * Does the steps that a database lacks, all or none, in one transaction: of several processes that open it at once, one
 * does them and the others find them done.
 *
 * @throws `store_newer` for a database that a later version of the library wrote; `store_read_only` where steps are
 * needed and may not be done.
 */
export function migrate(
  connection: Connection,
  readOnly: boolean,
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  const newest = migrations.at(-1)?.version ?? 0
  if (checkVersion(connection, newest) === newest) return
  if (readOnly) {
    throw new ColloquyError(
      'store_read_only',
      'The database must be migrated first; open it for writing once.',
    )
  }
  connection.write(() => {
    connection.database.exec(TABLE)
    const version = checkVersion(connection, newest)
    for (const step of migrations.filter((migration) => migration.version > version)) {
      connection.database.exec(step.sql)
      connection.run('INSERT INTO colloquy_migration (version) VALUES (?)', step.version)
    }
  })
}

/** The number of the last step done; 0 for a database that none of them was done in. */
function checkVersion(connection: Connection, newest: number): number {
  const table = connection.get(
    `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'colloquy_migration'`,
  )
  if (table === undefined) return 0
  const row = connection.get<{ version: number | null }>(
    'SELECT max(version) AS version FROM colloquy_migration',
  )
  const version = row?.version ?? 0
  if (version <= newest) return version
  throw new ColloquyError(
    'store_newer',
    `The database has version ${version}, and this library knows versions up to ${newest}; use a later one.`,
    { version, newest },
  )
}
