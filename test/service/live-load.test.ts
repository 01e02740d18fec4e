/** Among many readers, each gets every event once and in order, and a stalled one delays nobody. */

import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { CLOSE } from '../../src/service/live/server-frames.ts'
import {
  eventIds,
  note,
  notes,
  type LiveFixture,
  type LiveFixtureOptions,
  liveFixtureOfTest,
} from './live-fixture.ts'

let fixture: LiveFixture

const begin = async (options: LiveFixtureOptions = {}): Promise<LiveFixture> =>
  (fixture = await liveFixtureOfTest(options))

const SOCKETS = 200
/** `COLLOQUY_LIVE_EVENTS` overrides it. */
const EVENTS = Number(process.env['COLLOQUY_LIVE_EVENTS'] ?? 1_000)
const BATCH = 10

/**
 * Checks positions only, since many readers share the machine. A slow one is closed with 4008, or without a
 * code if the close frame waited behind unread data, and resumes.
 */
function counter(url: string): {
  /** Resolves with the number of received events when it has caught up, or is closed. */
  readonly ready: Promise<number>
  /** Resolves with the problem, if any. */
  readonly done: Promise<string | null>
  readonly close: () => void
} {
  const ready = Promise.withResolvers<number>()
  const done = Promise.withResolvers<string | null>()
  let next = 0
  let socket: WebSocket
  const listen = (): void => {
    socket = new WebSocket(`${url}&after=${next - 1}`, { perMessageDeflate: false })
    socket.on('message', (data: Buffer) => {
      const [, type, position] =
        /^\{"type":"(\w+)","position":(-?\d+),/.exec(data.toString('latin1', 0, 60)) ?? []
      if (type === 'caught_up') ready.resolve(next)
      if (type !== 'event') return
      if (Number(position) !== next) done.resolve(`position ${position} came where ${next} was to come`)
      next += 1
      if (next === EVENTS) done.resolve(null)
    })
    socket.on('close', (code) => {
      if (next < EVENTS && (code === CLOSE.slow || code === 1_006)) listen()
      else {
        ready.resolve(next)
        done.resolve(`closed with ${code} before position ${next}`)
      }
    })
  }
  listen()
  return {
    ready: ready.promise,
    done: done.promise,
    close() {
      done.resolve('was closed')
      socket.removeAllListeners('close').terminate()
    },
  }
}

describe('200 sockets', () => {
  it(`receive ${EVENTS} events once and in order while they are appended`, async () => {
    await begin()
    const conversation = await fixture.conversation()
    const url = `${fixture.server.url.replace('http', 'ws')}/sockets/events/c?format=envelope`
    const half = Array.from({ length: SOCKETS / 2 }, () => counter(url))
    await Promise.all(half.map(({ ready }) => ready))
    // The others connect one after another between the appends.
    const others: ReturnType<typeof counter>[] = []
    for (let index = 0; index < EVENTS; index += BATCH) {
      while (others.length < (half.length * (index + 1)) / EVENTS) others.push(counter(url))
      await conversation.append(notes(index, BATCH))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    while (others.length < half.length) others.push(counter(url))
    const positions = await Promise.all(others.map(({ ready }) => ready))
    expect(positions.filter((position) => position < EVENTS).length).toBeGreaterThan(10)
    const wrong = await Promise.all([...half, ...others].map(({ done }) => done))
    expect(wrong.filter((each) => each !== null)).toEqual([])
    expect(fixture.failures).toEqual([])
    for (const { close } of [...half, ...others]) close()
  })
})

describe('slow readers', () => {
  it('a reader that stalls delays no other, and is closed with the position to resume from', async () => {
    const maxBufferedBytes = 64 * 2 ** 10
    await begin({ live: { writeTimeout: 3_000 }, sockets: { maxBufferedBytes, closeTimeout: 30_000 } })
    const conversation = await fixture.conversation()
    const stalled = fixture.connect('c', { query: { format: 'envelope' } })
    const other = fixture.connect('c', { query: { format: 'envelope' } })
    await Promise.all([stalled, other].map((client) => client.find(({ type }) => type === 'caught_up')))
    stalled.socket.pause()
    // More than the system buffers for a stalled reader.
    const text = 'x'.repeat(50_000)
    for (let index = 0; index < 400; index += 20) await conversation.append(notes(index, 20, text))
    await other.find(({ event }) => event.id === 'n399')
    // The other reader has the whole log, and the stalled one has not received its end.
    expect(eventIds(stalled)).not.toContain('n399')
    await expect.poll(() => fixture.service.live.size).toBe(1)
    // After resuming it receives what was sent, then the close code.
    stalled.socket.resume()
    const { code, reason } = await stalled.closed
    expect(code).toBe(CLOSE.slow)
    const ids = eventIds(stalled)
    expect(ids).toEqual(notes(0, ids.length).map(({ id }) => id))
    expect(reason).toContain(`resume after ${ids.length - 1}`)
    const again = fixture.connect('c', { query: { format: 'envelope', after: ids.length - 1 } })
    await again.find(({ event }) => event.id === 'n399')
    expect([...ids, ...eventIds(again)]).toEqual(notes(0, 400).map(({ id }) => id))
  })

  it('a reader that reads slowly receives all events', async () => {
    await begin({
      live: { writeTimeout: 400, bufferChars: 100_000 },
      sockets: { maxBufferedBytes: 64 * 2 ** 10 },
    })
    const conversation = await fixture.conversation()
    const slow = fixture.connect('c', { query: { format: 'envelope' } })
    await slow.find(({ type }) => type === 'caught_up')
    const text = 'x'.repeat(50_000)
    const read = { on: true }
    const readSlowly = async (): Promise<void> => {
      while (read.on) {
        slow.socket.pause()
        await new Promise((resolve) => setTimeout(resolve, 20))
        slow.socket.resume()
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
    }
    const reading = readSlowly()
    for (let index = 0; index < 300; index += 10) await conversation.append(notes(index, 10, text))
    await conversation.append(note('end'))
    await slow.find(({ event }) => event.id === 'end')
    read.on = false
    await reading
    expect(eventIds(slow)).toEqual([...notes(0, 300).map(({ id }) => id), 'end'])
  })
})
