import * as fc from 'fast-check'
import { EVENT_KINDS, type EventKind } from '../../event/kinds.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { Source } from '../../event/shapes.ts'
import type { EventFilter, EventQuery, StoredEvent } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { formatInstant } from '../../store/kit/record.ts'
import { hostileLog, secondsAfter } from '../hostile-log.ts'
import { equal, holds, rejects, rejectsEach } from './assert.ts'
import { type Check, generated, it, reopening, someOf, test } from './check.ts'
import { begin, idsOf, leaf, pause, pauses, pluck, say, storable, update } from './facts.ts'
import { finds, readsWhileWriting, searchAll, searchNaively } from './pages.ts'
import { allPages } from '../../store/kit/query/page.ts'

async function everyPath(store: Store, id: string, limit: number): Promise<void> {
  const log = await store.read(id, { limit: 10_000 })
  for (const { id: leafId } of log) {
    const filter = { conversationId: id, leafId: leafId as string }
    await finds(store, filter, idsOf(searchNaively(log, filter)), [limit])
  }
}

const turn = (i: number): Fact[] => [
  pause(`a${i}`, { parent_id: `a${i - 1}` }),
  pause(`b${i}`, { parent_id: `b${i - 1}` }),
]

const facts = (prefix: string, first: number, step: number): Fact[] =>
  Array.from({ length: 8 }, (_, i) => pause(`${prefix}${i}`, { timestamp: secondsAfter(first + step * i) }))

const talk = (prefix: string, from: number): Fact[] =>
  Array.from({ length: 12 }, (_, i) =>
    i % 3 === 0
      ? pause(`${prefix}${i}`, { timestamp: secondsAfter(from + i) })
      : say(`${prefix}${i}`, i % 2 === 0 ? 'even' : 'odd', {
          timestamp: secondsAfter(from + i),
          source: i % 4 === 0 ? 'agent' : 'user',
        }),
  )

export const PATHS: readonly Check[] = [
  test('leaf: finds branches off an old event, and branches of branches', async (store) => {
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
  }),
  test('leaf: a state update is on the path only if an event names it as its parent', async (store) => {
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
    const paths = [
      ['a', 'b', 'f'],
      ['a', 'u'],
      ['a', 'v', 'w', 'd', 'e'],
    ]
    for (const path of paths) await finds(store, { conversationId: id, leafId: path.at(-1) as string }, path)
    await everyPath(store, id, 2)
  }),
  it('leaf: finds branches off a branch that continued later', async (store, id) => {
    for (const ownId of ['a0', 'a1', 'a2']) await store.append(id, [pause(ownId)])
    await store.append(id, [pause('b0', { parent_id: '__root__' })])
    await store.append(id, [pause('b1')])
    for (const above of ['a0', 'a1', 'a2', 'b0']) {
      await store.append(id, [pause(`${above}-x`, { parent_id: above })])
      await store.append(id, [pause(`${above}-y`)])
      await store.append(id, [pause(`${above}-z`, { parent_id: 'b1' })])
    }
    await everyPath(store, id, 3)
  }),
  test('leaf: finds two branches that grow alternately, by single events and in one batch', async (store) => {
    const id = await begin(store, 'c', [pause('a0'), pause('b0', { parent_id: '__root__' })])
    for (let i = 1; i < 6; i += 1) for (const fact of turn(i)) await store.append(id, [fact])
    await store.append(id, [6, 7, 8].flatMap(turn))
    await store.append(id, [...turn(9), leaf('to', 'a3'), pause('x'), pause('y', { parent_id: 'b9' })])
    await everyPath(store, id, 5)
  }),
  test('leaf: a path is complete even if times decrease', async (store) => {
    const id = await begin(store, 'c', facts('a', 100, -3))
    await store.append(id, [leaf('to3', 'a3'), ...facts('b', 90, 4)])
    await store.append(id, [leaf('to7', 'a7'), ...facts('d', 0, 9)])
    await store.append(id, [leaf('tob', 'b2'), ...facts('e', 500, -70)])
    await everyPath(store, id, 3)
  }),
  test('leaf: combines with all other filters', async (store) => {
    const id = await begin(store, 'c', talk('a', 0))
    await store.append(id, [leaf('to5', 'a5'), ...talk('b', 20)])
    const log = await store.read(id)
    for (const leafId of ['a11', 'b11', 'b4', 'a5']) {
      for (const more of [
        { kinds: ['MessageEvent'] as const },
        { source: 'agent' as const },
        { text: 'odd' },
        { timestampGte: secondsAfter(3), timestampLt: secondsAfter(26) },
        {
          excludeKinds: ['PauseEvent'] as const,
          source: 'user' as const,
          text: 'even',
          timestampGte: secondsAfter(2),
        },
      ]) {
        const filter = { conversationId: id, leafId, ...more }
        await finds(store, filter, idsOf(searchNaively(log, filter)))
      }
    }
  }),
  test('leaf: finds a path through a hundred branches', async (store) => {
    const id = await begin(store, 'c', [pause('n0')])
    for (let i = 1; i <= 100; i += 1)
      await store.append(id, [pause(`dead${i}`), leaf(`m${i}`, `n${i - 1}`), pause(`n${i}`)])
    const expected = Array.from({ length: 101 }, (_, i) => `n${i}`)
    await finds(store, { conversationId: id, leafId: 'n100' }, expected, [17])
    const half = await store.count({ conversationId: id, leafId: 'dead50' })
    equal(half, 51, 'count of a path that ends half way')
  }),
]

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

