/** Appends to a live conversation over each store: stamped fields, deduplication and rejections. */

import { afterAll, describe, expect, expectTypeOf, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Event } from '../../src/event/types.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type LoggedEvent, toLogged } from '../../src/conversation/logged-event.ts'
import { action, moveHead, pause, user } from '../build.ts'
import { idsOf, withoutId, openEngines, openEngine } from './engines.ts'
import { backends } from './backends.ts'
import { wrapStore } from './stores.ts'

const BACKENDS = backends()
afterAll(() => BACKENDS.remove())

/** Timestamp in the body of a stored event. */
const timeOf = (stored: LoggedEvent | undefined): string | undefined =>
  (stored?.fact as Event | undefined)?.timestamp

describe.each(BACKENDS.names)('a conversation over %s', (name) => {
  it('append() stamps id, timestamp and parent_id, and returns the stored events', async () => {
    const { conversation, store, close } = await openEngine(await BACKENDS.make(name))
    const [first] = await conversation.append(withoutId(user('hello')))
    const [second, third] = await conversation.append([withoutId(user('on')), pause('p')])
    expect(first?.fact).toMatchObject({ id: first?.id, timestamp: expect.stringMatching(/^\d{4}-.*Z$/) })
    expect(first?.fact.parent_id).toBeUndefined()
    expect(second?.fact.parent_id).toBe(first?.id)
    expect(third).toMatchObject({ id: 'p', seq: 2, parentId: second?.id })
    expect((await store.read('c')).map(toLogged)).toEqual([first, second, third])
    // The stored event is plain JSON.
    expect(JSON.parse(JSON.stringify(third))).toEqual(third)
    await conversation.navigate(null)
    const [root] = await conversation.append(withoutId(user('again')))
    expect(root?.fact.parent_id).toBe('__root__')
    await close()
  })

  it('the id of an appended event can be passed on without a check for null', async () => {
    const { conversation, close } = await openEngine(await BACKENDS.make(name))
    for (const { id, fact } of await conversation.sendMessage('Hello')) {
      expectTypeOf(fact).toEqualTypeOf<Event>()
      await conversation.editAndResend(id, 'Good morning')
    }
    expect(await conversation.branches()).toHaveLength(2)
    await close()
  })

  it('search() returns the appended events in pages, as plain JSON', async () => {
    const { conversation, close } = await openEngine(await BACKENDS.make(name))
    const events = await conversation.append([user('a', 'one'), pause('p'), user('b', 'two')])
    const [first, second] = [events[0], events[2]]
    const query = { kinds: ['MessageEvent'], order: 'timestamp_desc', limit: 1 } as const
    const latest = await conversation.search(query)
    expect(latest.items).toEqual([second])
    expect(JSON.parse(JSON.stringify(latest))).toEqual(latest)
    const cursor = latest.cursor as string
    expect(await conversation.search({ ...query, cursor })).toEqual({ items: [first], cursor: null })
    expect((await conversation.search()).items).toEqual(events)
    await expect(conversation.search({ limit: 0 })).rejects.toMatchObject({ code: 'invalid_query' })
    await close()
    await expect(conversation.search()).rejects.toMatchObject({ code: 'closed' })
  })

  it('a repeated append returns the stored events, wherever HEAD is now', async () => {
    const [{ conversation: one, store, close }, { conversation: two, close: closeTwo }] = await openEngines(
      await BACKENDS.make(name),
    )
    const batch = [user('a'), user('b'), user('d')]
    const first = await one.append(batch)
    await one.navigate('a')
    await one.append(user('e'))
    const before = await store.read('c')
    for (const conversation of [one, two]) {
      expect(await conversation.append(batch)).toEqual(first)
      expect(await conversation.append(batch, { expected: 'none' })).toEqual(first)
      expect(await conversation.append({ ...user('b'), timestamp: timeOf(first[1]) as string })).toEqual([
        first[1],
      ])
      expect(await conversation.append({ ...user('b'), parent_id: 'a' })).toEqual([first[1]])
    }
    expect(await store.read('c')).toEqual(before)
    // Some events of the batch are known. The new ones are appended at HEAD.
    const partly = await two.append([user('b'), user('f'), user('a')])
    expect(idsOf(partly)).toEqual(['b', 'f', 'a'])
    expect(partly[1]).toMatchObject({
      seq: before.length,
      parentId: 'e',
      fact: { timestamp: expect.any(String) },
    })
    expect(partly[0]).toEqual(first[1])
    await close()
    await closeTwo()
  })

  it('an append of an event that was imported without a timestamp returns the stored event', async () => {
    const { conversation, store, close } = await openEngine(await BACKENDS.make(name))
    await store.append('c', [user('old')], { mode: 'import' })
    const [stored] = await conversation.append(user('old'))
    expect(timeOf(stored)).toBeUndefined()
    expect((await store.read('c')).length).toBe(1)
    await close()
  })

  it('append() rejects another body under a known id with id_conflict, and stores nothing', async () => {
    const [{ conversation: one, store, close }, { conversation: two, close: closeTwo }] = await openEngines(
      await BACKENDS.make(name),
    )
    await one.append([user('a'), user('b')])
    const before = await store.read('c')
    const others: Event[] = [
      user('a', 'other'),
      pause('a'),
      { ...user('b'), parent_id: '__root__' },
      { ...user('a'), timestamp: '2020-01-01T00:00:00Z' },
    ]
    for (const other of others) {
      for (const conversation of [one, two]) {
        await expect(conversation.append([user('new'), other])).rejects.toMatchObject({ code: 'id_conflict' })
      }
    }
    await expect(one.append([user('x'), user('x', 'other')])).rejects.toMatchObject({ code: 'id_conflict' })
    expect(await store.read('c')).toEqual(before)
    expect(idsOf(await one.append([user('x'), user('x')]))).toEqual(['x', 'x'])
    await close()
    await closeTwo()
  })

  it('append() accepts `expected` any, none or a version, and a conflict reports the version', async () => {
    const [{ conversation: one, close }, { conversation: two, close: closeTwo }] = await openEngines(
      await BACKENDS.make(name),
    )
    await one.append(user('a'), { expected: 'none' })
    await expect(two.append(user('b'), { expected: 'none' })).rejects.toMatchObject({
      code: 'version_conflict',
      data: { version: 1 },
    })
    await two.append(user('b'), { expected: 1 })
    // The first engine has not read since.
    await expect(one.append(user('d'), { expected: 1 })).rejects.toMatchObject({
      code: 'version_conflict',
      data: { version: 2 },
    })
    await expect(one.append(user('d'), { expected: 3 })).rejects.toMatchObject({ code: 'version_conflict' })
    expect(await one.append([], { expected: 9 })).toEqual([])
    await one.append(user('d'), { expected: 'any' })
    expect((await two.state()).log.entries.length).toBe(3)
    await close()
    await closeTwo()
  })

  it('append() rejects invalid events, and stores nothing of the batch', async () => {
    const { conversation, store, close } = await openEngine(await BACKENDS.make(name))
    let deep: unknown = 1
    for (let i = 0; i < 600; i += 1) deep = { deep }
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    const getter = { kind: 'ConversationStateUpdateEvent', key: 'k' }
    Object.defineProperty(getter, 'value', { enumerable: true, get: () => 1 })
    const bad: [unknown, RegExp][] = [
      [{ kind: 'NewsEvent' }, /kind/],
      [{ ...user('a'), extra: 1 }, /extra/],
      [{ ...user('a'), id: '' }, /id/],
      [{ ...user('a'), id: '__root__' }, /id/],
      [{ ...user('a'), id: null }, /id/],
      [{ ...user('a'), timestamp: 7 }, /timestamp/],
      [{ kind: 'ConversationStateUpdateEvent', key: 'k', value: deep }, /value.*512/],
      [{ kind: 'ConversationStateUpdateEvent', key: 'k', value: cycle }, /value/],
      [getter, /value/],
      [new Map([['kind', 'PauseEvent']]), /./],
      [null, /./],
      [undefined, /./],
      ['PauseEvent', /./],
      [[pause('p')], /./],
    ]
    for (const [value, message] of bad) {
      const failure = conversation.append([user('good'), value as Event])
      await expect(failure).rejects.toMatchObject({ code: 'invalid_event', data: { at: 1 } })
      await expect(failure).rejects.toThrow(message)
    }
    // A sparse array is not a list of events.
    const gap: Event[] = [user('good')]
    gap[2] = user('late')
    await expect(conversation.append(gap)).rejects.toMatchObject({ code: 'invalid_event', data: { at: 1 } })
    const delta: Event = { kind: 'StreamingDeltaEvent', content: 'x' }
    await expect(conversation.append([user('good'), delta])).rejects.toMatchObject({
      code: 'transient_event',
    })
    await expect(
      conversation.append([user('good'), { ...user('x'), parent_id: 'nope' }]),
    ).rejects.toMatchObject({ code: 'unknown_parent' })
    await expect(conversation.append([user('good'), { ...user('x'), parent_id: 'x' }])).rejects.toMatchObject(
      { code: 'unknown_parent' },
    )
    await expect(conversation.append([user('good'), moveHead('m', 'nope')])).rejects.toMatchObject({
      code: 'unknown_event',
    })
    expect(() => conversation.publish(pause('p'))).toThrow(/Append it/)
    expect(await store.read('c')).toEqual([])
    await close()
  })

  it('commands reject invalid arguments with invalid_event, and append nothing', async () => {
    const { conversation, store, close } = await openEngine(await BACKENDS.make(name))
    await conversation.append([user('u'), action('a')])
    const cycle: Record<string, unknown> = { kind: 'AlwaysConfirm' }
    cycle['self'] = cycle
    const commands = [
      () => conversation.setConfirmationPolicy(cycle as never),
      () => conversation.setConfirmationPolicy({ kind: 1n } as never),
      () => conversation.reject(['a'], 7 as never),
      () => conversation.sendMessage(7 as never),
      () => conversation.sendMessage({ role: 'nobody', content: [] } as never),
      () => conversation.sendMessage({ role: 'assistant', content: [{ text: 'forged' }] } as never),
      () => conversation.editAndResend('u', { role: 'system', content: [{ text: 'forged' }] } as never),
      () => conversation.sendMessage('hi', { sender: 7 as never }),
      () => conversation.editAndResend('u', null as never),
    ]
    for (const command of commands) await expect(command()).rejects.toMatchObject({ code: 'invalid_event' })
    for (const key of [null, '', 7])
      await expect(conversation.sendMessage('hi', { key: key as never })).rejects.toMatchObject({
        code: 'invalid_argument',
      })
    expect((await store.read('c')).length).toBe(2)
    await close()
  })

  it('concurrent sends with the same key from two engines append one message', async () => {
    const [{ conversation: one, store, close }, { conversation: two, close: closeTwo }] = await openEngines(
      await BACKENDS.make(name),
    )
    const sent = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        (i % 2 === 0 ? one : two).sendMessage('hello', { key: `k${Math.floor(i / 4)}` }),
      ),
    )
    const log = (await store.read('c')).map(toLogged)
    expect(log.length).toBe(3)
    for (const events of sent) expect(log).toContainEqual(events[0])
    await one.navigate(null)
    await one.sendMessage('elsewhere')
    expect(await two.sendMessage('hello', { key: 'k0' })).toEqual(sent[0])
    for (const conversation of [one, two]) {
      await expect(conversation.sendMessage('other', { key: 'k0' })).rejects.toMatchObject({
        code: 'id_conflict',
      })
      await expect(conversation.sendMessage('hello', { key: 'k0', sender: 'eve' })).rejects.toMatchObject({
        code: 'id_conflict',
      })
    }
    // Messages without a key are never deduplicated; keys are scoped to a conversation.
    await one.sendMessage('hello')
    await one.sendMessage('hello')
    expect((await store.read('c')).length).toBe(log.length + 4)
    await close()
    await closeTwo()
  })
})

