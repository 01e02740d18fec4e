/** A replica reloads the log when a decision needs evicted bodies. It misses no event, and its size includes them. */

import { expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { decideNavigate, statusUpdate } from '../../src/conversation/decide.ts'
import { Replica } from '../../src/conversation/replica.ts'
import { columnarLength } from '../../src/log/log.ts'
import { encodeWithoutBodies } from '../../src/state/snapshot.ts'
import { replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { pause, user } from '../build.ts'
import { idCounter } from './states.ts'
import { wrapStore } from './stores.ts'
import { startConversation } from './script.ts'

const stamp = { newId: idCounter(), clock: () => 1_767_225_600_000_000n }

/** A store with a conversation and its snapshot, which has no body except that of HEAD. */
async function stored(length: number) {
  const store = memoryStore()
  const { createdAt } = await store.createConversation({ id: 'c' })
  const events = Array.from({ length }, (_, n) => ({ ...pause(`p${n}`), timestamp: '2026-01-01T00:00:00Z' }))
  await store.append('c', events, { mode: 'import' })
  const stored = await store.read('c', { limit: length })
  const state = replay(
    stored.map(({ fact }) => fact),
    { conversationId: 'c' },
  )
  await store.saveSnapshot('c', encodeWithoutBodies(state, 0, createdAt))
  return store
}

it('a replica reports events that others append while it reloads the log for a decision', async () => {
  const inner = await stored(20)
  let appended = false
  const store = wrapStore(inner, {
    async read(id, options) {
      // Another process appends just before the whole log is read.
      if (options?.from === 0 && !appended) {
        appended = true
        await inner.append('c', [pause('theirs')])
      }
      return inner.read(id, options)
    },
  })
  const replica = await Replica.open(store, stamp, 'c')
  const reports: number[] = []
  replica.changes.add(({ log }: State) => reports.push(log.entries.length))
  // This decision is discarded.
  const decided = await replica.commit(
    (state) => {
      decideNavigate(state, 'p3')
      void state.log.entries.get(3)?.branch
      return []
    },
    { depends: true },
  )
  expect(decided).toEqual([])
  expect(appended).toBe(true)
  expect(replica.state.log.entries.length).toBe(21)
  expect(reports).toContain(21)
})

it('a replica updates the listed status after a reload that found events of others', async () => {
  const store = await stored(20)
  const replica = await Replica.open(store, stamp, 'c')
  await replica.commit(() => [pause('mine')])
  const resumed = { ...statusUpdate('idle'), id: 'theirs', timestamp: '2026-01-01T00:00:00Z' }
  await store.append('c', [resumed])
  await store.setStatus('c', 'idle', 22)
  // Reading evicted bodies reloads the log, so the state includes events of other processes.
  await replica.commit((state) => (void state.log.entries.get(3)?.branch, [pause('again')]))
  expect((await store.getConversation('c'))?.status).toBe('paused')
})

it('a replica includes reloaded bodies in its size', async () => {
  const replica = await Replica.open(await stored(200), stamp, 'c')
  const small = replica.bytes
  await replica.commit((state) => (void state.log.entries.get(3)?.branch, []))
  expect(replica.state.log.entries.get(3)?.event).not.toBeNull()
  expect(replica.bytes).toBeGreaterThan(3 * small)
})

it('a replica encodes a growing view at most five times for evictions', async () => {
  const store = memoryStore()
  await store.createConversation({ id: 'c' })
  const replica = await Replica.open(store, stamp, 'c')
  let [encoded, evicted] = [0, 0]
  for (let turn = 0; turn < 12; turn += 1) {
    await replica.commit(() => Array.from({ length: 1_000 }, (_, index) => user(`${turn}-${index}`)))
    await replica.settle()
    const { log, branch } = replica.state
    if (columnarLength(log) > evicted) encoded += branch.view.length
    evicted = columnarLength(log)
  }
  expect(evicted).toBeGreaterThan(8_000)
  expect(encoded).toBeLessThan(5 * 12_000)
})

it.each([
  ['no idle conversation with cacheBytes 0', 0, true, true],
  ['only the last used conversation if it exceeds cacheBytes', 10_000, false, true],
  ['all idle conversations that fit in cacheBytes', 1_000_000, false, false],
])('an engine keeps %s', async (_, cacheBytes, reopensOne, reopensBoth) => {
  let opens = 0
  const inner = memoryStore()
  const store = wrapStore(inner, {
    async loadSnapshot(id) {
      opens += 1
      return inner.loadSnapshot(id)
    },
  })
  const engine = createEngine({ store, cacheBytes })
  const [a, b] = [await engine.create({ id: 'a' }), await engine.create({ id: 'b' })]
  for (const each of [a, b]) await each.append(user('u', 'x'.repeat(100_000)))
  const opensDuring = async (work: () => Promise<unknown>): Promise<number> => {
    const before = opens
    for (let turn = 0; turn < 5; turn += 1) await work()
    return opens - before
  }
  await a.state()
  expect(await opensDuring(() => a.state())).toBe(reopensOne ? 5 : 0)
  expect(await opensDuring(() => b.state().then(() => a.state()))).toBe(reopensBoth ? 10 : 0)
  await engine.close()
})

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

it('waitFor() on a closed store leaves no timer that keeps the process alive', async () => {
  const { engine, conversation, store } = await startConversation()
  await store.close()
  const before = timers()
  for (let time = 0; time < 10; time += 1)
    await expect(conversation.waitFor('finished')).rejects.toMatchObject({ code: 'store_closed' })
  expect(timers() - before).toBeLessThan(5)
  await engine.close()
})
