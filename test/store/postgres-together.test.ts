/**
 * Concurrent appends share statements and have the same results as appends in sequence. Each caller gets its own result,
 * and rejected calls change nothing (design D30, laws S1, S5, S6).
 */

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isColloquyError } from '../../src/event/errors.ts'
import type { Event } from '../../src/event/types.ts'
import type { AppendOptions, AppendResult, Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { until } from '../postgres/sql-sessions.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'

let database: PooledDatabase
let schemas = 0

beforeAll(async () => {
  database = await pooledDatabase()
})

afterAll(() => database.drop())

const clock = (): bigint => 1_000_000n

type Send = () => Promise<pg.QueryResult>

/** A store whose appending statements go through `via`. */
async function openStore(schema: string, via: (send: Send) => Promise<pg.QueryResult>): Promise<Store> {
  const client = {
    query(text: string, values?: unknown[]) {
      const send: Send = () => database.pool.query(text, values)
      return text.endsWith('AS appended') ? via(send) : send()
    },
  }
  return postgresStore({ client, schema, clock, listen: false })
}

/** A store whose first appending statement waits for `release`. */
async function storeWithSlowFirst() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let count = 0
  const store = await openStore(`colloquy_${(schemas += 1)}`, async (send) => {
    count += 1
    if (count === 1) await released
    return send()
  })
  return { store, statements: () => count, release }
}

const event = (id: string, rest: Partial<Event> = {}): Event =>
  ({ kind: 'PauseEvent', id, timestamp: '2026-01-01T00:00:00Z', ...rest }) as Event

type Outcome = AppendResult | { readonly code: string }

const outcomeOf = (call: Promise<AppendResult>): Promise<Outcome> =>
  call.catch((error: unknown) => {
    if (!isColloquyError(error)) throw error
    return { code: error.code }
  })

const isDone = (outcome: Outcome): outcome is AppendResult => 'version' in outcome

interface Call {
  readonly facts: readonly Event[]
  readonly options: AppendOptions
}

const name = fc.nat(60).map((n) => `p${n}`)
const rare = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 8, nil: undefined })

const fact = fc
  .tuple(
    name,
    rare(name),
    rare(fc.constantFrom('user' as const, 'agent' as const)),
    rare(fc.constant('leaf')),
  )
  .map(([id, parent, source, key]): Event => {
    const rest = { ...(parent && { parent_id: parent }), ...(source && { source }) }
    if (key === undefined) return event(id, rest)
    return event(id, { ...rest, kind: 'ConversationStateUpdateEvent', key, value: 1 } as Partial<Event>)
  })

const call: fc.Arbitrary<Call> = fc.record({
  facts: fc.array(fact, { minLength: 1, maxLength: 3 }),
  options: fc.oneof(
    { weight: 8, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.nat(4).map((expected) => ({ expected })) },
    { weight: 1, arbitrary: fc.constant({ mode: 'import' as const }) },
    { weight: 1, arbitrary: fc.constant({ lease: { owner: 'nobody', generation: 1 } }) },
  ),
})

const IDS = ['c', 'd', 'e'] as const

/** The store after these calls in sequence. */
async function storeOf(id: string, calls: readonly Call[]): Promise<Store> {
  const store = memoryStore({ clock })
  await store.createConversation({ id })
  for (const { facts, options } of calls) await store.append(id, facts, options)
  return store
}

/**
 * Derives the order of the successful calls from their results: by version, and within a version the call
 * that created it first. Fails if no order is consistent.
 */
async function sequenceOf(
  id: string,
  before: readonly Call[],
  done: readonly (readonly [Call, AppendResult])[],
): Promise<Call[]> {
  const order = [...before]
  const remaining = done.toSorted(([, a], [, b]) => a.version - b.version)
  while (remaining.length > 0) {
    const same = remaining.filter(([, { version }]) => version === remaining[0]?.[1].version)
    const results = await Promise.all(
      same.map(async ([{ facts, options }, reported]) => {
        const result = await outcomeOf((await storeOf(id, order)).append(id, facts, options))
        return { result, reported, fits: isDeepStrictEqual(result, reported) }
      }),
    )
    const { result, reported } = results.find(({ fits }) => fits) ?? (results[0] as (typeof results)[0])
    expect(result).toEqual(reported)
    const [next] = remaining.splice(
      Math.max(
        0,
        results.findIndex(({ fits }) => fits),
      ),
      1,
    )
    order.push((next as (typeof remaining)[0])[0])
  }
  return order
}