describe('append()', () => {
  it('succeeds although the log cannot be read afterwards', async () => {
    const store = memoryStore()
    let breaks = false
    const failing = wrapStore(store, {
      async read(...input) {
        if (breaks) throw new Error('gone')
        return store.read(...input)
      },
    })
    const conversation = await createEngine({ store: failing }).create({ id: 'c' })
    await conversation.state()
    await store.append('c', [user('of another')])
    breaks = true
    expect((await conversation.append(user('a')))[0]?.seq).toBe(1)
    await expect(conversation.state()).rejects.toThrow('gone')
    breaks = false
    expect((await conversation.state()).log.entries.length).toBe(2)
  })

  it('stamps events with the clock and the ids of the engine', async () => {
    let n = 0
    const engine = createEngine({
      store: memoryStore(),
      clock: () => 1_000_000n,
      newId: () => `n${(n += 1)}`,
      cacheBytes: Number.POSITIVE_INFINITY,
    })
    const conversation = await engine.create()
    expect(conversation.id).toBe('n1')
    const events = await conversation.append([
      withoutId(user('a')),
      { ...withoutId(user('b')), timestamp: '2026-01-01T00:00:00' },
    ])
    expect(events.map(({ fact }) => [fact.id, (fact as Event).timestamp])).toEqual([
      ['n2', '1970-01-01T00:00:01.000000Z'],
      ['n3', '2026-01-01T00:00:00'],
    ])
  })
})

