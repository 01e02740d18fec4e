/** Snapshots of live conversations are automatic, shorten the opening, and may be lost or damaged at any time. */

import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { openState } from '../../src/conversation/replica.ts'
import type { Event } from '../../src/event/types.ts'
import { encodeState } from '../../src/state/read.ts'
import { replay } from '../../src/state/reduce.ts'
import { stateAt } from '../../src/state/at.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { evict, encodeWithoutBodies } from '../../src/state/snapshot.ts'
import { hostileLog } from '../../src/testing/index.ts'
import { user } from '../build.ts'
import { backends } from './backends.ts'
import { wrapStore } from './stores.ts'

const BACKENDS = backends()
afterAll(() => BACKENDS.remove())

const message = (id: string, source: 'user' | 'agent' = 'user'): Event => ({
  kind: 'MessageEvent',
  id,
  timestamp: '2026-01-01T00:00:00Z',
  source,
  llm_message: { role: source === 'user' ? 'user' : 'assistant', content: [{ text: `text of ${id}` }] },
})

const call = (id: string): Event => ({
  kind: 'ActionEvent',
  id,
  thought: [],
  action: { kind: 'AnyAction' },
  tool_name: 'ls',
  tool_call_id: `call-${id}`,
  tool_call: { id: `call-${id}`, name: 'ls', arguments: '{}', origin: 'completion' },
  llm_response_id: `reply-${id}`,
})

const answer = (actionId: string): Event => ({
  kind: 'ObservationEvent',
  tool_name: 'ls',
  tool_call_id: `call-${actionId}`,
  action_id: actionId,
  observation: { kind: 'AnyObservation', content: [] },
})

/** A log with branches; the view has only the end of the last one. */
function longLog(length: number): Event[] {
  const events: Event[] = []
  for (let n = 0; events.length < length; n += 1) {
    events.push(message(`m${n}`), call(`a${n}`), answer(`a${n}`))
    if (n % 50 === 49) {
      const forgotten = Array.from({ length: 45 }, (_, i) => [`m${n - i - 1}`, `a${n - i - 1}`]).flat()
      events.push({
        kind: 'Condensation',
        llm_response_id: `c${n}`,
        forgotten_event_ids: forgotten,
        summary: `sum ${n}`,
        summary_offset: 0,
      })
    }
    if (n % 97 === 96)
      events.push(
        { ...message(`side${n}`), parent_id: `m${n - 20}` },
        { kind: 'ConversationStateUpdateEvent', key: 'leaf_event_id', value: `a${n}` },
      )
  }
  return events.slice(0, length)
}

async function plainState(store: Store, id: string) {
  const events = await store.read(id, { limit: 100_000 })
  return replay(
    events.map(({ fact }) => fact),
    { conversationId: id },
  )
}

/** Counts the events read. */
function counting(inner: Store): { readonly store: Store; readonly readCount: () => number } {
  let count = 0
  const store = wrapStore(inner, {
    async read(id, options) {
      const events = await inner.read(id, options)
      count += events.length
      return events
    },
  })
  return { store, readCount: () => count }
}

describe.each(BACKENDS.names)('snapshots over %s', (name) => {
  it('a long conversation opens from a snapshot and the events after it', async () => {
    const backend = await BACKENDS.make(name)
    const store = backend.open()
    const engine = createEngine({ store })
    const conversation = await engine.create({ id: 'c' })
    // Stores treat snapshots of all lengths alike, so only one stores a whole chunk of columns.
    const log = longLog(name === 'memory' ? 4_500 : 2_300)
    for (let index = 0; index < log.length; index += 100)
      await conversation.append(log.slice(index, index + 100))
    await engine.close()
    const parts = await store.loadSnapshot('c')
    expect(parts.length).toBeGreaterThan(1)
    // Text is stored only in the log.
    for (const { bytes } of parts) expect(new TextDecoder().decode(bytes)).not.toContain('text of')

    const counted = counting(backend.open())
    const second = createEngine({ store: counted.store })
    const reopened = await second.open('c')
    const state = await reopened.state()
    const plain = await plainState(store, 'c')
    expect(state.log.entries.length).toBe(plain.log.entries.length)
    // The bodies of the view and later events.
    expect(counted.readCount()).toBeLessThan(1_100 + state.branch.view.length)
    expect(encodeState(state)).toBe(encodeState(plain))
    expect(await reopened.messages()).toEqual(await conversationMessages(store))
    // Evicted bodies are loaded on demand.
    for (const id of ['m3', 'a700', 'side96']) {
      expect(encodeState(await reopened.stateAt(id))).toBe(encodeState(stateAt(plain, id)))
    }
    await second.close()
    await Promise.all([store.close(), counted.store.close()])
  })

  it('a conversation without old bodies accepts late results, old branches and HEAD moves', async () => {
    const backend = await BACKENDS.make(name)
    const store = backend.open()
    const writing = createEngine({ store })
    const conversation = await writing.create({ id: 'c' })
    await conversation.append([message('root'), call('old')])
    await conversation.navigate('root')
    const log = longLog(1_500)
    for (let index = 0; index < log.length; index += 100)
      await conversation.append(log.slice(index, index + 100))
    await writing.close()
    expect((await store.loadSnapshot('c')).length).toBeGreaterThan(1)

    const engine = createEngine({ store: backend.open() })
    const opened = await engine.open('c')
    const head = (await opened.state()).log.head?.id
    await opened.append(answer('old'))
    expect((await opened.state()).log.head?.id).toBe(head)
    await opened.append({ ...message('aside'), parent_id: 'm7' })
    await opened.navigate('m9')
    await opened.append(message('beside'))
    await opened.navigate('aside')
    expect(encodeState(await opened.state())).toBe(encodeState(await plainState(store, 'c')))
    expect((await opened.branches()).map(({ leafId }) => leafId)).toContain('beside')
    await engine.close()
    await Promise.all([store.close(), engine.store.close()])
  })
})

