/** Real faults of a PostgreSQL server that can be undone. */

import { existsSync } from 'node:fs'
import { rename, rm, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { ErrorCode } from '../../src/event/errors.ts'
import type { Event } from '../../src/event/types.ts'
import { until, waiting } from './sql-sessions.ts'
import { APP, type FaultDatabase } from './fault-database.ts'

/** A small event. Its parent is HEAD by default. */
export const pause = (id: string, parent?: string): Event => ({
  kind: 'PauseEvent',
  id,
  ...(parent !== undefined && { parent_id: parent }),
})

/** Incompressible text. */
const noise = (size: number): string =>
  Array.from({ length: size }, () => String.fromCharCode(48 + Math.random() * 75)).join('')

const message = (id: string, size: number): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ text: noise(size) }] },
})

/** Removes the fault. */
export type Undo = () => Promise<unknown>

export interface Fault {
  readonly name: string
  readonly code: ErrorCode
  readonly message: RegExp
  /** Causes the fault for an open store. */
  begin(database: FaultDatabase): Promise<Undo>
  /** Runs while a call waits. */
  during?(database: FaultDatabase): Promise<unknown>
  /** Events to append. Default: one small event. */
  readonly facts?: readonly Event[]
  /** Whether reads still work. */
  readonly readable?: boolean
  /** Whether a store that is opened during the fault fails too. */
  readonly atOpening?: boolean
  /** Whether a connection that was accepted just before the fault may survive it. */
  readonly mayConnectLate?: boolean
}

/** Locks the conversation's row in another session. */
export async function holdRow({ rival }: FaultDatabase): Promise<Undo> {
  await rival.query('BEGIN')
  await rival.query(`SELECT FROM colloquy.log WHERE conversation_id = 'c' FOR UPDATE`)
  return () => rival.query('ROLLBACK')
}

/** Changes the store user's settings for new connections. */
async function set(
  { name, asSuperuser, cutConnections }: FaultDatabase,
  ...settings: readonly string[]
): Promise<void> {
  await asSuperuser(...settings.map((setting) => `ALTER ROLE app IN DATABASE ${name} SET ${setting}`))
  await cutConnections()
}

async function reset({ name, asSuperuser, cutConnections }: FaultDatabase): Promise<void> {
  await asSuperuser(`ALTER ROLE app IN DATABASE ${name} RESET ALL`)
  await cutConnections()
}

