import type {
  ConversationFilter,
  ConversationOrder,
  ConversationQuery,
  ConversationRecord,
  NewConversation,
} from '../../store/contract/conversation-record.ts'
import { retryConflicts } from '../../store/kit/items.ts'
import { equal, holds, rejects, rejectsEach } from './assert.ts'
import { type Check, large, test } from './check.ts'
import { after, begin, itemIds, leaf, NO_TEXTS, pause, pauses, pluck, put } from './facts.ts'
import { MAX_VISITED } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { compareIds } from '../../store/kit/record.ts'
import { allPages } from '../../store/kit/query/page.ts'
import { followAll } from './feed.ts'
import { fullPages, readsWhileWriting } from './pages.ts'

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

function noise(length: number, seed: number): string {
  let index = seed
  const next = (): number => (index = (index * 48_271) % 2_147_483_647)
  return Array.from({ length }, () => String.fromCodePoint(0x1_00_00 + (next() % 0xe_ff_ff))).join('')
}

const longestTags = (count: number): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, nth) => [`k${nth}x`.padEnd(100, '0z'), noise(256, nth + 1)]),
  )

export const CONVERSATIONS: readonly Check[] = [
  test('record: a new conversation has an empty log, and defaults for omitted fields', async (store) => {
    const record = await store.createConversation({ id: 'c' })
    const { createdAt, updatedAt, ...rest } = record
    const expected = {
      id: 'c',
      title: null,
      public: false,
      tags: {},
      metadata: {},
      timeZone: null,
      parentConversationId: null,
      sandboxId: null,
      owner: null,
      status: null,
      version: 0,
      headId: null,
    }
    equal(rest, expected, 'the record')
    holds(INSTANT.test(createdAt), `createdAt should be ISO 8601 in UTC with microseconds: ${createdAt}`)
    equal(updatedAt, createdAt, 'updatedAt')
    equal(await store.getConversation('c'), record, 'the record as stored')
  }),
  test('record: all fields are stored, in any script', async (store) => {
    const input: Required<NewConversation> = {
      id: `é 😀${noise(197, 1)}`,
      title: '😀 «Ünï»\n\'"%_\\',
      public: true,
      tags: {
        a: '',
        userId: 'x'.repeat(256),
        tenant_id: '1',
        ['constructor']: "' or 1=1 --",
        ...longestTags(96),
      },
      metadata: { '': null, ['__proto__']: 1, deep: [{ a: 0.1 }, '\u0000\ud800', true, -1e21] },
      timeZone: 'Europe/Berlin',
      parentConversationId: 'elsewhere',
      sandboxId: 'é 😀',
      owner: `${"' or 1=1 --"} 😀`,
      createdAt: '1999-12-31T23:59:59.123456Z',
      status: 'waiting_for_confirmation',
    }
    const record = await store.createConversation(input)
    const stored = await store.getConversation(input.id)
    for (const each of [record, stored]) {
      const { updatedAt: _, ...rest } = each as typeof record
      equal(rest, { ...input, version: 0, headId: null }, 'the record')
    }
    const metadata = JSON.stringify(stored?.metadata)
    equal(metadata, JSON.stringify(input.metadata), 'the metadata, with the order of its fields')
  }),
  test('record: creating a conversation with an existing or illegal id fails', async (store) => {
    const before = await store.createConversation({ id: 'c', title: 'first' })
    const create = (fields: Partial<NewConversation>) => store.createConversation({ id: 'd', ...fields })
    await rejects('conversation_exists', 'an existing id', () => create({ id: 'c', title: 'second' }))
    equal(await store.getConversation('c'), before, 'the record after the conflict')
    const ids = ['', '__root__', 'a\u0000', 'a\n', '\ud800', 'x'.repeat(201), undefined] as string[]
    const invalid = [...ids.map((id) => ({ id })), { parentConversationId: '' }]
    await rejectsEach('invalid_id', invalid, create)
    equal((await store.countConversations()).count, 1, 'number of conversations')
    const many = await Promise.allSettled(Array.from({ length: 8 }, () => create({})))
    equal(many.filter(({ status }) => status === 'fulfilled').length, 1, 'successful creations of one id')
  }),
  test('record: invalid titles, tags and zones are invalid_argument, with the name of the field', async (store) => {
    await store.createConversation({ id: 'c' })
    const invalid: readonly (readonly [field: string, value: unknown])[] = [
      ['title', ''],
      ['title', 'x'.repeat(201)],
      ['title', 'a\u0000'],
      ['title', 7],
      ['public', 'yes'],
      ['tags', { Ünï: 'x' }],
      ['tags', JSON.parse('{"__proto__":"x"}')],
      ['tags', { 'a b': 'x' }],
      ['tags', { 'a-b': 'x' }],
      ['tags', { '': 'x' }],
      ['tags', { ['x'.repeat(101)]: 'x' }],
      ['tags', longestTags(101)],
      ['tags.a', { a: 'x'.repeat(257) }],
      ['tags.a', { a: 7 }],
      ['metadata', ['a']],
      ['metadata.f', { f: () => 1 }],
      ['timeZone', 'Mars/Olympus'],
    ]
    for (const write of [
      (fields: object) => store.createConversation({ id: 'd', ...fields }),
      (fields: object) => store.updateConversation('c', fields),
    ])
      await rejectsEach(
        'invalid_argument',
        invalid,
        ([path, value]) => write({ [path.split('.')[0] as string]: value }),
        ([path]) => ({ field: path }),
      )
    equal(await store.getConversation('d'), null, 'the rejected record')
  }),
  test('record: an unknown conversation is null', async (store) => {
    await begin(store, 'c')
    for (const id of [...NO_TEXTS, 'nowhere', 'C', 'c ', '', 'c\u0000', '\ud800', 'x'.repeat(1000)]) {
      const what = JSON.stringify(id) ?? 'undefined'
      equal([await store.getConversation(id), await store.getLease(id)], [null, null], what)
      equal([await store.deleteConversation(id), await store.deleteSnapshot(id)], [false, false], what)
      equal([await store.loadSnapshot(id), await store.setStatus(id, 'idle', 0)], [[], false], what)
      for (const call of [
        () => store.read(id),
        () => store.append(id, [pause('a')]),
        () => store.append(id, []),
        () => store.acquireLease(id, 'a', 1),
        () => store.updateConversation(id, {}),
      ])
        await rejects('unknown_conversation', `${String(call)} of ${what}`, call)
    }
  }),
  test('record: a patch changes only the fields that it contains', async (store) => {
    const fields = { title: 'T', public: true, tags: { a: '1', b: '2' }, metadata: { m: 1 } }
    await store.createConversation({ id: 'c', ...fields })
    await store.append('c', pauses(2))
    const before = await store.getConversation('c')
    const titled = await store.updateConversation('c', { title: 'U' })
    equal({ ...titled, updatedAt: '' }, { ...before, title: 'U', updatedAt: '' }, 'the record with a title')
    const patch = { title: null, public: false, tags: { d: '3' }, metadata: {}, timeZone: 'Asia/Tokyo' }
    const all = await store.updateConversation('c', patch)
    equal({ ...all, updatedAt: '' }, { ...before, ...patch, updatedAt: '' }, 'the record with all fields')
    equal(await store.getConversation('c'), all, 'the stored record')
    const nothing = await store.updateConversation('c', {})
    equal({ ...nothing, updatedAt: '' }, { ...all, updatedAt: '' }, 'the record after an empty patch')
    await rejects('unknown_conversation', 'an unknown id', () => store.updateConversation('d', patch))
  }),
  test('record: an owner can be set, changed and removed; an invalid owner is rejected', async (store) => {
    equal((await store.createConversation({ id: 'c', owner: 'ann' })).owner, 'ann', 'the owner')
    equal((await store.updateConversation('c', { title: 'T' })).owner, 'ann', 'the unchanged owner')
    equal((await store.updateConversation('c', { owner: 'Ann' })).owner, 'Ann', 'the new owner')
    equal((await store.listConversations({ owner: 'ann' })).items, [], 'records of the old owner')
    equal((await store.countConversations({ owner: 'Ann' })).count, 1, 'conversations of the new owner')
    equal((await store.updateConversation('c', { owner: null })).owner, null, 'no owner')
    equal((await store.countConversations({ owner: 'Ann' })).count, 0, 'conversations without the owner')
    const owners = ['', '__root__', 'a\u0000', '\ud800', 'x'.repeat(201), 7] as string[]
    await rejectsEach('invalid_id', owners, (owner) => store.createConversation({ id: 'd', owner }))
    await rejectsEach('invalid_id', owners, (owner) => store.updateConversation('c', { owner }))
    await rejectsEach('invalid_query', owners, (owner) => store.listConversations({ owner }))
    equal((await store.countConversations()).count, 1, 'number of conversations')
  }),
  test('record: a conversation has the passed time of creation, which lists use', async (store) => {
    const now = await store.createConversation({ id: 'now' })
    const times = { old: '2001-02-03T04:05:06.000001+01:00', late: '9998-01-01T00:00:00Z' }
    const old = await store.createConversation({ id: 'old', createdAt: times.old })
    equal(old.createdAt, '2001-02-03T03:05:06.000001Z', 'the time of creation')
    holds(old.updatedAt >= now.updatedAt, `updatedAt is in the past: ${old.updatedAt}`)
    equal(await store.getConversation('old'), old, 'the record as stored')
    const late = await store.createConversation({ id: 'late', createdAt: times.late })
    equal(late.updatedAt, late.createdAt, 'updatedAt of a conversation created in the future')
    const ids = async (filter: ConversationQuery): Promise<string[]> =>
      (await store.listConversations({ order: 'created_at', ...filter })).items.map(({ id }) => id)
    equal(await ids({}), ['old', 'now', 'late'], 'ids in order')
    equal(await ids({ createdAtLt: '2002-01-01T00:00:00Z' }), ['old'], 'ids created before a time')
    await store.append('old', [pause('a')], { createdAt: old.createdAt })
    await rejectsEach(
      'invalid_argument',
      ['', 'today', 'x', null, 7, '+010000-01-01T00:00:00Z'] as string[],
      (createdAt) => store.createConversation({ id: 'd', createdAt }),
      () => ({ field: 'createdAt' }),
    )
  }),
  test('record: an append changes version, HEAD and updatedAt; a repeated append changes nothing', async (store) => {
    const { createdAt } = await store.createConversation({ id: 'c', title: 'T' })
    const empty = await store.getConversation('c')
    await store.append('c', [pause('a'), leaf('u', null)])
    const after = await store.getConversation('c')
    equal({ ...after, updatedAt: '' }, { ...empty, version: 2, headId: null, updatedAt: '' }, 'the record')
    holds((after?.updatedAt ?? '') >= createdAt, 'updatedAt decreased')
    await store.append('c', [pause('a')])
    await store.append('c', [])
    await rejects('version_conflict', 'an append', () => store.append('c', [pause('b')], { expected: 9 }))
    equal(await store.getConversation('c'), after, 'the record after calls without effect')
  }),
  test('record: concurrent changes that pass `expected` lose no metadata', async (store) => {
    const metadata = { n: 0, 7: '\u0000\ud800', '': [1e21, { é: null }] }
    const created = await store.createConversation({ id: 'c', metadata })
    await store.append('c', pauses(1))
    const titled = await store.updateConversation('c', { title: 'T' }, { expected: created })
    equal(titled.title, 'T', 'the title')
    const add = (): Promise<unknown> =>
      retryConflicts(async () => {
        const read = await store.getConversation('c')
        const metadata = { ...read?.metadata, n: Number(read?.metadata['n']) + 1 }
        return store.updateConversation('c', { metadata }, { expected: read ?? created })
      })
    await Promise.all(Array.from({ length: 6 }, add))
    const after = await store.getConversation('c')
    equal(after?.metadata, { ...metadata, n: 6 }, 'the metadata')
    const late = () => store.updateConversation('c', { title: 'U' }, { expected: created })
    await rejects('version_conflict', 'a stale update', late)
    equal(await store.getConversation('c'), after, 'the record after a conflict')
    const unknown = () => store.updateConversation('d', { title: 'U' }, { expected: created })
    await rejects('unknown_conversation', 'an unknown conversation', unknown)
  }),
  test('record: concurrent patches and appends lose nothing', async (store) => {
    await begin(store, 'c')
    await Promise.all([
      ...Array.from({ length: 10 }, (_, i) => store.append('c', [pause(`p${i}`)])),
      store.updateConversation('c', { title: 'T' }),
      store.updateConversation('c', { public: true }),
      store.updateConversation('c', { tags: { a: '1' } }),
    ])
    const { title, public: open, tags, version } = (await store.getConversation('c')) ?? {}
    const expected = { title: 'T', open: true, tags: { a: '1' }, version: 10 }
    equal({ title, open, tags, version }, expected, 'the record')
  }),
  test('record: deleting a conversation deletes its log and lease, and frees its id', async (store) => {
    await begin(store, 'c', pauses(5))
    await begin(store, 'd', pauses(2))
    await store.acquireLease('c', 'me', 60_000)
    equal(await store.deleteConversation('c'), true, 'the result of deleting')
    equal(await store.deleteConversation('c'), false, 'the result of deleting again')
    equal(await store.getConversation('c'), null, 'the deleted record')
    equal([await store.get('c', 'p0'), await store.getLease('c')], [null, null], 'the event and the lease')
    const counts = [await store.count({ conversationId: 'c' }), (await store.countConversations()).count]
    equal(counts, [0, 1], 'counts of events and conversations')
    await rejects('unknown_conversation', 'reading a deleted log', () => store.read('c'))
    const fresh = await begin(store, 'c')
    equal(await store.read(fresh), [], 'the log of the recreated conversation')
    equal((await store.append(fresh, [pause('p0')], { expected: 'none' })).headId, 'p0', 'the new HEAD')
    equal((await store.read('d')).length, 2, 'events of another conversation')
  }),
]

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
    for (const order of ORDERS)
      equal(await listAll(store, { order }, 3), sortRecords(records, order), `records by ${order}`)
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

/** Returns the ids on all pages, which may be short. Fails if there are more than `limit` pages. */
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
