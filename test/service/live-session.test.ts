import { afterEach, describe, expect, it } from 'vitest'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import { loadLine } from '../../src/event/load.ts'
import type { Frame } from '../../src/service/live/server-frames.ts'
import { FrameCache, session } from '../../src/service/live/live.ts'
import type { StartValues } from '../../src/service/live/start.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import { wrapStore } from '../conversation/stores.ts'
import { failoverStore } from '../conversation/failover-store.ts'
import { note, notes } from './live-fixture.ts'

let engine: Engine
const stop = new AbortController()

afterEach(() => engine.close())

const FROM_NOW: StartValues = {
  after: null,
  after_event_id: null,
  resend_mode: null,
  after_timestamp: null,
  after_delta: null,
}
/** A service without active runs. */
const runs = { has: () => false, onEnd: () => () => undefined }

/** Appends four events to the conversation, and returns the frames after them. */
async function framesOfFour(store: Store) {
  engine = createEngine({ store })
  const conversation = await engine.open('c')
  await conversation.append(notes(0, 4))
  const cache = new FrameCache(1_000_000)
  const frames = await session({ engine, runs, conversation, cache, signal: stop.signal }, ALL)
  await until(frames, ({ type }) => type === 'caught_up')
  return frames
}

const ALL: StartValues = { ...FROM_NOW, resend_mode: 'all' }

/** Returns the frames up to the first match. */
async function until(
  frames: AsyncGenerator<Frame, void>,
  fits: (frame: Frame) => boolean,
): Promise<readonly Frame[]> {
  const all: Frame[] = []
  for (;;) {
    const { value } = await frames.next()
    if (value === undefined) return all
    all.push(value)
    if (fits(value)) return all
  }
}

const isEvent =
  (position: number) =>
  (frame: Frame): boolean =>
    frame.type === 'event' && frame.position === position

/** Types and positions of frames, without the full state. */
const positionsOf = (frames: readonly Frame[]): string[] =>
  frames.filter(({ type }) => type !== 'state').map(({ type, position }) => `${type} ${position}`)

describe('a reader', () => {
  it.each([
    ['no stored events', FROM_NOW, 5],
    ['the log after a position', { ...FROM_NOW, after: 1 }, 2],
    ['the log after its end', { ...FROM_NOW, after: 4 }, 5],
    ['the whole log', ALL, 0],
  ])('receives %s, and every event that is appended after its request', async (_, start, from) => {
    engine = createEngine({ store: memoryStore() })
    const conversation = await engine.create()
    await conversation.append(notes(0, 5))
    const cache = new FrameCache(1_000_000)
    const frames = await session({ engine, runs, conversation, cache, signal: stop.signal }, start)
    // Appended before the first read.
    await conversation.append([note('n5'), note('n6')])
    const input = positionsOf(await until(frames, isEvent(6)))
    const events = Array.from({ length: 7 - from }, (__, i) => `event ${from + i}`)
    expect(input.filter((position) => position.startsWith('event'))).toEqual(events)
    expect(input.filter((position) => position.startsWith('caught_up')).length).toBeLessThanOrEqual(1)
    await frames.return()
  })

  it('skips stored lines that are not events', async () => {
    engine = createEngine({ store: memoryStore() })
    const { id } = await engine.create()
    await engine.store.append(id, [note('n0'), loadLine('{"kind":"NewsEvent"}').fact], { mode: 'import' })
    const conversation = await engine.open(id)
    const cache = new FrameCache(1_000_000)
    const frames = await session({ engine, runs, conversation, cache, signal: stop.signal }, ALL)
    const before = await until(frames, ({ type }) => type === 'caught_up')
    await engine.store.append(id, [loadLine('{"kind":"OtherEvent"}').fact, note('n3')], { mode: 'import' })
    const after = await until(frames, isEvent(3))
    expect(positionsOf([...before, ...after])).toEqual(['event 0', 'caught_up 1', 'event 3'])
    await frames.return()
  })

  it.each([1, 2, 3, 4])(
    'gets the state of the new log before its first event when store read %s fails',
    async (failing) => {
      const { store: whole, failOver } = await failoverStore()
      let reads = -Infinity
      const store = wrapStore(whole, {
        async getConversation(id) {
          reads += 1
          if (reads === failing) throw new ColloquyError('store_unavailable', 'away')
          return whole.getConversation(id)
        },
      })
      const frames = await framesOfFour(store)
      reads = 0
      await failOver(2, false)
      await store.append('c', [note('other')])
      const input = await until(frames, ({ type }) => type === 'caught_up')
      const types = input.map(({ type }) => type).filter((type) => type !== 'error')
      expect(types).toEqual(['reset', 'state', 'event', 'event', 'event', 'caught_up'])
      await frames.return()
    },
  )

  it.each([
    ['', false],
    [', also after a failure of the store', true],
  ])('gets a reset and the new log when its events are lost (law B3)%s', async (_, isAway) => {
    const { store: whole, failOver } = await failoverStore()
    let fails = false
    const store = wrapStore(whole, {
      async getConversation(id) {
        if (fails) throw new ColloquyError('store_unavailable', 'away')
        return whole.getConversation(id)
      },
    })
    const frames = await framesOfFour(store)
    fails = isAway
    await failOver(2, isAway)
    if (isAway) await until(frames, ({ type }) => type === 'error')
    // Another event gets the lost event's position.
    await store.append('c', isAway ? [note('other'), note('another')] : [note('other')])
    fails = false
    const input = await until(frames, ({ type }) => type === 'caught_up')
    expect(input.map(({ type, position }) => `${type} ${position}`)).toEqual([
      'reset -1',
      'state -1',
      'event 0',
      'event 1',
      'event 2',
      ...(isAway ? ['event 3', 'caught_up 3'] : ['caught_up 2']),
    ])
    expect(input[1]?.text('event')).toContain(`"event_count":${isAway ? 4 : 3}`)
    await frames.return()
  })
})