const UPWARDS = IN_ORDER.map(([id]) => id)

/** The events in the order of their ids. */
const SHUFFLED = IN_ORDER.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([id, timestamp]) =>
  pause(id, { timestamp }),
)

export const TIMES: readonly Check[] = [
  test('time: events are ordered by instant, in any zone and format', async (store) => {
    const id = await begin(store, 'c', SHUFFLED)
    await finds(store, { conversationId: id }, UPWARDS, [1, 5, 100])
    const texts = await store.getMany(id, UPWARDS)
    const timestamps = texts.map((event) => (event?.fact as { timestamp?: string } | undefined)?.timestamp)
    const expected = IN_ORDER.map(([, text]) => text)
    equal(timestamps, expected, 'the unchanged timestamps')
  }),
  test('time: timestampGte includes its instant, timestampLt excludes it, in any zone', async (store) => {
    const id = await begin(store, 'c', SHUFFLED)
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
      await finds(store, { conversationId: id, timestampGte: text }, UPWARDS.slice(index), [100])
      await finds(store, { conversationId: id, timestampLt: text }, UPWARDS.slice(0, index), [100])
    }
    const none = { timestampGte: '2027-01-01T00:00:00', timestampLt: '2026-01-01T00:00:00' }
    await finds(store, { conversationId: id, ...none }, [])
  }),
  test('time: equal times are ordered by position, in both directions, across pages', async (store) => {
    const timestamps = ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00+01:00', '2026-01-01T00:00:00.000000']
    const facts = Array.from({ length: 20 }, (_, i) =>
      pause(`p${i}`, { timestamp: timestamps[i % 3] as string }),
    )
    const id = await begin(store, 'c', [pause('last', { timestamp: '2026-01-02T00:00:00Z' }), ...facts])
    const expected = [...facts.map((fact) => fact.id as string), 'last']
    await finds(store, { conversationId: id }, expected, [1, 2, 3, 7, 20, 21])
  }),
  test('time: an event without a readable time has the time of the event before it', async (store) => {
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
  }),
  it('time: an unreadable bound is invalid_query', async (store, id) => {
    const invalid = [
      '',
      'yesterday',
      '2026-01-01',
      '2026-02-30T00:00:00Z',
      '2026-01-01T24:00:00Z',
      '1767225600',
    ]
    await rejectsEach(
      'invalid_query',
      invalid,
      (text) => store.search({ conversationId: id, timestampGte: text }),
      () => ({ field: 'timestampGte' }),
    )
    await rejectsEach('invalid_query', invalid, (text) =>
      store.count({ conversationId: id, timestampLt: text }),
    )
  }),
]

