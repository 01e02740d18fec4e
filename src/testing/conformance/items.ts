/** Checks of items: stored values, versions, several changes at once, and concurrent writers. */

import type { ItemChange } from '../../store/contract/items.ts'
import { equal, holds, rejects } from './assert.ts'
import type { Check } from './check.ts'
import { put, version, walk, write } from './item-facts.ts'

const of = (id: string): Pick<ItemChange, 'collection' | 'id'> => ({ collection: 'c', id })

export const ITEMS: readonly Check[] = [
  {
    name: 'item: it is returned as it was stored, with any JSON, until it is replaced or removed',
    async run({ store }) {
      equal(await store.getItem('c', 'x'), null, 'before it is put')
      const body = { text: 'é\u0000\u{1f600}\ud800', list: [1, -2.5e-9, null, true, {}], '': { 'a.b': [] } }
      const first = await put(store, 'x', body, { keys: { by: 'é\n', other_1: '' } })
      equal(first.body, body, 'the body')
      equal([first.collection, first.id, first.dueAt], ['c', 'x', null], 'the rest')
      equal(first.keys, { by: 'é\n', other_1: '' }, 'the keys')
      equal(await store.getItem('c', 'x'), first, 'as stored')
      equal(await store.getItem('d', 'x'), null, 'in another collection')
      const second = await put(store, 'x', {})
      equal([second.body, second.keys], [{}, {}], 'a replaced item keeps nothing')
      equal(await walk(store, { by: 'by' }), [], 'nor in a list')
      equal(await store.changeItems([{ collection: 'c', id: 'x', put: null }]), [null], 'taken out')
      equal(await store.getItem('c', 'x'), null, 'after that')
      equal(await store.changeItems([{ collection: 'c', id: 'x', put: null }]), [null], 'and once more')
      equal(await store.changeItems([]), [], 'no change')
      equal((await store.countConversations()).count, 0, 'conversations')
    },
  },
  {
    name: 'item: versions do not repeat, even after the item was removed and stored again',
    async run({ store }) {
      const seen: number[] = []
      for (let round = 0; round < 4; round += 1) {
        seen.push((await put(store, 'x', { round })).version)
        seen.push((await put(store, 'y', { round })).version, (await put(store, 'x', { round })).version)
        await store.changeItems(['x', 'y'].map((id) => ({ collection: 'c', id, put: null })))
      }
      const [x, y] = [seen.filter((_, i) => i % 3 !== 1), seen.filter((_, i) => i % 3 === 1)]
      for (const versions of [x, y]) {
        equal(
          versions.toSorted((a, b) => a - b),
          versions,
          'the versions of one item, which go upwards',
        )
        equal(new Set(versions).size, versions.length, 'how many versions there were')
      }
    },
  },
  {
    name: 'item: several are changed all or none, each as it was expected to be',
    async run({ store }) {
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
        const changes = [
          { ...of('a'), expected: a.version, put: next },
          { ...of('new'), put: next },
          conflict,
        ]
        const { data } = await rejects('version_conflict', 'a conflict', () => store.changeItems(changes))
        equal(data, { collection: 'c', id: conflict.id, version: real }, 'what the error names')
      }
      equal([await store.getItem('c', 'a'), await store.getItem('c', 'b')], [a, b], 'after conflicts')
      equal(await walk(store), ['a', 'b'], 'after conflicts, all')
      const done = await store.changeItems([
        { ...of('a'), expected: a.version, put: null },
        { ...of('new'), expected: null, put: next },
        { ...of('b'), expected: b.version },
        { ...of('gone'), expected: null },
      ])
      equal(
        done.map((item) => item?.id ?? null),
        [null, 'new', null, null],
        'what is given',
      )
      equal([await walk(store), await version(store, 'b')], [['b', 'new'], b.version], 'what is there')
    },
  },
  {
    name: 'item: of many who expect one version exactly one wins, and so for one that must not be there',
    async run({ store }) {
      const base = await put(store, 'x', { n: 0 })
      const wins = async (change: (i: number) => readonly ItemChange[]): Promise<number> => {
        const all = await Promise.allSettled(
          Array.from({ length: 8 }, (_, i) => store.changeItems(change(i))),
        )
        return all.filter(({ status }) => status === 'fulfilled').length
      }
      equal(await wins((n) => [write('x', base.version, n)]), 1, 'winners of a version')
      equal(await wins((n) => [write('new', null, n)]), 1, 'winners of a free id')
      // Each claims a slot if another slot is free: all may see it free, and one may be right.
      equal(
        await wins((n) => [write(`own${n}`, null, n), { collection: 'c', id: 'lock', expected: null }]),
        8,
        'those that only look',
      )
      equal(await wins((n) => [write(`o${n}`, null, n), write('lock', null, n)]), 1, 'winners of a lock')
      const [left, right] = await Promise.allSettled([
        store.changeItems([write('p', null, 1), { collection: 'c', id: 'q', expected: null }]),
        store.changeItems([write('q', null, 1), { collection: 'c', id: 'p', expected: null }]),
      ])
      const both = left.status === 'fulfilled' && right.status === 'fulfilled'
      holds(!both, 'two who each write where the other must find nothing cannot both win')
    },
  },
  {
    name: 'item: writers who meet on several items all get on, whatever the order they name them in',
    async run({ store }) {
      const ids = Array.from({ length: 6 }, (_, i) => `i${i}`)
      const add = async (order: readonly string[]): Promise<void> => {
        for (;;) {
          const matches = await Promise.all(order.map((id) => store.getItem('c', id)))
          const changes = order.map((id, index) => ({
            collection: 'c',
            id,
            expected: matches[index]?.version ?? null,
            put: { body: { n: Number(matches[index]?.body['n'] ?? 0) + 1 } },
          }))
          const done = await store.changeItems(changes).catch((error: unknown) => {
            if ((error as { readonly code?: string }).code !== 'version_conflict') throw error
            return null
          })
          if (done !== null) return
        }
      }
      await Promise.all(
        Array.from({ length: 6 }, (_, i) => add(i % 2 === 0 ? ids : ids.toReversed().slice(i % 3))),
      )
      const sums = await Promise.all(ids.map(async (id) => (await store.getItem('c', id))?.body['n']))
      equal(sums, [6, 6, 6, 6, 5, 4], 'how often each was added to')
    },
  },
]
