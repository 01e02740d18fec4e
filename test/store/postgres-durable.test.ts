/** Acknowledged writes are on the synchronous standby, even if the server or user sets a weaker `synchronous_commit` (design D12). */

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Lease, Store } from '../../src/store/contract/store.ts'
import { until } from '../postgres/bystander.ts'
import { codeOf } from '../../src/store/postgres/driver.ts'
import { pause } from '../postgres/causes.ts'
import { APP, type Place, position, settle } from '../postgres/place.ts'
import { startServer, type TestServer } from '../postgres/server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startServer()
  await settle(server)
})

afterAll(() => server.stop())

function opened(url: string): Store {
  const store = postgresStore({ url })
  onTestFinished(() => store.close())
  return store
}

/** Makes the server wait for a standby that never arrives, until `end`. */
async function withoutStandby(index: Place): Promise<{
  /** True while a write waits for the standby; false once it has settled. */
  readonly isHeld: (write: Promise<unknown>) => Promise<boolean>
  /** Terminates the waiting connections of the store. */
  readonly cutOff: () => Promise<void>
  readonly end: () => Promise<void>
}> {
  const waiting = async (user: string): Promise<number> =>
    (
      await index.looker.query(
        `SELECT FROM pg_stat_activity WHERE datname = $1 AND usename = $2 AND wait_event = 'SyncRep'`,
        [index.name, user],
      )
    ).rows.length
  const isHeld = (write: Promise<unknown>, user = APP.name): Promise<boolean> =>
    Promise.race([
      write.then(
        () => false,
        () => false,
      ),
      until(async () => (await waiting(user)) > 0).then(() => true),
    ])
  const cutOff = async (user = APP.name): Promise<void> => {
    await index.looker.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = $1 AND usename = $2 AND wait_event = 'SyncRep'`,
      [index.name, user],
    )
    await until(async () => (await waiting(user)) === 0)
  }
  await index.rule('CREATE TABLE probe (a integer)')
  await index.looker.query(`ALTER SYSTEM SET synchronous_standby_names = 'gone'`)
  await index.looker.query('SELECT pg_reload_conf()')
  // The setting takes effect with a delay: probe it with commits of the superuser.
  let probe: Promise<unknown> = Promise.resolve()
  do {
    probe = index
      .rule('SET synchronous_commit = on', 'INSERT INTO probe DEFAULT VALUES')
      .catch(() => 'cut off')
  } while (!(await isHeld(probe, 'postgres')))
  await cutOff('postgres')
  await probe
  return {
    isHeld,
    cutOff,
    end: async () => {
      await index.looker.query('ALTER SYSTEM RESET synchronous_standby_names')
      await index.looker.query('SELECT pg_reload_conf()')
    },
  }
}

const TABLES = ['conversation', 'log', 'event', 'lane', 'snapshot_part']

/** Every call that writes, ordered so that each has something to write. */
const WRITES: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  createConversation: (store) => store.createConversation({ id: 'c' }),
  'append of one event': (store) => store.append('c', [pause('a')]),
  'append after HEAD': (store) => store.append('c', [pause('b')]),
  'append of several': (store) => store.append('c', [pause('d'), pause('e')]),
  'append of an import': (store) => store.append('c', [pause('f')], { mode: 'import' }),
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
  ])('where synchronous_commit is %s commits with %s', async (level, raised) => {
    const index = await position(server)
    await opened(index.url).countConversations()
    // A deferred trigger sees the level that the commit uses.
    await index.rule(
      `CREATE TABLE levels (level text)`,
      `CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
      BEGIN INSERT INTO public.levels VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$`,
      ...TABLES.map(
        (table) => `CREATE CONSTRAINT TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON colloquy.${table}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.tell()`,
      ),
      `ALTER DATABASE ${index.name} SET synchronous_commit = '${level}'`,
    )
    const store = opened(index.url)
    const result: Record<string, unknown> = {}
    for (const [name, write] of Object.entries(WRITES)) {
      await index.rule('TRUNCATE levels')
      await write(store)
      result[name] = await index.rule('SELECT DISTINCT level FROM levels')
    }
    expect(result).toEqual(Object.fromEntries(Object.keys(WRITES).map((name) => [name, [{ level: raised }]])))
  })

  it('waits for a standby that is gone, also where the user asked for local', async () => {
    const index = await position(server)
    await opened(index.url).createConversation({ id: 'c' })
    await index.rule(`ALTER DATABASE ${index.name} SET synchronous_commit = 'local'`)
    const store = opened(index.url)
    expect(await store.read('c')).toEqual([])
    const { isHeld, end } = await withoutStandby(index)
    const append = store.append('c', [pause('a')]).then(() => 'acknowledged')
    try {
      expect(await isHeld(append)).toBe(true)
    } finally {
      await end()
    }
    expect(await append).toBe('acknowledged')
  })
})

/** Retries of each write, which report that it already happened. */
const AGAIN: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  append: (store) => store.append('c', [pause('a')]).then(({ version }) => version),
  'append of several': (store) =>
    store.append('c', [pause('d'), pause('e')]).then(({ events }) => events.length),
  createConversation: (store) => store.createConversation({ id: 'd' }).catch(codeOf),
  deleteConversation: (store) => store.deleteConversation('e'),
}

describe('a write whose writer was cut off while it waited for a standby', () => {
  it.each(Object.entries(AGAIN))('is acknowledged again once a standby has it: %s', async (_, write) => {
    const index = await position(server)
    const store = opened(index.url)
    for (const id of ['c', 'e']) await store.createConversation({ id })
    const { isHeld, cutOff, end } = await withoutStandby(index)
    try {
      const first = write(store).catch(() => 'cut off')
      expect(await isHeld(first)).toBe(true)
      await cutOff()
      await first
      // The first write is visible to everyone.
      const again = write(store)
      expect(await isHeld(again)).toBe(true)
      await end()
      expect(await again).toEqual(await write(store))
    } finally {
      await end()
    }
  })

  it('is not in the feed before', async () => {
    const index = await position(server)
    const store = opened(index.url)
    await store.createConversation({ id: 'c' })
    const { next } = await store.feed()
    const { isHeld, cutOff, end } = await withoutStandby(index)
    try {
      const append = store.append('c', [pause('a')]).catch(() => 'cut off')
      expect(await isHeld(append)).toBe(true)
      await cutOff()
      await append
      expect(await store.read('c')).toHaveLength(1)
      const feed = store.feed({ after: next })
      expect(await isHeld(feed)).toBe(true)
      await end()
      expect((await feed).items).toHaveLength(1)
    } finally {
      await end()
    }
  })
})