it('an event is never stamped before the previous one, even if clocks differ or go back', async () => {
  const store = memoryStore()
  let micros = 2_000_000n
  const [ahead, behind] = [
    createEngine({ store, clock: () => micros }),
    createEngine({ store, clock: () => 1n }),
  ]
  const conversation = await ahead.create({ id: 'c' })
  await conversation.append(withoutId(pause('')))
  micros = 500_000n
  await conversation.append(withoutId(pause('')))
  const other = await behind.open('c')
  await other.state()
  await other.append([withoutId(pause('')), withoutId(pause(''))])
  // A timestamp from the caller is kept.
  await other.append({ ...withoutId(pause('')), timestamp: '1970-01-01T00:00:00Z' })
  await other.append(withoutId(pause('')))
  await other.append([{ ...withoutId(pause('')), timestamp: '1970-01-01T00:00:03Z' }, withoutId(pause(''))])
  const fork = await other.fork()
  const timesOf = async (id: string) => (await store.read(id)).map((event) => timeOf(toLogged(event)))
  const times = await timesOf('c')
  const second = '1970-01-01T00:00:02.000000Z'
  expect(times.slice(0, 4)).toEqual([second, second, second, second])
  expect(times.slice(4, 6)).toEqual(['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000001Z'])
  expect(times.slice(6)).toEqual(['1970-01-01T00:00:03Z', '1970-01-01T00:00:03Z'])
  expect(await timesOf(fork.id)).toEqual([...times, '1970-01-01T00:00:03.000000Z'])
  await ahead.close()
  await behind.close()
})

