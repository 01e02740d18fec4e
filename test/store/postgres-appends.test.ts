/** Special cases of appends in PostgreSQL: existing ids, invalid events, and batches that refer to their own events. */

import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deriveEventId } from '../../src/event/ids.ts'
import type { Event } from '../../src/event/types.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { until, waiting } from '../postgres/sql-sessions.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'

let database: PooledDatabase
let pool: pg.Pool
let store: Store

beforeAll(async () => {
  database = await pooledDatabase()
  pool = database.pool
  // The default timeout is too short for the largest appends on a busy machine.
  store = postgresStore({ client: pool, listen: false, timeout: 300_000 })
  await store.getConversation('c')
})

afterAll(async () => {
  await store.close()
  await database.drop()
})

async function appendTime(id: string, facts: readonly Event[]): Promise<number> {
  await store.createConversation({ id })
  const began = performance.now()
  await store.append(id, facts)
  return performance.now() - began
}

describe('a batch whose events refer to each other', () => {
  const ids = Array.from({ length: 12_000 }, (_, i) => `${'x'.repeat(150)}${i}`)

  it.each<readonly [string, (id: string, i: number) => Event]>([
    ['by parent', (id, i) => ({ kind: 'PauseEvent', id, parent_id: ids[i - 1] ?? '__root__' })],
    [
      'by moves of HEAD',
      (id, i) =>
        i % 2 === 0
          ? { kind: 'PauseEvent', id }
          : { kind: 'ConversationStateUpdateEvent', id, key: 'leaf_event_id', value: ids[i - 1] ?? null },
    ],
  ])('is less than four times slower than one without references (%s)', async (name, fact) => {
    const plain: number[] = []
    const named: number[] = []
    const ratio = (): number => Math.min(...named) / Math.min(...plain)
    // Other load only adds to a time, so compare the minimum of several rounds.
    do {
      const round = plain.length
      plain.push(
        await appendTime(
          `plain ${name} ${round}`,
          ids.map((id) => ({ kind: 'PauseEvent', id })),
        ),
      )
      named.push(await appendTime(`named ${name} ${round}`, ids.map(fact)))
    } while (ratio() >= 4 && plain.length < 5)
    expect(ratio()).toBeLessThan(4)
  })

  it('has the same results as in the memory store', async () => {
    const facts: Event[] = ids.slice(0, 40).map((id, i): Event => {
      if (i % 7 === 3)
        return { kind: 'ConversationStateUpdateEvent', id, key: 'leaf_event_id', value: ids[i >> 1] ?? null }
      return { kind: 'PauseEvent', id, ...(i % 3 === 1 && { parent_id: ids[i - 1] ?? null }) }
    })
    const memory = memoryStore()
    const results = await Promise.all(
      [memory, store].map(async (each) => {
        await each.createConversation({ id: 'placed' })
        return [
          await each.append('placed', facts.slice(0, 10)),
          await each.append('placed', facts.slice(10)),
          await each.append('placed', [{ kind: 'PauseEvent', id: 'last', parent_id: ids[20] ?? null }]),
        ]
      }),
    )
    expect(results[1]).toEqual(results[0])
  })
})

it('an imported event without an id is out of the tree if its derived id already exists', async () => {
  await store.createConversation({ id: 'derived' })
  const bare: Event = { kind: 'PauseEvent' }
  const existing = [2, 4].map((seq) => deriveEventId('derived', seq, bare))
  await store.append(
    'derived',
    existing.map((id) => ({ kind: 'PauseEvent', id })),
  )
  const { events } = await store.append('derived', [bare, bare, bare], { mode: 'import' })
  expect(events.map(({ seq, id, inTree }) => [seq, id, inTree])).toEqual([
    [2, existing[0], false],
    [3, deriveEventId('derived', 3, bare), true],
    [4, existing[1], false],
  ])
  const { events: again } = await store.append('derived', [{ kind: 'PauseEvent', id: 'z' }])
  expect(again[0]).toMatchObject({ seq: 5, parentId: events[1]?.id })
})

it('an invalid event is rejected without affecting concurrent appends', async () => {
  await store.createConversation({ id: 'mixed' })
  const wrong = [
    { kind: 'MessageEvent', id: 'w1', source: 'user' },
    { kind: 'MessageEvent', id: 'w2', source: 'user', llm_message: { role: 'user', content: 7 } },
    { kind: 'MessageEvent', id: 'w3', source: 'user', llm_message: null, extended_content: [] },
  ] as object as Event[]
  const input = ['a', 'b', 'd'].flatMap((id, i): Event[] => [{ kind: 'PauseEvent', id }, wrong[i] as Event])
  const reports = await Promise.allSettled(input.map((fact) => store.append('mixed', [fact])))
  expect(
    reports.map((one) => (one.status === 'rejected' ? one.reason.code : one.value.events[0]?.id)),
  ).toEqual(['a', 'invalid_event', 'b', 'invalid_event', 'd', 'invalid_event'])
  expect(await store.read('mixed')).toHaveLength(3)
})

const message = (id: string): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ text: 'words' }] },
})

it('a deletion that waits for an append removes its events and texts', async () => {
  const schema = 'waited'
  const store = postgresStore({ client: pool, schema, listen: false, fullText: true })
  await store.createConversation({ id: 'c' })
  await store.append('c', [message('first')])
  const observer = await pool.connect()
  let deletion: Promise<unknown> = Promise.resolve()
  const within = async (): Promise<void> => {
    deletion = store.deleteConversation('c')
    await until(async () => (await waiting(observer as never, new URL(database.url).pathname.slice(1))) > 0)
  }
  await store.append('c', [message('last')], { within })
  await deletion
  observer.release()
  for (const table of ['event', 'text', 'lane', 'log'])
    expect((await pool.query(`SELECT FROM ${schema}.${table}`)).rows, table).toEqual([])
  await store.close()
})

it('an append to a restored log follows its HEAD, not an event lost by the restore', async () => {
  await store.createConversation({ id: 'restored' })
  await store.append('restored', [{ kind: 'PauseEvent', id: 'a' }])
  await pool.query('CREATE TABLE backup AS SELECT * FROM colloquy.log')
  await store.append('restored', [{ kind: 'PauseEvent', id: 'lost' }])
  await pool.query(`DELETE FROM colloquy.event WHERE id = 'lost'`)
  const columns = 'version, head_id, head_parent_id, head_seq, head_time, last_lane_end'
  await pool.query(`UPDATE colloquy.log AS l SET (${columns}) = (
    SELECT ${columns} FROM backup AS b WHERE b.number = l.number) WHERE conversation_id = 'restored'`)
  const other = postgresStore({ client: pool, listen: false })
  await other.append('restored', [{ kind: 'PauseEvent', id: 'b' }])
  await store.append('restored', [{ kind: 'PauseEvent', id: 'd' }])
  const log = await other.read('restored')
  expect(log.map(({ id, parentId }) => [id, parentId])).toEqual([
    ['a', null],
    ['b', 'a'],
    ['d', 'b'],
  ])
  await other.close()
})
