/** One reader over a feed that is behind or ahead of it: whichever reads first, nothing is given twice and nothing left out. */

import { afterEach, describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import { loadLine } from '../../src/event/load.ts'
import { Feed } from '../../src/service/live/feed.ts'
import type { Frame } from '../../src/service/live/frame.ts'
import { session } from '../../src/service/live/session.ts'
import type { StartValues } from '../../src/service/live/start.ts'
import { memoryStore } from '../../src/store/memory.ts'
import { note, notes } from './live-world.ts'

let engine: Engine
const stop = new AbortController()

afterEach(() => engine.close())

const NOTHING: StartValues = { after: null, after_event_id: null, resend_mode: null, after_timestamp: null }

/** A conversation that lets nobody read on before it is told to. */
function held(conversation: Conversation): {
  readonly conversation: Conversation
  readonly open: () => void
} {
  const gate = Promise.withResolvers<void>()
  const proxy = new Proxy(conversation, {
    get(target, name) {
      if (name === 'subscribe') {
        return async function* (...args: Parameters<Conversation['subscribe']>) {
          await gate.promise
          yield* target.subscribe(...args)
        }
      }
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { conversation: proxy, open: gate.resolve }
}

/** What is given up to a position, as positions and types. */
async function until(frames: AsyncGenerator<Frame, void>, position: number): Promise<string[]> {
  const all: string[] = []
  for await (const frame of frames) {
    if (frame.type !== 'state') all.push(`${frame.type} ${frame.position}`)
    if (frame.type === 'event' && frame.position === position) return all
  }
  return all
}

describe('a reader and its feed', () => {
  it.each([
    ['nothing of the log', NOTHING, 5],
    ['the log after a position', { ...NOTHING, after: 1 }, 2],
    ['the log after the end', { ...NOTHING, after: 4 }, 5],
    ['the whole log', { ...NOTHING, resend_mode: 'all' as const }, 0],
  ])('a feed that has yet to read what the reader has: %s', async (_, start, from) => {
    engine = createEngine({ store: memoryStore() })
    const conversation = await engine.create()
    await conversation.append(notes(0, 2))
    const late = held(conversation)
    const feed = new Feed(late.conversation, 1_000_000)
    await feed.start()
    await conversation.append(notes(2, 3))
    const frames = await session({ engine, conversation, feed, signal: stop.signal }, start)
    const given = until(frames, 6)
    // The reader is behind the feed's own place, or before it, when the feed begins to read.
    await new Promise((resolve) => setImmediate(resolve))
    late.open()
    await conversation.append([note('n5'), note('n6')])
    const events = Array.from({ length: 7 - from }, (__, i) => `event ${from + i}`)
    const marker = from === 5 ? 0 : events.indexOf('event 4') + 1
    expect(await given).toEqual(events.toSpliced(marker, 0, 'caught_up 4'))
    feed.stop()
  })

  it('a line that is no event is passed over, and is no reason to wait', async () => {
    engine = createEngine({ store: memoryStore() })
    const { id } = await engine.create()
    await engine.store.append(id, [note('n0'), loadLine('{"kind":"NewsEvent"}').fact], { mode: 'import' })
    const conversation = await engine.open(id)
    const feed = new Feed(conversation, 1_000_000)
    await feed.start()
    const all = { ...NOTHING, resend_mode: 'all' as const }
    const frames = await session({ engine, conversation, feed, signal: stop.signal }, all)
    const given = until(frames, 3)
    await new Promise((resolve) => setImmediate(resolve))
    await engine.store.append(id, [loadLine('{"kind":"OtherEvent"}').fact, note('n3')], { mode: 'import' })
    expect(await given).toEqual(['event 0', 'caught_up 1', 'event 3'])
    feed.stop()
  })
})

describe('a feed', () => {
  it.each([
    ['characters', 5_000, 100, 'x'.repeat(500)],
    ['frames', 2 ** 40, 5_000, 'x'],
  ])('keeps the latest within a bound of %s', async (_, bytes, count, text) => {
    engine = createEngine({ store: memoryStore() })
    const conversation = await engine.create()
    const feed = new Feed(conversation, bytes)
    await feed.start()
    await conversation.append(notes(0, count, text))
    await expect.poll(() => feed.position).toBe(count - 1)
    const kept = Array.from({ length: feed.next - feed.first }, (_none, at) => feed.at(feed.first + at))
    expect(kept.at(-1)?.position).toBe(count - 1)
    expect(kept.length).toBeLessThanOrEqual(4_096)
    expect(kept.reduce((sum, entry) => sum + (entry?.frame?.size ?? 0), 0)).toBeLessThanOrEqual(bytes)
    expect(feed.first).toBeGreaterThan(0)
    feed.stop()
  })
})