it.each([
  ['Asia/Tokyo', '1970-01-01T09:30:00', '1970-01-01T01:00:00.000000Z'],
  ['Asia/Tokyo', '1970-01-01T10:30:00', '1970-01-01T01:30:00.000000Z'],
  ['America/New_York', '1969-12-31T19:30:00', '1970-01-01T01:00:00.000000Z'],
  ['America/New_York', '1969-12-31T20:30:00', '1970-01-01T01:30:00.000000Z'],
  [null, '1970-01-01T00:30:00', '1970-01-01T01:00:00.000000Z'],
  [null, '1970-01-01T01:30:00', '1970-01-01T01:30:00.000000Z'],
  [null, 'unreadable', '1970-01-01T01:00:00.000000Z'],
])(
  'a time without a zone is in the time zone %s of its conversation: after %s follows %s',
  async (timeZone, timestamp, next) => {
    const store = memoryStore()
    const engine = createEngine({ store, clock: () => 3_600_000_000n })
    const conversation = await engine.create({ timeZone })
    await store.append(conversation.id, [{ ...user('imported'), timestamp }], { mode: 'import' })
    for (const key of ['a', 'b']) {
      const [sent] = await conversation.sendMessage('Hello', { key })
      expect(timeOf(sent)).toBe(next)
    }
    await engine.close()
  },
)
