/** Checks of time: instants and not texts are compared, to the microsecond, and ties go by position (design D10). */

import { equal, rejects } from './assert.ts'
import type { Check } from './check.ts'
import { begin, idsOf, pause, pluck } from './facts.ts'
import { searchAll } from './pages.ts'

const IN_ORDER: readonly (readonly [id: string, timestamp: string])[] = [
  ['early', '0001-01-01T00:00:00Z'],
  ['before', '1969-12-31T23:59:59.999999Z'],
  ['zero', '1970-01-01T00:00:00'],
  ['zone', '2026-01-01T12:00:00+14:00'],
  ['plain', '2025-12-31T22:00:00.5'],
  ['west', '2025-12-31T14:00:01-08:00'],
  ['whole', '2026-01-01T00:00:00Z'],
  ['micro', '2026-01-01T00:00:00.000001Z'],
  ['micro9', '2026-01-01T00:00:00.000002999'],
  ['tenth', '2026-01-01 00:00:00.1'],
  ['east', '2026-01-01T05:45:00.2+0545'],
  ['late', '9999-12-31T23:59:59.999999-23:59'],
]

const shuffled = (): { readonly id: string; readonly timestamp: string }[] =>
  IN_ORDER.map(([id, timestamp]) => ({ id, timestamp })).toSorted((a, b) => (a.id < b.id ? -1 : 1))

export const TIMES: readonly Check[] = [
  {
    name: 'time: events are ordered by instant, whatever their zone and however they are written',
    async run({ store }) {
      const facts = shuffled().map(({ id, timestamp }) => pause(id, { timestamp }))
      const id = await begin(store, 'c', facts)
      const upwards = IN_ORDER.map(([ownValue]) => ownValue)
      for (const limit of [1, 5, 100]) {
        const up = await searchAll(store, { conversationId: id, limit })
        equal(idsOf(up), upwards, `upwards, ${limit} a page`)
        const down = await searchAll(store, { conversationId: id, limit, order: 'timestamp_desc' })
        equal(idsOf(down), upwards.toReversed(), `downwards, ${limit} a page`)
      }
      const texts = await store.getMany(id, upwards)
      const timestamps = texts.map((event) => (event?.fact as { timestamp?: string } | undefined)?.timestamp)
      const expected = IN_ORDER.map(([, text]) => text)
      equal(timestamps, expected, 'the unchanged texts')
    },
  },
  {
    name: 'time: timestampGte includes its instant, timestampLt excludes it, in any zone',
    async run({ store }) {
      const facts = shuffled().map(({ id, timestamp }) => pause(id, { timestamp }))
      const id = await begin(store, 'c', facts)
      const upwards = IN_ORDER.map(([ownValue]) => ownValue)
      const bounds: readonly (readonly [text: string, at: number])[] = [
        ...IN_ORDER.map(([, timestamp], i) => [timestamp, i] as const),
        ['2026-01-01T01:00:00+01:00', 6],
        ['2025-12-31T19:00:00.000000-05:00', 6],
        ['2026-01-01T00:00:00.0000019Z', 7],
        ['2026-01-01T00:00:00.000003Z', 9],
        ['2025-12-31T23:59:59.999999', 6],
        ['1970-01-01T00:00:00.000001Z', 3],
      ]
      for (const [text, index] of bounds) {
        const from = await store.search({ conversationId: id, timestampGte: text })
        equal(idsOf(from.items), upwards.slice(index), `from ${text}`)
        const until = await store.search({ conversationId: id, timestampLt: text, order: 'timestamp_desc' })
        equal(idsOf(until.items), upwards.slice(0, index).toReversed(), `until ${text}`)
        const count = await store.count({ conversationId: id, timestampGte: text })
        equal(count, upwards.length - index, `from ${text}, counted`)
      }
      const none = await store.search({
        conversationId: id,
        timestampGte: '2027-01-01T00:00:00',
        timestampLt: '2026-01-01T00:00:00',
      })
      equal(none, { items: [], cursor: null }, 'from later than until')
    },
  },
  {
    name: 'time: ties go by position, downwards as well, on whatever page they fall',
    async run({ store }) {
      const timestamps = ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00+01:00', '2026-01-01T00:00:00.000000']
      const facts = Array.from({ length: 20 }, (_, i) =>
        pause(`p${i}`, { timestamp: timestamps[i % 3] as string }),
      )
      const id = await begin(store, 'c', [pause('last', { timestamp: '2026-01-02T00:00:00Z' }), ...facts])
      const expected = [...facts.map((fact) => fact.id as string), 'last']
      for (const limit of [1, 2, 3, 7, 20, 21]) {
        const found = idsOf(await searchAll(store, { conversationId: id, limit }))
        equal(found, expected, `upwards, ${limit} a page`)
        const down = await searchAll(store, { conversationId: id, limit, order: 'timestamp_desc' })
        equal(idsOf(down), expected.toReversed(), `downwards, ${limit} a page`)
      }
    },
  },
  {
    name: 'time: an event without a readable time has the time of the event before it',
    async run({ store }) {
      const id = await begin(store, 'c', [
        pause('a'),
        pause('b', { timestamp: '2026-01-02T00:00:00Z' }),
        pause('d', { timestamp: 'yesterday' }),
        pause('e', { timestamp: '2026-01-01T00:00:00Z' }),
      ])
      await store.append(id, [pause('f', { timestamp: '2026-02-30T00:00:00Z' })])
      const days = ['0', '1767312000000000', '1767312000000000', '1767225600000000', '1767225600000000']
      equal(pluck(await store.read(id), 'time'), days, 'times')
      equal(idsOf((await store.search({ conversationId: id })).items), ['a', 'e', 'f', 'b', 'd'], 'order')
    },
  },
  {
    name: 'time: a bound that cannot be read is invalid_query',
    async run({ store }) {
      const id = await begin(store, 'c')
      for (const text of [
        '',
        'yesterday',
        '2026-01-01',
        '2026-02-30T00:00:00Z',
        '2026-01-01T24:00:00Z',
        '1767225600',
      ]) {
        const gte = await rejects('invalid_query', text, () =>
          store.search({ conversationId: id, timestampGte: text }),
        )
        equal(gte.data['field'], 'timestampGte', 'the field in the error')
        await rejects('invalid_query', text, () => store.count({ conversationId: id, timestampLt: text }))
      }
    },
  },
]