async function conversationMessages(store: Store) {
  const engine = createEngine({ store: wrapStore(store, { loadSnapshot: async () => [] }) })
  const conversation = await engine.open('c')
  const messages = await conversation.messages()
  await engine.close()
  return messages
}

describe('writing snapshots', () => {
  const BODY = 'x'.repeat(900)

  /** Appends messages in tens, and returns the bytes written of them and of snapshots, at each length. */
  async function written(lengths: readonly number[], saveSnapshot: Store['saveSnapshot'] | null) {
    const store = memoryStore()
    const order: string[] = []
    let bytes = 0
    const engine = createEngine({
      store: wrapStore(store, {
        async saveSnapshot(id, parts, options) {
          order.push('snapshot')
          bytes += parts.reduce((sum, part) => sum + part.bytes.length, 0)
          await (saveSnapshot ?? store.saveSnapshot)(id, parts, options)
        },
      }),
    })
    const conversation = await engine.create({ id: 'c' })
    const shares: number[] = []
    let log = 0
    for (let n = 10; n <= Math.max(...lengths); n += 10) {
      const ten = Array.from({ length: 10 }, (_, index) => user(`m${n}.${index}`, BODY))
      const [event] = await conversation.append(ten)
      order.push('events')
      log += 10 * JSON.stringify(event?.fact).length
      // Lets timers run, as in a server.
      if (n % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
      if (lengths.includes(n)) shares.push(bytes / log)
    }
    await engine.close()
    return { shares: [...shares, bytes / log], order, store }
  }

  it('takes less than a tenth of the bytes of the log, even if all events are in the view', async () => {
    const { shares, order } = await written([1_000, 4_200, 5_500, 9_000], null)
    for (const share of shares) expect(share).toBeLessThan(0.1)
    expect(order.filter((one) => one === 'snapshot').length).toBeGreaterThan(0)
  })

  it('is retried with the next part of the log, as a complete snapshot, after a failure', async () => {
    const complete: unknown[] = []
    const { store } = await written([8_300], async (_, __, options) => {
      complete.push(options?.complete)
      throw new Error('failed')
    })
    expect(complete.length).toBeLessThan(4)
    expect(new Set(complete)).toEqual(new Set([true]))
    expect(await store.loadSnapshot('c')).toEqual([])
    await store.close()
  })
})

it('openState() reads fewer than 10 ranges of the log, even if the view is scattered', async () => {
  const inner = memoryStore()
  const { createdAt } = await inner.createConversation({ id: 'c' })
  // Every fortieth event is on HEAD's branch.
  const log = Array.from({ length: 2_401 }, (_, n): Event => {
    const isSide = n % 40 > 0
    const before = isSide && n % 40 > 1 ? n - 1 : n - (isSide ? 1 : 40)
    return { ...message(`m${n}`), ...(before >= 0 && { parent_id: `m${before}` }) }
  })
  await inner.append('c', log, { mode: 'import' })
  const plain = await plainState(inner, 'c')
  await inner.saveSnapshot('c', encodeWithoutBodies(plain, 0, createdAt))
  let reads = 0
  const store = wrapStore(inner, {
    async read(id, options) {
      reads += 1
      return inner.read(id, options)
    },
  })
  const { state, snapshotAt } = await openState(store, 'c')
  expect(snapshotAt).toBe(log.length)
  expect(state.branch.view.length).toBe(61)
  expect(encodeState(state)).toBe(encodeState(plain))
  expect(reads).toBeLessThan(10)
})

describe('a snapshot', () => {
  it('does not change the state if its parts are damaged', async () => {
    const store = memoryStore()
    const engine = createEngine({ store })
    const conversation = await engine.create({ id: 'c' })
    await conversation.append(longLog(1_050))
    await engine.close()
    const parts = await store.loadSnapshot('c')
    const plain = encodeState(await plainState(store, 'c'))
    let refused = 0
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: parts.length - 1 }),
        fc.constantFrom('flip', 'cut', 'drop', 'repeat', 'zero'),
        fc.nat(),
        async (index, how, where) => {
          const damaged = parts.map(({ part, bytes }) => ({ part, bytes: bytes.slice() }))
          const hit = damaged[index]?.bytes ?? new Uint8Array()
          const position = where % Math.max(1, hit.length)
          if (how === 'flip') hit[position] = (hit[position] ?? 0) ^ (1 << (where % 8))
          if (how === 'zero') hit.fill(0, position)
          if (how === 'cut') damaged[index] = { part: index, bytes: hit.slice(0, position) }
          if (how === 'repeat') damaged[index] = { part: index, bytes: damaged.at(-1 - index)?.bytes ?? hit }
          if (how === 'drop') damaged.splice(index, 1)
          const counted = counting(
            wrapStore(store, { loadSnapshot: async () => damaged, saveSnapshot: async () => undefined }),
          )
          const other = createEngine({ store: counted.store })
          const opened = await other.open('c')
          expect(encodeState(await opened.state())).toBe(plain)
          if (counted.readCount() > 1_000) refused += 1
          await other.close()
        },
      ),
      { numRuns: 40 },
    )
    // The damage was detected.
    expect(refused).toBeGreaterThan(25)
  })

  it('is ignored if it belongs to another log with the same id', async () => {
    const store = memoryStore()
    const engine = createEngine({ store })
    const conversation = await engine.create({ id: 'c' })
    await conversation.append(longLog(1_200))
    await engine.close()
    const stale = await store.loadSnapshot('c')
    await store.deleteConversation('c')
    await store.createConversation({ id: 'c' })
    await store.append(
      'c',
      longLog(1_300).map((event, n) => ({ ...event, id: `new-${n}` })),
      { mode: 'import' },
    )
    await store.saveSnapshot('c', stale)
    const other = createEngine({ store })
    const opened = await other.open('c')
    expect(encodeState(await opened.state())).toBe(encodeState(await plainState(store, 'c')))
    await other.close()
  })

  it('does not affect the conversation if it cannot be written', async () => {
    const store: Store = {
      ...memoryStore(),
      saveSnapshot: async () => {
        throw new Error('no room')
      },
    }
    const engine = createEngine({ store })
    const conversation = await engine.create({ id: 'c' })
    const log = longLog(1_500)
    for (let index = 0; index < log.length; index += 100)
      await conversation.append(log.slice(index, index + 100))
    expect(encodeState(await conversation.state())).toBe(encodeState(await plainState(store, 'c')))
    await engine.close()
  })
})

