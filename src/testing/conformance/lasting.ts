import type { Store } from '../../store/contract/store.ts'
import { equal, holds, rejects } from './assert.ts'
import { type Check, reopening, test, type Trial } from './check.ts'
import { begin, granted, leaf, LONG, pause, pauses, pluck, say } from './facts.ts'
import { searchAll } from './pages.ts'

async function everything(store: Store, ids: readonly string[]): Promise<unknown> {
  return Promise.all(
    ids.map(async (id) => [
      await store.getConversation(id),
      await store.read(id, { limit: 10_000 }),
      await searchAll(store, { conversationId: id, limit: 9, order: 'timestamp_desc' }),
      await searchAll(store, { conversationId: id, text: 'x', leafId: 'b2' }),
      await store.getLease(id),
    ]),
  )
}

async function fill(store: Store): Promise<readonly string[]> {
  const ids = ['c', 'd']
  for (const id of ids) {
    await begin(store, id, [...pauses(20, 'a'), say('x', 'x')])
    await store.append(id, [leaf('u', 'a7'), ...pauses(5, 'b')])
    await store.append(id, [{ kind: 'PauseEvent' }, say('a3', 'x')], { mode: 'import' })
    await store.updateConversation(id, { title: 'T', tags: { a: '1' }, metadata: { id } })
  }
  await store.acquireLease('d', 'me', 600_000)
  return ids
}

async function keepsEverything(store: Store, { reopen }: Pick<Trial, 'reopen'>): Promise<void> {
  const ids = await fill(store)
  const before = await everything(store, ids)
  const again = await reopen()
  equal(await everything(again, ids), before, 'records, logs, searches and leases')
  equal(pluck((await again.listConversations({ order: 'created_at' })).items, 'id'), ids, 'the listed ids')
}

export const LASTING: readonly Check[] = [
  reopening('reopen: all that was acknowledged is there, without having been closed', keepsEverything),
  reopening('reopen: after it was closed as well', async (store, { reopen }) =>
    keepsEverything(store, { reopen: () => store.close().then(reopen) }),
  ),
  reopening(
    'reopen: the log continues: version, HEAD, branches, known ids, generation',
    async (store, { reopen }) => {
      await fill(store)
      const lease = await granted(store, 'c', 'me', LONG)
      await store.releaseLease(lease)
      const again = await reopen()
      const known = await again.append('c', [pause('a0'), pause('z', { parent_id: 'a7' })])
      equal([known.events[0]?.seq, known.version, known.headId], [0, 30, 'z'], 'position, version and HEAD')
      equal((await again.append('c', [pause('zz')], { expected: 30 })).events[0]?.parentId, 'z', 'HEAD')
      const path = await searchAll(again, { conversationId: 'c', leafId: 'zz' })
      equal(path.length, 10, 'the length of a new branch')
      const next = await again.acquireLease('c', 'you', 600_000)
      holds((next?.generation ?? 0) > lease.generation, 'a generation was repeated')
      // The first store sees these appends: two processes may use the same conversation.
      const last = (await store.read('c', { direction: 'backward', limit: 1 }))[0]?.id
      equal(last, 'zz', 'the last event in the first store')
      equal((await store.append('c', [pause('y')])).events[0]?.parentId, 'zz', 'HEAD in the first store')
    },
  ),
  test('close: each later call is store_closed, except another close', async (store) => {
    const conversationId = await begin(store, 'c', pauses(3))
    const lease = await granted(store, conversationId, 'me', LONG)
    await store.close()
    const calls: Readonly<Record<string, () => Promise<unknown> | void>> = {
      append: () => store.append('c', [pause('q')]),
      read: () => store.read('c'),
      get: () => store.get('c', 'p0'),
      getMany: () => store.getMany('c', ['p0']),
      search: () => store.search({ conversationId }),
      count: () => store.count({ conversationId }),
      createConversation: () => store.createConversation({ id: 'd' }),
      getConversation: () => store.getConversation('c'),
      listConversations: () => store.listConversations(),
      countConversations: () => store.countConversations(),
      updateConversation: () => store.updateConversation('c', { title: 'x' }),
      deleteConversation: () => store.deleteConversation('c'),
      acquireLease: () => store.acquireLease('c', 'me', 1000),
      releaseLease: () => store.releaseLease(lease),
      getLease: () => store.getLease('c'),
      listLeases: () => store.listLeases(),
      feed: () => store.feed(),
      saveSnapshot: () => store.saveSnapshot('c', []),
      loadSnapshot: () => store.loadSnapshot('c'),
      deleteSnapshot: () => store.deleteSnapshot('c'),
      getItem: () => store.getItem('c', 'x'),
      changeItems: () => store.changeItems([]),
      listItems: () => store.listItems('c'),
      claimItems: () => store.claimItems('c', { ttl: 1 }),
      watch: () => void store.watch('c', () => undefined),
    }
    for (const [name, call] of Object.entries(calls)) await rejects('store_closed', name, call)
    await store.close()
  }),
  test('close: earlier calls are completed', async (store) => {
    await begin(store, 'c')
    const pending = Array.from({ length: 10 }, (_, i) => store.append('c', [pause(`p${i}`)]))
    const versions = Promise.all(pending)
    await store.close()
    const sorted = (await versions).map(({ version }) => version).toSorted((a, b) => a - b)
    equal(sorted, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 'versions')
  }),
]
