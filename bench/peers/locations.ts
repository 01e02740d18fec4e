/** Creates folders, and databases of one PostgreSQL server whose commits wait for the disk. */

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startServer } from '../../test/postgres/server.ts'
import type { Contender, Location } from './contender.ts'

export interface Locations {
  /** Version string of the server. */
  readonly postgres: string
  create(medium: Contender['medium']): Promise<Location>
  /** Bytes of files, or of tables and indexes, after the database has done its deferred work. */
  bytesIn(database: Location): Promise<number>
  remove(database: Location): Promise<void>
  close(): Promise<void>
}

export async function openLocations(): Promise<Locations> {
  const root = mkdtempSync(join(tmpdir(), 'colloquy-peers-'))
  // An interrupted run must not leave gigabytes behind.
  process.once('exit', () => rmSync(root, { recursive: true, force: true }))
  const server = await startServer({ durable: true })
  const admin = new pg.Pool({ connectionString: server.url, max: 1 })
  const { rows } = await admin.query('SHOW server_version')
  let count = 0
  const urlOf = (name: string): string => {
    const url = new URL(server.url)
    url.pathname = `/${name}`
    return url.href
  }
  return {
    postgres: `PostgreSQL ${rows[0]?.server_version}`,
    async create(medium) {
      count += 1
      const name = `place_${count}`
      if (medium === 'postgres') await admin.query(`CREATE DATABASE ${name}`)
      return {
        folder: mkdtempSync(join(root, `${name}-`)),
        url: medium === 'postgres' ? urlOf(name) : '',
      }
    },
    async bytesIn({ folder, url }) {
      if (url === '') {
        // The database may remove a log file meanwhile; a missing file has no size.
        const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) =>
          statSync(join(folder, file), { throwIfNoEntry: false }),
        )
        return files.reduce((sum, file) => sum + (file?.isFile() === true ? file.size : 0), 0)
      }
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query('VACUUM')
      const sizes =
        await client.query(`SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::float8 AS bytes FROM pg_class
        WHERE relkind IN ('r', 'm') AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
        AND relnamespace::regnamespace::text NOT LIKE 'pg_toast%'`)
      await client.end()
      return Number(sizes.rows[0]?.bytes)
    },
    async remove({ folder, url }) {
      rmSync(folder, { recursive: true, force: true })
      // An open connection keeps the database until the server ends. Dropping it by force would make the
      // contender's pool throw.
      if (url !== '') await admin.query(`DROP DATABASE ${new URL(url).pathname.slice(1)}`).catch(() => null)
    },
    async close() {
      await admin.end()
      await server.stop()
      rmSync(root, { recursive: true, force: true })
    },
  }
}
