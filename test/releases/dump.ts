/** Dumps a PostgreSQL schema as text: the statements that create it, and the rows of its tables. */

import type pg from 'pg'

export interface Dump {
  /** Creates the schema, its tables and its functions. */
  readonly creation: string
  /** Rows by table, each list as PostgreSQL's own JSON: numbers beyond 2^53 stay exact. */
  readonly rows: Readonly<Record<string, string>>
}

interface TableRow {
  readonly name: string
}

export async function dumpSchema(pool: pg.Pool, schema: string, creation: string): Promise<Dump> {
  const { rows: tables } = await pool.query<TableRow>(
    `SELECT table_name AS name FROM information_schema.tables
    WHERE table_schema = $1 AND table_type = 'BASE TABLE' ORDER BY table_name`,
    [schema],
  )
  const rows: Record<string, string> = {}
  for (const { name } of tables) {
    const { rows: lists } = await pool.query<{ readonly list: string }>(
      `SELECT coalesce(json_agg(to_json(the_row)), '[]')::text AS list FROM "${schema}"."${name}" AS the_row`,
    )
    rows[name] = lists[0]?.list ?? '[]'
  }
  return { creation, rows }
}

/** Restores a dump into an empty database. Requires a superuser, because it disables triggers and foreign keys. */
export async function restoreSchema(pool: pg.Pool, schema: string, { creation, rows }: Dump): Promise<void> {
  await pool.query(creation)
  const client = await pool.connect()
  try {
    await client.query("SET session_replication_role = 'replica'")
    for (const [name, list] of Object.entries(rows)) {
      const table = `"${schema}"."${name}"`
      // The creation has already inserted the schema's version.
      await client.query(`DELETE FROM ${table}`)
      await client.query(
        `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${table}, $1)`,
        [list],
      )
      const { rows: columns } = await client.query<TableRow>(
        `SELECT column_name AS name FROM information_schema.columns
        WHERE table_schema = $1 AND table_name = $2 AND is_identity = 'YES'`,
        [schema, name],
      )
      for (const column of columns)
        await client.query(
          `SELECT setval(pg_get_serial_sequence($1, $2), greatest(max("${column.name}"), 1)) FROM ${table}`,
          [table, column.name],
        )
    }
  } finally {
    client.release(true)
  }
}
