/** The LangGraph saver passes LangGraph's own suite over each store, and what the suite leaves out. */

import { type BaseCheckpointSaver, emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint'
import { validate } from '@langchain/langgraph-checkpoint-validation'
import fc from 'fast-check'
import type pg from 'pg'
import * as vitest from 'vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { colloquySaver } from '../../src/adapters/langgraph.ts'
import type { Items } from '../../src/store/contract/items.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'
import { opener, schemas } from '../postgres/schemas.ts'

// The suite reads its functions from the global object.
Object.assign(globalThis, vitest)

let database: PooledDatabase
let pool: pg.Pool
const SCHEMAS = schemas('langgraph', () => pool)
const POSTGRES = opener(SCHEMAS, () => ({ client: pool }))

beforeAll(async () => {
  database = await pooledDatabase()
  pool = database.pool
})

afterAll(() => database.drop())

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
      if (stores.size === 0) SCHEMAS.giveBack()
    },
  })
}

validateOver('memory', async () => memoryStore())
validateOver('sqlite', async () => sqliteStore({ file: ':memory:' }))
validateOver('postgres', () => POSTGRES.open())

const countTests = (task: vitest.RunnerTask): number =>
  task.type === 'suite' ? task.tasks.reduce((sum, each) => sum + countTests(each), 0) : 1

it('runs all cases of the suite over each store', ({ task }) => {
  const suites = task.file.tasks.filter(({ name }) => name.startsWith('colloquy '))
  expect(suites.map((suite) => [suite.name, countTests(suite)])).toEqual(
    ['memory', 'sqlite', 'postgres'].map((name) => [`colloquy ${name}`, 718]),
  )
})

const THREAD = { configurable: { thread_id: 't', checkpoint_ns: '' } }
let clock = 0

/** Writes a thread's next checkpoint, whose only channel has a value. */
async function step(saver: BaseCheckpointSaver, config: object, value: unknown) {
  const version = (clock += 1)
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(version),
    channel_values: { list: value },
    channel_versions: { list: version },
  }
  return saver.put(config, checkpoint, { source: 'loop', step: version, parents: {} }, { list: version })
}

const valueOf = async (saver: BaseCheckpointSaver, config: object = THREAD): Promise<unknown> =>
  (await saver.getTuple(config))?.checkpoint.channel_values['list']

describe('the LangGraph saver', () => {
  it('reads back each version of a value, however lists grow, shrink and change', async () => {
    const element = fc.oneof(fc.integer(), fc.string({ unit: 'binary' }), fc.constant(null), fc.jsonValue())
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
      { numRuns: 100 },
    )
  })

  it('writes bytes in proportion to what is new, not to the state', async () => {
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
    for (let count = 0; count < 1_000; count += 1) {
      messages.push(`message ${count} ${'x'.repeat(200)}`)
      config = await step(saver, config, messages)
      states += JSON.stringify(messages).length
    }
    expect(states / written).toBeGreaterThan(20)
    expect(await valueOf(saver)).toEqual(messages)
  })

  it('refuses the second of two runs that began at the same checkpoint, and lets a chosen one branch', async () => {
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

  it('keeps whole values when another process has deleted the thread', async () => {
    const store = memoryStore()
    const [one, other] = [colloquySaver({ store }), colloquySaver({ store })]
    const list = Array.from({ length: 100 }, (_, index) => index)
    await step(one, THREAD, list)
    await other.deleteThread('t')
    expect(await valueOf(one)).toBe(undefined)
    await step(one, THREAD, list)
    expect(await valueOf(other)).toEqual(list)
  })

  it('keeps the writes of tasks that end at the same time, and each index of a task once', async () => {
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

  it('says what is missing from its store and from a configuration', async () => {
    expect(() => colloquySaver({} as never)).toThrow('Pass a Colloquy store as store, such as memoryStore().')
    const saver = colloquySaver({ store: memoryStore() })
    const text = 'configurable.checkpoint_id must be a non-empty string.'
    await expect(saver.putWrites(THREAD, [], 'task')).rejects.toThrow(text)
  })
})
