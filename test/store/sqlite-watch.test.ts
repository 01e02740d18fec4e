/** A SQLite store that only watches sees every change of another process, whatever happens to its connection. */

import { copyFileSync, rmSync, truncateSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { type SqliteDatabase, sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { folder } from './sqlite-drivers.ts'

const FILES = folder()
afterAll(FILES.remove)

/** The statements of a poll. */
const EACH_LOOK = /data_version|DESC LIMIT 1/

const pause = (id: string) => ({ kind: 'PauseEvent' as const, id })

function open(file: string): Store {
  const store = sqliteStore({ file, synchronous: 'normal', pollInterval: 5 })
  onTestFinished(() => store.close())
  return store
}

/** Counts wakes after the first poll, which always wakes. */
async function watched(store: Store, id: string | null): Promise<{ wakes: number }> {
  const seen = { wakes: 0 }
  store.watch(id, () => (seen.wakes += 1))
  await new Promise((resolve) => setTimeout(resolve, 60))
  seen.wakes = 0
  return seen
}

it('is woken where another conversation of as many events was made under the id in one moment', async () => {
  const file = FILES.next()
  const [writing, watching] = [open(file), open(file)]
  await writing.createConversation({ id: 'c' })
  await writing.append('c', [pause('old')])
  await watching.getConversation('c')
  const seen = await watched(watching, 'c')
  // Initializes the known state of the log.
  await writing.append('c', [pause('older')])
  await expect.poll(() => seen.wakes).toBeGreaterThan(0)
  const before = seen.wakes
  const made = [
    writing.deleteConversation('c'),
    writing.createConversation({ id: 'c' }),
    writing.append('c', [pause('new'), pause('newer')]),
  ]
  await Promise.all(made)
  await expect.poll(() => seen.wakes).toBeGreaterThan(before)
})

function change(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

/** A database that reports every executed statement. */
function heard(file: string, hear: (sql: string) => void): SqliteDatabase {
  const database = new DatabaseSync(file)
  return {
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
    prepare(sql) {
      const statement = database.prepare(sql)
      const listening = (call: 'get' | 'all' | 'run') =>
        ((...values: never[]) => {
          hear(sql)
          return statement[call](...values)
        }) as never
      return { get: listening('get'), all: listening('all'), run: listening('run') }
    },
  }
}

it('looks at what was written, and not at all that is watched', async () => {
  const file = FILES.next()
  const writing = open(file)
  for (const id of ['c', 'd']) await writing.createConversation({ id })
  let looks = 0
  const database = heard(file, (sql) => (looks += Number(!EACH_LOOK.test(sql))))
  const watching = sqliteStore({ database, pollInterval: 5 })
  onTestFinished(() => watching.close())
  await watching.getConversation('c')
  const others = { wakes: 0 }
  for (let n = 0; n < 100; n += 1) watching.watch(`w${n}`, () => (others.wakes += 1))
  const [c, d, any] = [
    await watched(watching, 'c'),
    await watched(watching, 'd'),
    await watched(watching, null),
  ]
  looks = 0
  await writing.append('c', [pause('a')])
  await expect.poll(() => Math.min(c.wakes, any.wakes), { interval: 5 }).toBeGreaterThan(0)
  expect([d.wakes, others.wakes, looks]).toEqual([0, 0, 1])
  // More changes at once than a poll reads.
  change(
    file,
    `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1100)
    INSERT INTO colloquy_feed (shard, witness, number, conversation_id, change, from_seq, until_seq) SELECT 1, n, 0, 'x', 1, 0, 1 FROM n`,
  )
  await expect.poll(() => Math.min(d.wakes, others.wakes / 100), { interval: 5 }).toBeGreaterThan(0)
})

it('wakes all where a database of another history is in its place', async () => {
  const file = FILES.next()
  const writing = open(file)
  await writing.createConversation({ id: 'c' })
  const watching = open(file)
  await watching.getConversation('c')
  const seen = await watched(watching, 'c')
  // Like restoring a backup into the open file: the last row changes.
  change(file, 'UPDATE colloquy_feed SET witness = witness + 1')
  await expect.poll(() => seen.wakes, { interval: 5 }).toBe(1)
})

it('is woken again after a fault dropped its connection, without any call', async () => {
  const file = FILES.next()
  const backup = FILES.next()
  const first = sqliteStore({ file })
  await first.createConversation({ id: 'c' })
  await first.append('c', [pause('a')])
  await first.close()
  copyFileSync(file, backup)
  const watching = open(file)
  await watching.getConversation('c')
  const [one, any] = [await watched(watching, 'c'), await watched(watching, null)]
  truncateSync(file, 4096)
  await expect(watching.append('c', [pause('b')])).rejects.toMatchObject({ code: 'store_unavailable' })
  for (const beside of ['-wal', '-shm']) rmSync(file + beside, { force: true })
  copyFileSync(backup, file)
  await new Promise((resolve) => setTimeout(resolve, 60))
  one.wakes = 0
  any.wakes = 0
  await open(file).append('c', [pause('b')])
  await expect.poll(() => Math.min(one.wakes, any.wakes)).toBeGreaterThan(0)
})
