/** A schema of any version becomes one of today's, once and whole, whoever else is at it; one of tomorrow's is left alone. */

import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { migrate } from '../../src/store/postgres/migrate.ts'
import { FUNCTIONS } from '../../src/store/postgres/schema/functions.ts'
import { type Migration, MIGRATIONS } from '../../src/store/postgres/schema/migrations.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { ConversationQuery } from '../../src/store/contract/conversation-record.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { cut, run, session, until, urlOf, waiting } from '../postgres/bystander.ts'
import { otherProcess } from '../postgres/process.ts'
import { startServer, type TestServer } from '../postgres/server.ts'
import { expectFrozen, expectRevision, oldDatabase, versionsOf } from './frozen.ts'
import { looks } from './schema-looks.ts'

const LATEST = MIGRATIONS.length

/** The hash of each step that was published, and of the functions of each revision. */
const PUBLISHED = [
  '2855ae98df4e3b2c',
  'c4f85b1fb99a8d65',
  'ff0f56dfe97aaa0b',
  '7ade180ee23161eb',
  'ce8f7d0b405b7ab1',
  '25bcef20f958c0e9',
  '4ebb05e47889755e',
]
const REVISIONS = [
  '32adee79369099b6',
  'c8dd46f1b308eb11',
  '8c587ae0518ab1e7',
  '9a07f9d798c1e99f',
  'cce924aafd9c16e9',
  '7e3851fc25f138c7',
  '840b93e8d53ba43c',
  'e293f76c04e5865b',
  '7cba94424ae5ef25',
  'dc1057ddc3f2b7ad',
  '4c90673c0a397dab',
]

let server: TestServer
let databases = 0
/** The superuser's session in the database of the test. */
let looker: pg.Client
let name: string
/** The store's user's address of it. */
let url: string
const { tellAll, hold, letGo, made, versionOf, things } = looks(() => looker)

beforeAll(async () => {
  server = await startServer()
  await run(server.url, `CREATE ROLE app LOGIN PASSWORD 'x'`)
})

afterAll(() => server.stop())

beforeEach(async () => {
  name = `migrate_${(databases += 1)}`
  await run(server.url, `CREATE DATABASE ${name} TEMPLATE template0 OWNER app`)
  looker = await session(urlOf(server.url, name))
  url = urlOf(server.url, name, { name: 'app', password: 'x' })
  await tellAll()
})

afterEach(() => looker.end())

function opened(schema = 'colloquy'): Store {
  const store = postgresStore({ url, schema })
  onTestFinished(() => store.close())
  return store
}