/** All faults, with the error code that they cause. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'the connection ends during a call',
    code: 'store_unavailable',
    message: /terminat/,
    readable: true,
    begin: holdRow,
    during: async ({ observer, name, cutConnections }) => {
      await until(async () => (await waiting(observer, name)) > 0)
      await cutConnections()
    },
  },
  {
    name: 'the server restarts during a call',
    code: 'store_unavailable',
    message: /terminat|starting|shutting/,
    readable: true,
    begin: async (database) => {
      await holdRow(database)
      return async () => undefined
    },
    during: async ({ observer, name, server }) => {
      await until(async () => (await waiting(observer, name)) > 0)
      await server.restart()
    },
  },
  {
    name: 'the server is down',
    code: 'store_unavailable',
    message: /ECONNREFUSED|terminat/,
    atOpening: true,
    begin: async ({ rival, observer, server }) => {
      const gone = [rival, observer].map((one) => new Promise<void>((resolve) => one.once('end', resolve)))
      await server.kill()
      // The server's children end when they notice its death.
      await Promise.all(gone)
      await sleep(50)
      return () => server.start()
    },
  },
  {
    name: 'transactions are read-only',
    code: 'store_read_only',
    message: /read-only/,
    readable: true,
    atOpening: true,
    begin: async (database) => {
      await set(database, 'default_transaction_read_only = on')
      return () => reset(database)
    },
  },
  {
    name: 'the user has no write privileges',
    code: 'store_read_only',
    message: /permission denied/,
    readable: true,
    begin: async ({ asSuperuser }) => {
      await asSuperuser('REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA colloquy FROM app')
      return () => asSuperuser('GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA colloquy TO app')
    },
  },
  {
    name: 'the user has no privileges on the schema',
    code: 'store_unavailable',
    message: /permission denied|does not let/,
    begin: async ({ asSuperuser }) => {
      await asSuperuser('REVOKE ALL ON SCHEMA colloquy FROM app')
      return () => asSuperuser('GRANT ALL ON SCHEMA colloquy TO app')
    },
  },
  {
    name: 'the disk is full',
    code: 'store_full',
    message: /space|extend/,
    readable: true,
    facts: [pause('b'), message('b2', 20_000)],
    begin: fillDisk,
  },
  {
    name: 'temporary files exceed their limit',
    code: 'store_full',
    message: /temp_file_limit/,
    readable: true,
    begin: async (database) => {
      // An append itself writes no temporary file.
      await database.asSuperuser(
        `CREATE FUNCTION public.sorts() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM n FROM generate_series(1, 99999) AS n ORDER BY n DESC LIMIT 1 OFFSET 50000; RETURN NULL; END $$`,
        'CREATE TRIGGER sorts AFTER INSERT ON colloquy.event EXECUTE FUNCTION public.sorts()',
      )
      await set(database, `work_mem = '64kB'`, 'temp_file_limit = 0')
      return async () => {
        await database.asSuperuser('DROP TRIGGER sorts ON colloquy.event')
        await reset(database)
      }
    },
  },
  {
    name: 'a value is too large for an index',
    code: 'invalid_argument',
    message: /index row/,
    readable: true,
    facts: [message('b', 20_000)],
    begin: async ({ asSuperuser }) => {
      await asSuperuser('CREATE INDEX bodies ON colloquy.event (body)')
      return () => asSuperuser('DROP INDEX colloquy.bodies')
    },
  },
  {
    name: 'a lock times out',
    code: 'store_busy',
    message: /lock timeout/,
    readable: true,
    begin: async (database) => {
      await set(database, `lock_timeout = '60ms'`)
      const release = await holdRow(database)
      return async () => {
        await release()
        await reset(database)
      }
    },
  },
  {
    name: 'an operator cancels the statement',
    code: 'store_busy',
    message: /user request/,
    readable: true,
    begin: async ({ rival }) => {
      await rival.query('BEGIN')
      await rival.query('LOCK TABLE colloquy.event IN SHARE ROW EXCLUSIVE MODE')
      return () => rival.query('ROLLBACK')
    },
    during: async ({ observer, name }) => {
      await until(async () => (await waiting(observer, name)) > 0)
      await observer.query(
        `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'`,
        [name],
      )
    },
  },
  {
    name: 'a deadlock occurs',
    code: 'store_busy',
    message: /deadlock/,
    readable: true,
    begin: async ({ rival }) => {
      // The append locks the row and waits for this id; the rival waits for the row, with a longer deadlock
      // timeout, so the append fails.
      await rival.query(`SET deadlock_timeout = '60s'`)
      await rival.query('BEGIN')
      await rival.query(`INSERT INTO colloquy.event (log, seq, lane, time, id, body)
        SELECT number, 99, 0, 0, 'b', '{}' FROM colloquy.log WHERE conversation_id = 'c'`)
      return () => rival.query('ROLLBACK')
    },
    during: async ({ rival, observer, name }) => {
      await until(async () => (await waiting(observer, name)) > 0)
      await rival.query(`UPDATE colloquy.log SET time_zone = 'UTC' WHERE conversation_id = 'c'`)
    },
  },
  {
    name: 'the database has too many connections',
    code: 'store_busy',
    message: /too many connections/,
    atOpening: true,
    mayConnectLate: true,
    begin: async ({ name, asSuperuser, cutConnections }) => {
      await asSuperuser(`ALTER DATABASE ${name} CONNECTION LIMIT 0`)
      await cutConnections()
      return () => asSuperuser(`ALTER DATABASE ${name} CONNECTION LIMIT -1`)
    },
  },
  {
    name: 'the password is wrong',
    code: 'store_unavailable',
    message: /authentication failed/,
    atOpening: true,
    mayConnectLate: true,
    begin: async ({ asSuperuser, cutConnections }) => {
      await asSuperuser(`ALTER ROLE app PASSWORD 'another'`)
      await cutConnections()
      return () => asSuperuser(`ALTER ROLE app PASSWORD '${APP.password}'`)
    },
  },
  {
    name: 'the database is missing',
    code: 'store_unavailable',
    message: /does not exist/,
    atOpening: true,
    begin: async ({ name, rival, observer }) => {
      await rival.end()
      await observer.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
      // A connection may start just after the first check.
      const terminated = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1'
      await until(async () => (await observer.query(terminated, [name])).rows.length === 0)
      await observer.query(`ALTER DATABASE ${name} RENAME TO ${name}_away`)
      return async () => {
        await observer.query(`ALTER DATABASE ${name}_away RENAME TO ${name}`)
        await observer.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
      }
    },
  },
]

/**
 * Replaces the file of long bodies with a full device, so that PostgreSQL's own write fails as on a full
 * disk. Systems without that device use a trigger.
 */
async function fillDisk({ asSuperuser, observer }: FaultDatabase): Promise<Undo> {
  if (!existsSync('/dev/full')) {
    await asSuperuser(
      `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE 'could not extend file: no space left' USING ERRCODE = '53100'; END $$`,
      'CREATE TRIGGER full_disk BEFORE INSERT ON colloquy.event EXECUTE FUNCTION full_disk()',
    )
    return () => asSuperuser('DROP FUNCTION full_disk CASCADE')
  }
  const [result] = (await asSuperuser(
    `SELECT current_setting('data_directory') AS folder, pg_relation_filepath(reltoastrelid) AS path
    FROM pg_class WHERE oid = 'colloquy.event'::regclass`,
  )) as { readonly folder: string; readonly path: string }[]
  const file = join(result?.folder ?? '', result?.path ?? '')
  expect((await stat(file)).size).toBe(0)
  // Dropping a database makes every process close its open files.
  const reopenFiles = async (): Promise<void> => {
    await observer.query('CREATE DATABASE passing TEMPLATE template0')
    await observer.query('DROP DATABASE passing')
  }
  await rename(file, `${file}.away`)
  await symlink('/dev/full', file)
  await reopenFiles()
  return async () => {
    await rm(file)
    await rename(`${file}.away`, file)
    await reopenFiles()
  }
}