describe('hostile logs', () => {
  it('have the state of a replay after an opening from a snapshot', async () => {
    const evictions = { count: 0 }
    await fc.assert(
      fc.asyncProperty(hostileLog(), fc.nat({ max: 100 }), async (log, cut) => {
        const store = memoryStore()
        const { createdAt } = await store.createConversation({ id: 'c' })
        const facts = log.filter((fact) => !('kind' in fact && fact.kind === 'StreamingDeltaEvent'))
        const index = Math.floor((facts.length * cut) / 100)
        await store.append('c', facts.slice(0, index), { mode: 'import' })
        const engine = createEngine({ store })
        const conversation = await engine.open('c')
        await conversation.state()
        // Saved manually: these logs are too short for automatic snapshots.
        const state = await conversation.state()
        await store.saveSnapshot('c', encodeWithoutBodies(state, 0, createdAt))
        if (evict(state).log.entries.length > 0) evictions.count += 1
        await engine.close()
        await store.append('c', facts.slice(index), { mode: 'import' })
        const other = createEngine({ store })
        const opened = await other.open('c')
        expect(encodeState(await opened.state())).toBe(encodeState(await plainState(store, 'c')))
        await other.close()
      }),
      { numRuns: 60 },
    )
    expect(evictions.count).toBeGreaterThan(25)
  })
})