describe('migrations', () => {
  it('are done once, however many stores of however many processes open a new schema at once', async () => {
    const processes = await Promise.all([1, 2, 3].map(() => otherProcess(url, 'colloquy')))
    const here = Array.from({ length: 12 }, () => opened())
    await Promise.all([
      ...processes.map((process) => process.tell('open 6')),
      ...here.map((store, i) => store.createConversation({ id: `here ${i}` })),
    ])
    expect(await versionOf()).toBe(LATEST)
    expect((await opened().countConversations()).count).toBe(3 * 6 + 12)
    expect(await made('colloquy')).toBe(1)
    expect(await made('colloquy.schema_version')).toBe(1)
    expect(await made('colloquy.events')).toBe(1)
    expect(await made('colloquy.append_one(%')).toBe(1)
  })

  it('are waited for by a store that comes in the middle of them, and not done again', async () => {
    await hold('colloquy.lanes')
    const first = opened().createConversation({ id: 'a' })
    await until(async () => (await waiting(looker, name)) === 1)
    const second = opened().createConversation({ id: 'b' })
    await until(async () => (await waiting(looker, name)) === 2)
    await letGo()
    await Promise.all([first, second])
    expect(await made('colloquy.lanes')).toBe(1)
    expect((await opened().countConversations()).count).toBe(2)
  })

  it.each(['colloquy', 'colloquy.schema_version', 'colloquy.events_by_kind', 'colloquy.search_up(%'])(
    'leave nothing half done when the connection is lost at %s',
    async (what) => {
      await hold(what)
      const store = opened()
      const call = store.createConversation({ id: 'c' })
      await until(async () => (await waiting(looker, name)) === 1)
      await Promise.all([
        expect(call).rejects.toMatchObject({ code: 'store_unavailable' }),
        cut(looker, 'app'),
      ])
      expect(await things('colloquy')).toEqual([])
      await letGo()
      await store.createConversation({ id: 'c' })
      expect(await versionOf()).toBe(LATEST)
      expect(await things('colloquy')).toEqual(await thingsOfNew())
    },
  )

  it('that wait for a lock longer than they may are store_busy, and done by the next call', async () => {
    await looker.query(`ALTER ROLE app IN DATABASE ${name} SET lock_timeout = '60ms'`)
    await hold('colloquy.lanes')
    const store = opened()
    await expect(store.read('c')).rejects.toMatchObject({ code: 'store_busy' })
    expect(await things('colloquy')).toEqual([])
    await letGo()
    await store.createConversation({ id: 'c' })
  })

  it('stay as they were published, and the functions are of their revision', () => {
    expectFrozen(
      'postgres',
      MIGRATIONS.map((step) => step('s')),
      PUBLISHED,
    )
    expectRevision(FUNCTIONS.make('s'), FUNCTIONS.revision, REVISIONS)
  })

  it.each(versionsOf('postgres'))(
    'bring a schema of version %i to the latest, with what is in it',
    async (version) => {
      const client = await session(url)
      onTestFinished(() => client.end())
      await client.query(oldDatabase('postgres', version))
      expect(await versionOf()).toBe(version)
      await client.query(`INSERT INTO colloquy.conversations (conversation_id, public, tags, metadata, created_at, updated_at)
      VALUES ('old', false, '{a=x}', '{"old":1,"app":{"sandbox_id":"s 1"}}', 1, 1), ('gone', false, '{}', '{}', 1, 1),
        ('odd', false, '{}', '{"app":{"sandbox_id":"s2"},"no text":"\\ud800\\u0000"}', 2, 2)`)
      await client.query(`INSERT INTO colloquy.events
        (conversation_id, seq, lane, time, max_time, can_be_head, stamped, id, kind, source, body)
        VALUES ('old', 0, 0, 7, 7, true, false, 'a', 'PauseEvent', 'user', '{"kind":"PauseEvent","id":"a"}');
        INSERT INTO colloquy.lanes (conversation_id, lane, last_seq) VALUES ('old', 0, 0);
        UPDATE colloquy.conversations SET version = 1, last_time = 7, max_time = 7, kinds = '{PauseEvent user}', tip_lane = 0, tip_end = 0,
        head_seq = 0, head_lane = 0, head_max_time = 7, head_id = 'a' WHERE conversation_id = 'old'`)

      const stores = [opened(), opened(), opened()]
      const found = await Promise.all(stores.map((store) => store.getConversation('old')))
      expect(found).toMatchObject(
        stores.map(() => ({ metadata: expect.objectContaining({ old: 1 }), version: 1, headId: 'a' })),
      )
      expect(await versionOf()).toBe(LATEST)
      expect(await things('colloquy')).toEqual(await thingsOfNew())
      const [store = opened()] = stores
      expect(await store.read('old')).toMatchObject([{ seq: 0, fact: { kind: 'PauseEvent', id: 'a' } }])
      if (version < 5) {
        const listed = async (query: ConversationQuery): Promise<string[]> =>
          (await store.listConversations(query)).items.map(({ id }) => id)
        expect([await listed({ sandboxId: 's 1' }), await listed({ sandboxId: 's2' })]).toEqual([
          ['old'],
          ['odd'],
        ])
        expect([await listed({ status: '' }), await listed({ tags: { a: 'x' } })]).toEqual([['old'], ['old']])
        expect(await listed({ order: 'updated_at_desc' })).toEqual(['odd', 'old', 'gone'])
        expect(await listed({ status: 'idle', order: 'created_at' })).toEqual(['gone', 'odd'])
      }
      const told = (await store.feed()).items.filter(({ conversationId }) => conversationId === 'old')
      if (version < 4)
        expect(told).toMatchObject([{ type: 'changed' }, { type: 'event', event: { seq: 0, id: 'a' } }])
      const parts = [{ part: 0, bytes: new Uint8Array([0, 255]) }]
      await store.saveSnapshot('old', parts)
      await store.saveSnapshot('gone', parts)
      expect(await store.deleteConversation('gone')).toBe(true)
      expect([await store.loadSnapshot('old'), await store.loadSnapshot('gone')]).toEqual([parts, []])
      expect((await store.append('old', [{ kind: 'PauseEvent', id: 'b' }])).events[0]?.parentId).toBe('a')
    },
  )

  it('make what is there by hand their own', async () => {
    await run(url, 'CREATE SCHEMA colloquy')
    expect(await opened().getConversation('old')).toBeNull()
    expect(await things('colloquy')).toEqual(await thingsOfNew())
  })

  it('make the functions of an earlier revision anew, and leave those of a later one', async () => {
    await opened().createConversation({ id: 'c' })
    const replaced = async (revision: number): Promise<boolean> => {
      await run(
        url,
        `CREATE OR REPLACE FUNCTION colloquy.delete_conversation(p_conversation text) RETURNS boolean LANGUAGE sql
        AS 'SELECT false'`,
        `UPDATE colloquy.schema_version SET functions = ${revision}`,
      )
      const isMended = await opened().deleteConversation('c')
      const rows = await run(url, 'SELECT functions FROM colloquy.schema_version')
      expect(rows).toEqual([{ functions: Math.max(revision, FUNCTIONS.revision) }])
      return isMended
    }
    expect(await replaced(FUNCTIONS.revision + 1)).toBe(false)
    expect(await replaced(FUNCTIONS.revision - 1)).toBe(true)
    expect(await versionOf()).toBe(LATEST)
  })

  it('are done in order, from where a schema is, and all or none', async () => {
    const client = await session(url)
    onTestFinished(() => client.end())
    const NONE = { revision: 0, make: () => '' }
    const steps: readonly Migration[] = [
      (schema) => `CREATE TABLE ${schema}.one (a integer);`,
      (schema) => `ALTER TABLE ${schema}.one ADD COLUMN b integer; CREATE TABLE ${schema}.two (a integer);`,
      (schema) => `CREATE TABLE ${schema}.three (a integer); CREATE TABLE ${schema}.one (a integer);`,
    ]
    await migrate(client, 'mine', steps.slice(0, 1), NONE)
    await client.query('INSERT INTO mine.one VALUES (1)')
    await migrate(client, 'mine', steps.slice(0, 2), NONE)
    await migrate(client, 'mine', steps.slice(0, 2), NONE)
    expect(await versionOf('mine')).toBe(2)
    expect((await client.query('SELECT a, b FROM mine.one')).rows).toEqual([{ a: 1, b: null }])
    const before = await things('mine')
    await expect(migrate(client, 'mine', steps, NONE)).rejects.toMatchObject({ code: '42P07' })
    expect(await versionOf('mine')).toBe(2)
    expect(await things('mine')).toEqual(before)
    await expect(migrate(client, 'fresh', steps, NONE)).rejects.toMatchObject({ code: '42P07' })
    expect(await things('fresh')).toEqual([])
  })
})

