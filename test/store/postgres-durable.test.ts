/** Acknowledged writes are on the synchronous standby, even if the database sets a weaker `synchronous_commit` (design D12). */

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Lease, Store } from '../../src/store/contract/store.ts'
import { until } from '../postgres/sql-sessions.ts'
import { codeOf } from '../../src/store/postgres/driver.ts'
import { pause } from '../postgres/faults.ts'
import { APP, type FaultDatabase, faultDatabase, createAppRole } from '../postgres/fault-database.ts'
import { startServer, type TestServer } from '../postgres/server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startServer()
  await createAppRole(server)
})

afterAll(() => server.stop())

function openStore(url: string): Store {
  const store = postgresStore({ url })
  onTestFinished(() => store.close())
  return store
}

/** Makes the server wait for a standby that never arrives, until `end`. */
async function withoutStandby(database: FaultDatabase): Promise<{
  /** True while a write waits for the standby; false once it has settled. */
  readonly isWaiting: (write: Promise<unknown>) => Promise<boolean>
  /** Terminates the waiting connections of the store. */
  readonly cutConnections: () => Promise<void>
  readonly end: () => Promise<void>
}> {
  const countWaiting = async (user: string): Promise<number> =>
    (
      await database.observer.query(
        `SELECT FROM pg_stat_activity WHERE datname = $1 AND usename = $2 AND wait_event = 'SyncRep'`,
        [database.name, user],
      )
    ).rows.length
  const isWaiting = (write: Promise<unknown>, user = APP.name): Promise<boolean> =>
    Promise.race([
      write.then(
        () => false,
        () => false,
      ),
      until(async () => (await countWaiting(user)) > 0).then(() => true),
    ])
  const cutConnections = async (user = APP.name): Promise<void> => {
    await database.observer.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = $1 AND usename = $2 AND wait_event = 'SyncRep'`,
      [database.name, user],
    )
    await until(async () => (await countWaiting(user)) === 0)
  }
  await database.asSuperuser('CREATE TABLE probe (a integer)')
  await database.observer.query(`ALTER SYSTEM SET synchronous_standby_names = 'gone'`)
  await database.observer.query('SELECT pg_reload_conf()')
  // The setting becomes effective with a delay: probe it with commits of the superuser.
  let probe: Promise<unknown> = Promise.resolve()
  do {
    probe = database
      .asSuperuser('SET synchronous_commit = on', 'INSERT INTO probe DEFAULT VALUES')
      .catch(() => 'cut off')
  } while (!(await isWaiting(probe, 'postgres')))
  await cutConnections('postgres')
  await probe
  return {
    isWaiting,
    cutConnections,
    end: async () => {
      await database.observer.query('ALTER SYSTEM RESET synchronous_standby_names')
      await database.observer.query('SELECT pg_reload_conf()')
    },
  }
}

const TABLES = ['conversation', 'log', 'event', 'lane', 'snapshot_part']

/** Every call that writes, ordered so that each has something to write. */
const WRITES: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  createConversation: (store) => store.createConversation({ id: 'c' }),
  'append of one event': (store) => store.append('c', [pause('a')]),
  'append after HEAD': (store) => store.append('c', [pause('b')]),
  'append of two events': (store) => store.append('c', [pause('d'), pause('e')]),
  import: (store) => store.append('c', [pause('f')], { mode: 'import' }),
  async replaceEvents(store) {
    const before = (await store.get('c', 'a'))?.fact as Fact
    await store.replaceEvents?.('c', [{ before, after: before }])
  },
  updateConversation: (store) => store.updateConversation('c', { title: 'a' }),
  acquireLease: (store) => store.acquireLease('c', 'me', 60_000),
  releaseLease: async (store) => store.releaseLease((await store.getLease('c')) as Lease),
  saveSnapshot: (store) => store.saveSnapshot('c', [{ part: 0, bytes: new Uint8Array(8) }]),
  deleteSnapshot: (store) => store.deleteSnapshot('c'),
  deleteConversation: (store) => store.deleteConversation('c'),
}

describe('a write', () => {
  it.each([
    ['off', 'on'],
    ['local', 'on'],
    ['remote_write', 'on'],
    ['on', 'on'],
    ['remote_apply', 'remote_apply'],
  ])('with synchronous_commit = %s commits with %s', async (level, expected) => {
    const database = await faultDatabase(server)
    await openStore(database.url).countConversations()
    // A deferred trigger sees the level that the commit uses.
    await database.asSuperuser(
      `CREATE TABLE levels (level text)`,
      `CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
      BEGIN INSERT INTO public.levels VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$`,
      ...TABLES.map(
        (table) => `CREATE CONSTRAINT TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON colloquy.${table}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.tell()`,
      ),
      `ALTER DATABASE ${database.name} SET synchronous_commit = '${level}'`,
    )
    const store = openStore(database.url)
    const result: Record<string, unknown> = {}
    for (const [name, write] of Object.entries(WRITES)) {
      await database.asSuperuser('TRUNCATE levels')
      await write(store)
      result[name] = await database.asSuperuser('SELECT DISTINCT level FROM levels')
    }
    expect(result).toEqual(
      Object.fromEntries(Object.keys(WRITES).map((name) => [name, [{ level: expected }]])),
    )
  })

  it('waits for a missing standby even with synchronous_commit = local', async () => {
    const database = await faultDatabase(server)
    await openStore(database.url).createConversation({ id: 'c' })
    await database.asSuperuser(`ALTER DATABASE ${database.name} SET synchronous_commit = 'local'`)
    const store = openStore(database.url)
    expect(await store.read('c')).toEqual([])
    const { isWaiting, end } = await withoutStandby(database)
    const append = store.append('c', [pause('a')]).then(() => 'acknowledged')
    try {
      expect(await isWaiting(append)).toBe(true)
    } finally {
      await end()
    }
    expect(await append).toBe('acknowledged')
  })
})

/** Retries of each write, which report that it already happened. */
const RETRIES: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  append: (store) => store.append('c', [pause('a')]).then(({ version }) => version),
  'append of two events': (store) =>
    store.append('c', [pause('d'), pause('e')]).then(({ events }) => events.length),
  createConversation: (store) => store.createConversation({ id: 'd' }).catch(codeOf),
  deleteConversation: (store) => store.deleteConversation('e'),
}

describe('a write whose connection was cut while it waited for a standby', () => {
  it.each(Object.entries(RETRIES))(
    'is acknowledged on a retry only after the standby has it: %s',
    async (_, write) => {
      const database = await faultDatabase(server)
      const store = openStore(database.url)
      for (const id of ['c', 'e']) await store.createConversation({ id })
      const { isWaiting, cutConnections, end } = await withoutStandby(database)
      try {
        const first = write(store).catch(() => 'cut off')
        expect(await isWaiting(first)).toBe(true)
        await cutConnections()
        await first
        // The first write is visible to everyone.
        const again = write(store)
        expect(await isWaiting(again)).toBe(true)
        await end()
        expect(await again).toEqual(await write(store))
      } finally {
        await end()
      }
    },
  )

  it('is not in the feed before the standby has it', async () => {
    const database = await faultDatabase(server)
    const store = openStore(database.url)
    await store.createConversation({ id: 'c' })
    const { next } = await store.feed()
    const { isWaiting, cutConnections, end } = await withoutStandby(database)
    try {
      const append = store.append('c', [pause('a')]).catch(() => 'cut off')
      expect(await isWaiting(append)).toBe(true)
      await cutConnections()
      await append
      expect(await store.read('c')).toHaveLength(1)
      const feed = store.feed({ after: next })
      expect(await isWaiting(feed)).toBe(true)
      await end()
      expect((await feed).items).toHaveLength(1)
    } finally {
      await end()
    }
  })
})
