/** What is acknowledged is on the synchronous standby, whatever weaker `synchronous_commit` a server or a user is set to (design D12). */

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { Lease } from '../../src/store/contract/lease.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { until } from '../postgres/bystander.ts'
import { pause } from '../postgres/causes.ts'
import { place, settle } from '../postgres/place.ts'
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

const TABLES = ['conversations', 'events', 'lanes', 'snapshots', 'snapshot_parts']

/** Every call that writes, in an order in which each has something to write. */
const WRITES: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  createConversation: (store) => store.createConversation({ id: 'c' }),
  'append of one event': (store) => store.append('c', [pause('a')]),
  'append after HEAD': (store) => store.append('c', [pause('b')]),
  'append of several': (store) => store.append('c', [pause('d'), pause('e')]),
  'append of an import': (store) => store.append('c', [pause('f')], { mode: 'import' }),
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
    const at = await place(server)
    await opened(at.url).countConversations()
    // What is deferred to the commit sees the level that the commit then goes by.
    await at.rule(
      `CREATE TABLE levels (level text)`,
      `CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
      BEGIN INSERT INTO public.levels VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$`,
      ...TABLES.map(
        (table) => `CREATE CONSTRAINT TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON colloquy.${table}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.tell()`,
      ),
      `ALTER DATABASE ${at.name} SET synchronous_commit = '${level}'`,
    )
    const store = opened(at.url)
    const found: Record<string, unknown> = {}
    for (const [name, write] of Object.entries(WRITES)) {
      await at.rule('TRUNCATE levels')
      await write(store)
      found[name] = await at.rule('SELECT DISTINCT level FROM levels')
    }
    expect(found).toEqual(Object.fromEntries(Object.keys(WRITES).map((name) => [name, [{ level: raised }]])))
  })

  it('waits for a standby that is gone, also where the user asked for local', async () => {
    const at = await place(server)
    await opened(at.url).createConversation({ id: 'c' })
    await at.rule(
      'CREATE TABLE probe (a integer)',
      `ALTER DATABASE ${at.name} SET synchronous_commit = 'local'`,
    )
    const store = opened(at.url)
    expect(await store.read('c')).toEqual([])
    await at.looker.query(`ALTER SYSTEM SET synchronous_standby_names = 'gone'`)
    await at.looker.query('SELECT pg_reload_conf()')
    const waiting = async (): Promise<number> =>
      (await at.rule(`SELECT FROM pg_stat_activity WHERE datname = '${at.name}' AND wait_event = 'SyncRep'`))
        .length
    // The server takes a moment to go by it: a commit of the superuser's tells when it does.
    let probe = Promise.resolve('acknowledged')
    do {
      probe = at.rival.query('INSERT INTO probe DEFAULT VALUES').then(() => 'acknowledged')
    } while (
      (await Promise.race([probe, until(async () => (await waiting()) === 1).then(() => 'waits')])) !==
      'waits'
    )
    const append = store.append('c', [pause('a')]).then(() => 'acknowledged')
    try {
      expect(
        await Promise.race([append, until(async () => (await waiting()) === 2).then(() => 'waits')]),
      ).toBe('waits')
    } finally {
      await at.looker.query('ALTER SYSTEM RESET synchronous_standby_names')
      await at.looker.query('SELECT pg_reload_conf()')
    }
    expect(await Promise.all([append, probe])).toEqual(['acknowledged', 'acknowledged'])
  })
})
