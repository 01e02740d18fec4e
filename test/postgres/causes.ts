/** Faults below a PostgreSQL store, caused for real and then removed. */

import { existsSync } from 'node:fs'
import { rename, rm, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { ErrorCode } from '../../src/event/errors.ts'
import type { Event } from '../../src/event/types.ts'
import { until, waiting } from './bystander.ts'
import { APP, type Place } from './place.ts'

/** A small event, after HEAD unless a parent is given. */
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
export type End = () => Promise<unknown>

export interface Cause {
  readonly name: string
  readonly code: ErrorCode
  readonly says: RegExp
  /** Causes the fault for an open store. */
  begin(index: Place): Promise<End>
  /** Runs while a call waits. */
  during?(index: Place): Promise<unknown>
  /** Events to append. Default: one small event. */
  readonly facts?: readonly Event[]
  /** Whether reads still work. */
  readonly readable?: boolean
  /** Whether a store opened during the fault fails too. */
  readonly atOpening?: boolean
  /** Whether a connection that was accepted just before the fault may survive it. */
  readonly mayBeLate?: boolean
}

/** Locks the conversation's row in another session. */
export async function holdRow({ rival }: Place): Promise<End> {
  await rival.query('BEGIN')
  await rival.query(`SELECT FROM colloquy.log WHERE conversation_id = 'c' FOR UPDATE`)
  return () => rival.query('ROLLBACK')
}

/** Changes the store user's settings for new connections. */
async function set({ name, rule, cut: end }: Place, ...settings: readonly string[]): Promise<void> {
  await rule(...settings.map((setting) => `ALTER ROLE app IN DATABASE ${name} SET ${setting}`))
  await end()
}

async function reset({ name, rule, cut: end }: Place): Promise<void> {
  await rule(`ALTER ROLE app IN DATABASE ${name} RESET ALL`)
  await end()
}

/** All faults, with the error code they cause. */
export const CAUSES: readonly Cause[] = [
  {
    name: 'a connection that ends in the middle of a call',
    code: 'store_unavailable',
    says: /terminat/,
    readable: true,
    begin: holdRow,
    during: async ({ looker, name, cut: end }) => {
      await until(async () => (await waiting(looker, name)) > 0)
      await end()
    },
  },
  {
    name: 'a server that restarts in the middle of a call',
    code: 'store_unavailable',
    says: /terminat|starting|shutting/,
    readable: true,
    begin: async (index) => {
      await holdRow(index)
      return async () => undefined
    },
    during: async ({ looker, name, server }) => {
      await until(async () => (await waiting(looker, name)) > 0)
      await server.restart()
    },
  },
  {
    name: 'a server that is down',
    code: 'store_unavailable',
    says: /ECONNREFUSED|terminat/,
    atOpening: true,
    begin: async ({ rival, looker, server }) => {
      const gone = [rival, looker].map((one) => new Promise<void>((resolve) => one.once('end', resolve)))
      await server.kill()
      // The server's children end when they notice its death.
      await Promise.all(gone)
      await sleep(50)
      return () => server.start()
    },
  },
  {
    name: 'a server that takes no writes',
    code: 'store_read_only',
    says: /read-only/,
    readable: true,
    atOpening: true,
    begin: async (index) => {
      await set(index, 'default_transaction_read_only = on')
      return () => reset(index)
    },
  },
  {
    name: 'a user who may not write',
    code: 'store_read_only',
    says: /permission denied/,
    readable: true,
    begin: async ({ rule }) => {
      await rule('REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA colloquy FROM app')
      return () => rule('GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA colloquy TO app')
    },
  },
  {
    name: 'a schema without rights',
    code: 'store_unavailable',
    says: /permission denied|does not let/,
    begin: async ({ rule }) => {
      await rule('REVOKE ALL ON SCHEMA colloquy FROM app')
      return () => rule('GRANT ALL ON SCHEMA colloquy TO app')
    },
  },
  {
    name: 'a full disk',
    code: 'store_full',
    says: /space|extend/,
    readable: true,
    facts: [pause('b'), message('b2', 20_000)],
    begin: fillDisk,
  },
  {
    name: 'no room for temporary files',
    code: 'store_full',
    says: /temp_file_limit/,
    readable: true,
    begin: async (index) => {
      // An append itself writes no temporary file.
      await index.rule(
        `CREATE FUNCTION public.sorts() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM n FROM generate_series(1, 99999) AS n ORDER BY n DESC LIMIT 1 OFFSET 50000; RETURN NULL; END $$`,
        'CREATE TRIGGER sorts AFTER INSERT ON colloquy.event EXECUTE FUNCTION public.sorts()',
      )
      await set(index, `work_mem = '64kB'`, 'temp_file_limit = 0')
      return async () => {
        await index.rule('DROP TRIGGER sorts ON colloquy.event')
        await reset(index)
      }
    },
  },
  {
    name: 'a value that an index has no room for',
    code: 'invalid_argument',
    says: /index row/,
    readable: true,
    facts: [message('b', 20_000)],
    begin: async ({ rule }) => {
      await rule('CREATE INDEX bodies ON colloquy.event (body)')
      return () => rule('DROP INDEX colloquy.bodies')
    },
  },
  {
    name: 'a lock that is not given in time',
    code: 'store_busy',
    says: /lock timeout/,
    readable: true,
    begin: async (index) => {
      await set(index, `lock_timeout = '60ms'`)
      const release = await holdRow(index)
      return async () => {
        await release()
        await reset(index)
      }
    },
  },
  {
    name: 'a statement that an operator cancels',
    code: 'store_busy',
    says: /user request/,
    readable: true,
    begin: async ({ rival }) => {
      await rival.query('BEGIN')
      await rival.query('LOCK TABLE colloquy.event IN SHARE ROW EXCLUSIVE MODE')
      return () => rival.query('ROLLBACK')
    },
    during: async ({ looker, name }) => {
      await until(async () => (await waiting(looker, name)) > 0)
      await looker.query(
        `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'`,
        [name],
      )
    },
  },
  {
    name: 'a deadlock',
    code: 'store_busy',
    says: /deadlock/,
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
    during: async ({ rival, looker, name }) => {
      await until(async () => (await waiting(looker, name)) > 0)
      await rival.query(`UPDATE colloquy.log SET time_zone = 'UTC' WHERE conversation_id = 'c'`)
    },
  },
  {
    name: 'too many connections',
    code: 'store_busy',
    says: /too many connections/,
    atOpening: true,
    mayBeLate: true,
    begin: async ({ name, rule, cut: end }) => {
      await rule(`ALTER DATABASE ${name} CONNECTION LIMIT 0`)
      await end()
      return () => rule(`ALTER DATABASE ${name} CONNECTION LIMIT -1`)
    },
  },
  {
    name: 'a password that is wrong',
    code: 'store_unavailable',
    says: /authentication failed/,
    atOpening: true,
    mayBeLate: true,
    begin: async ({ rule, cut: end }) => {
      await rule(`ALTER ROLE app PASSWORD 'another'`)
      await end()
      return () => rule(`ALTER ROLE app PASSWORD '${APP.password}'`)
    },
  },
  {
    name: 'a database that is missing',
    code: 'store_unavailable',
    says: /does not exist/,
    atOpening: true,
    begin: async ({ name, rival, looker }) => {
      await rival.end()
      await looker.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
      // A connection may start just after the first check.
      const terminated = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1'
      await until(async () => (await looker.query(terminated, [name])).rows.length === 0)
      await looker.query(`ALTER DATABASE ${name} RENAME TO ${name}_away`)
      return async () => {
        await looker.query(`ALTER DATABASE ${name}_away RENAME TO ${name}`)
        await looker.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
      }
    },
  },
]

/**
 * Replaces the file of long bodies with a full device, so that PostgreSQL's own write fails as on a full
 * disk. Systems without that device use a trigger.
 */
async function fillDisk({ rule, looker }: Place): Promise<End> {
  if (!existsSync('/dev/full')) {
    await rule(
      `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE 'could not extend file: no space left' USING ERRCODE = '53100'; END $$`,
      'CREATE TRIGGER full_disk BEFORE INSERT ON colloquy.event EXECUTE FUNCTION full_disk()',
    )
    return () => rule('DROP FUNCTION full_disk CASCADE')
  }
  const [result] = (await rule(
    `SELECT current_setting('data_directory') AS folder, pg_relation_filepath(reltoastrelid) AS path
    FROM pg_class WHERE oid = 'colloquy.event'::regclass`,
  )) as { readonly folder: string; readonly path: string }[]
  const file = join(result?.folder ?? '', result?.path ?? '')
  expect((await stat(file)).size).toBe(0)
  // Dropping a database makes every process close its open files.
  const reopenFiles = async (): Promise<void> => {
    await looker.query('CREATE DATABASE passing TEMPLATE template0')
    await looker.query('DROP DATABASE passing')
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
