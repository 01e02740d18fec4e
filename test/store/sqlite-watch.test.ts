/** A SQLite store that only watches is woken by every change of another process, even after faults of its connection. */

import { copyFileSync, rmSync, truncateSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { type SqliteDatabase, sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { folder } from './sqlite-drivers.ts'

const FILES = folder()
afterAll(FILES.remove)

/** The statements of a poll. */
const POLL_STATEMENTS = /data_version|DESC LIMIT 1/

const pause = (id: string) => ({ kind: 'PauseEvent' as const, id })

function open(file: string): Store {
  const store = sqliteStore({ file, synchronous: 'normal', pollInterval: 5 })
  onTestFinished(() => store.close())
  return store
}

/** Counts wakes after the first poll, which always wakes. */
async function startWatch(store: Store, id: string | null): Promise<{ wakes: number }> {
  const counter = { wakes: 0 }
  store.watch(id, () => (counter.wakes += 1))
  await new Promise((resolve) => setTimeout(resolve, 60))
  counter.wakes = 0
  return counter
}

it('a watch is woken by a conversation that is recreated with as many events in one transaction', async () => {
  const file = FILES.next()
  const [writing, watching] = [open(file), open(file)]
  await writing.createConversation({ id: 'c' })
  await writing.append('c', [pause('old')])
  await watching.getConversation('c')
  const watch = await startWatch(watching, 'c')
  // Initializes the known state of the log.
  await writing.append('c', [pause('older')])
  await expect.poll(() => watch.wakes).toBeGreaterThan(0)
  const before = watch.wakes
  const calls = [
    writing.deleteConversation('c'),
    writing.createConversation({ id: 'c' }),
    writing.append('c', [pause('new'), pause('newer')]),
  ]
  await Promise.all(calls)
  await expect.poll(() => watch.wakes).toBeGreaterThan(before)
})

function change(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

/** A database that reports every executed statement. */
function reportingDatabase(file: string, onStatement: (sql: string) => void): SqliteDatabase {
  const database = new DatabaseSync(file)
  return {
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
    prepare(sql) {
      const statement = database.prepare(sql)
      const reporting = (call: 'get' | 'all' | 'run') =>
        ((...values: never[]) => {
          onStatement(sql)
          return statement[call](...values)
        }) as never
      return { get: reporting('get'), all: reporting('all'), run: reporting('run') }
    },
  }
}

it('a poll reads only what has changed, not each watched conversation', async () => {
  const file = FILES.next()
  const writing = open(file)
  for (const id of ['c', 'd']) await writing.createConversation({ id })
  let otherStatements = 0
  const database = reportingDatabase(file, (sql) => (otherStatements += Number(!POLL_STATEMENTS.test(sql))))
  const watching = sqliteStore({ database, pollInterval: 5 })
  onTestFinished(() => watching.close())
  await watching.getConversation('c')
  const others = { wakes: 0 }
  for (let n = 0; n < 100; n += 1) watching.watch(`w${n}`, () => (others.wakes += 1))
  const [c, d, any] = [
    await startWatch(watching, 'c'),
    await startWatch(watching, 'd'),
    await startWatch(watching, null),
  ]
  otherStatements = 0
  await writing.append('c', [pause('a')])
  await expect.poll(() => Math.min(c.wakes, any.wakes), { interval: 5 }).toBeGreaterThan(0)
  expect([d.wakes, others.wakes, otherStatements]).toEqual([0, 0, 1])
  // More changes at once than a poll reads.
  change(
    file,
    `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1100)
    INSERT INTO colloquy_feed (shard, witness, number, conversation_id, change, from_seq, until_seq) SELECT 1, n, 0, 'x', 1, 0, 1 FROM n`,
  )
  await expect.poll(() => Math.min(d.wakes, others.wakes / 100), { interval: 5 }).toBeGreaterThan(0)
})

it('a watch is woken if the file is replaced by a database with another history', async () => {
  const file = FILES.next()
  const writing = open(file)
  await writing.createConversation({ id: 'c' })
  const watching = open(file)
  await watching.getConversation('c')
  const watch = await startWatch(watching, 'c')
  // Like restoring a backup into the open file: the last row changes.
  change(file, 'UPDATE colloquy_feed SET witness = witness + 1')
  await expect.poll(() => watch.wakes, { interval: 5 }).toBe(1)
})

it('a watch is woken after a fault closed the connection, without another call', async () => {
  const file = FILES.next()
  const backup = FILES.next()
  const first = sqliteStore({ file })
  await first.createConversation({ id: 'c' })
  await first.append('c', [pause('a')])
  await first.close()
  copyFileSync(file, backup)
  const watching = open(file)
  await watching.getConversation('c')
  const [one, any] = [await startWatch(watching, 'c'), await startWatch(watching, null)]
  truncateSync(file, 4096)
  await expect(watching.append('c', [pause('b')])).rejects.toMatchObject({ code: 'store_unavailable' })
  for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true })
  copyFileSync(backup, file)
  await new Promise((resolve) => setTimeout(resolve, 60))
  one.wakes = 0
  any.wakes = 0
  await open(file).append('c', [pause('b')])
  await expect.poll(() => Math.min(one.wakes, any.wakes)).toBeGreaterThan(0)
})

it('a watch is woken by a change before a busy database could be read', async () => {
  const file = FILES.next()
  await open(file).createConversation({ id: 'c' })
  let isBusy = false
  const database = reportingDatabase(file, () => {
    if (isBusy) throw Object.assign(new Error('database is locked'), { errcode: 5 })
  })
  const watching = sqliteStore({ database, pollInterval: 5 })
  onTestFinished(() => watching.close())
  await watching.getConversation('c')
  isBusy = true
  let wakes = 0
  watching.watch('c', () => (wakes += 1))
  await open(file).append('c', [pause('a')])
  isBusy = false
  await expect.poll(() => wakes, { interval: 5 }).toBeGreaterThan(0)
})

it('a watch is woken by a change before its first poll could read', async () => {
  const file = FILES.next()
  await open(file).createConversation({ id: 'c' })
  const watching = open(file)
  // Every 256th read waits for the next turn of the event loop.
  for (let reads = 1; reads < 256; reads += 1) await watching.getConversation('c')
  let wakes = 0
  watching.watch('c', () => (wakes += 1))
  change(
    file,
    `INSERT INTO colloquy_feed (shard, witness, number, conversation_id, change, from_seq, until_seq) VALUES (1, 1, 0, 'c', 1, 0, 1)`,
  )
  await expect.poll(() => wakes, { interval: 5 }).toBeGreaterThan(0)
})
