/** Checks of search and count: every filter, alone and combined, against a naive reading of the log. */

import * as fc from 'fast-check'
import { EVENT_KINDS, type EventKind } from '../../event/kinds.ts'
import type { Source } from '../../event/shapes.ts'
import type { EventFilter, StoredEvent } from '../../store/contract/query.ts'
import { formatInstant } from '../../store/kit/record.ts'
import { hostileLog } from '../hostile-log.ts'
import { equal, rejects } from './assert.ts'
import type { Check } from './check.ts'
import { begin, idsOf, pause, say, storable, update } from './facts.ts'
import { searchAll, searchNaively } from './pages.ts'

interface FilterPlan {
  readonly kinds: readonly EventKind[] | null
  readonly exclude: readonly EventKind[] | null
  readonly source: Source | null
  readonly text: string | null
  readonly gte: readonly [at: number, shift: number] | null
  readonly lt: readonly [at: number, shift: number] | null
  readonly leaf: number | null
}

const sometimes = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })

const someKinds = (): fc.Arbitrary<readonly EventKind[]> =>
  fc.oneof(
    fc.constantFrom<EventKind[]>(['MessageEvent'], ['ActionEvent'], ['ConversationStateUpdateEvent'], []),
    fc.subarray([...EVENT_KINDS]),
  )

const somewhere = (): fc.Arbitrary<readonly [number, number]> =>
  fc.tuple(fc.nat(120), fc.constantFrom(-1, 0, 1, -1_000_000))

const filterPlan = (): fc.Arbitrary<FilterPlan> =>
  fc.record({
    kinds: sometimes(someKinds()),
    exclude: sometimes(someKinds()),
    source: sometimes(fc.constantFrom<Source>('agent', 'user', 'environment', 'hook')),
    text: sometimes(
      fc.constantFrom('', 'e', 'THE', 'Ok', '\n', '\u0000', '\ud800', '%', '_', 'why?', 'É', '😀'),
    ),
    gte: sometimes(somewhere()),
    lt: sometimes(somewhere()),
    leaf: sometimes(fc.nat(120)),
  })

function filterOf(conversationId: string, plan: FilterPlan, log: readonly StoredEvent[]): EventFilter {
  const { kinds, exclude, source, text, gte, lt, leaf } = plan
  const entry = (index: number): StoredEvent | undefined => log[index % Math.max(1, log.length)]
  const instant = ([time, shift]: readonly [number, number]): string =>
    formatInstant(BigInt(entry(time)?.time ?? 0) + BigInt(shift))
  return {
    conversationId,
    ...(kinds !== null && { kinds }),
    ...(exclude !== null && { excludeKinds: exclude }),
    ...(source !== null && { source }),
    ...(text !== null && { text }),
    ...(gte !== null && { timestampGte: instant(gte) }),
    ...(lt !== null && { timestampLt: instant(lt) }),
    ...(leaf !== null && { leafId: entry(leaf)?.id ?? 'nowhere' }),
  }
}

