import type {
  ConversationFilter,
  ConversationOrder,
  ConversationRecord,
} from '../../store/contract/conversation-record.ts'
import { MAX_VISITED } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { compareIds } from '../../store/kit/record.ts'
import { allPages } from '../../store/kit/query/page.ts'
import { equal, holds, rejects, rejectsEach } from './assert.ts'
import { type Check, large, test } from './check.ts'
import { after, begin, itemIds, pause, pluck, put } from './facts.ts'
import { followAll } from './feed.ts'
import { fullPages, readsWhileWriting } from './pages.ts'

const ORDERS: readonly ConversationOrder[] = [
  'created_at',
  'created_at_desc',
  'updated_at',
  'updated_at_desc',
]

const listAll = (
  store: Store,
  query: ConversationFilter & { readonly order?: ConversationOrder },
  limit: number,
) => fullPages(limit, (cursor) => store.listConversations({ ...query, limit, ...cursor }))

function sortRecords(records: readonly ConversationRecord[], order: ConversationOrder): ConversationRecord[] {
  const by = order.startsWith('created') ? 'createdAt' : 'updatedAt'
  const upwards = records.toSorted((a, b) =>
    a[by] === b[by] ? compareIds(a.id, b.id) : a[by] < b[by] ? -1 : 1,
  )
  return order.endsWith('_desc') ? upwards.toReversed() : upwards
}

