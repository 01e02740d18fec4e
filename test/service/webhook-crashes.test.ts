/** After dropping repeated messages, a receiver has each log once and in order, whatever fails. */

import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { WebhookDispatcher } from '../../src/service/webhooks/dispatcher.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { user } from '../build.ts'
import { type PooledDatabase, pooledDatabase } from '../postgres/database.ts'
import { killable } from './killable-store.ts'
import { type Received, Receiver, SECRET } from './receiver.ts'
import { until } from './sandbox-commands.ts'

type Step =
  | {
      readonly do: 'append' | 'create' | 'delete' | 'renew' | 'title'
      readonly index: number
      readonly many: number
    }
  | { readonly do: 'crash'; readonly index: number; readonly many: number }
  | { readonly do: 'hold'; readonly index: number; readonly many: number; readonly milliseconds: number }
  | { readonly do: 'answer'; readonly answers: readonly ('hang' | 'lose' | 500 | 200)[] }
  | { readonly do: 'wait'; readonly milliseconds: number }
  /** Waits until the receiver has lost a message, has events of the second conversation, or its deletion. */
  | { readonly do: 'await'; readonly what: 'lost' | 'events' | 'deletion' }

const index = fc.nat({ max: 2 })
const many = fc.integer({ min: 1, max: 8 })
const change = (name: 'append' | 'create' | 'delete' | 'renew' | 'title') =>
  fc.record({ do: fc.constant(name), index, many })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: change('append') },
  { weight: 2, arbitrary: change('create') },
  { weight: 1, arbitrary: change('delete') },
  { weight: 1, arbitrary: change('renew') },
  { weight: 2, arbitrary: change('title') },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('crash'), index: fc.nat({ max: 1 }), many: fc.nat({ max: 12 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('hold'),
      index: fc.nat({ max: 1 }),
      many: fc.nat({ max: 12 }),
      milliseconds: fc.integer({ min: 20, max: 120 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('answer'),
      answers: fc.array(fc.constantFrom<('hang' | 'lose' | 500 | 200)[]>('hang', 'lose', 500, 200), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('wait'), milliseconds: fc.integer({ min: 1, max: 40 }) }),
  },
)

/** Cases that must occur: a lost message that is sent again, and a deleted conversation. */
const SCRIPTED: readonly Step[] = [
  { do: 'answer', answers: ['lose'] },
  { do: 'append', index: 0, many: 2 },
  { do: 'append', index: 1, many: 2 },
  { do: 'await', what: 'lost' },
  { do: 'await', what: 'events' },
  { do: 'title', index: 0, many: 1 },
  { do: 'delete', index: 1, many: 1 },
  { do: 'await', what: 'deletion' },
  { do: 'crash', index: 0, many: 1 },
]

const NAMES = ['a', 'b', 'c']

const isAwaited: Readonly<Record<'lost' | 'events' | 'deletion', (message: Received) => boolean>> = {
  lost: ({ answered }) => answered === 'lost',
  events: ({ path, answered }) => path === '/events/b' && answered === 200,
  deletion: ({ type, answered }) => type === 'conversation.deleted' && answered === 200,
}

let micros = 0n
/** Returns strictly increasing times. */
function clock(): bigint {
  const now = BigInt(Date.now()) * 1000n
  micros = now > micros ? now : micros + 1n
  return micros
}

let database: PooledDatabase
let schemas = 0

beforeAll(async () => {
  database = await pooledDatabase()
})
afterAll(() => database.drop())

const schema = (): string => `callbacks_${(schemas += 1)}`

it.each<[string, () => Store, runs: number, pollInterval: number]>([
  ['memory', () => memoryStore({ clock }), 12, 20],
  ['sqlite', () => sqliteStore({ file: ':memory:', clock }), 4, 20],
  ['postgres', () => postgresStore({ client: database.pool, schema: schema(), clock }), 2, 25],
])(
  'over %s, a receiver gets each log once, in order, despite crashes and lost messages',
  async (_, make, numRuns, pollInterval) => {
    const seen = { crashes: 0, lost: 0, repeated: 0, deleted: 0, titles: 0 }
    const drawn: fc.Arbitrary<readonly Step[]> = fc.array(step, { minLength: 10, maxLength: 40 })
    const property = fc.asyncProperty(drawn, async (steps) => {
      const receiver = await new Receiver().start()
      const store = make()
      const engine = createEngine({ store })
      const begin = () => {
        const faults = killable(store)
        const engineOfService = createEngine({ store: faults.store })
        const dispatcher = new WebhookDispatcher(
          engineOfService,
          [
            {
              id: 'hook',
              url: receiver.url,
              secret: SECRET,
              from: 'start',
              maxBatchEvents: 3,
              timeout: 40,
              retryDelay: 5,
              maxRetryDelay: 20,
            },
          ],
          { pollInterval, leaseTtl: 200 },
        )
        dispatcher.start()
        return {
          dieAfter: faults.dieAfter,
          holdAfter: faults.holdAfter,
          end: async () => {
            await dispatcher.close()
            await engineOfService.close().catch(() => undefined)
          },
        }
      }
      const services = [begin(), begin()]
      let count = 0
      const create = async (id: string): Promise<void> => {
        if ((await store.getConversation(id)) === null) await engine.create({ id })
      }
      try {
        for (const one of steps) {
          const id = 'index' in one ? (NAMES[one.index] ?? '') : ''
          if (one.do === 'wait') await new Promise((resolve) => setTimeout(resolve, one.milliseconds))
          else if (one.do === 'await') await until(() => receiver.all.some(isAwaited[one.what]))
          else if (one.do === 'answer') receiver.answers.push(...one.answers)
          else if (one.do === 'hold') services[one.index]?.holdAfter(one.many, one.milliseconds)
          else if (one.do === 'create') await create(id)
          else if (one.do === 'delete') await engine.delete(id)
          else if (one.do === 'title') {
            if ((await store.getConversation(id)) === null) continue
            await store.updateConversation(id, { title: `t${(count += 1)}` })
            seen.titles += 1
          } else if (one.do === 'crash') {
            seen.crashes += 1
            services[one.index]?.dieAfter(one.many)
            // It polls twice, so that it can die in the middle of its work.
            await new Promise((resolve) => setTimeout(resolve, 2 * pollInterval))
            services[one.index]?.dieAfter(0)
            await services[one.index]?.end()
            services[one.index] = begin()
          } else {
            if (one.do === 'renew') await engine.delete(id)
            await create(id)
            const events = Array.from({ length: one.many }, () => user(`e${(count += 1)}`))
            await (await engine.open(id)).append(events)
          }
        }
        receiver.answers.length = 0
        const logs = new Map<string, string>()
        for (const name of NAMES) {
          const record = await store.getConversation(name)
          if (record === null) continue
          const log = await store.read(name)
          logs.set(name, [`title ${record.title}`, ...log.map((event) => event.id)].join())
        }
        const report = () => histories(receiver)
        await until(
          () => JSON.stringify([...report().logs].toSorted()) === JSON.stringify([...logs].toSorted()),
        ).catch(() => expect(Object.fromEntries(report().logs)).toEqual(Object.fromEntries(logs)))
        const { repeated, deleted } = report()
        seen.repeated += repeated
        seen.deleted += deleted
        seen.lost += receiver.all.filter(({ answered }) => answered === 'lost').length
      } finally {
        for (const one of services) await one.end()
        await engine.close()
        await receiver.stop()
        await store.close()
      }
    })
    await fc.assert(property, { numRuns, endOnFailure: true, examples: [[SCRIPTED]] })
    // A short test may miss some cases.
    if (numRuns >= 8) for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0)
  },
)

