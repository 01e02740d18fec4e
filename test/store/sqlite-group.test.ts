/**
 * Calls of one turn share a commit and end as if made in sequence, whatever the database rejects. Each caller
 * gets its own result, and failed calls leave nothing behind (design D30, laws S1, S5, S6).
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isColloquyError } from '../../src/event/errors.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type SqliteDatabase, sqliteStore, type SqliteStatement } from '../../src/store/sqlite/index.ts'
import { DRIVERS, type Driver, openDatabase } from './sqlite-drivers.ts'

const IDS = ['c', 'd', 'e'] as const

/** A driver that counts commits and fails on demand. */
interface Frail {
  readonly database: SqliteDatabase
  commits: number
  /** Statements that succeed before the fault. */
  left: number
  /** Number of failures, their SQLite result code, and whether the first one ends the transaction, as a full disk does. */
  fault: { times: number; readonly errcode: number; readonly endsAll: boolean } | null
  hits: number
}

function frail(driver: Driver): Frail {
  const inner = openDatabase(driver, ':memory:')
  const end = inner.prepare('ROLLBACK')
  const check = (sql: string): void => {
    const { fault } = self
    // Rollbacks never fail: SQLite reads them from its journal.
    if (fault === null || fault.times === 0 || /^(ROLLBACK|RELEASE)/.test(sql)) return
    self.left -= 1
    if (self.left > 0) return
    fault.times -= 1
    self.hits += 1
    if (fault.endsAll && sql !== 'BEGIN IMMEDIATE') end.run()
    throw Object.assign(new Error('told to fail'), { errcode: fault.errcode })
  }
  const self: Frail = {
    commits: 0,
    left: 0,
    fault: null,
    hits: 0,
    database: {
      exec: (sql) => inner.exec(sql),
      close: () => inner.close(),
      prepare(sql): SqliteStatement {
        const statement = inner.prepare(sql)
        return {
          all: (...values) => statement.all(...values),
          run(...values) {
            check(sql)
            if (sql === 'COMMIT') self.commits += 1
            return statement.run(...values)
          },
        }
      },
    },
  }
  return self
}

const clock = (): bigint => 1_000_000n

type Call = (store: Store) => Promise<unknown>

const facts: fc.Arbitrary<readonly Fact[]> = fc.array(
  fc.record(
    {
      kind: fc.constant('PauseEvent' as const),
      id: fc.nat(30).map((n) => `p${n}`),
      timestamp: fc.constant('2026-01-01T00:00:00Z'),
      parent_id: fc.nat(30).map((n) => `p${n}`),
    },
    { requiredKeys: ['kind', 'id', 'timestamp'] },
  ),
  { minLength: 1, maxLength: 3 },
)

const id = fc.constantFrom(...IDS)
const owner = fc.constantFrom('me', 'you')

