/** Stores copy arguments that are not frozen, so callers can change them after the call. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { copyJson } from '../../src/event/freeze.ts'
import type { Event } from '../../src/event/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'

let database: PooledDatabase
beforeAll(async () => void (database = await pooledDatabase()))
afterAll(() => database.drop())

it.each<readonly [string, (options: never) => unknown, object]>([
  ['memory', memoryStore, { clock: 5, feedRows: 0 }],
  ['sqlite', sqliteStore, { clock: 5, feedRows: 0, fullText: 'yes', readOnly: 1 }],
  ['postgres', postgresStore, { clock: 5, feedRows: 0, fullText: 'yes', listen: 'no', schema: 5 }],
])('each option of the %s store has an error for an invalid value', (name, make, invalid) => {
  const required =
    name === 'sqlite' ? { file: ':memory:' } : name === 'postgres' ? { url: 'postgres://x' } : {}
  for (const [option, value] of Object.entries(invalid)) {
    const error = { code: 'invalid_argument', message: expect.stringMatching(`\`${option}\` must be`) }
    expect(() => make({ ...required, [option]: value } as never)).toThrow(expect.objectContaining(error))
  }
})

describe.each([
  ['memory', () => memoryStore()],
  ['sqlite', () => sqliteStore({ file: ':memory:' })],
  ['postgres', () => postgresStore({ client: database.pool, schema: 'arguments' })],
] as const)('arguments of the %s store', (_, make) => {
  it('are copied, so later changes by the caller have no effect', async () => {
    const store = make()
    await store.createConversation({ id: 'c' })
    const content = [{ type: 'text' as const, text: 'Hello' }]
    const event = {
      kind: 'MessageEvent',
      id: 'a',
      source: 'user',
      llm_message: { role: 'user', content },
    } as const
    const facts: Event[] = [event]
    const options = { expected: 0 }
    const appending = store.append('c', facts, options)
    content[0] = { type: 'text', text: 'Bye' }
    facts.push({ kind: 'PauseEvent', id: 'b' })
    options.expected = 7
    expect((await appending).version).toBe(1)
    const [stored] = await store.read('c')
    expect(stored?.fact).toMatchObject({ llm_message: { content: [{ text: 'Hello' }] } })

    const metadata = { color: ['red'] }
    const patch = { title: 'Trees', metadata }
    const updating = store.updateConversation('c', patch)
    patch.title = 'Houses'
    metadata.color[0] = 'blue'
    expect(await updating).toMatchObject({ title: 'Trees', metadata: { color: ['red'] } })

    const ids = ['a']
    const reading = store.getMany('c', ids)
    ids[0] = 'b'
    expect((await reading).map((one) => one?.id)).toEqual(['a'])

    const lease = { ...(await store.acquireLease('c', 'run', 10_000)) } as { generation: number }
    const releasing = store.releaseLease(lease as never)
    lease.generation += 1
    expect(await releasing).toBe(true)
    await store.close()
  })

  it('cannot contain null as a lease, which `acquireLease` returns while another run has the lease', async () => {
    const store = make()
    await store.createConversation({ id: 'null' })
    const options = { lease: null as never }
    const [one, two] = (['a', 'b'] as const).map((id): Event => ({ kind: 'PauseEvent', id }))
    for (const facts of [[one], [one, two]] as Event[][])
      await expect(store.append('null', facts, options)).rejects.toMatchObject({ code: 'lease_lost' })
    await store.append('null', [one as Event])
    expect((await store.append('null', [one as Event], options)).version).toBe(1)
    await store.close()
  })

  it('are stored without a copy if they are frozen events', async () => {
    const store = make()
    await store.createConversation({ id: 'frozen' })
    const event = {
      kind: 'MessageEvent',
      id: 'a',
      source: 'user',
      llm_message: { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
    } as const
    const frozen = copyJson(event).value as object as typeof event
    const { events } = await store.append('frozen', [frozen, { ...event, id: 'b' }])
    const [first, second] = events.map(({ fact }) => (fact as typeof event).llm_message)
    expect(first).toBe(frozen.llm_message)
    expect(second).not.toBe(event.llm_message)
    await store.close()
  })
})
