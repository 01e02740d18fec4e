/**
 * Import append checks: unchanged bodies, and a log equal to replaying its facts (design D7, D8, D15, D16).
 */

import * as fc from 'fast-check'
import { deriveEventId } from '../../event/ids.ts'
import type { Fact, Quarantined } from '../../event/quarantine.ts'
import { parseInstant } from '../../event/time.ts'
import type { Event } from '../../event/types.ts'
import { replay } from '../../state/reduce.ts'
import type { StoredEvent } from '../../store/contract/query.ts'
import { hostileLog } from '../hostile-log.ts'
import { equal, rejects } from './assert.ts'
import type { Check } from './check.ts'
import { begin, idsOf, leaf, pause, pluck, say, storable } from './facts.ts'

const IMPORT = { mode: 'import' } as const

const broken = (raw: string, id?: string): Quarantined => ({
  quarantined: true,
  raw,
  issues: [{ loc: ['kind'], msg: 'Unknown kind of event.', type: 'union_tag_invalid' }],
  ...(id === undefined ? {} : { id, parent_id: null, event_kind: 'Later' }),
})

const shown = ({ seq, id, parentId, inTree, time }: StoredEvent): unknown => ({
  seq,
  id,
  parentId,
  inTree,
  time,
})

function replayed(
  conversationId: string,
  facts: readonly Fact[],
): { readonly entries: unknown[]; readonly headId: string | null } {
  const { log } = replay(facts, { conversationId })
  const entries = [...log.entries].map(({ seq, id, parent, inTree, timestamp }) => {
    const time = timestamp === null ? 0n : (parseInstant(timestamp) as bigint)
    return { seq, id, parentId: parent?.id ?? null, inTree, time: String(time) }
  })
  return { entries, headId: log.head?.id ?? null }
}