const loseConnection = (): never => {
  throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
}

/** Nine concurrent batches: the first is sent alone, later statements go through `via`. */
async function appendNine(via: (statement: number, send: Send) => Promise<pg.QueryResult>) {
  let statements = 0
  const store = await openStore(`colloquy_${(schemas += 1)}`, (send) => {
    statements += 1
    return statements === 1 ? send() : via(statements, send)
  })
  await store.createConversation({ id: 'c' })
  const batches = Array.from({ length: 9 }, (_, i) => [event(`a${i}`), event(`b${i}`)])
  const outcomes = await Promise.all(batches.map((facts) => outcomeOf(store.append('c', facts))))
  return { store, batches, outcomes: outcomes.map((outcome) => isDone(outcome) || outcome.code) }
}

describe('concurrent appends in PostgreSQL', () => {
  it('have the same results as appends in sequence in each conversation, from one or two stores', async () => {
    const counts = { shared: 0, rejected: 0, id_conflict: 0, unknown_parent: 0, lease_lost: 0 }
    let runs = 0
    let statements = 0
    const schema = `colloquy_${(schemas += 1)}`
    const countStatement = (send: Send) => {
      statements += 1
      return send()
    }
    const calls = fc.array(call, { minLength: 1, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ c: calls, d: calls, e: calls }), { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        async (rounds, isSingle) => {
          const orders = { c: [] as Call[], d: [] as Call[], e: [] as Call[] }
          const store = await openStore(schema, countStatement)
          const others = isSingle ? [store] : [store, await openStore(schema, countStatement)]
          for (const id of IDS) {
            await store.deleteConversation(id)
            await store.createConversation({ id })
          }
          for (const round of rounds) {
            const before = await Promise.all(IDS.map((id) => store.read(id)))
            statements = 0
            const outcomes = await Promise.all(
              IDS.map((id) =>
                Promise.all(
                  round[id].map(({ facts, options }, i) =>
                    outcomeOf((others[i % others.length] as Store).append(id, facts, options)),
                  ),
                ),
              ),
            )
            const live = IDS.flatMap((id) => round[id].filter(({ options }) => options.mode !== 'import'))
            if (statements < live.length) counts.shared += 1
            for (const [nth, id] of IDS.entries()) {
              const done = round[id].flatMap((one, i) => {
                const outcome = outcomes[nth]?.[i] as Outcome
                return isDone(outcome) ? [[one, outcome] as const] : []
              })
              orders[id] = await sequenceOf(id, orders[id], done)
              const model = await storeOf(id, orders[id])
              expect(await store.read(id)).toEqual(await model.read(id))
              expect(await store.getConversation(id)).toEqual(await model.getConversation(id))
              const ids = new Set(before[nth]?.map((one) => one.id))
              for (const [i, outcome] of outcomes[nth]?.entries() ?? []) {
                if (isDone(outcome)) continue
                counts.rejected += 1
                if (outcome.code in counts) counts[outcome.code as 'lease_lost'] += 1
                const { facts, options } = round[id][i] as Call
                const parents = facts.map((each) => each.parent_id)
                // A parent that was unknown then may exist by now.
                if (outcome.code === 'unknown_parent')
                  expect(parents.some((parent) => !ids.has(parent as string))).toBe(true)
                else if (outcome.code === 'version_conflict') expect(options.expected).toBeDefined()
                else if (outcome.code === 'lease_lost') expect(options.lease).toBeDefined()
                else expect(await outcomeOf(model.append(id, facts, options))).toEqual(outcome)
              }
            }
          }
          runs += 1
          for (const one of new Set(others)) await one.close()
        },
      ),
      { numRuns: 60 },
    )
    expect(runs).toBeGreaterThan(20)
    for (const [name, count] of Object.entries(counts)) expect(count, name).toBeGreaterThan(4)
  })

  it('are sent in order in two statements, or in four if they are many or large', async () => {
    let statements = 0
    const store = await openStore(`colloquy_${(schemas += 1)}`, (send) => {
      statements += 1
      return send()
    })
    const append = async (all: readonly Event[]): Promise<number> => {
      const id = `c${(schemas += 1)}`
      await store.createConversation({ id })
      statements = 0
      const reports = await Promise.all(all.map((one) => store.append(id, [one])))
      expect(reports.map(({ version }) => version)).toEqual(all.map((_, i) => i + 1))
      expect(reports.map(({ headId }) => headId)).toEqual(all.map((one) => one.id))
      expect((await store.read(id, { limit: 1_000 })).map(({ id: matches }) => matches)).toEqual(
        all.map((one) => one.id),
      )
      return statements
    }
    expect(await append(Array.from({ length: 200 }, (_, i) => event(`p${i}`)))).toBe(2)
    expect(await append(Array.from({ length: 600 }, (_, i) => event(`p${i}`)))).toBe(4)
    const large = Array.from({ length: 5 }, (_, i) =>
      event(`p${i}`, { detail: 'x'.repeat(400_000) } as object),
    )
    // Retried with the bytes of the long string, which the server does not have yet.
    expect(await append(large)).toBe(4)
    await store.close()
  })

  it.each(['before', 'after'])(
    'succeed in smaller batches if the connection is lost once, %s the batch is executed',
    async (when) => {
      const { store, outcomes } = await appendNine(async (statement, send) => {
        if (statement !== 2) return send()
        if (when === 'after') await send()
        return loseConnection()
      })
      expect(outcomes).toEqual(Array.from({ length: 9 }, () => true))
      const matches = (await store.read('c')).map(({ id }) => id)
      expect(matches).toHaveLength(18)
      for (let i = 0; i < 9; i += 1) expect(matches.indexOf(`b${i}`)).toBe(matches.indexOf(`a${i}`) + 1)
      await store.close()
    },
  )

  it.each(['before', 'after'])(
    'fail if the connection is lost every time, %s the batch is executed, and can be retried',
    async (when) => {
      let fails = true
      const { store, batches, outcomes } = await appendNine(async (_, send) => {
        if (!fails) return send()
        if (when === 'after') await send()
        return loseConnection()
      })
      expect(outcomes).toEqual([true, ...Array.from({ length: 8 }, () => 'store_unavailable')])
      expect(await store.read('c')).toHaveLength(when === 'after' ? 18 : 2)
      fails = false
      await Promise.all(batches.map((facts) => store.append('c', facts)))
      expect((await store.read('c')).map(({ id }) => id)).toEqual(batches.flat().map(({ id }) => id))
      await store.close()
    },
  )

  it('do not repeat an import if the connection is lost after the batch was executed', async () => {
    let statements = 0
    const store = await openStore(`colloquy_${(schemas += 1)}`, async (send) => {
      const result = await send()
      return (statements += 1) === 2 ? loseConnection() : result
    })
    await store.createConversation({ id: 'c' })
    const { id: _, ...imported } = event('none')
    await Promise.all([
      store.append('c', [event('a')]),
      outcomeOf(store.append('c', [imported], { mode: 'import' })),
      outcomeOf(store.append('c', [event('b')])),
    ])
    expect(await store.read('c')).toHaveLength(3)
    await store.close()
  })

  it('succeed in smaller batches if the whole batch exceeds the statement timeout', async () => {
    const schema = `colloquy_${(schemas += 1)}`
    const store = await openStore(schema, async (send) => send())
    await store.createConversation({ id: 'c' })
    await store.append('c', [event('first')])
    // Fails at the tenth event as at a timeout, which a busy machine would reach earlier.
    await database.pool.query(`
      CREATE FUNCTION ${schema}.slow() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE count integer := coalesce(nullif(current_setting('test.count', true), ''), '0')::integer + 1;
        BEGIN
          IF count = 10 THEN
            RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = 'query_canceled';
          END IF;
          PERFORM set_config('test.count', count::text, true);
          RETURN NEW;
        END $$;
      CREATE TRIGGER slow BEFORE INSERT ON ${schema}.event FOR EACH ROW EXECUTE FUNCTION ${schema}.slow()`)
    const storeWithTimeout = postgresStore({ url: database.url, schema, listen: false })
    const report = await Promise.all(
      Array.from({ length: 100 }, (_, i) => outcomeOf(storeWithTimeout.append('c', [event(`e${i}`)]))),
    )
    expect(report.filter((outcome) => !isDone(outcome))).toEqual([])
    expect((await storeWithTimeout.getConversation('c'))?.version).toBe(101)
    await storeWithTimeout.close()
    await store.close()
  })

  it('do not wait for the response to an earlier append to the same conversation', async () => {
    const { store, release } = await storeWithSlowFirst()
    await store.createConversation({ id: 'c' })
    const [first, ...others] = ['a', 'b', 'd'].map((id) => store.append('c', [event(id)]))
    expect((await Promise.all(others)).map(({ version }) => version)).toEqual([1, 2])
    release()
    expect((await first)?.version).toBe(3)
    await store.close()
  })

  it('share statements across 40 conversations, and a second store reads the same results', async () => {
    let statements = 0
    const schema = `colloquy_${(schemas += 1)}`
    const store = await openStore(schema, (send) => {
      statements += 1
      return send()
    })
    let ids: readonly string[] = []
    const statementsOf = async (round: number): Promise<number> => {
      statements = 0
      const results = await Promise.all(ids.map((id) => store.append(id, [event(`${id} ${round}`)])))
      expect(results.map(({ version, headId }) => [version, headId])).toEqual(
        ids.map((id) => [round + 1, `${id} ${round}`]),
      )
      return statements
    }
    // In the first round each append first reads its log, over the pool's ten connections. Appends that arrive
    // together share a statement. On a busy machine they arrive one by one, so use the minimum of several attempts.
    let minimum = Infinity
    for (let attempt = 0; attempt < 5 && minimum >= 20; attempt += 1) {
      ids = Array.from({ length: 40 }, (_, i) => `c${attempt} ${i}`)
      for (const id of ids) await store.createConversation({ id })
      minimum = Math.min(minimum, await statementsOf(0))
    }
    expect(minimum).toBeLessThan(20)
    // The first is sent alone.
    for (const round of [1, 2]) expect(await statementsOf(round)).toBeLessThan(5)
    const other = await openStore(schema, (send) => send())
    for (const id of ids)
      expect((await other.read(id)).map((one) => one.id)).toEqual([0, 1, 2].map((n) => `${id} ${n}`))
    // The first store does not know these two appends: it decides only these two logs again.
    const known = [ids[1], ids[3]]
    for (const id of known) await other.append(id ?? '', [event(`${id} other`)])
    const results = await Promise.all(ids.map((id) => store.append(id, [event(`${id} last`)])))
    expect(results.map(({ version }) => version)).toEqual(ids.map((id) => (known.includes(id) ? 5 : 4)))
    await store.close()
    await other.close()
  })

  it('have the same results as in memory for conversation ids with special characters', async () => {
    const names = [
      '"',
      '\\',
      '\\"',
      ',',
      '(',
      ')',
      '{',
      '}',
      '{"a",NULL}',
      'NULL',
      ' ',
      "'",
      '$1',
      '?',
      '\u2028',
      'é',
      '😀',
    ]
    const outcomes = [
      await openStore(`colloquy_${(schemas += 1)}`, (send) => send()),
      memoryStore({ clock }),
    ].map(async (store) => {
      for (const id of names) await store.createConversation({ id })
      const leases = await Promise.all(names.map((id) => store.acquireLease(id, id, 60_000)))
      const results = []
      for (const round of [0, 1, 2]) {
        const ids = names.map((name) => `${name}${round}`)
        const calls = names.map((id, i) =>
          store.append(
            id,
            [event(ids[i] ?? ''), event(`${id} child`.repeat(round + 1), { parent_id: ids[i] ?? '' })],
            {
              lease: leases[i] ?? { owner: '', generation: 0 },
            },
          ),
        )
        results.push(await Promise.all(calls))
      }
      const logs = await Promise.all(names.map((id) => store.read(id)))
      await store.close()
      return [leases, results, logs]
    })
    expect(await outcomes[0]).toEqual(await outcomes[1])
  })

  it('are decided again for conversations that another store has deleted or recreated', async () => {
    const schema = `colloquy_${(schemas += 1)}`
    const [store, other] = [
      await openStore(schema, (send) => send()),
      await openStore(schema, (send) => send()),
    ]
    const ids = ['a', 'deleted', 'recreated', 'b']
    for (const id of ids) await store.createConversation({ id })
    for (const id of ids) await store.append(id, [event('first')])
    for (const id of ['deleted', 'recreated']) await other.deleteConversation(id)
    await other.createConversation({ id: 'recreated' })
    await other.append('recreated', [event('first', { source: 'user' })])
    const outcomes = await Promise.all(ids.map((id) => outcomeOf(store.append(id, [event('second')]))))
    expect(outcomes.map((one) => (isDone(one) ? one.version : one.code))).toEqual([
      2,
      'unknown_conversation',
      2,
      2,
    ])
    expect((await other.read('recreated')).map(({ fact }) => fact)).toMatchObject([
      { id: 'first', source: 'user' },
      { id: 'second' },
    ])
    await store.close()
    await other.close()
  })

  it('are not affected by locks and errors of other conversations', async () => {
    const schema = `colloquy_${(schemas += 1)}`
    const store = await openStore(schema, (send) => send())
    const ids = Array.from({ length: 9 }, (_, i) => `c${i}`)
    for (const id of ids) await store.createConversation({ id })
    for (const id of ids) await store.append(id, [event('first')])
    await database.pool.query(`
      CREATE FUNCTION ${schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
      CREATE TRIGGER refuse BEFORE INSERT ON ${schema}.event FOR EACH ROW WHEN (NEW.body LIKE '%poison%')
      EXECUTE FUNCTION ${schema}.refuse()`)
    const holder = await database.pool.connect()
    await holder.query('BEGIN')
    await holder.query(`SELECT FROM ${schema}.log WHERE conversation_id IN ('c0', 'c4') FOR UPDATE`)
    const settled: string[] = []
    const calls = ids.map(async (id) => {
      const detail = id === 'c2' || id === 'c7' ? 'poison' : 'fine'
      const outcome = await outcomeOf(store.append(id, [event('second', { detail } as object)]))
      settled.push(id)
      return isDone(outcome) ? outcome.version : outcome.code
    })
    await Promise.all(calls.filter((_, i) => i !== 0 && i !== 4))
    expect(settled.toSorted()).toEqual(ids.filter((id) => id !== 'c0' && id !== 'c4'))
    await holder.query('COMMIT')
    holder.release()
    expect(await Promise.all(calls)).toEqual([2, 2, 'store_unavailable', 2, 2, 2, 2, 'store_unavailable', 2])
    await store.close()
  })

  it('do not wait for the response to an append to another conversation', async () => {
    const { store, statements, release } = await storeWithSlowFirst()
    const ids = ['a', 'b', 'd']
    for (const id of ids) await store.createConversation({ id })
    let settled = 0
    const calls = ids.map(async (id) => {
      const { version } = await store.append(id, [event(id)])
      settled += 1
      return version
    })
    await until(() => settled === 2)
    release()
    expect(await Promise.all(calls)).toEqual([1, 1, 1])
    expect(statements()).toBe(2)
    await store.close()
  })
})
