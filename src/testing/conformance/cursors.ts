import type { EventQuery } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { allPages } from '../../store/kit/query/page.ts'
import { equal, holds, rejects, rejectsEach } from './assert.ts'
import { type Check, reopening, test } from './check.ts'
import { begin, idsOf, pause, pauses, say } from './facts.ts'
import { readsWhileWriting, searchAll } from './pages.ts'

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
        // New events before, between and after: an offset would repeat events, a time alone would skip some.
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
