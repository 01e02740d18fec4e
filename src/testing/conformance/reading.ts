import { parseInstant } from '../../event/time.ts'
import type { StoredEvent } from '../../store/contract/query.ts'
import { equal, rejects, rejectsEach } from './assert.ts'
import { type Check, it, large, test } from './check.ts'
import { begin, NO_TEXTS, pause, pauses, pluck, say } from './facts.ts'
import { finds } from './pages.ts'

const idsOrNull = (events: readonly (StoredEvent | null)[]): (string | null)[] =>
  events.map((event) => event?.id ?? null)

export const READING: readonly Check[] = [
  test('read: results survive JSON, up to the limits of dates', async (store) => {
    const [first, last] = ['0000-01-01T00:00:00.000001+23:59', '9999-12-31T23:59:59.999999-23:59']
    const times = [first, '2255-06-06T00:00:00.000001Z', last]
    const id = await begin(store, 'c')
    const input = times.map((timestamp, time) => pause(`p${time}`, { timestamp }))
    const { events } = await store.append(id, input, { mode: 'import' })
    const page = await store.search({ conversationId: id })
    const others = [await store.read(id), await store.get(id, 'p1'), await store.getMany(id, ['p2'])]
    for (const result of [page, events, ...others])
      equal(JSON.parse(JSON.stringify(result)), result, 'the result after JSON')
    const expected = times.map((timestamp) => String(parseInstant(timestamp)))
    equal(pluck(page.items, 'time'), expected, 'times, to the microsecond')
  }),
  test('read: reads forward and backward, from any position, up to a limit', async (store) => {
    const id = await begin(store, 'c', pauses(10))
    const cases: readonly (readonly [Parameters<typeof store.read>[1], readonly number[]])[] = [
      [{}, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
      [{ limit: 3 }, [0, 1, 2]],
      [{ from: 4, limit: 3 }, [4, 5, 6]],
      [{ from: 8 }, [8, 9]],
      [{ from: 10 }, []],
      [{ from: 1000 }, []],
      [{ direction: 'backward', limit: 3 }, [9, 8, 7]],
      [{ direction: 'backward', from: 4 }, [4, 3, 2, 1, 0]],
      [{ direction: 'backward', from: 4, limit: 2 }, [4, 3]],
      [{ direction: 'backward', from: 0 }, [0]],
      [{ direction: 'backward', from: 1000, limit: 2 }, [9, 8]],
      [{ direction: 'forward', from: 9, limit: 1_000_000 }, [9]],
    ]
    for (const [options, expected] of cases) {
      const events = await store.read(id, options)
      equal(pluck(events, 'seq'), expected, `read with ${JSON.stringify(options)}`)
    }
  }),
  test('read: returns at most 1,000 events without a limit', async (store) => {
    const id = await begin(store, 'c', pauses(1100))
    equal((await store.read(id)).length, 1000, 'number of events')
    equal((await store.read(id, { direction: 'backward' })).map(({ seq }) => seq).at(-1), 100, 'last seq')
  }),
  it('read: an empty log returns nothing, an unknown conversation is an error', async (store, id) => {
    equal(await store.read(id), [], 'events')
    equal(await store.read(id, { direction: 'backward' }), [], 'events backward')
    await rejects('unknown_conversation', 'an unknown conversation', () => store.read('d'))
  }),
  test('read: invalid positions, limits and directions are invalid_argument', async (store) => {
    const id = await begin(store, 'c', pauses(3))
    await rejectsEach('invalid_argument', [-1, 0.5], (from) => store.read(id, { from }))
    await rejectsEach('invalid_argument', [0, -1, Number.NaN], (limit) => store.read(id, { limit }))
    const invalid = ['up' as 'forward']
    await rejectsEach('invalid_argument', invalid, (direction) => store.read(id, { direction }))
  }),
  test('get: returns the event with an id, else null', async (store) => {
    const id = await begin(store, 'c', [pause('a'), say('m', 'x')])
    await begin(store, 'd', [pause('there')])
    equal(await store.get(id, 'm'), (await store.read(id))[1], 'an event')
    const ids = ['nowhere', 'there', '', 'A', 'a ', '__root__', 'a\u0000', '\ud800', 'x'.repeat(1000)]
    for (const missing of [...ids, ...NO_TEXTS]) {
      equal(await store.get(id, missing), null, `get ${JSON.stringify(missing)}`)
      equal(await store.getMany(id, [missing]), [null], `getMany ${JSON.stringify(missing)}`)
    }
    equal(await store.get('nowhere', 'a'), null, 'an event of an unknown conversation')
  }),
  test('getMany: returns events in the order of the ids, with repetitions, and null for missing ones', async (store) => {
    const id = await begin(store, 'c', [pause('a'), pause('b'), pause('d')])
    const requested = ['d', 'nowhere', 'a', 'd', '', 'a\u0000', '\ud800', 'b']
    const result = await store.getMany(id, requested)
    equal(idsOrNull(result), ['d', null, 'a', 'd', null, null, null, 'b'], 'ids')
    equal(result[2], await store.get(id, 'a'), 'an event')
    equal(await store.getMany(id, []), [], 'events of no ids')
    equal(await store.getMany('nowhere', ['a', 'b']), [null, null], 'events of an unknown conversation')
  }),
  large('getMany: thousands at once', async (store) => {
    const id = await begin(store, 'c', pauses(40))
    const requested = Array.from({ length: 40_000 }, (_, i) => `p${i % 50}`)
    const expected = requested.map((each, i) => (i % 50 < 40 ? each : null))
    equal(idsOrNull(await store.getMany(id, requested)), expected, 'ids')
  }),
  test('conversations: the same event id in two conversations is two events', async (store) => {
    const one = await begin(store, 'c', pauses(3))
    const two = await begin(store, 'C', [say('p1', 'other'), pause('q')])
    const seqs = [(await store.get(one, 'p1'))?.seq, (await store.get(two, 'p1'))?.seq]
    equal(seqs, [1, 0], 'the positions of the id in both')
    await finds(store, { conversationId: one }, ['p0', 'p1', 'p2'])
    await finds(store, { conversationId: two }, ['p1', 'q'])
    equal(await store.deleteConversation(two), true, 'the result of deleting')
    equal((await store.read(one)).length, 3, 'number of remaining events')
  }),
]