export const APPEND_IMPORT: readonly Check[] = [
  {
    name: 'import: bodies are unchanged, an unknown parent is HEAD, a move to an unknown event is ignored',
    async run({ store }) {
      const id = await begin(store, 'c')
      const facts: readonly Event[] = [
        pause('a'),
        pause('b', { parent_id: 'nowhere' }),
        leaf('u', 'nowhere'),
        pause('d', { parent_id: null }),
        leaf('v', null),
        pause('e'),
      ]
      const { events, headId } = await store.append(id, facts, IMPORT)
      equal(pluck(events, 'fact'), facts, 'bodies')
      equal(pluck(events, 'parentId'), [null, 'a', 'b', 'b', 'd', null], 'parents beside them')
      equal(headId, 'e', 'HEAD')
    },
  },
  {
    name: 'import: an event without id gets the derived one, without time the time of the event before',
    async run({ store }) {
      const id = await begin(store, 'c')
      const facts: readonly Event[] = [
        { kind: 'PauseEvent' },
        pause('b', { timestamp: '2026-01-01T00:00:01.000001Z' }),
        { kind: 'InterruptEvent', timestamp: 'yesterday' },
      ]
      const { events } = await store.append(id, facts, IMPORT)
      const ids = [deriveEventId(id, 0, facts[0] as Event), 'b', deriveEventId(id, 2, facts[2] as Event)]
      equal(idsOf(events), ids, 'ids')
      equal(pluck(events, 'time'), ['0', '1767225601000001', '1767225601000001'], 'times')
      equal((await store.get(id, ids[2] as string))?.fact, facts[2], 'the body under a derived id')
    },
  },
  {
    name: 'import: an event with a known id is outside of the tree, equal or not',
    async run({ store }) {
      const id = await begin(store, 'c')
      const facts = [pause('a'), say('a', 'other'), pause('b'), pause('b')]
      const { events, version } = await store.append(id, facts, { ...IMPORT, expected: 'none' })
      equal(version, 4, 'the version')
      equal(
        events.map(({ inTree, parentId }) => [inTree, parentId]),
        [
          [true, null],
          [false, null],
          [true, 'a'],
          [false, null],
        ],
        'positions and parents',
      )
      equal((await store.get(id, 'a'))?.seq, 0, 'the event under the id')
      equal(idsOf((await store.search({ conversationId: id })).items), ['a', 'b'], 'what a search finds')
      equal(await store.count({ conversationId: id }), 2, 'what it counts')
    },
  },
  {
    name: 'import: a quarantined line is kept unchanged, and is in the tree if its id can be read',
    async run({ store }) {
      const id = await begin(store, 'c')
      const facts: readonly Fact[] = [
        pause('a'),
        broken('{nonsense \u0000\ud800'),
        broken('{"id":"q"}', 'q'),
        pause('b'),
      ]
      const { events, headId } = await store.append(id, facts, IMPORT)
      equal(pluck(events, 'fact'), facts, 'facts')
      equal(pluck(events, 'inTree'), [true, false, true, true], 'what stands')
      const places = [idsOf(events), events[3]?.parentId, headId]
      equal(places, [['a', null, 'q', 'b'], 'q', 'b'], 'ids, a parent, HEAD')
      equal(pluck(await store.read(id), 'fact'), facts, 'facts as read')
      equal((await store.get(id, 'q'))?.fact, facts[2], 'a line by id')
      equal(idsOf((await store.search({ conversationId: id })).items), ['a', 'b'], 'what a search finds')
      equal(idsOf((await store.search({ conversationId: id, leafId: 'b' })).items), ['a', 'b'], 'on the path')
    },
  },
  {
    name: 'import: repeated at its version it changes nothing, and an interrupted one continues',
    async run({ store }) {
      const id = await begin(store, 'c')
      const facts: readonly Fact[] = [
        { kind: 'PauseEvent' },
        pause('a'),
        broken('x'),
        say('a', 'other'),
        { kind: 'PauseEvent' },
        pause('z'),
      ]
      await store.append(id, facts.slice(0, 4), { ...IMPORT, expected: 'none' })
      const before = await store.read(id)
      const again = await store.append(id, facts.slice(0, 4), { ...IMPORT, expected: 0 })
      equal(again, { events: before, version: 4, headId: 'a' }, 'the same again')
      const rest = await store.append(id, facts.slice(2), { ...IMPORT, expected: 2 })
      const found = [rest.version, rest.events.map(({ seq }) => seq)]
      equal(found, [6, [2, 3, 4, 5]], 'from the middle to beyond the end')
      equal((await store.read(id)).map(shown), replayed(id, facts).entries, 'the whole log')
      const other = [...facts.slice(0, 3), pause('other')]
      await rejects('version_conflict', 'another log', () =>
        store.append(id, other, { ...IMPORT, expected: 'none' }),
      )
      await rejects('version_conflict', 'a gap', () =>
        store.append(id, [pause('y')], { ...IMPORT, expected: 8 }),
      )
      equal((await store.getConversation(id))?.version, 6, 'the version after all')
    },
  },
  {
    name: 'import: at any version known events are not appended again',
    async run({ store }) {
      const id = await begin(store, 'c', [pause('a'), pause('b')])
      const { events, version } = await store.append(id, [pause('a'), say('b', 'other'), pause('d')], IMPORT)
      equal(
        [version, events.map(({ seq, inTree }) => [seq, inTree])],
        [
          4,
          [
            [0, true],
            [2, false],
            [3, true],
          ],
        ],
        'what became of them',
      )
    },
  },
  {
    name: 'import: a timestamp without a zone is read in the zone of the conversation',
    async run({ store }) {
      await store.createConversation({ id: 'c', timeZone: 'America/New_York' })
      const { events } = await store.append(
        'c',
        [
          pause('a', { timestamp: '2026-01-15T12:00:00.000001' }),
          pause('b', { timestamp: '2026-07-15T12:00:00' }),
          pause('d', { timestamp: '2026-07-15T12:00:00Z' }),
        ],
        IMPORT,
      )
      const instants = ['2026-01-15T17:00:00.000001Z', '2026-07-15T16:00:00Z', '2026-07-15T12:00:00Z']
      const expected = instants.map((instant) => String(parseInstant(instant)))
      equal(pluck(events, 'time'), expected, 'times')
      equal(idsOf((await store.search({ conversationId: 'c' })).items), ['a', 'd', 'b'], 'their order')
    },
  },
  {
    name: 'import: every log, in batches of any size, equals its replay',
    async run({ store, runsOf }) {
      let runs = 0
      const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 })
      const property = fc.asyncProperty(hostileLog(), sizes, async (log, steps) => {
        const id = await begin(store, `c${(runs += 1)}`)
        const facts = storable(log)
        let index = 0
        for (let i = 0; index < facts.length; i += 1) {
          const batch = facts.slice(index, index + (steps[i % steps.length] as number))
          const done = await store.append(id, batch, { ...IMPORT, expected: index })
          equal(pluck(done.events, 'fact'), batch, 'bodies')
          index += batch.length
          equal(done.headId, replayed(id, facts.slice(0, index)).headId, `HEAD after ${index} facts`)
        }
        const { entries, headId } = replayed(id, facts)
        const stored = await store.read(id)
        equal(stored.map(shown), entries, 'the log')
        equal((await store.getConversation(id))?.headId, headId, 'HEAD')
        const again = await store.append(id, facts, { ...IMPORT, expected: 'none' })
        equal(again, { events: stored, version: facts.length, headId }, 'all of it repeated')
        const rest = await store.append(id, facts.slice(3), {
          ...IMPORT,
          expected: Math.min(3, facts.length),
        })
        equal(rest.version, facts.length, 'events after the third one repeated')
      })
      await fc.assert(property, { numRuns: runsOf(25) })
    },
  },
]
