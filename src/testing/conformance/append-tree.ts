/** Checks of append: parents and HEAD (design D7, D8). */

import type { Event } from '../../event/types.ts'
import type { StoredEvent } from '../../store/contract/query.ts'
import { equal, rejects } from './assert.ts'
import type { Check } from './check.ts'
import { begin, leaf, pause, pluck, say, update } from './facts.ts'

const parentOf = (event: StoredEvent | null | undefined): unknown => [
  event?.parentId,
  (event?.fact as Event | undefined)?.parent_id,
]

export const APPEND_TREE: readonly Check[] = [
  {
    name: 'tree: an event without a parent follows HEAD, and its body names it',
    async run({ store }) {
      const id = await begin(store, 'c')
      const { events, headId } = await store.append(id, [
        pause('a'),
        pause('b', { parent_id: null }),
        say('m', 'x'),
      ])
      equal(
        events.map(parentOf),
        [
          [null, undefined],
          ['a', 'a'],
          ['b', 'b'],
        ],
        'parents, stored and in the body',
      )
      equal(headId, 'm', 'HEAD')
      const next = await store.append(id, [pause('d')])
      equal(next.events.map(parentOf), [['m', 'm']], 'the parent in the next append')
      equal(parentOf(await store.get(id, 'd')), ['m', 'm'], 'the parent as stored')
      equal((await store.getConversation(id))?.headId, 'd', 'HEAD in the record')
    },
  },
  {
    name: 'tree: a named parent may be any earlier event, `__root__` is a root',
    async run({ store }) {
      const id = await begin(store, 'c', [pause('a'), pause('b')])
      const { events, headId } = await store.append(id, [
        pause('c', { parent_id: 'a' }),
        pause('d', { parent_id: '__root__' }),
        pause('e', { parent_id: 'c' }),
        pause('f'),
      ])
      equal(
        events.map(parentOf),
        [
          ['a', 'a'],
          [null, '__root__'],
          ['c', 'c'],
          ['e', 'e'],
        ],
        'parents, stored and in the body',
      )
      equal([events.every(({ inTree }) => inTree), headId], [true, 'f'], 'all are in the tree, and HEAD')
    },
  },
  {
    name: 'tree: a parent that is unknown, later or the event itself is unknown_parent',
    async run({ store }) {
      const id = await begin(store, 'c', [pause('a')])
      await begin(store, 'd', [pause('there')])
      for (const parent of ['nowhere', 'there', 'b', 'later', '', 'a\u0000', '\ud800', 'x'.repeat(300)]) {
        const batch = [pause('b', { parent_id: parent }), pause('later')]
        const error = await rejects('unknown_parent', JSON.stringify(parent), () => store.append(id, batch))
        equal(error.data['parentId'], parent, 'the parent in the error')
      }
      equal((await store.getConversation(id))?.version, 1, 'the version after them all')
    },
  },
  {
    name: 'tree: a state update never becomes HEAD, and can be a parent when it is named',
    async run({ store }) {
      const id = await begin(store, 'c', [pause('a')])
      const done = await store.append(id, [
        update('u', 'execution_status', 'running'),
        pause('b'),
        update('v', 'title', null, { parent_id: 'u' }),
        pause('d', { parent_id: 'v' }),
      ])
      equal(pluck(done.events, 'parentId'), ['a', 'a', 'u', 'v'], 'parents')
      equal(done.headId, 'd', 'HEAD')
    },
  },
  {
    name: 'tree: leaf_event_id moves HEAD to an event, from a state update to the real event above it',
    async run({ store }) {
      const id = await begin(store, 'c', [pause('a'), update('u', 'k', 1), pause('b')])
      await store.append(id, [update('v', 'k', 2, { parent_id: 'u' })])
      const moves = ['a', 'b', 'u', 'b', 'v']
      for (const [i, target] of moves.entries()) {
        const { headId } = await store.append(id, [leaf(`move${i}`, target)])
        const expected = target === 'b' ? 'b' : 'a'
        equal(headId, expected, `HEAD sent to ${target}`)
        equal((await store.getConversation(id))?.headId, expected, 'the record')
      }
      const back = await store.append(id, [leaf('m', 'b'), leaf('n', 'move0'), pause('z'), leaf('o', 'z')])
      // The first move was appended while HEAD was at b, and hangs there.
      const found = [back.events[2]?.parentId, back.headId]
      equal(found, ['b', 'z'], 'a parent within the batch of a move, and HEAD')
    },
  },
  {
    name: 'tree: leaf_event_id null is the empty HEAD, and what follows is a stamped root',
    async run({ store }) {
      const id = await begin(store, 'c', [pause('a')])
      const gone = await store.append(id, [leaf('move', null)])
      equal([gone.headId, (await store.getConversation(id))?.headId], [null, null], 'the empty HEAD')
      const root = await store.append(id, [update('u', 'k', 1), pause('b'), pause('d')])
      equal(
        root.events.map(parentOf),
        [
          [null, '__root__'],
          [null, '__root__'],
          ['b', 'b'],
        ],
        'parents',
      )
      const sent = (await store.append(id, [leaf('w', 'u')])).headId
      equal(sent, null, 'HEAD sent to a state update at the root')
    },
  },
  {
    name: 'tree: leaf_event_id of an unknown event is unknown_event',
    async run({ store }) {
      const id = await begin(store, 'c', [pause('a')])
      for (const target of ['nowhere', 'x', 7, ['a'], '', 'a\u0000', '\ud800', 'a-summary']) {
        await rejects('unknown_event', JSON.stringify(target), () => store.append(id, [leaf('x', target)]))
      }
      const without: Event = { kind: 'ConversationStateUpdateEvent', id: 'x', key: 'leaf_event_id' }
      await rejects('unknown_event', 'no value', () => store.append(id, [without]))
      equal((await store.getConversation(id))?.headId, 'a', 'HEAD after them all')
      const unmoved = (await store.append(id, [update('x', 'leaf', 'nowhere')])).headId
      equal(unmoved, 'a', 'another key has no effect')
    },
  },
  {
    name: 'tree: every append finds HEAD where the log left it, branch after branch',
    async run({ store }) {
      const id = await begin(store, 'c', [pause('root')])
      for (let i = 0; i < 12; i += 1) {
        await store.append(id, [
          leaf(`back${i}`, i % 3 === 0 ? 'root' : `b${i - 1}`),
          pause(`b${i}`),
          pause(`t${i}`),
        ])
      }
      const parents = (await store.read(id)).map(({ id: ownId, parentId }) => [ownId, parentId])
      for (let i = 0; i < 12; i += 1) {
        const above = i % 3 === 0 ? 'root' : `b${i - 1}`
        equal(parents[3 * i + 2], [`b${i}`, above], 'where a branch begins')
        equal(parents[3 * i + 3], [`t${i}`, `b${i}`], 'where it continues')
      }
    },
  },
]
