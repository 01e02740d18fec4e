import { type FeedItem, type FeedQuery, SHARDS } from '../../store/contract/feed.ts'
import type { StoredEvent } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { equal, holds, rejects, rejectsAll, rejectsEach } from './assert.ts'
import { type Check, reopening, test, type Trial } from './check.ts'
import { after, begin, granted, LONG, pauses, pluck } from './facts.ts'

const nameOf = (item: FeedItem): string =>
  `${item.conversationId} ${item.type === 'event' ? item.event.id : item.type}`

const of = (items: readonly FeedItem[], id: string): string[] =>
  items.filter(({ conversationId }) => conversationId === id).map((item) => nameOf(item).slice(id.length + 1))

const eventsOf = (items: readonly FeedItem[], id: string): StoredEvent[] =>
  items.flatMap((item) => (item.type === 'event' && item.conversationId === id ? [item.event] : []))

type Reader = Pick<Trial, 'store' | 'watchTimeout'>

/** Reads the feed until it has returned at least `count` items. Another writer's transaction can delay items. */
export async function followAll({ store, watchTimeout }: Reader, count: number, query: FeedQuery = {}) {
  const items: FeedItem[] = []
  const deadline = performance.now() + watchTimeout
  for (let page = await store.feed(query); ; page = await store.feed({ ...query, after: page.next })) {
    holds(!page.reset, 'the feed was reset')
    holds(page.items.length <= (query.limit ?? 100), 'a page has more items than its limit')
    items.push(...page.items)
    if (page.more) continue
    const names = items.map(nameOf)
    if (items.length >= count) return { items, names, next: page.next }
    if (performance.now() > deadline) throw new Error(`the feed ended after ${names.join(', ')}`)
    await after(5)
  }
}

async function fill(trial: Reader) {
  const { store } = trial
  for (const id of ['a', 'b', 'long one', '\u{1f600}']) await begin(store, id)
  await store.append('a', pauses(3))
  await store.append('b', pauses(7, 'q'))
  await store.updateConversation('a', { title: 'T' })
  await store.append('a', pauses(2, 'r'))
  return followAll(trial, ALL)
}

const OF_A = ['changed', 'p0', 'p1', 'p2', 'changed', 'r0', 'r1']
const OF_B = ['changed', 'q0', 'q1', 'q2', 'q3', 'q4', 'q5', 'q6']
const ALL = OF_A.length + OF_B.length + 2

async function readWhileWriting(
  stores: readonly [Store, Store],
  count: number,
  write: (store: Store, writer: number) => Promise<void>,
): Promise<FeedItem[]> {
  const [store] = stores
  const items: FeedItem[] = []
  const reading = (async (): Promise<void> => {
    let page = await store.feed({ limit: 7 })
    for (items.push(...page.items); items.length < count; items.push(...page.items)) {
      await after(0)
      page = await store.feed({ limit: 7, after: page.next })
    }
  })()
  await Promise.all([reading, ...Array.from({ length: WRITERS }, (_, i) => write(stores[i % 2] as Store, i))])
  return items
}

const WRITERS = 8
const ROUNDS = 15