/** Drops repeated messages. */
function histories(receiver: Receiver) {
  const logs = new Map<string, string[]>()
  const titles = new Map<string, string | null>()
  const bodies = new Map<string, string>()
  let repeated = 0
  let deleted = 0
  for (const { id, path, type, body, answered } of receiver.all) {
    if (answered !== 200 && answered !== 'lost') continue
    const text = JSON.stringify(body)
    const before = bodies.get(id)
    bodies.set(id, text)
    if (before !== undefined) {
      // One id always means the same message.
      expect(text).toBe(before)
      repeated += 1
      continue
    }
    const { id: report, title } = body as { readonly id: string; readonly title: string | null }
    const name = path === '/conversations' ? report : path.slice('/events/'.length)
    if (type === 'conversation.deleted') {
      deleted += 1
      logs.delete(name)
    } else if (path === '/conversations') {
      logs.set(name, logs.get(name) ?? [])
      titles.set(name, title)
    } else {
      const ids = (body as { id: string }[]).map((event) => event.id)
      logs.set(name, [...(logs.get(name) ?? []), ...ids])
    }
  }
  const all = [...logs].map(([name, ids]) => [name, [`title ${titles.get(name)}`, ...ids].join()] as const)
  return { logs: new Map(all), repeated, deleted }
}
