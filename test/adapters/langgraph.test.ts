/** The LangGraph saver passes LangGraph's own suite over each store, and handles concurrency, crashes and growing state. */

import { HumanMessage } from '@langchain/core/messages'
import { MessagesDeltaValue, MessagesValue, StateGraph, StateSchema } from '@langchain/langgraph'
import { type BaseCheckpointSaver, emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint'
import { validate } from '@langchain/langgraph-checkpoint-validation'
import { setTimeout as wait } from 'node:timers/promises'
import fc from 'fast-check'
import * as vitest from 'vitest'
import { describe, expect, it } from 'vitest'
import { colloquySaver } from '../../src/adapters/langgraph.ts'
import type { Items } from '../../src/store/contract/items.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { RUNS } from '../../properties/run.ts'
import { everyStore } from './stores.ts'

// The suite reads its functions from the global object.
Object.assign(globalThis, vitest)

const { stores: STORES, releaseAll } = everyStore('langgraph')

/** Runs LangGraph's suite with a new store for each saver. */
function validateOver(name: string, open: () => Promise<Store>): void {
  const stores = new Map<BaseCheckpointSaver, Store>()
  validate({
    checkpointerName: `colloquy ${name}`,
    async createCheckpointer() {
      const store = await open()
      const saver = colloquySaver({ store })
      stores.set(saver, store)
      return saver
    },
    async destroyCheckpointer(saver) {
      await stores.get(saver)?.close()
      stores.delete(saver)
      if (stores.size === 0) releaseAll()
    },
  })
}

for (const [name, open] of Object.entries(STORES)) validateOver(name, open)

const countTests = (task: vitest.RunnerTask): number =>
  task.type === 'suite' ? task.tasks.reduce((sum, each) => sum + countTests(each), 0) : 1

it('the LangGraph suite runs 718 cases over each store', ({ task }) => {
  const suites = task.file.tasks.filter(({ name }) => name.startsWith('colloquy '))
  expect(suites.map((suite) => [suite.name, countTests(suite)])).toEqual(
    Object.keys(STORES).map((name) => [`colloquy ${name}`, 718]),
  )
})

const THREAD = { configurable: { thread_id: 't', checkpoint_ns: '' } }
let clock = 0

/** Writes a thread's next checkpoint, whose only channel has a value. */
async function step(saver: BaseCheckpointSaver, config: object, value: unknown, id?: string) {
  const version = (clock += 1)
  const checkpoint = {
    ...emptyCheckpoint(),
    id: id ?? uuid6(version),
    channel_values: { list: value },
    channel_versions: { list: version },
  }
  return saver.put(config, checkpoint, { source: 'loop', step: version, parents: {} }, { list: version })
}

const valueOf = async (saver: BaseCheckpointSaver, config: object = THREAD): Promise<unknown> =>
  (await saver.getTuple(config))?.checkpoint.channel_values['list']

describe('the LangGraph saver', () => {
  it('returns each version of a value, for lists that grow, shrink and change', async () => {
    const element = fc.oneof(
      { weight: 4, arbitrary: fc.integer() },
      { weight: 4, arbitrary: fc.string({ unit: 'binary' }) },
      { weight: 4, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.jsonValue() },
    )
    const value = fc.oneof(
      { weight: 4, arbitrary: fc.array(element, { maxLength: 200, size: 'max' }) },
      { weight: 1, arbitrary: fc.constant(new Uint8Array([0, 255, 7])) },
      { weight: 1, arbitrary: fc.array(fc.constant(new Uint8Array([1])), { maxLength: 20 }) },
      { weight: 1, arbitrary: element },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 6 }), async (values) => {
        const saver = colloquySaver({ store: memoryStore() })
        let config: object = THREAD
        const configs: object[] = []
        for (const each of values) configs.push((config = await step(saver, config, each)))
        const expected = await Promise.all(
          values.map(async (each) => saver.serde.loadsTyped(...(await saver.serde.dumpsTyped(each)))),
        )
        expect(await Promise.all(configs.map((index) => valueOf(saver, index)))).toEqual(expected)
      }),
      { numRuns: Math.ceil(RUNS / 2) },
    )
  })

  it('writes less than a twentieth of the total size of 500 growing states', async () => {
    const store = memoryStore()
    let written = 0
    const counting = {
      getItem: (...args) => store.getItem(...args),
      listItems: (...args) => store.listItems(...args),
      changeItems(changes) {
        written += JSON.stringify(changes).length
        return store.changeItems(changes)
      },
    } satisfies Partial<Items>
    const saver = colloquySaver({ store: counting as unknown as Items })
    const messages: string[] = []
    let config: object = THREAD
    let states = 0
    let state = 0
    for (let count = 0; count < 500; count += 1) {
      const message = `message ${count} ${'x'.repeat(200)}`
      messages.push(message)
      config = await step(saver, config, messages)
      state += JSON.stringify(message).length + 1
      states += state
    }
    expect(states / written).toBeGreaterThan(20)
    expect(await valueOf(saver)).toEqual(messages)
  })

  it('rejects the second run from the same checkpoint, except to branch from an explicit one', async () => {
    const store = memoryStore()
    const [one, other] = [colloquySaver({ store }), colloquySaver({ store })]
    await step(one, THREAD, ['first'])
    const [seen] = await Promise.all([one.getTuple(THREAD), other.getTuple(THREAD)])
    const start = seen?.config ?? {}
    const moved = await step(one, start, ['first', 'one'])
    await expect(step(other, start, ['first', 'other'])).rejects.toMatchObject({ code: 'id_conflict' })
    await expect(step(one, start, ['first', 'again'])).rejects.toMatchObject({ code: 'id_conflict' })
    // The run that moved the thread continues, and a run that passes its checkpoint may branch.
    await step(one, moved, ['first', 'one', 'more'])
    await other.getTuple(start)
    const branch = await step(other, start, ['first', 'branch'])
    expect(await valueOf(one, branch)).toEqual(['first', 'branch'])
  })

  it('continues a thread on a machine with an earlier clock', async () => {
    const store = memoryStore()
    const [ahead, behind] = [uuid6(1).replace(/^./, '9'), uuid6(1)]
    const first = await step(colloquySaver({ store }), THREAD, ['ahead'], ahead)
    await step(colloquySaver({ store }), first, ['ahead', 'behind'], behind)
    expect(await valueOf(colloquySaver({ store }))).toEqual(['ahead', 'behind'])
  })

  it('can copy and edit earlier checkpoints, and then rejects the active run', async () => {
    const saver = colloquySaver({ store: memoryStore() })
    const { graph } = graphOf(saver, false, { steps: 1 })
    await graph.invoke(inputOf('input'), THREAD)
    const history = []
    for await (const state of graph.getStateHistory(THREAD)) history.push(state)
    const [end, before] = history
    const active = await saver.getTuple(THREAD)
    // A page that shows the latest state by its id does not make a branch of the active run.
    await graph.getState(end?.config ?? {})
    await graph.updateState(before?.config ?? {}, null, '__copy__')
    await graph.updateState(before?.config ?? {}, inputOf('edited'), 'join')
    await expect(step(saver, active?.config ?? {}, [])).rejects.toMatchObject({ code: 'id_conflict' })
    expect(idsOf((await graph.getState(THREAD)).values)).toEqual([
      'input',
      'run left 0',
      'run right 0',
      'edited',
    ])
  })

  it('keeps the values of a branch when another branch starts from the same checkpoint', async () => {
    const { graph } = graphOf(colloquySaver({ store: memoryStore() }), false, { steps: 1 })
    await graph.invoke(inputOf('input'), THREAD)
    const before = await graph.getState(THREAD)
    await graph.updateState(before.config, inputOf('one'), 'join')
    const one = await graph.getState(THREAD)
    await graph.updateState(before.config, inputOf('other'), 'join')
    expect(idsOf((await graph.getState(one.config)).values).at(-1)).toBe('one')
    expect(idsOf((await graph.getState(THREAD)).values).at(-1)).toBe('other')
  })

  it('writes complete values after another process has deleted the thread', async () => {
    const store = memoryStore()
    const [one, other] = [colloquySaver({ store }), colloquySaver({ store })]
    const list = Array.from({ length: 100 }, (_, index) => index)
    await step(one, THREAD, list)
    await other.deleteThread('t')
    expect(await valueOf(one)).toBe(undefined)
    await step(one, THREAD, list)
    expect(await valueOf(other)).toEqual(list)
  })

  it('stores concurrent writes of several tasks, each index of a task once', async () => {
    const store = sqliteStore({ file: ':memory:' })
    const savers = [colloquySaver({ store }), colloquySaver({ store })] as const
    const config = await step(savers[0], THREAD, [])
    const put = (saver: BaseCheckpointSaver, task: string, value: number) =>
      saver.putWrites(
        config,
        [
          ['list', value],
          ['__error__', value],
        ],
        task,
      )
    await Promise.all(['a', 'b', 'c'].flatMap((task) => savers.map((saver) => put(saver, task, 1))))
    await put(savers[0], 'a', 2)
    const { pendingWrites = [] } = (await savers[1].getTuple(config)) ?? {}
    expect(pendingWrites.toSorted((x, y) => (JSON.stringify(x) < JSON.stringify(y) ? -1 : 1))).toEqual([
      ['a', '__error__', 2],
      ['a', 'list', 1],
      ['b', '__error__', 1],
      ['b', 'list', 1],
      ['c', '__error__', 1],
      ['c', 'list', 1],
    ])
    await store.close()
  })

  it('rejects an invalid store and a configuration without a checkpoint id', async () => {
    expect(() => colloquySaver({} as never)).toThrow(
      '`store` must be a Colloquy store, such as `memoryStore()`.',
    )
    const saver = colloquySaver({ store: memoryStore() })
    const text = '`configurable.checkpoint_id` must be a non-empty string.'
    await expect(saver.putWrites(THREAD, [], 'task')).rejects.toThrow(text)
  })
})