const logged = (seq: number, text: string) => {
  const event = note(`n${seq}`, text)
  return { type: 'event' as const, seq, id: `n${seq}`, parentId: null, fact: event }
}

describe('frames', () => {
  it('are created once for all readers, for events and for deltas', async () => {
    engine = createEngine({ store: memoryStore() })
    const conversation = await engine.create()
    const cache = new FrameCache(1_000_000)
    const open = () => session({ engine, runs, conversation, cache, signal: stop.signal }, ALL)
    const readers = await Promise.all([open(), open(), open()])
    for (const frames of readers) await until(frames, ({ type }) => type === 'caught_up')
    conversation.publish({ kind: 'StreamingDeltaEvent', content: 'Hel' })
    await conversation.append(note('n0'))
    const input = await Promise.all(readers.map((frames) => until(frames, isEvent(0))))
    for (const [delta, event] of input) {
      expect([delta?.type, event?.type]).toEqual(['delta', 'event'])
      expect(delta).toBe(input[0]?.[0])
      expect(event).toBe(input[0]?.[1])
    }
    for (const frames of readers) await frames.return()
  })

  it('are cached up to a maximum size, and the last one at any size', () => {
    const cache = new FrameCache(10_000)
    const items = Array.from({ length: 100 }, (_, seq) => logged(seq, 'x'.repeat(500)))
    const frames = items.map((item) => cache.event(item))
    expect(cache.size).toBeLessThanOrEqual(10_000)
    const stored = items.filter((item, index) => cache.event(item) === frames[index])
    // Reading an evicted frame evicts others, so only cached frames count.
    expect(stored.length).toBeLessThan(20)
    expect(cache.event(items.at(-1) as (typeof items)[0])?.position).toBe(99)
    const long = logged(100, 'x'.repeat(50_000))
    expect(cache.event(long)).toBe(cache.event(long))
    cache.event(logged(101, 'x'))
    expect(cache.size).toBeLessThan(10_000)
  })

  it('are separate for each position and content of the same event', () => {
    const cache = new FrameCache(10_000)
    const item = logged(3, 'x')
    expect(cache.event(item)?.position).toBe(3)
    expect(cache.event({ ...item, seq: 5 })?.position).toBe(5)
    expect(cache.event({ ...item, seq: 5, fact: note('n3', 'y') })?.text('event')).toContain('"y"')
  })
})

it('a reader gets a state frame at the end of each run', async () => {
  engine = createEngine({ store: memoryStore() })
  const conversation = await engine.create()
  const ends = new Set<() => void>()
  const onEnd = (_id: string, listener: () => void) => {
    ends.add(listener)
    return () => void ends.delete(listener)
  }
  const parts = { engine, runs: { has: () => false, onEnd }, conversation, signal: stop.signal }
  const frames = await session({ ...parts, cache: new FrameCache(1_000) }, ALL)
  await until(frames, ({ type }) => type === 'caught_up')
  const endRun = (): void => ends.forEach((end) => end())
  endRun()
  expect(await frames.next()).toMatchObject({ value: { type: 'state' } })
  endRun()
  expect(await frames.next()).toMatchObject({ value: { type: 'state' } })
  await frames.return()
})
