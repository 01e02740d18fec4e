/** SQL sessions next to the store: run statements, wait for locks, and terminate connections. */

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** Runs statements in a new connection and returns the last rows. */
export async function run(url: string, ...statements: readonly string[]): Promise<unknown[]> {
  const client = await session(url)
  try {
    let rows: unknown[] = []
    for (const statement of statements) ({ rows } = await client.query(statement))
    return rows
  } finally {
    await client.end()
  }
}

/** Another client's connection, which can hold locks. */
export async function session(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  client.on('error', () => undefined)
  await client.connect()
  return client
}

/** The same server with another database, and optionally another user. */
export function urlOf(url: string, database: string, user?: { name: string; password: string }): string {
  const other = new URL(url)
  other.pathname = `/${database}`
  if (user !== undefined) {
    other.username = user.name
    other.password = user.password
  }
  return other.href
}

/** Polls a condition, until the test times out. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await sleep(5)
}

/**
 * Waits until the server has noticed that the processes of other clients of this database are dead: until
 * then it executes, and commits, their last statements.
 */
export async function settled(url: string): Promise<void> {
  const others = `SELECT FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()`
  await until(async () => (await run(url, others)).length === 0)
}

/** Number of statements in a database that wait for a lock. */
export async function waiting(client: pg.Client, database: string): Promise<number> {
  const { rows } = await client.query<{ readonly count: number }>(
    `SELECT count(*)::integer AS count FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock'`,
    [database],
  )
  return rows[0]?.count ?? 0
}

/** Terminates a user's connections and waits until they are gone; new ones may start in the meantime. */
export async function cut(client: pg.Client, user: string): Promise<void> {
  const ended = await client.query<{ readonly pid: number }>(
    'SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1',
    [user],
  )
  const pids = ended.rows.map(({ pid }) => pid)
  const remaining = async (): Promise<number> =>
    (await client.query('SELECT FROM pg_stat_activity WHERE pid = ANY ($1)', [pids])).rows.length
  await until(async () => (await remaining()) === 0)
  // A backend ends a moment after its termination.
  await sleep(20)
}
