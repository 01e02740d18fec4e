/** A SQLite store that only watches is woken by all that another process does, whatever becomes of its connection. */

import { copyFileSync, rmSync, truncateSync } from 'node:fs'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { folder } from './sqlite-drivers.ts'

const FILES = folder()
afterAll(FILES.remove)

const pause = (id: string) => ({ kind: 'PauseEvent' as const, id })

function open(file: string): Store {
  const store = sqliteStore({ file, synchronous: 'normal', pollInterval: 5 })
  onTestFinished(() => store.close())
  return store
}

/** Wakes counted, once the first look is made: that one wakes in any case. */
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
  // So that the state of its log is known.
  await writing.append('c', [pause('older')])
  await expect.poll(() => seen.wakes).toBeGreaterThan(0)
  const before = seen.wakes
  const made = [
    writing.deleteConversation('c'),
    writing.createConversation({ id: 'c' }),
    writing.append('c', [pause('new'), pause('newer')]),
  ]
  await Promise.all(made)
  await expect.poll(() => seen.wakes, { timeout: 5_000 }).toBeGreaterThan(before)
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
  await expect.poll(() => Math.min(one.wakes, any.wakes), { timeout: 5_000 }).toBeGreaterThan(0)
})