/** One call with its description; mostly appends. */
const call: fc.Arbitrary<Call> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(id, facts, fc.constantFrom('any' as const, 'any' as const, 'none' as const, 1, 2))
      .map(
        ([to, input, expected]): Call =>
          (store) =>
            store.append(to, input, { expected }),
      ),
  },
  {
    weight: 2,
    arbitrary: id.map(
      (one): Call =>
        (store) =>
          store.createConversation({ id: one }),
    ),
  },
  {
    weight: 1,
    arbitrary: id.map(
      (one): Call =>
        (store) =>
          store.deleteConversation(one),
    ),
  },
  {
    weight: 1,
    arbitrary: id.map(
      (one): Call =>
        (store) =>
          store.updateConversation(one, { title: 't' }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(id, owner).map(
      ([one, by]): Call =>
        (store) =>
          store.acquireLease(one, by, 1_000),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(id, fc.nat(3)).map(
      ([one, n]): Call =>
        (store) =>
          store.saveSnapshot(one, [{ part: n, bytes: new Uint8Array([n]) }], { complete: true }),
    ),
  },
)

const turn = fc.record({
  calls: fc.array(call, { minLength: 1, maxLength: 10 }),
  fault: fc.option(
    fc.record({
      after: fc.integer({ min: 1, max: 60 }),
      times: fc.constantFrom(1, 1, 2, 500),
      errcode: fc.constantFrom(5, 10, 13),
      endsAll: fc.boolean(),
    }),
  ),
})

const outcomeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.catch((error: unknown) => {
    if (!isColloquyError(error)) throw error
    return { code: error.code, data: error.data }
  })

const isStoreFault = (outcome: unknown): boolean =>
  typeof outcome === 'object' &&
  outcome !== null &&
  'code' in outcome &&
  String(outcome.code).startsWith('store_')

const everything = (store: Store): Promise<unknown> =>
  Promise.all(
    IDS.map(async (one) => [
      await store.getConversation(one),
      await store.read(one).catch(() => null),
      await store.getLease(one),
      await store.loadSnapshot(one),
    ]),
  )

describe.each(DRIVERS)('calls of one turn with %s', (driver) => {
  it('end as if one had come after the other, in one commit', async () => {
    const seen = { shared: 0, refused: 0, faults: 0, lost: 0, saved: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 5 }), async (turns) => {
        const below = frail(driver)
        const [model, store] = [
          memoryStore({ clock }),
          sqliteStore({ database: below.database, clock, busyTimeout: 0 }),
        ]
        for (const one of [model, store]) await one.createConversation({ id: 'c' })
        for (const { calls, fault } of turns) {
          below.commits = below.hits = 0
          below.fault = fault && { ...fault }
          below.left = fault?.after ?? 0
          const outcomes = await Promise.all(calls.map((each) => outcomeOf(each(store))))
          below.fault = null
          const { commits } = below
          for (const [i, outcome] of outcomes.entries()) {
            // Only injected faults may fail; every other call ends as it does in the model.
            if (isStoreFault(outcome)) expect(below.hits).toBeGreaterThan(0)
            else expect(outcome).toEqual(await outcomeOf((calls[i] as Call)(model)))
          }
          expect(await everything(store)).toEqual(await everything(model))
          const refused = outcomes.some(
            (outcome) => typeof outcome === 'object' && outcome !== null && 'code' in outcome,
          )
          if (below.hits === 0) {
            expect(commits).toBeLessThanOrEqual(1)
            if (calls.length > 1) seen.shared += 1
            if (calls.length > 1 && refused) seen.refused += 1
          } else if (calls.length > 1) {
            seen.faults += 1
            if (outcomes.every(isStoreFault)) seen.lost += 1
            if (!outcomes.some(isStoreFault)) seen.saved += 1
          }
        }
        await Promise.all([model.close(), store.close()])
        below.database.close()
      }),
      { numRuns: 100 },
    )
    for (const [name, count] of Object.entries(seen)) expect(count, name).toBeGreaterThan(4)
  })

  it('are carried out by a close that comes in the same turn', async () => {
    const below = frail(driver)
    const store = sqliteStore({ database: below.database })
    await store.createConversation({ id: 'c' })
    const appends = [1, 2, 3].map((n) => store.append('c', [{ kind: 'PauseEvent', id: `p${n}` }]))
    await store.close()
    expect((await Promise.all(appends)).map(({ version }) => version)).toEqual([1, 2, 3])
    below.database.close()
  })

  it('get their turn, and timers too, while one read follows the other', async () => {
    const store = sqliteStore({ database: openDatabase(driver, ':memory:') })
    await store.createConversation({ id: 'c' })
    const done: string[] = []
    void store.append('c', [{ kind: 'PauseEvent', id: 'p' }]).then(() => done.push('append'))
    setTimeout(() => done.push('timer'), 0)
    for (let reads = 0; done.length < 2 && reads < 1_000_000; reads += 1) await store.getConversation('c')
    expect(done.toSorted()).toEqual(['append', 'timer'])
    await store.close()
  })
})