export const SEARCHING: readonly Check[] = [
  {
    name: 'search: every filter, alone and combined, on any log, in pages of any size, both ways',
    async run({ store, runsOf }) {
      let runs = 0
      const limits = fc.constantFrom(1, 2, 3, 7, 40, 100)
      const plans = fc.array(fc.tuple(filterPlan(), limits), { minLength: 6, maxLength: 10 })
      const property = fc.asyncProperty(hostileLog(), plans, async (facts, requested) => {
        const id = await begin(store, `c${(runs += 1)}`)
        const { events } = await store.append(id, storable(facts), { mode: 'import', expected: 'none' })
        for (const [plan, limit] of requested) {
          const filter = filterOf(id, plan, events)
          const expected = searchNaively(events, filter)
          const what = JSON.stringify(filter)
          equal(await searchAll(store, { ...filter, limit }), expected, what)
          const down = await searchAll(store, { ...filter, limit, order: 'timestamp_desc' })
          equal(idsOf(down), idsOf(expected.toReversed()), `${what}, downwards`)
          equal(await store.count(filter), expected.length, `${what}, counted`)
        }
      })
      await fc.assert(property, { numRuns: runsOf(25) })
    },
  },
  {
    name: 'search: a page of nothing, and of an unknown conversation',
    async run({ store }) {
      const id = await begin(store, 'c')
      const nothing = { items: [], cursor: null }
      equal(await store.search({ conversationId: id }), nothing, 'an empty log')
      equal(await store.search({ conversationId: 'nowhere' }), nothing, 'an unknown conversation')
      equal(await store.count({ conversationId: 'nowhere' }), 0, 'an unknown conversation, counted')
      await store.append(id, [pause('a')])
      equal(await store.search({ conversationId: id, kinds: [] }), nothing, 'no kinds')
      const kinds = ['PauseEvent'] as const
      const both = await store.search({ conversationId: id, kinds, excludeKinds: kinds })
      equal(both, nothing, 'a kind requested and excluded')
      equal(await store.search({ conversationId: id, leafId: 'nowhere' }), nothing, 'an unknown leaf')
    },
  },
  {
    name: 'search: without a source in the body, it is the default of the kind',
    async run({ store }) {
      const id = await begin(store, 'c', [
        pause('p'),
        { kind: 'PauseEvent', id: 'q', source: 'agent' },
        say('m', 'x', { source: 'environment' }),
        update('u', 'k', 1),
        {
          kind: 'HookExecutionEvent',
          id: 'h',
          hook_event_type: 'Stop',
          hook_command: 'x',
          success: true,
          exit_code: 0,
        },
      ])
      const expected = { user: ['p'], agent: ['q'], environment: ['m', 'u'], hook: ['h'] } as const
      for (const source of ['user', 'agent', 'environment', 'hook'] as const) {
        const { items } = await store.search({ conversationId: id, source })
        equal(idsOf(items), expected[source], source)
      }
    },
  },
  {
    name: 'search: text is found in content and extended content of messages only, letter case ignored, and nothing in it is a pattern',
    async run({ store }) {
      const id = await begin(store, 'c', [
        say('a', 'Say 100% of_it \\ now'),
        say('b', 'say 100 percent ofXit', { extended_content: [{ text: 'Straße ΟΔΟΣ' }] }),
        say('d', 'one', {
          llm_message: {
            role: 'user',
            content: [
              { text: 'one' },
              { image_urls: ['say'] },
              { type: 'document', source: 'say' },
              { text: 'TWO' },
            ],
          },
        }),
        say('e', 'x', { sender: 'say', llm_message: { role: 'user' } }),
        { kind: 'CondensationSummaryEvent', id: 'f', summary: 'say' },
        say('g', 'a\u0000b \ud800 😀'),
      ])
      const cases: readonly (readonly [text: string, ids: readonly string[]])[] = [
        ['SAY', ['a', 'b']],
        ['100%', ['a']],
        ['of_it', ['a']],
        ['\\', ['a']],
        ['%', ['a']],
        ["'", []],
        ['STRAßE', ['b']],
        ['οδος', ['b']],
        ['οδο', ['b']],
        ['ofxit\nstra', ['b']],
        ['two', ['d']],
        ['one\ntwo', ['d']],
        ['a\u0000b', ['g']],
        ['\ud800', ['g']],
        ['😀', ['g']],
        ['ab', []],
        ['', ['a', 'b', 'd', 'e', 'g']],
      ]
      for (const [text, ids] of cases) {
        const found = await searchAll(store, { conversationId: id, text, limit: 2 })
        equal(idsOf(found), ids, JSON.stringify(text))
        equal(await store.count({ conversationId: id, text }), ids.length, `${JSON.stringify(text)}, counted`)
      }
      const kinds = ['PauseEvent', 'CondensationSummaryEvent'] as const
      const others = await store.search({ conversationId: id, text: 'say', kinds })
      equal(others.items, [], 'in other kinds')
    },
  },
  {
    name: 'search: invalid limits, kinds, sources, orders and ids are invalid_query',
    async run({ store }) {
      const conversationId = await begin(store, 'c', [pause('a')])
      const wrong: readonly Readonly<Record<string, unknown>>[] = [
        { limit: 0 },
        { limit: -1 },
        { limit: 101 },
        { limit: 1.5 },
        { limit: '10' },
        { kinds: ['Pause'] },
        { kinds: ['toString'] },
        { kinds: 'PauseEvent' },
        { excludeKinds: ['pauseevent'] },
        { source: 'robot' },
        { order: 'TIMESTAMP' },
        { text: 7 },
        { leafId: '' },
        { leafId: '\ud800' },
        { conversationId: '' },
        { conversationId: undefined },
        { conversationId: 'c\u0000' },
      ]
      for (const fields of wrong) {
        const call = () => store.search({ conversationId, ...fields })
        const error = await rejects('invalid_query', JSON.stringify(fields), call)
        equal(error.data['field'], Object.keys(fields)[0], 'the field in the error')
      }
      await rejects('invalid_query', 'counted', () =>
        store.count({ conversationId, kinds: ['Pause' as 'PauseEvent'] }),
      )
      equal((await store.search({ conversationId, limit: 100 })).items.length, 1, 'the largest limit')
    },
  },
]