export const FEED: readonly Check[] = [
  test('feed: pages of any size return all past changes once and in order, then new ones', async (store, trial) => {
    const empty = await store.feed()
    equal([empty.items, empty.more, empty.reset], [[], false, false], 'the first page of an empty store')
    const { items, next } = await fill(trial)
    equal(items.length, ALL, 'number of items')
    for (const id of ['a', 'b']) equal(eventsOf(items, id), await store.read(id), `events of ${id}`)
    for (const limit of [1, 2, 3, 100]) {
      const paged = await followAll(trial, ALL, { limit })
      equal(of(paged.items, 'a'), OF_A, `items of a, limit ${limit}`)
      equal(of(paged.items, 'b'), OF_B, `items of b, limit ${limit}`)
    }
    equal((await store.feed({ after: next })).items, [], 'items after the end')
    await store.append('b', pauses(1, 's'))
    equal((await followAll(trial, 1, { after: next })).names, ['b s0'], 'items after an append')
    equal((await followAll(trial, ALL, { after: empty.next })).names.length, ALL + 1, 'items since the start')
  }),
  test('feed: a conversation always stays in the same shard', async (store, trial) => {
    await fill(trial)
    const shards = new Map<string, number>()
    const ends: string[] = []
    let count = 0
    for (let shard = 0; shard < SHARDS; shard += 1) {
      const { items, next } = await followAll(trial, 0, { shard, limit: 2 })
      ends.push(next)
      count += items.length
      for (const { conversationId } of items) {
        equal(shards.get(conversationId) ?? shard, shard, 'the shard of a conversation')
        shards.set(conversationId, shard)
      }
    }
    equal([count, shards.size], [ALL, 4], 'items and conversations of all shards')
    await store.append('a', pauses(1, 's'))
    const shardOfA = shards.get('a') ?? 0
    const { names } = await followAll(trial, 1, { shard: shardOfA, after: ends[shardOfA] ?? '' })
    equal(names, ['a s0'], 'new items of the shard')
    for (const [shard, after] of ends.entries())
      if (shard !== shardOfA)
        equal((await store.feed({ shard, after })).items, [], `new items of shard ${shard}`)
  }),
  test('feed: a deletion is reported before a new conversation with the same id', async (store, trial) => {
    const { next } = await fill(trial)
    await store.append('a', pauses(1, 's'))
    await store.deleteConversation('a')
    equal(await store.deleteConversation('unknown'), false, 'deleting an unknown id')
    await begin(store, 'a', pauses(2, 'new'))
    const others = ALL - OF_A.length
    for (const [query, count] of [
      [{}, others + 4],
      [{ after: next }, 4],
      [{ limit: 1 }, others + 4],
    ] as const) {
      const { items } = await followAll(trial, count, query)
      const all = of(items, 'a')
      equal(all.slice(all.indexOf('deleted')), ['deleted', 'changed', 'new0', 'new1'], 'the latest items')
      equal(of(items, 'unknown'), [], 'items of an unknown conversation')
    }
  }),
  test('feed: reading from the end returns only new changes', async (store, trial) => {
    const early = await store.feed({ from: 'end' })
    await fill(trial)
    const late = await store.feed({ from: 'end' })
    equal([late.items, late.more, late.reset], [[], false, false], 'items, more and reset at the end')
    await store.append('a', pauses(1, 's'))
    equal((await followAll(trial, 1, { after: late.next })).names, ['a s0'], 'items after an append')
    const since = await followAll(trial, ALL + 1, { after: early.next })
    equal(since.names.length, ALL + 1, 'items since the start')
  }),
  test('feed: calls that are rejected or change nothing are not reported', async (store, trial) => {
    const { next } = await fill(trial)
    await rejectsAll({
      version_conflict: () => store.append('a', pauses(1, 'x'), { expected: 0 }),
      conversation_exists: () => store.createConversation({ id: 'a' }),
      unknown_conversation: () => store.updateConversation('x', { title: 'x' }),
    })
    await store.append('a', pauses(3))
    await store.append('a', [])
    await store.releaseLease(await granted(store, 'a', 'me', LONG))
    await store.saveSnapshot('a', [{ part: 0, bytes: new Uint8Array([1]) }])
    await store.changeItems([{ collection: 'c', id: 'a', put: { body: {} } }])
    await store.append('a', pauses(1, 's'))
    await store.updateConversation('a', {})
    equal((await followAll(trial, 2, { after: next })).names, ['a s0', 'a changed'], 'the reported changes')
  }),
  reopening(
    'feed: a position is valid after reopening the store, and causes a reset in another store',
    async (_, trial) => {
      await fill(trial)
      const { next } = await trial.store.feed({ limit: 5 })
      const again = { ...trial, store: await trial.reopen() }
      equal((await followAll(again, ALL - 5, { after: next })).names.length, ALL - 5, 'remaining items')
      const other = { ...trial, store: await trial.another() }
      equal((await other.store.feed({ after: next })).reset, true, 'reset, in an empty store')
      await fill(other)
      const page = await other.store.feed({ after: next })
      equal([page.items, page.more, page.reset], [[], true, true], 'items, more and reset in another store')
      equal((await followAll(other, ALL, { after: page.next })).names.length, ALL, 'items after a reset')
    },
  ),
  reopening(
    'feed: all changes are in order, and none is missing, while two processes write',
    async (store, { reopen }) => {
      const stores = [store, await reopen()] as const
      const ids = ['a', 'b', 'c']
      for (const id of ids) await begin(store, id)
      const events = WRITERS * Array.from({ length: ROUNDS }, (_, i) => 1 + (i % 2)).reduce((a, b) => a + b)
      const changes = ids.length + WRITERS * Math.floor(ROUNDS / 5)
      const items = await readWhileWriting(stores, events + changes, async (to, i) => {
        for (let round = 0; round < ROUNDS; round += 1) {
          const id = ids[(i + round) % ids.length] as string
          await to.append(id, pauses(1 + (round % 2), `w${i}r${round}-`))
          if (round % 5 === 4) await to.updateConversation(id, { title: `${i} ${round}` })
        }
      })
      for (const id of ids) {
        const { version } = (await store.getConversation(id)) ?? { version: 0 }
        const seqs = pluck(eventsOf(items, id), 'seq')
        equal(seqs, [...Array(version).keys()], `the reported positions of ${id}`)
      }
      equal(items.filter(({ type }) => type === 'changed').length, changes, 'number of reported changes')
    },
  ),
  test('feed: an invalid query is rejected', async (store, trial) => {
    await fill(trial)
    await rejectsEach('invalid_query', [0, -1, 0.5, 101, Number.NaN], (limit) => store.feed({ limit }))
    await rejectsEach('invalid_query', [-1, SHARDS, 0.5], (shard) => store.feed({ shard }))
    await rejects('invalid_query', 'from: now', () => store.feed({ from: 'now' as 'end' }))
    const { next } = await store.feed({ shard: 1 })
    const invalid = ['', 'x', `${next}A`].map((position) => ({ shard: 1, after: position }))
    const foreign = [{ shard: 2, after: next }, { after: next }]
    await rejectsEach('invalid_cursor', [...invalid, ...foreign], (query) => store.feed(query))
  }),
]
