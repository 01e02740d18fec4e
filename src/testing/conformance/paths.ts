/** Checks of the leaf filter: only what lies on the path to an event, however the tree branches (law T). */

import type { Fact } from '../../event/quarantine.ts'
import type { Store } from '../../store/contract/store.ts'
import { equal } from './assert.ts'
import type { Check } from './check.ts'
import { begin, idsOf, leaf, pause, pauses, say, update } from './facts.ts'
import { searchAll, searchNaively } from './pages.ts'

async function everyPath(store: Store, id: string, limit: number): Promise<void> {
  const log = await store.read(id, { limit: 10_000 })
  for (const { id: leafId } of log) {
    const filter = { conversationId: id, leafId: leafId as string }
    const expected = idsOf(searchNaively(log, filter))
    equal(idsOf(await searchAll(store, { ...filter, limit })), expected, `the path to ${leafId}`)
    const down = await searchAll(store, { ...filter, limit, order: 'timestamp_desc' })
    equal(idsOf(down), expected.toReversed(), `the path to ${leafId}, downwards`)
    equal(await store.count(filter), expected.length, `the path to ${leafId}, counted`)
  }
}

const index = (seconds: number): string =>
  `2026-01-01T00:${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}Z`

const turn = (i: number): Fact[] => [
  pause(`a${i}`, { parent_id: `a${i - 1}` }),
  pause(`b${i}`, { parent_id: `b${i - 1}` }),
]

const facts = (prefix: string, first: number, step: number): Fact[] =>
  Array.from({ length: 8 }, (_, i) => pause(`${prefix}${i}`, { timestamp: index(first + step * i) }))

const talk = (prefix: string, from: number): Fact[] =>
  Array.from({ length: 12 }, (_, i) =>
    i % 3 === 0
      ? pause(`${prefix}${i}`, { timestamp: index(from + i) })
      : say(`${prefix}${i}`, i % 2 === 0 ? 'even' : 'odd', {
          timestamp: index(from + i),
          source: i % 4 === 0 ? 'agent' : 'user',
        }),
  )

export const PATHS: readonly Check[] = [
  {
    name: 'leaf: branches off an old event, and branches of branches',
    async run({ store }) {
      const id = await begin(store, 'c', pauses(6, 'a'))
      await store.append(id, [leaf('to2', 'a2'), ...pauses(3, 'b')])
      await store.append(id, [leaf('to1', 'b1'), ...pauses(3, 'd')])
      await store.append(id, [leaf('to5', 'a5'), ...pauses(2, 'e')])
      await store.append(id, [leaf('none', null), ...pauses(2, 'f')])
      await store.append(id, [
        leaf('back', 'd2'),
        pause('g', { parent_id: 'b1' }),
        pause('h', { parent_id: 'd2' }),
      ])
      await everyPath(store, id, 4)
    },
  },
  {
    name: 'leaf: state updates are next to the path, and on it only if an event names one as its parent',
    async run({ store }) {
      const id = await begin(store, 'c', [
        pause('a'),
        update('u', 'k', 1),
        update('v', 'k', 2),
        pause('b'),
        update('w', 'k', 3, { parent_id: 'v' }),
        pause('d', { parent_id: 'w' }),
        pause('e'),
        pause('f', { parent_id: 'b' }),
        pause('g', { parent_id: 'v' }),
        pause('h', { parent_id: 'v' }),
      ])
      const on = async (leafId: string): Promise<unknown> =>
        idsOf((await store.search({ conversationId: id, leafId })).items)
      equal(await on('f'), ['a', 'b', 'f'], 'to an event')
      equal(await on('u'), ['a', 'u'], 'to a state update')
      equal(await on('e'), ['a', 'v', 'w', 'd', 'e'], 'through state updates')
      await everyPath(store, id, 2)
    },
  },
  {
    name: 'leaf: branches off a branch that has grown since it was begun, and was left',
    async run({ store }) {
      const id = await begin(store, 'c')
      for (const ownId of ['a0', 'a1', 'a2']) await store.append(id, [pause(ownId)])
      await store.append(id, [pause('b0', { parent_id: '__root__' })])
      await store.append(id, [pause('b1')])
      for (const above of ['a0', 'a1', 'a2', 'b0']) {
        await store.append(id, [pause(`${above}-x`, { parent_id: above })])
        await store.append(id, [pause(`${above}-y`)])
        await store.append(id, [pause(`${above}-z`, { parent_id: 'b1' })])
      }
      await everyPath(store, id, 3)
    },
  },
  {
    name: 'leaf: two branches that grow by turns, one event at a time and in one batch',
    async run({ store }) {
      const id = await begin(store, 'c', [pause('a0'), pause('b0', { parent_id: '__root__' })])
      for (let i = 1; i < 6; i += 1) for (const fact of turn(i)) await store.append(id, [fact])
      await store.append(id, [6, 7, 8].flatMap(turn))
      await store.append(id, [...turn(9), leaf('to', 'a3'), pause('x'), pause('y', { parent_id: 'b9' })])
      await everyPath(store, id, 5)
    },
  },
  {
    name: 'leaf: times that run backwards keep a path whole',
    async run({ store }) {
      const id = await begin(store, 'c', facts('a', 100, -3))
      await store.append(id, [leaf('to3', 'a3'), ...facts('b', 90, 4)])
      await store.append(id, [leaf('to7', 'a7'), ...facts('d', 0, 9)])
      await store.append(id, [leaf('tob', 'b2'), ...facts('e', 500, -70)])
      await everyPath(store, id, 3)
    },
  },
  {
    name: 'leaf: with every other filter',
    async run({ store }) {
      const id = await begin(store, 'c', talk('a', 0))
      await store.append(id, [leaf('to5', 'a5'), ...talk('b', 20)])
      const log = await store.read(id)
      for (const leafId of ['a11', 'b11', 'b4', 'a5']) {
        for (const more of [
          { kinds: ['MessageEvent'] as const },
          { source: 'agent' as const },
          { text: 'odd' },
          { timestampGte: index(3), timestampLt: index(26) },
          {
            excludeKinds: ['PauseEvent'] as const,
            source: 'user' as const,
            text: 'even',
            timestampGte: index(2),
          },
        ]) {
          const filter = { conversationId: id, leafId, ...more }
          const found = await searchAll(store, { ...filter, limit: 2 })
          equal(idsOf(found), idsOf(searchNaively(log, filter)), JSON.stringify(filter))
        }
      }
    },
  },
  {
    name: 'leaf: a hundred branches, and a path through them all',
    async run({ store }) {
      const id = await begin(store, 'c', [pause('n0')])
      for (let i = 1; i <= 100; i += 1) {
        await store.append(id, [pause(`dead${i}`), leaf(`m${i}`, `n${i - 1}`), pause(`n${i}`)])
      }
      const expected = Array.from({ length: 101 }, (_, i) => `n${i}`)
      const path = idsOf(await searchAll(store, { conversationId: id, leafId: 'n100', limit: 17 }))
      equal(path, expected, 'the path')
      const half = await store.count({ conversationId: id, leafId: 'dead50' })
      equal(half, 51, 'a path that ends half way, counted')
    },
  },
]
