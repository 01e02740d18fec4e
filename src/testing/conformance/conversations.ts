import type { ConversationQuery, NewConversation } from '../../store/contract/conversation-record.ts'
import { retryConflicts } from '../../store/kit/items.ts'
import { equal, holds, rejects, rejectsEach } from './assert.ts'
import { type Check, test } from './check.ts'
import { begin, leaf, pause, pauses, NO_TEXTS } from './facts.ts'

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