export const LISTS: readonly Check[] = [
  test('list: pages of any size follow each order; the default is newest first', async (store) => {
    for (let i = 0; i < 25; i += 1) {
      await begin(store, `c${(i * 7) % 25}`)
      if (i % 6 === 5) await after(3)
    }
    for (let i = 0; i < 25; i += 4) await store.append(`c${i}`, [pause('p')])
    const ids = Array.from({ length: 25 }, (_, i) => `c${i}`)
    const records = await Promise.all(
      ids.map(async (id) => (await store.getConversation(id)) as ConversationRecord),
    )
    for (const order of ORDERS)
      for (const limit of [1, 4, 25, 100]) {
        const listed = await listAll(store, { order }, limit)
        equal(listed, sortRecords(records, order), `records by ${order}, limit ${limit}`)
      }
    const listed = (await store.listConversations()).items
    equal(listed, sortRecords(records, 'created_at_desc'), 'records in the default order')
    await after(3)
    const changed = await store.updateConversation('c9', { title: 'T' })
    const latest = await store.listConversations({ order: 'updated_at_desc', limit: 1 })
    equal(latest.items, [changed], 'the last changed record')
    await after(3)
    await store.append('c3', [pause('q')])
    const { items } = await store.listConversations({ order: 'updated_at_desc', limit: 2 })
    equal(pluck(items, 'id'), ['c3', 'c9'], 'the last two changed ids')
    equal(await store.countConversations(), { count: 25, more: false }, 'the count')
  }),
  test('list: equal times are ordered by id, by code points', async (store) => {
    const ids = ['b', 'B', 'a', 'á', 'Z', '\uffee', '😀', 'aa', '10', '9']
    await Promise.all(ids.map((id) => store.createConversation({ id })))
    const records = (await store.listConversations()).items
    for (const order of ORDERS) {
      equal(await listAll(store, { order }, 3), sortRecords(records, order), `records by ${order}`)
    }
  }),
  test('list: all filters work alone and combined', async (store) => {
    const titles = ['Plan', 'the PLAN', null, '100%', 'ΟΔΟΣ', "it's", 'a_b']
    const records: ConversationRecord[] = []
    for (let i = 0; i < 28; i += 1) {
      const parent = i % 4 === 0 ? 'p' : null
      const tags = { n: String(i % 3), ...(i % 2 === 0 && { even: 'yes' }) }
      const created = await store.createConversation({
        id: `c${i}`,
        title: titles[i % 7] as string | null,
        public: i % 3 === 0,
        tags,
        parentConversationId: parent,
        sandboxId: i % 5 === 0 ? 's' : null,
        owner: ['ann', "o'", null][i % 3] ?? null,
        status: [null, 'idle', 'stuck'][i % 3] ?? null,
      })
      if (i % 9 === 8) await after(3)
      records.push(created)
    }
    for (let i = 0; i < 28; i += 5) records[i] = await store.updateConversation(`c${i}`, { metadata: { i } })
    const { createdAt } = records[10] as ConversationRecord
    const { updatedAt } = records[15] as ConversationRecord
    const filters: readonly (readonly [ConversationFilter, (record: ConversationRecord) => boolean])[] = [
      [{ titleContains: 'plan' }, ({ title }) => title === 'Plan' || title === 'the PLAN'],
      [{ titleContains: '%' }, ({ title }) => title === '100%'],
      [{ titleContains: '_' }, ({ title }) => title === 'a_b'],
      [{ titleContains: "'" }, ({ title }) => title === "it's"],
      [{ titleContains: 'οδοσ' }, ({ title }) => title === 'ΟΔΟΣ'],
      [{ titleContains: '' }, ({ title }) => title !== null],
      [{ public: true }, (record) => record.public],
      [{ public: false }, (record) => !record.public],
      [{ parentConversationId: 'p' }, (record) => record.parentConversationId === 'p'],
      [{ parentConversationId: '' }, (record) => record.parentConversationId === null],
      [{ sandboxId: 's' }, (record) => record.sandboxId === 's'],
      [{ owner: 'ann' }, (record) => record.owner === 'ann'],
      [{ owner: "o'" }, (record) => record.owner === "o'"],
      [{ owner: 'nobody' }, () => false],
      [{ status: 'idle' }, (record) => record.status === 'idle'],
      [{ status: '' }, (record) => record.status === null],
      [{ status: 'No status' }, () => false],
      [{ tags: { n: '1' } }, ({ tags }) => tags['n'] === '1'],
      [{ tags: { n: '2', even: 'yes' } }, ({ tags }) => tags['n'] === '2' && tags['even'] === 'yes'],
      [{ tags: { even: '' } }, () => false],
      [{ tags: { "o'": '' } }, () => false],
      [{ tags: Object.fromEntries(Array.from({ length: 1_500 }, (_, i) => [`t${i}`, ''])) }, () => false],
      [{ tags: {} }, () => true],
      [{ createdAtGte: createdAt }, (record) => record.createdAt >= createdAt],
      [{ createdAtLt: createdAt }, (record) => record.createdAt < createdAt],
      [{ updatedAtGte: updatedAt }, (record) => record.updatedAt >= updatedAt],
      [{ updatedAtLt: updatedAt }, (record) => record.updatedAt < updatedAt],
    ]
    for (const [i, [filter, fits]] of filters.entries()) {
      for (const [other, fitsToo] of [[{}, () => true] as const, ...filters.slice(i + 1, i + 8)]) {
        const both = { ...filter, ...other }
        // If both filters set the same field, only the second applies.
        const expected = records.filter(
          (record) => fitsToo(record) && (Object.keys(other)[0] === Object.keys(filter)[0] || fits(record)),
        )
        const order = ORDERS[i % 4] as ConversationOrder
        const what = JSON.stringify(both)
        equal(await listAll(store, { ...both, order }, 4), sortRecords(expected, order), what)
        equal((await store.countConversations(both)).count, expected.length, `count of ${what}`)
      }
    }
  }),
  test('list: creating conversations while paging repeats and skips no earlier ones', async (store) => {
    for (const order of ['created_at', 'created_at_desc'] as const) {
      for (let i = 0; i < 12; i += 1) await store.createConversation({ id: `${order}${i}`, title: order })
      await readsWhileWriting(
        3,
        pluck(await listAll(store, { titleContains: order, order }, 100), 'id'),
        (cursor) => store.listConversations({ titleContains: order, order, limit: 3, ...cursor }),
        ({ id }) => id,
        (nth) => store.createConversation({ id: `${order}-new${nth}`, title: order }),
      )
    }
  }),
  test('list: cursors of other queries are invalid_cursor, and invalid limits are invalid_query', async (store) => {
    for (let i = 0; i < 5; i += 1) await store.createConversation({ id: `c${i}`, title: 'x' })
    const { cursor } = await store.listConversations({ limit: 2 })
    if (cursor === null) throw new Error('there is no second page')
    const rest = await store.listConversations({ cursor, order: 'created_at_desc', limit: 50 })
    equal(rest.items.length, 3, 'remaining records')
    const changes = [
      { order: 'created_at' },
      { order: 'updated_at_desc' },
      { public: false },
      { titleContains: 'x' },
      { tags: { a: '' } },
      { createdAtLt: '2999-01-01T00:00:00Z' },
    ] as const
    await rejectsEach(
      'invalid_cursor',
      changes,
      (change) => store.listConversations({ cursor, ...change }),
      () => ({ reason: 'foreign' }),
    )
    await rejects('invalid_cursor', 'altered cursor', () => store.listConversations({ cursor: `${cursor}A` }))
    await rejects('invalid_cursor', 'an id as a cursor', () => store.listConversations({ cursor: 'c2' }))
    const invalid = [
      { limit: 0 },
      { limit: 101 },
      { order: 'title' as 'created_at' },
      { createdAtGte: 'today' },
      { public: 1 as unknown as boolean },
      { tags: { a: 1 as unknown as string } },
    ]
    await rejectsEach('invalid_query', invalid, (query) => store.listConversations(query))
    await rejects('invalid_query', 'a count', () => store.countConversations({ updatedAtLt: 'today' }))
  }),
]

/** Pages may be short; fails after more than `limit` pages. */
async function walk(store: Store, filter: ConversationFilter, limit: number): Promise<string[]> {
  const ids: string[] = []
  let pages = 0
  const query = { ...filter, order: 'created_at', limit: 7 } as const
  for await (const items of allPages((start) => store.listConversations({ ...query, ...start }))) {
    ids.push(...pluck(items, 'id'))
    pages += 1
    holds(pages <= limit, `${JSON.stringify(filter)} takes more than ${limit} pages`)
  }
  return ids
}