const SCHEMAS_OF_STATE = [MessagesValue, MessagesDeltaValue].map(
  (messages) => new StateSchema({ messages }),
) as [StateSchema<{ messages: typeof MessagesValue }>, never]

/** A graph of two parallel nodes, which add a message each per step, and one that joins them. */
function graphOf(saver: BaseCheckpointSaver, isDelta: boolean, { name = 'run', steps = 2, pause = 0 } = {}) {
  const created: string[] = []
  const work = (side: string) => async (state: { messages: { id?: string }[] }) => {
    if (pause > 0) await wait(pause)
    const count = state.messages.filter(({ id }) => id?.startsWith(`${name} ${side}`)).length
    const id = `${name} ${side} ${count}`
    created.push(id)
    return { messages: [new HumanMessage({ id, content: id })] }
  }
  const graph = new StateGraph(SCHEMAS_OF_STATE[isDelta ? 1 : 0])
    .addNode('left', work('left'))
    .addNode('right', work('right'))
    .addNode('join', work('join'))
    .addEdge('__start__', 'left')
    .addEdge('__start__', 'right')
    .addEdge(['left', 'right'], 'join')
    .addConditionalEdges('join', ({ messages }) =>
      messages.filter(({ id }) => id?.startsWith(`${name} join`)).length < steps
        ? ['left', 'right']
        : '__end__',
    )
    .compile({ checkpointer: saver })
  return { graph, created }
}