const someKinds = fc.oneof(
  fc.constantFrom<EventKind[]>(['MessageEvent'], ['ActionEvent'], ['ConversationStateUpdateEvent'], []),
  fc.subarray([...EVENT_KINDS]),
)

/** The index of an event, and an offset in microseconds from the event's time. */
const somewhere = fc.tuple(fc.nat(120), fc.constantFrom(-1, 0, 1, -1_000_000))

const PARTS = ['', 'e', 'THE', 'Ok', '\n', '\u0000', '\ud800', '%', '_', 'why?', 'É', '😀']

/** A filter with indices of events in place of their times and ids. */
const filterPlan = someOf(
  {
    kinds: someKinds,
    excludeKinds: someKinds,
    source: fc.constantFrom<Source>('agent', 'user', 'environment', 'hook'),
    text: fc.constantFrom(...PARTS),
    gte: somewhere,
    lt: somewhere,
    leaf: fc.nat(120),
  },
  2,
)

type FilterPlan = typeof filterPlan extends fc.Arbitrary<infer Plan> ? Plan : never

const search = fc.tuple(filterPlan, fc.constantFrom(1, 2, 3, 7, 40, 100))

function filterOf(conversationId: string, plan: FilterPlan, log: readonly StoredEvent[]): EventFilter {
  const { gte, lt, leaf, ...rest } = plan
  const entry = (index: number): StoredEvent | undefined => log[index % Math.max(1, log.length)]
  const instant = ([index, shift]: readonly [number, number]): string =>
    formatInstant(BigInt(entry(index)?.time ?? 0) + BigInt(shift))
  return {
    conversationId,
    ...rest,
    ...(gte !== undefined && { timestampGte: instant(gte) }),
    ...(lt !== undefined && { timestampLt: instant(lt) }),
    ...(leaf !== undefined && { leafId: entry(leaf)?.id ?? 'nowhere' }),
  }
}