export const LIST_BOUNDS: readonly Check[] = [
  large('list: a rare value is found through pages that can be short and have a cursor', async (store) => {
    const count = MAX_VISITED + 150
    const rare = new Set([3, 500, MAX_VISITED - 1, MAX_VISITED, count - 1])
    for (let index = 0; index < count; index += 50) {
      const created = Array.from({ length: 50 }, (_, i) =>
        store.createConversation({
          id: `c${index + i}`,
          title: index + i === count - 1 ? 'The last needle' : rare.has(index + i) ? 'The needle' : 'hay',
          tags: { half: String((index + i) % 2), ...(rare.has(index + i) && { rare: 'yes' }) },
        }),
      )
      await Promise.all(created)
    }
    const rareIds = [...rare].map((nth) => `c${nth}`).toSorted()
    const lists: readonly (readonly [ConversationFilter, readonly string[]])[] = [
      [{ titleContains: 'NEEDLE' }, rareIds],
      [{ tags: { rare: 'yes' } }, rareIds],
      [{ titleContains: 'needle', tags: { rare: 'yes' } }, rareIds],
      [{ titleContains: 'needle', tags: { half: '1' } }, rareIds.filter((id) => /[13579]$/.test(id))],
      [{ titleContains: 'last' }, [`c${count - 1}`]],
      [{ titleContains: 'no such' }, []],
    ]
    for (const [filter, ids] of lists)
      equal((await walk(store, filter, 5)).toSorted(), ids, JSON.stringify(filter))
    const half = (await walk(store, { tags: { half: '0' } }, count)).length
    equal(half, count / 2, 'number of records with a frequent tag')
    equal(await store.countConversations({ titleContains: 'needle' }), { count: 5, more: false }, 'count')
    equal(await store.countConversations({}, { exact: true }), { count, more: false }, 'the exact count')
  }),
  test('list: a status belongs to a version of the log, and setting it does not update the conversation', async (store, trial) => {
    await begin(store, 'c', [pause('a'), pause('b')])
    await store.createConversation({ id: 'd', status: 'idle' })
    const before = await store.getConversation('c')
    const { next } = await followAll(trial, 4)
    equal(await store.setStatus('none', 'running', 0), false, 'result for an unknown id')
    for (const version of [1, -1, 1.5, NaN, 2 ** 40, undefined, '2'] as number[])
      equal(await store.setStatus('c', 'running', version), false, `result for version ${version}`)
    equal(await store.getConversation('c'), before, 'the record afterwards')
    equal(await store.setStatus('c', 'running', 2), true, 'result for version 2')
    equal(await store.getConversation('c'), { ...before, status: 'running' }, 'the record')
    equal((await store.feed({ after: next })).items, [], 'new items in the feed')
    const listed = async (status: string): Promise<string[]> =>
      pluck((await store.listConversations({ status })).items, 'id')
    const counted = async (): Promise<number> =>
      (await store.countConversations({ status: 'paused', tags: { a: 'x' } })).count
    equal([await listed('running'), await listed('idle'), await listed('')], [['c'], ['d'], []], 'ids')
    equal(await store.setStatus('c', 'paused', 2), true, 'result of another change')
    await store.updateConversation('c', { tags: { a: 'x' }, public: true })
    equal([await listed('running'), await listed('paused'), await counted()], [[], ['c'], 1], 'ids and count')
    await store.updateConversation('c', { tags: {} })
    equal(await counted(), 0, 'the count without the tag')
    await store.deleteConversation('c')
    equal([await listed('paused'), (await store.countConversations()).count], [[], 1], 'after deletion')
    await rejectsEach('invalid_argument', ['', 'No', 'x'.repeat(41), 7 as unknown as string], (status) =>
      store.setStatus('d', status, 0),
    )
    await rejects('invalid_argument', 'no status', () => store.createConversation({ id: 'e', status: '' }))
    await rejects('invalid_id', 'no sandbox', () => store.createConversation({ id: 'e', sandboxId: '' }))
  }),
  test('items: a count equals the list', async (store) => {
    for (let i = 0; i < 12; i += 1) await put(store, `i${i}`, {}, i < 9 ? { keys: { n: String(i % 3) } } : {})
    const filters = [
      {},
      { from: 'i2' },
      { by: 'n' },
      { by: 'n', value: '1' },
      { by: 'n', from: '1', below: '2' },
    ]
    for (const filter of filters)
      for (const options of [{}, { exact: true }]) {
        const { length } = await itemIds(store, filter)
        const count = await store.countItems('c', filter, options)
        equal(count, { count: length, more: false }, JSON.stringify(filter))
      }
    equal(await store.countItems('other'), { count: 0, more: false }, 'the count of another collection')
    await rejects('invalid_query', 'an invalid key', () => store.countItems('c', { by: 'N' }))
  }),
]
