import type { ItemChange, ItemQuery } from '../../store/contract/items.ts'
import { retryConflicts } from '../../store/kit/items.ts'
import { equal, holds, rejects, rejectsEach } from './assert.ts'
import { type Check, reopening, test } from './check.ts'
import { allPages } from '../../store/kit/query/page.ts'
import { after, itemIds, LONG, NO_TEXTS, pluck, put, SHORT, SORTED_IDS, writeItem } from './facts.ts'

const of = (id: string): Pick<ItemChange, 'collection' | 'id'> => ({ collection: 'c', id })

const absent = (id: string): ItemChange => ({ ...of(id), expected: null })

export const ITEMS: readonly Check[] = [
  test('item: its JSON is returned unchanged until the item is replaced or removed', async (store) => {
    equal(await store.getItem('c', 'x'), null, 'an unknown item')
    const body = { text: 'é\u0000\u{1f600}\ud800', list: [1, -2.5e-9, null, true, {}], '': { 'a.b': [] } }
    const first = await put(store, 'x', body, { keys: { by: 'é\n', other_1: '' } })
    equal(first.body, body, 'the body')
    equal([first.collection, first.id, first.dueAt], ['c', 'x', null], 'collection, id and dueAt')
    equal(first.keys, { by: 'é\n', other_1: '' }, 'the keys')
    equal(await store.getItem('c', 'x'), first, 'the stored item')
    equal(await store.getItem('d', 'x'), null, 'the id in another collection')
    const second = await put(store, 'x', {})
    equal([second.body, second.keys], [{}, {}], 'body and keys of the replaced item')
    equal(await itemIds(store, { by: 'by' }), [], 'ids listed by the old key')
    for (const what of ['the result of a removal', 'the result of a second removal']) {
      equal(await store.changeItems([{ ...of('x'), put: null }]), [null], what)
      equal(await store.getItem('c', 'x'), null, 'the removed item')
    }
    equal(await store.changeItems([]), [], 'the result of no changes')
    equal((await store.countConversations()).count, 0, 'number of conversations')
  }),
  test('item: versions never repeat, even if the item is removed and stored again', async (store) => {
    const latest = new Map<string, number>()
    for (let round = 0; round < 4; round += 1) {
      for (const id of ['x', 'y', 'x']) {
        const { version } = await put(store, id, { round })
        holds(version > (latest.get(id) ?? 0), `${id} has version ${version} after ${latest.get(id)}`)
        latest.set(id, version)
      }
      await store.changeItems(['x', 'y'].map((id) => ({ ...of(id), put: null })))
    }
  }),
  test('item: several changes are applied together or not at all', async (store) => {
    const [a, b] = [await put(store, 'a', { n: 1 }), await put(store, 'b', { n: 1 })]
    const next = { body: { n: 2 } }
    const conflicts: readonly (readonly [ItemChange, number | null])[] = [
      [{ ...of('b'), expected: b.version + 1, put: next }, b.version],
      [{ ...of('b'), expected: null, put: next }, b.version],
      [{ ...of('b'), expected: b.version + 1, put: null }, b.version],
      [{ ...of('b'), expected: a.version }, b.version],
      [{ ...of('b'), expected: null }, b.version],
      [{ ...of('z'), expected: 1, put: next }, null],
      [{ ...of('z'), expected: 1 }, null],
    ]
    for (const [conflict, real] of conflicts) {
      const changes = [{ ...of('a'), expected: a.version, put: next }, { ...of('new'), put: next }, conflict]
      const { data } = await rejects('version_conflict', 'a conflict', () => store.changeItems(changes))
      equal(data, { collection: 'c', id: conflict.id, version: real }, 'the error data')
    }
    equal([await store.getItem('c', 'a'), await store.getItem('c', 'b')], [a, b], 'items after the conflicts')
    equal(await itemIds(store), ['a', 'b'], 'ids after the conflicts')
    const [removed, created, ...checked] = await store.changeItems([
      { ...of('a'), expected: a.version, put: null },
      { ...of('new'), expected: null, put: next },
      { ...of('b'), expected: b.version },
      { ...of('gone'), expected: null },
    ])
    equal([removed, created?.id, checked], [null, 'new', [null, null]], 'results')
    equal(
      [await itemIds(store), (await store.getItem('c', 'b'))?.version],
      [['b', 'new'], b.version],
      'ids and version',
    )
  }),
  test('item: exactly one of many concurrent changes of a version wins, and one of many creations', async (store) => {
    const base = await put(store, 'x', { n: 0 })
    const winners = async (changes: readonly (readonly ItemChange[])[]): Promise<number> => {
      const all = await Promise.allSettled(changes.map((one) => store.changeItems(one)))
      return all.filter(({ status }) => status === 'fulfilled').length
    }
    const ofEight = (change: (n: number) => readonly ItemChange[]): Promise<number> =>
      winners(Array.from({ length: 8 }, (_, n) => change(n)))
    equal(await ofEight((n) => [writeItem('x', base.version, n)]), 1, 'winners of a version')
    equal(await ofEight((n) => [writeItem('new', null, n)]), 1, 'winners of a free id')
    // Each change requires that `lock` does not exist. All changes can check this, but only one can write `lock`.
    equal(await ofEight((n) => [writeItem(`own${n}`, null, n), absent('lock')]), 8, 'winners that only check')
    equal(await ofEight((n) => [writeItem(`o${n}`, null, n), writeItem('lock', null, n)]), 1, 'lock winners')
    const [left, right] = [writeItem('p', null, 1), writeItem('q', null, 1)]
    const both = await winners([
      [left, absent('q')],
      [right, absent('p')],
    ])
    holds(both < 2, 'two writers won, although each wrote an item that the other requires to be absent')
  }),
  test('item: concurrent writers of the same items all finish, in whatever order they list them', async (store) => {
    const ids = Array.from({ length: 6 }, (_, i) => `i${i}`)
    const add = (order: readonly string[]): Promise<unknown> =>
      retryConflicts(async () => {
        const matches = await Promise.all(order.map((id) => store.getItem('c', id)))
        const changes = matches.map((item, i) =>
          writeItem(order[i] as string, item?.version ?? null, Number(item?.body['n'] ?? 0) + 1),
        )
        return store.changeItems(changes)
      })
    const orders = ids.map((_, i) => (i % 2 === 0 ? ids : ids.toReversed().slice(i % 3)))
    await Promise.all(orders.map(add))
    const sums = await Promise.all(ids.map(async (id) => (await store.getItem('c', id))?.body['n']))
    equal(sums, [6, 6, 6, 6, 5, 4], 'number of increments of each item')
  }),
]

