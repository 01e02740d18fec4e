/** SQLite and PostgreSQL store, reject, list and claim items as the memory store does, for random commands (law S). */

import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Item, ItemChange } from '../../src/store/contract/items.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { pooledDatabase, type PooledDatabase } from '../postgres/database.ts'

let database: PooledDatabase
let schemas = 0
let now = 0n
const clock = () => now

beforeAll(async () => {
  database = await pooledDatabase()
})
afterAll(() => database.drop())

const STORES: readonly (readonly [string, () => Store, number])[] = [
  ['sqlite', () => sqliteStore({ file: ':memory:', clock }), 60],
  ['postgres', () => postgresStore({ client: database.pool, schema: `items_${(schemas += 1)}`, clock }), 8],
]

const id = fc.constantFrom('a', 'b', 'é', '\uffee', '\u{1f600}')
const value = fc.constantFrom('', 'x', 'y', '\uffee', '\u{1f600}')
const collection = fc.constantFrom('c', 'c', 'c', 'd')
const sometimes = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

/** A change of one item. It can expect the current version, an old version, no item, or nothing. */
const change = fc.record({
  collection,
  id,
  expects: fc.constantFrom('any', 'any', 'known', 'known', 'old', 'none'),
  put: fc.oneof(
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constant(undefined) },
    {
      weight: 4,
      arbitrary: fc.record({
        body: fc.dictionary(fc.string({ maxLength: 3, unit: 'binary' }), fc.jsonValue({ maxDepth: 1 })),
        keys: fc.dictionary(fc.constantFrom('by', 'also'), value),
        dueIn: fc.option(fc.nat(9)),
      }),
    },
  ),
})

type Command = typeof command extends fc.Arbitrary<infer T> ? T : never

const command = fc.oneof(
  fc.record({ do: fc.constant('change' as const), changes: fc.array(change, { maxLength: 4 }) }),
  fc.record({
    do: fc.constant('list' as const),
    collection,
    query: fc.record(
      {
        by: sometimes(fc.constantFrom('by', 'also')),
        value: sometimes(value),
        from: sometimes(value),
        below: sometimes(value),
        descending: fc.boolean(),
        limit: fc.integer({ min: 1, max: 3 }),
      },
      { requiredKeys: ['limit'] },
    ),
  }),
  fc.record({
    do: fc.constant('claim' as const),
    collection,
    claim: fc.record({ ttl: fc.integer({ min: 1, max: 9 }), limit: fc.integer({ min: 1, max: 3 }) }),
  }),
  fc.record({ do: fc.constant('wait' as const), milliseconds: fc.nat(9) }),
)

/** An item without its version, which differs between stores. */
const withoutVersion = (item: Item | null) => {
  if (item === null) return null
  return { ...item, version: null }
}

function executor(store: Store) {
  const versions = new Map<string, number[]>()
  const remember = (item: Item | null): void => {
    if (item === null) return
    const name = `${item.collection} ${item.id}`
    versions.set(name, [...(versions.get(name) ?? []), item.version])
  }
  const expectedOf = ({
    collection,
    id,
    expects,
  }: Pick<ItemChange, 'collection' | 'id'> & { expects: string }) => {
    const known = versions.get(`${collection} ${id}`) ?? []
    if (expects === 'any') return {}
    if (expects === 'none') return { expected: null }
    return { expected: (expects === 'known' ? known.at(-1) : known.at(-2)) ?? null }
  }
  return async (command: Command): Promise<unknown> => {
    if (command.do === 'wait') return null
    if (command.do === 'list') {
      const pages: unknown[] = []
      let cursor: string | undefined
      const input = Object.fromEntries(Object.entries(command.query).filter(([, one]) => one !== undefined))
      do {
        const query = { ...input, ...(cursor !== undefined && { cursor }) }
        const page = await store.listItems(command.collection, query)
        pages.push([page.items.map(withoutVersion), page.cursor])
        cursor = page.cursor ?? undefined
      } while (cursor !== undefined)
      return pages
    }
    if (command.do === 'claim') {
      const items = await store.claimItems(command.collection, command.claim)
      items.forEach(remember)
      return items.map(withoutVersion)
    }
    const changes = command.changes.map(({ collection, id, expects, put }) => ({
      collection,
      id,
      ...expectedOf({ collection, id, expects }),
      ...(put !== undefined && { put }),
    }))
    try {
      const items = await store.changeItems(changes as ItemChange[])
      items.forEach(remember)
      return items.map(withoutVersion)
    } catch (error) {
      const { code, data } = error as {
        readonly code: string
        readonly data: Readonly<Record<string, unknown>>
      }
      return [code, data['collection'], data['id'], data['version'] === null]
    }
  }
}

const due = { expects: 'any', put: { body: {}, keys: {}, dueIn: 0 } } as const

/** Two items due at the same time, which code points and UTF-16 units sort differently. */
const BY_CODE_POINTS: Command[] = [
  { do: 'change', changes: (['😀', '￮'] as const).map((id) => ({ collection: 'c', id, ...due })) },
  { do: 'claim', collection: 'c', claim: { ttl: 1, limit: 2 } },
]

it.each(STORES)('the %s store handles items as the memory store does', async (_, make, numRuns) => {
  const counts = { put: 0, rejected: 0, listed: 0, claimed: 0 }
  const property = fc.asyncProperty(fc.array(command, { minLength: 20, maxLength: 40 }), async (commands) => {
    now = 1_700_000_000_000_000n
    const [memory, other] = [memoryStore({ clock }), make()]
    const [runInMemory, runInDatabase] = [executor(memory), executor(other)]
    for (const command of commands) {
      if (command.do === 'wait') now += BigInt(command.milliseconds) * 1000n
      const expected = await runInMemory(command)
      expect(await runInDatabase(command)).toEqual(expected)
      if (command.do === 'list') counts.listed += JSON.stringify(expected).length > 60 ? 1 : 0
      else if (Array.isArray(expected) && command.do === 'claim') counts.claimed += expected.length
      else if (Array.isArray(expected) && typeof expected[0] === 'string') counts.rejected += 1
      else counts.put += 1
    }
    await other.close()
  })
  await fc.assert(property, { numRuns, examples: [[BY_CODE_POINTS]] })
  for (const [name, count] of Object.entries(counts)) expect([name, count >= 1]).toEqual([name, true])
})