/** What a schema holds that was made by one that found nothing. */
async function thingsOfNew(): Promise<unknown[]> {
  await looker.query('ALTER SCHEMA colloquy RENAME TO aside')
  const store = postgresStore({ url })
  await store.countConversations()
  await store.close()
  const found = await things('colloquy')
  await looker.query('DROP SCHEMA colloquy CASCADE')
  await looker.query('ALTER SCHEMA aside RENAME TO colloquy')
  return found
}

describe('a schema of a newer version', () => {
  it('is refused by every call, and left as it is', async () => {
    const store = opened()
    await store.createConversation({ id: 'c' })
    await looker.query('UPDATE colloquy.schema_version SET version = version + 1')
    const before = await things('colloquy')
    const late = opened()
    const calls = [
      late.getConversation('c'),
      late.append('c', [{ kind: 'PauseEvent', id: 'a' }]),
      late.deleteConversation('c'),
    ]
    for (const call of calls) {
      await expect(call).rejects.toMatchObject({
        name: 'ColloquyError',
        code: 'store_newer',
        message: expect.stringMatching(/upgrade/),
        data: { schema: 'colloquy', version: LATEST + 1, known: LATEST },
      })
    }
    expect(await things('colloquy')).toEqual(before)
    expect(await versionOf()).toBe(LATEST + 1)
    expect((await looker.query('SELECT FROM colloquy.events')).rows).toEqual([])
    // The older library has done no harm: gone back to its version, the same store works.
    await looker.query('UPDATE colloquy.schema_version SET version = version - 1')
    expect((await late.append('c', [{ kind: 'PauseEvent', id: 'a' }])).version).toBe(1)
  })

  it('is noticed also by who waited while a newer library made it', async () => {
    await hold('colloquy.lanes')
    const client = await session(url)
    onTestFinished(() => client.end())
    const newer = migrate(client, 'colloquy', [
      ...MIGRATIONS,
      (schema) => `CREATE TABLE ${schema}.later (a integer);`,
    ])
    await until(async () => (await waiting(looker, name)) === 1)
    const call = opened().createConversation({ id: 'c' })
    await until(async () => (await waiting(looker, name)) === 2)
    await letGo()
    await newer
    await expect(call).rejects.toMatchObject({ code: 'store_newer' })
    expect(await versionOf()).toBe(LATEST + 1)
  })
})

describe('a schema', () => {
  it('lives beside others, under whatever name', async () => {
    await looker.query('CREATE TABLE events (a integer)')
    const names = ['colloquy', 'Odd "name"; DROP', 'é😀']
    for (const [i, schema] of names.entries()) {
      const store = opened(schema)
      await store.createConversation({ id: 'c' })
      await store.append(
        'c',
        Array.from({ length: i + 1 }, (_, n) => ({ kind: 'PauseEvent' as const, id: `e${n}` })),
      )
    }
    for (const [i, schema] of names.entries()) expect(await opened(schema).read('c')).toHaveLength(i + 1)
    expect((await looker.query('SELECT FROM events')).rows).toEqual([])
  })
})