export const SEARCHING: readonly Check[] = [
  generated(
    'search: all filters work alone and combined, on any log, in pages of any size, in both directions',
    25,
    fc.tuple(hostileLog(), fc.array(search, { minLength: 6, maxLength: 10 })),
    async (store, id, [facts, plans]) => {
      const { events: log } = await store.append(id, storable(facts), { mode: 'import', expected: 'none' })
      for (const [plan, limit] of plans) {
        const filter = filterOf(id, plan, log)
        const expected = searchNaively(log, filter)
        const events = await finds(store, filter, idsOf(expected), [limit])
        equal(events, expected, JSON.stringify(filter))
      }
    },
  ),
  it('search: an empty log, an unknown conversation and an unsatisfiable filter have an empty page', async (store, id) => {
    for (const conversationId of [id, 'nowhere']) await finds(store, { conversationId }, [])
    await store.append(id, [pause('a')])
    const kinds = ['PauseEvent'] as const
    for (const none of [{ kinds: [] }, { kinds, excludeKinds: kinds }, { leafId: 'nowhere' }])
      await finds(store, { conversationId: id, ...none }, [])
  }),
  test('search: an event without a source has the default source of its kind', async (store) => {
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
    for (const source of ['user', 'agent', 'environment', 'hook'] as const)
      await finds(store, { conversationId: id, source }, expected[source])
  }),
  test('search: text is found only in content and extended content of messages, ignoring case, without patterns', async (store) => {
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
    for (const [text, ids] of cases) await finds(store, { conversationId: id, text }, ids)
    const kinds = ['PauseEvent', 'CondensationSummaryEvent'] as const
    await finds(store, { conversationId: id, text: 'say', kinds }, [])
  }),
  test('search: invalid limits, kinds, sources, orders and ids are invalid_query', async (store) => {
    const conversationId = await begin(store, 'c', [pause('a')])
    const invalid: readonly Readonly<Record<string, unknown>>[] = [
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
    await rejectsEach(
      'invalid_query',
      invalid,
      (fields) => store.search({ conversationId, ...fields }),
      (fields) => ({ field: Object.keys(fields)[0] }),
    )
    await rejects('invalid_query', 'a count', () =>
      store.count({ conversationId, kinds: ['Pause' as 'PauseEvent'] }),
    )
    equal((await store.search({ conversationId, limit: 100 })).items.length, 1, 'events with limit 100')
  }),
]

const mixed = (count: number, prefix: string, hour = '00') =>
  Array.from({ length: count }, (_, i) =>
    (i % 3 === 0 ? pause : (id: string, more: object) => say(id, 'word', more))(`${prefix}${i}`, {
      timestamp: `2026-01-01T${hour}:00:${String((i * 7) % 11).padStart(2, '0')}Z`,
    }),
  )

const ORDERS = ['timestamp', 'timestamp_desc'] as const

async function cursorOf(store: Store, query: EventQuery): Promise<string> {
  const { cursor } = await store.search(query)
  if (cursor === null) throw new Error(`there is no second page of ${JSON.stringify(query)}`)
  return cursor
}

export const CURSORS: readonly Check[] = [
  test('cursor: pages with a limit of bytes partition the result, and have at least one event', async (store) => {
    const sizes = [10, 100, 40_000, 10, 90_000, 150_000, 10, 10, 70_000, 10]
    const facts = sizes.map((size, i) => say(`p${i}`, `x${'漢'.repeat(size / 3)}`))
    const id = await begin(store, 'c', facts)
    const leafId = `p${sizes.length - 1}`
    for (const order of ORDERS) {
      for (const filter of [{}, { kinds: ['MessageEvent'] as const }, { text: 'x' }, { leafId }]) {
        const query = { conversationId: id, order, ...filter }
        const whole = idsOf(await searchAll(store, query))
        equal(whole.length, sizes.length, 'number of events found')
        for (const maxBytes of [1, 1_000, 100_000, 10_000_000]) {
          const matches: (string | null)[] = []
          for await (const items of allPages((start) => store.search({ ...query, maxBytes, ...start }))) {
            const bytes = items.map(({ fact }) => new TextEncoder().encode(JSON.stringify(fact)).length)
            const before = bytes.slice(0, -1).reduce((sum, each) => sum + each, 0)
            holds(items.length > 0, `a page is empty, maxBytes ${maxBytes}`)
            holds(before < maxBytes + 2_000, `a page continues after ${before} bytes, maxBytes ${maxBytes}`)
            matches.push(...idsOf(items))
          }
          equal(matches, whole, `ids with maxBytes ${maxBytes}, ${order}`)
        }
      }
    }
    await rejects('invalid_query', 'maxBytes 0', () => store.search({ conversationId: id, maxBytes: 0 }))
  }),
  test('cursor: it is null exactly on the last page', async (store) => {
    const id = await begin(store, 'c', mixed(20, 'p'))
    for (const order of ORDERS) {
      for (const limit of [19, 20, 21, 100]) {
        const { cursor: next } = await store.search({ conversationId: id, order, limit })
        equal(next !== null, limit < 20, `whether ${limit} of 20 events have a cursor, ${order}`)
      }
    }
    // The page has all seven pauses. Later events that the filter excludes must not cause a cursor.
    const seven = { conversationId: id, kinds: ['PauseEvent'] as const, limit: 7 }
    const { items, cursor: next } = await store.search(seven)
    equal([items.length, next], [7, null], 'number of pauses, and the cursor')
  }),
  test('cursor: appending while paging repeats and skips no earlier events, in both directions', async (store) => {
    for (const [i, more] of [
      {},
      { kinds: ['MessageEvent'] as const },
      { excludeKinds: ['MessageEvent'] as const },
      { text: 'WORD' },
      { leafId: 'p39' },
    ].entries()) {
      for (const order of ORDERS) {
        const id = await begin(store, `c${i}${order}`, mixed(40, 'p', '01'))
        const query = { conversationId: id, order, limit: 3, ...more }
        // New events are before, between and after the old events. Offsets would repeat events; times would
        // skip some.
        const batch = (nth: number) =>
          ['00', '01', '02'].flatMap((hour) => mixed(4, `x${nth}-${hour}-`, hour))
        await readsWhileWriting(
          3,
          idsOf(await searchAll(store, query)),
          (cursor) => store.search({ ...query, ...cursor }),
          (event) => event.id,
          (nth) => store.append(id, batch(nth)),
        )
      }
    }
  }),
  test('cursor: a cursor of another conversation, filter, order or list is invalid_cursor, foreign', async (store) => {
    const id = await begin(store, 'c', mixed(20, 'p'))
    const other = await begin(store, 'd', mixed(20, 'p'))
    const query: EventQuery = {
      conversationId: id,
      limit: 5,
      kinds: ['MessageEvent', 'PauseEvent'],
      timestampGte: '2026-01-01T00:00:00Z',
    }
    const cursor = await cursorOf(store, query)
    const changes: readonly Partial<EventQuery>[] = [
      { conversationId: other },
      { order: 'timestamp_desc' },
      { kinds: ['MessageEvent'] },
      { excludeKinds: ['PauseEvent'] },
      { source: 'user' },
      { text: 'word' },
      { timestampGte: '2026-01-01T00:00:00.000001Z' },
      { timestampLt: '2027-01-01T00:00:00Z' },
      { leafId: 'p19' },
    ]
    await rejectsEach(
      'invalid_cursor',
      changes,
      (change) => store.search({ ...query, cursor, ...change }),
      () => ({ reason: 'foreign' }),
    )
    await rejects('invalid_cursor', 'an event cursor in a list of conversations', () =>
      store.listConversations({ cursor }),
    )
    const listed = (await store.listConversations({ limit: 1 })).cursor as string
    await rejects('invalid_cursor', 'a conversation cursor in a search of events', () =>
      store.search({ ...query, cursor: listed }),
    )
    const same: EventQuery = {
      ...query,
      cursor,
      kinds: ['PauseEvent', 'MessageEvent', 'PauseEvent'],
      timestampGte: '2026-01-01T01:00:00+01:00',
      order: 'timestamp',
      limit: 50,
    }
    const whole = await searchAll(store, { ...query, limit: 20 })
    const rest = (await store.search(same)).items
    equal(rest, whole.slice(5), 'the rest, by an equivalent query')
  }),
  test('cursor: an altered or truncated cursor is invalid_cursor', async (store) => {
    const id = await begin(store, 'c', pauses(5))
    const cursor = await cursorOf(store, { conversationId: id, limit: 2 })
    holds(/^[\w-]{1,500}$/.test(cursor), `a cursor is too long or not safe in a URL: ${cursor}`)
    const longer = [`${cursor}A`, `A${cursor}`, `${cursor}=`, ` ${cursor}`]
    const others = ['', 'x', '0', '2', 'p1', '{}', ' ', '\u0000', '😀', cursor.toUpperCase()]
    const invalid = new Set([...longer, ...others])
    for (let index = 0; index < cursor.length; index += 1) {
      invalid.add(cursor.slice(0, index))
      invalid.add(cursor.slice(0, index) + (cursor[index] === 'A' ? 'B' : 'A') + cursor.slice(index + 1))
    }
    invalid.delete(cursor)
    await rejectsEach('invalid_cursor', invalid, (text) => store.search({ conversationId: id, cursor: text }))
    const rest = idsOf((await store.search({ conversationId: id, cursor })).items)
    equal(rest, ['p2', 'p3', 'p4'], 'ids after the unaltered cursor')
  }),
  reopening(
    'cursor: it is valid until the conversation is deleted, also in another process',
    async (store, { reopen }) => {
      const id = await begin(store, 'c', pauses(5))
      const cursor = await cursorOf(store, { conversationId: id, limit: 2 })
      const again = await reopen()
      const second = idsOf((await again.search({ conversationId: id, cursor })).items)
      equal(second, ['p2', 'p3', 'p4'], 'ids on the second page')
    },
  ),
]
