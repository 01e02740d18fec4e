/**
 * SQLite calls of one event loop turn share a commit and have the same results as calls in sequence, even if statements fail. Each
 * caller gets its own result, and failed calls change nothing (design D30, laws S1, S5, S6).
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isColloquyError } from '../../src/event/errors.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import { RUNS } from '../../properties/run.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type SqliteDatabase, sqliteStore, type SqliteStatement } from '../../src/store/sqlite/index.ts'
import { DRIVERS, type Driver, openDatabase } from './sqlite-drivers.ts'

const IDS = ['c', 'd', 'e'] as const

/** A driver that counts commits and fails on demand. */
interface FailingDatabase {
  readonly database: SqliteDatabase
  commits: number
  /** Statements that succeed before the fault. */
  remaining: number
  /** Number of failures, their SQLite result code, and whether the first one ends the transaction, as a full disk does. */
  fault: { times: number; readonly errcode: number; readonly endsTransaction: boolean } | null
  hits: number
}

function failingDatabase(driver: Driver): FailingDatabase {
  const inner = openDatabase(driver, ':memory:')
  const end = inner.prepare('ROLLBACK')
  const check = (sql: string): void => {
    const { fault } = self
    // Rollbacks never fail: SQLite reads them from its journal.
    if (fault === null || fault.times === 0 || /^(ROLLBACK|RELEASE)/.test(sql)) return
    self.remaining -= 1
    if (self.remaining > 0) return
    fault.times -= 1
    self.hits += 1
    if (fault.endsTransaction && sql !== 'BEGIN IMMEDIATE') end.run()
    throw Object.assign(new Error('injected failure'), { errcode: fault.errcode })
  }
  const self: FailingDatabase = {
    commits: 0,
    remaining: 0,
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
      // The time zone of the conversation decides about the second.
      timestamp: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T08:59:59'),
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
    weight: 4,
    arbitrary: fc.tuple(id, facts, owner, fc.integer({ min: 1, max: 2 })).map(
      ([to, input, by, generation]): Call =>
        (store) =>
          store.append(to, input, { lease: { owner: by, generation } }),
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
          store.updateConversation(one, { title: 't', timeZone: 'Asia/Tokyo' }),
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
      endsTransaction: fc.boolean(),
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

const wholeState = (store: Store): Promise<unknown> =>
  Promise.all(
    IDS.map(async (one) => [
      await store.getConversation(one),
      await store.read(one).catch(() => null),
      await store.getLease(one),
      await store.loadSnapshot(one),
    ]),
  )

const pause = (id: string, year: number): Fact[] => [
  { kind: 'PauseEvent', id, timestamp: `${year}-01-01T00:00:00Z` },
]

const fail = (): never => {
  throw new Error('injected failure')
}

const appendEach = async (by: Store, start: number, end: number): Promise<void> => {
  for (let n = start; n < end; n += 1) await by.append('c', [{ kind: 'PauseEvent', id: `p${n}` }])
}

describe.each(DRIVERS)('SQLite calls of one event loop turn with %s', (driver) => {
  it('have the same results as calls in sequence, in one commit', async () => {
    const counts = { shared: 0, rejected: 0, faults: 0, allFailed: 0, allRecovered: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 5 }), async (turns) => {
        const failing = failingDatabase(driver)
        const [model, store] = [
          memoryStore({ clock }),
          sqliteStore({ database: failing.database, clock, busyTimeout: 0 }),
        ]
        for (const one of [model, store]) await one.createConversation({ id: 'c' })
        for (const { calls, fault } of turns) {
          failing.commits = failing.hits = 0
          failing.fault = fault && { ...fault }
          failing.remaining = fault?.after ?? 0
          const outcomes = await Promise.all(calls.map((each) => outcomeOf(each(store))))
          failing.fault = null
          const { commits } = failing
          for (const [i, outcome] of outcomes.entries()) {
            // Only injected faults may fail; every other call ends as it does in the model.
            if (isStoreFault(outcome)) expect(failing.hits).toBeGreaterThan(0)
            else expect(outcome).toEqual(await outcomeOf((calls[i] as Call)(model)))
          }
          expect(await wholeState(store)).toEqual(await wholeState(model))
          const hasRejection = outcomes.some(
            (outcome) => typeof outcome === 'object' && outcome !== null && 'code' in outcome,
          )
          if (failing.hits === 0) {
            expect(commits).toBeLessThanOrEqual(1)
            if (calls.length > 1) counts.shared += 1
            if (calls.length > 1 && hasRejection) counts.rejected += 1
          } else if (calls.length > 1) {
            counts.faults += 1
            if (outcomes.every(isStoreFault)) counts.allFailed += 1
            if (!outcomes.some(isStoreFault)) counts.allRecovered += 1
          }
        }
        await Promise.all([model.close(), store.close()])
        failing.database.close()
      }),
      { numRuns: Math.max(100, RUNS) },
    )
    for (const [name, count] of Object.entries(counts)) expect(count, name).toBeGreaterThan(4)
  })

  it('see what another store over the same database has written', async () => {
    const counts = { appended: 0, rejected: 0 }
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(call, fc.nat(1)), { minLength: 50, maxLength: 100 }),
        async (calls) => {
          const database = openDatabase(driver, ':memory:')
          const stores = [0, 1].map(() => sqliteStore({ database, clock }))
          const model = memoryStore({ clock })
          await model.createConversation({ id: 'c' })
          await stores[0]?.createConversation({ id: 'c' })
          for (const [each, writer] of calls) {
            const outcome = await outcomeOf(each(stores[writer] as Store))
            expect(outcome).toEqual(await outcomeOf(each(model)))
            if (typeof outcome !== 'object' || outcome === null) continue
            if ('headId' in outcome) counts.appended += 1
            if ('code' in outcome) counts.rejected += 1
          }
          expect(await wholeState(stores[0] as Store)).toEqual(await wholeState(model))
          await Promise.all([...stores, model].map((store) => store.close()))
          database.close()
        },
      ),
      { numRuns: Math.max(25, Math.ceil(RUNS / 4)) },
    )
    for (const [name, count] of Object.entries(counts)) expect(count, name).toBeGreaterThan(50)
  })

  it('use a time zone set by another store, and a log that was restored to be shorter', async () => {
    const database = openDatabase(driver, ':memory:')
    const [store, other] = [sqliteStore({ database }), sqliteStore({ database })]
    await store.createConversation({ id: 'c' })
    const append = (id: string) =>
      store.append('c', [{ kind: 'PauseEvent', id, timestamp: '2026-01-01T09:00:00' }])
    await append('a')
    const columns = 'version, head_id, head_seq, last_lane_end'
    const saved = database.prepare(`SELECT ${columns} FROM colloquy_log`).all()[0] as object
    await append('b')
    await other.updateConversation('c', { timeZone: 'Asia/Tokyo' })
    const [zoned] = (await append('z')).events
    expect(zoned?.time).toBe(String(Date.UTC(2026, 0, 1) * 1_000))
    // As if a backup had been restored.
    database.exec(`DELETE FROM colloquy_event WHERE id <> 'a'`)
    database
      .prepare(`UPDATE colloquy_log SET ${columns.replaceAll(/\w+/g, '$& = ?')}`)
      .run(...Object.values(saved))
    expect((await append('d')).events[0]).toMatchObject({ seq: 1, parentId: 'a' })
    database.close()
  })

  it('forget a failed append whose id another store then appends', async () => {
    const database = openDatabase(driver, ':memory:')
    const [store, other] = [sqliteStore({ database }), sqliteStore({ database })]
    await store.createConversation({ id: 'c' })
    await store.append('c', pause('a', 2020))
    await expect(store.append('c', pause('b', 2021), { within: fail })).rejects.toThrow('injected failure')
    await other.append('c', pause('b', 2030))
    await store.append('c', pause('d', 2025))
    const { items } = await store.search({ conversationId: 'c' })
    expect(items.map(({ id }) => id)).toEqual(['a', 'd', 'b'])
    database.close()
  })

  it('do not fail because one of them finds a damaged row', async () => {
    const database = openDatabase(driver, ':memory:')
    const store = sqliteStore({ database })
    for (const one of ['c', 'd']) await store.createConversation({ id: one })
    database.exec(`UPDATE colloquy_conversation SET metadata = '' WHERE conversation_id = 'd'`)
    const calls = [store.append('c', pause('a', 2020)), store.updateConversation('d', { title: 'D' })]
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    database.close()
  })

  it('find an existing id that is neither indexed nor in memory', async () => {
    const database = openDatabase(driver, ':memory:')
    const [store, other] = [sqliteStore({ database }), sqliteStore({ database })]
    await store.createConversation({ id: 'c' })
    await appendEach(other, 0, 20)
    // The store forgets ids once it has more than 256.
    await appendEach(store, 20, 276)
    await expect(
      store.append('c', [{ kind: 'PauseEvent', id: 'p274', source: 'agent' }]),
    ).rejects.toMatchObject({ code: 'id_conflict' })
    database.close()
  })

  it('are completed before a close of the same turn', async () => {
    const failing = failingDatabase(driver)
    const store = sqliteStore({ database: failing.database })
    await store.createConversation({ id: 'c' })
    const appends = [1, 2, 3].map((n) => store.append('c', [{ kind: 'PauseEvent', id: `p${n}` }]))
    await store.close()
    expect((await Promise.all(appends)).map(({ version }) => version)).toEqual([1, 2, 3])
    failing.database.close()
  })

  it('run, as timers do, while a caller reads without pause', async () => {
    const store = sqliteStore({ database: openDatabase(driver, ':memory:') })
    await store.createConversation({ id: 'c' })
    const done: string[] = []
    void store.append('c', [{ kind: 'PauseEvent', id: 'p' }]).then(() => done.push('append'))
    setTimeout(() => done.push('timer'), 0)
    for (let reads = 0; done.length < 2 && reads < 1_000_000; reads += 1) await store.getConversation('c')
    expect(done.toSorted()).toEqual(['append', 'timer'])
    await store.close()
  })

  it('let timers run while a caller writes without pause, with several writes per turn', async () => {
    const store = sqliteStore({ database: openDatabase(driver, ':memory:') })
    await store.createConversation({ id: 'c' })
    const timer = new AbortController()
    setTimeout(() => timer.abort(), 50)
    let turns = 0
    const count = (): void => void (timer.signal.aborted || (turns++, setImmediate(count)))
    count()
    let writes = 0
    for (; !timer.signal.aborted && writes < 20_000; writes += 1)
      await store.append('c', [{ kind: 'PauseEvent', id: `p${writes}` }])
    expect(timer.signal.aborted).toBe(true)
    expect(turns).toBeLessThan(writes)
    await store.close()
  })
})