export const ITEM_LISTS: readonly Check[] = [
  test('claim: due items are claimed in order of their due time, each by one of many processes', async (store) => {
    for (let i = 0; i < 12; i += 1) {
      await put(store, `due${i}`, { i }, { dueIn: 0, keys: { by: String(i) } })
      // Due at different times, so that their order is known.
      await after(2)
    }
    await put(store, 'later', {}, { dueIn: LONG })
    await put(store, 'never', {})
    equal(await store.claimItems('d', { ttl: LONG }), [], 'claims in another collection')
    const before = await store.getItem('c', 'due0')
    const first = await store.claimItems('c', { ttl: LONG, limit: 2 })
    const claimed = first.map(({ id, body, keys }) => [id, body, keys])
    const expected = [0, 1].map((i) => [`due${i}`, { i }, { by: String(i) }])
    equal(claimed, expected, 'the first claims')
    holds((first[0]?.version ?? 0) > (before?.version ?? 0), 'a claim did not raise the version')
    holds((first[0]?.dueAt ?? 0) > (before?.dueAt ?? 0) + LONG / 2, 'a claim did not postpone the due time')
    equal(await store.getItem('c', 'due0'), first[0], 'the stored claim')
    const claims = Array.from({ length: 5 }, () => store.claimItems('c', { ttl: LONG, limit: 3 }))
    const ids = pluck((await Promise.all(claims)).flat(), 'id')
    equal(new Set(ids).size, ids.length, 'number of distinct claims')
    // A concurrent claim may skip items, which the next claim then returns.
    const remaining = await store.claimItems('c', { ttl: LONG })
    equal(ids.length + remaining.length, 10, 'number of claims')
    equal(await store.claimItems('c', { ttl: LONG }), [], 'repeated claims')
  }),
  test('claim: after it expires, another process can claim the item, and the first can no longer change it', async (store) => {
    await put(store, 'x', { n: 1 }, { dueIn: 0 })
    await after(2)
    const [mine] = await store.claimItems('c', { ttl: SHORT })
    const current = await put(store, 'x', { n: 2 }, { expected: mine?.version ?? 0, dueIn: SHORT })
    await after(2 * SHORT)
    const [yours] = await store.claimItems('c', { ttl: LONG })
    equal(yours?.body, { n: 2 }, 'the item of the second claim')
    const late = writeItem('x', current.version, 3)
    const changes = [[late], [{ ...of('new'), put: { body: {} } }, late]]
    await rejectsEach('version_conflict', changes, (some) => store.changeItems(some))
    equal([await store.getItem('c', 'x'), await store.getItem('c', 'new')], [yours, null], 'unchanged items')
    await put(store, 'x', { n: 4 }, { expected: yours?.version ?? 0 })
    equal(await store.claimItems('c', { ttl: LONG }), [], 'claims of an item without a due time')
  }),
  test('claim: many concurrent workers process each item once', async (store) => {
    const count = 12
    for (let i = 0; i < count; i += 1) await put(store, `w${i}`, { done: 0 }, { dueIn: 0 })
    await after(2)
    const worker = async (): Promise<void> => {
      for (;;) {
        const claimed = await store.claimItems('c', { ttl: LONG, limit: 2 })
        if (claimed.length === 0) return
        for (const { id, version, body } of claimed) {
          const change = { body: { done: Number(body['done']) + 1 }, keys: { done: 'yes' } }
          await put(store, id, {}, { expected: version, put: change })
        }
      }
    }
    await Promise.all([worker(), worker(), worker()])
    await worker()
    const { items } = await store.listItems('c', { by: 'done', value: 'yes' })
    const done = items.map(({ body }) => body['done'])
    equal(done, Array(count).fill(1), 'runs of each item')
  }),
  test('items: pages by id and by key partition the collection, in code-point order, in both directions', async (store) => {
    for (const name of SORTED_IDS.toReversed())
      await put(store, name, {}, { keys: { name, half: name === 'a' ? 'x' : 'y' } })
    await put(store, 'other', {}, { keys: { elsewhere: 'a' } })
    const all = ['B', 'a', 'a b', 'b', 'other', 'é', '\uffee', '\u{1f600}']
    const others = SORTED_IDS.filter((one) => one !== 'a')
    const lists: readonly (readonly [ItemQuery, readonly string[]])[] = [
      [{}, all],
      [{ by: 'name' }, SORTED_IDS],
      [{ by: 'name', limit: 1 }, SORTED_IDS],
      [{ by: 'half', value: 'y' }, others],
      [{ by: 'half' }, ['a', ...others]],
      [{ by: 'name', from: 'a', below: 'é' }, ['a', 'a b', 'b']],
      [{ from: 'b', below: '\uffee' }, ['b', 'other', 'é']],
      [{ by: 'name', value: 'none' }, []],
      [{ by: 'none' }, []],
    ]
    for (const [query, ids] of lists) {
      equal(await itemIds(store, query), ids, JSON.stringify(query))
      const down = await itemIds(store, { ...query, descending: true })
      equal(down, ids.toReversed(), `${JSON.stringify(query)}, descending`)
    }
    equal((await store.listItems('none')).items, [], 'an unknown collection')
  }),
  test('items: while others are stored and removed, an item that stays is on exactly one page', async (store) => {
    const stay = Array.from({ length: 9 }, (_, i) => `s${i}`)
    for (const id of stay) await put(store, id, {}, { keys: { by: id } })
    const seen: string[] = []
    let round = 0
    for await (const items of allPages((start) => store.listItems('c', { by: 'by', limit: 2, ...start }))) {
      seen.push(...pluck(items, 'id'))
      await put(store, `s${round}a`, {}, { keys: { by: `s${round}a` } })
      await put(store, 's0', { round }, { keys: { by: 's0' } })
      await store.changeItems([{ collection: 'c', id: `s${round - 1}a`, put: null }])
      round += 1
    }
    const stayed = seen.filter((id) => stay.includes(id))
    equal(stayed, stay, 'ids of permanent items')
  }),
  test('items: an invalid item or query is rejected, and changes nothing', async (store) => {
    const put = { body: {} }
    const invalidKeys = [{ Name: 'x' }, { name: 'a\u0000' }, { name: 'x'.repeat(201) }, { name: 1 }]
    const invalidItems = [
      ...['text', { a: 1n }].map((body) => ({ body })),
      ...invalidKeys.map((keys) => ({ ...put, keys })),
      ...[-1, 0.5].map((dueIn) => ({ ...put, dueIn })),
    ]
    const first = { ...of('first'), put }
    const invalid = [
      { ...first, collection: '' },
      { ...of('a\n'), put },
      ...invalidItems.map((item) => ({ ...of('x'), put: item })),
      { ...of('x'), put, expected: 0 },
      first,
    ] as ItemChange[]
    await rejectsEach('invalid_argument', invalid, (one) => store.changeItems([first, one]))
    const many = Array.from({ length: 101 }, (_, i) => ({ ...first, id: `m${i}` }))
    await rejects('invalid_argument', '101 changes', () => store.changeItems(many))
    equal((await store.changeItems(many.slice(1))).length, 100, 'results of 100 changes')
    equal((await store.listItems('c', { from: 'm100', below: 'm2' })).items.length, 10, 'listed items')
    equal(await store.getItem('c', 'first'), null, 'an item of a rejected change')
    await rejectsEach('invalid_argument', [0, -1, 1.5, Number.NaN], (ttl) => store.claimItems('c', { ttl }))
    const queries = [{ limit: 0 }, { limit: 101 }, { by: 'A' }, { value: '\u0000' }, { by: '' }]
    await rejectsEach('invalid_query', queries, (query) => store.listItems('c', query))
    const { cursor } = await store.listItems('c', { limit: 1 })
    const foreign = [{ descending: true }, { from: 'a' }, { by: 'name' }, { in: 'd' }]
    await rejectsEach(
      'invalid_cursor',
      foreign,
      ({ in: collection = 'c', ...query }: ItemQuery & { in?: string }) =>
        store.listItems(collection, { ...query, cursor: cursor ?? '' }),
    )
    for (const id of ['\u0000', 'a\n', '', ...NO_TEXTS])
      equal(await store.getItem('c', id), null, 'an item with an invalid id')
  }),
  reopening('items: items and claims survive reopening the store', async (store, { reopen }) => {
    const stored = await put(store, 'kept', { a: 1 }, { keys: { by: 'x' } })
    const removed = await put(store, 'gone', {})
    await store.changeItems([{ ...of('gone'), put: null }])
    await put(store, 'work', {}, { dueIn: 0 })
    await put(store, 'held', {}, { dueIn: 0 })
    await after(2)
    const claimed = await store.claimItems('c', { ttl: SHORT })
    const again = await reopen()
    equal(await again.getItem('c', 'kept'), stored, 'the stored item')
    equal((await again.listItems('c', { by: 'by' })).items, [stored], 'the listed items')
    const back = await put(again, 'gone', {})
    holds(back.version > removed.version, 'a version was repeated')
    // The first process renews one claim. The other claim expires, as after a crash.
    const current = claimed.find(({ id }) => id === 'held')
    await put(store, 'held', {}, { expected: current?.version ?? 0, dueIn: LONG })
    await after(2 * SHORT)
    const others = await again.claimItems('c', { ttl: LONG })
    equal(pluck(others, 'id'), ['work'], 'items that another process claims')
  }),
]