const inputOf = (id: string) => ({ messages: [new HumanMessage({ id, content: id })] })
const idsOf = ({ messages = [] }: { messages?: { id?: string }[] }): (string | undefined)[] =>
  messages.map(({ id }) => id)

for (const [name, open] of Object.entries(STORES))
  describe(`LangGraph graphs over ${name}`, () => {
    it('lose nothing of a successful run while other runs use the same thread', async () => {
      const run = fc.record({
        isShared: fc.boolean(),
        start: fc.nat(20),
        pause: fc.nat(5),
        durability: fc.constantFrom('sync', 'async', 'exit'),
      })
      const runs = fc.array(run, { minLength: 2, maxLength: 4 })
      await fc.assert(
        fc.asyncProperty(runs, fc.boolean(), fc.boolean(), async (all, isDelta, isNew) => {
          const store = await open()
          const shared = colloquySaver({ store })
          const before = isNew ? [] : ['before']
          if (!isNew)
            await graphOf(shared, isDelta, { steps: 1 }).graph.updateState(THREAD, inputOf('before'), 'join')
          const results = await Promise.allSettled(
            all.map(async ({ isShared, start, pause, durability }, index) => {
              const saver = isShared ? shared : colloquySaver({ store })
              const { graph } = graphOf(saver, isDelta, { name: `run ${index}`, pause })
              await wait(start)
              return graph.invoke(inputOf(`run ${index}`), { ...THREAD, durability })
            }),
          )
          const { values } = await graphOf(colloquySaver({ store }), isDelta).graph.getState(THREAD)
          const ids = idsOf(values)
          expect(ids.slice(0, before.length)).toEqual(before)
          const sides = ['left', 'right', 'join']
          for (const [index, { status, ...result }] of results.entries()) {
            const whole = [0, 1].flatMap((count) => sides.map((side) => `run ${index} ${side} ${count}`))
            const idsOfRun = ids.filter((id) => id?.startsWith(`run ${index}`))
            // A rejected run has stored its first steps, or nothing.
            expect(idsOfRun).toEqual([`run ${index}`, ...whole].slice(0, idsOfRun.length))
            if (status === 'fulfilled') expect(idsOfRun.length).toBe(7)
            else expect(result).toMatchObject({ reason: { code: 'id_conflict' } })
          }
          expect(results.some(({ status }) => status === 'fulfilled')).toBe(true)
          await store.close()
          releaseAll()
        }),
        { numRuns: Math.ceil(RUNS / (name === 'postgres' ? 7 : 4)) },
      )
    })

    it('have the same result if the process ends before or after any write', async () => {
      // All cases share a store, each with its own thread, because opening a store is slower than a case.
      const store = await open()
      for (const isDelta of [false, true]) {
        let count = 0
        const pending = new Set<Promise<unknown>>()
        const crashing = (store: Store, end: number, isAfter: boolean) =>
          ({
            getItem: (...args) => (count >= end ? endProcess() : store.getItem(...args)),
            listItems: (...args) => (count >= end ? endProcess() : store.listItems(...args)),
            async changeItems(changes) {
              count += 1
              if (count > end || (count === end && !isAfter)) return endProcess()
              const written = store.changeItems(changes)
              pending.add(written)
              return count >= end ? written.then(endProcess) : written
            },
          }) satisfies Partial<Items>
        const runTo = async (end: number, isAfter: boolean): Promise<void> => {
          count = 0
          const thread_id = `${isDelta} ${end} ${isAfter}`
          const config = { configurable: { ...THREAD.configurable, thread_id }, durability: 'sync' as const }
          const first = graphOf(colloquySaver({ store: crashing(store, end, isAfter) as never }), isDelta)
          const crash = await first.graph.invoke(inputOf('input'), config).catch(String)
          expect(crash).toContain('the process has ended')
          await Promise.all(pending)
          const { graph, created } = graphOf(colloquySaver({ store }), isDelta)
          const { next, values: stored } = await graph.getState(config)
          const isBegun = next.length > 0 || idsOf(stored).length > 0
          const values = await graph.invoke(isBegun ? null : inputOf('input'), config)
          expect(idsOf(values)).toEqual([
            'input',
            ...[0, 1].flatMap((step) => ['left', 'right', 'join'].map((side) => `run ${side} ${step}`)),
          ])
          // Only the interrupted step is repeated.
          expect(created.filter((id) => first.created.includes(id)).length).toBeLessThanOrEqual(2)
        }
        count = 0
        const saver = colloquySaver({ store: crashing(store, Infinity, true) as never })
        const whole = { configurable: { ...THREAD.configurable, thread_id: `${isDelta} whole` } }
        await graphOf(saver, isDelta).graph.invoke(inputOf('input'), { ...whole, durability: 'sync' })
        const writes = count
        expect(writes).toBeGreaterThan(10)
        for (let end = 1; end <= writes; end += 1) {
          await runTo(end, false)
          if (end < writes) await runTo(end, true)
        }
      }
      await store.close()
      releaseAll()
    })
  })

const endProcess = (): Promise<never> => Promise.reject(new Error('the process has ended'))
