import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { CLOSE } from '../../src/service/live/server-frames.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { wrapStore } from '../conversation/stores.ts'
import {
  caughtUp,
  type Client,
  type Envelope,
  ENVELOPE,
  envelopes,
  eventIds,
  failingStore,
  note,
  notes,
  SECRET,
  type LiveFixture,
  liveFixtureOfTest,
  type LiveFixtureOptions,
} from './live-fixture.ts'

let fixture: LiveFixture

const begin = async (options: LiveFixtureOptions = {}): Promise<LiveFixture> =>
  (fixture = await liveFixtureOfTest(options))

const timeAt = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
const waitForEvent = (client: Client, id: string): Promise<unknown> =>
  client.find<Envelope>(({ event }) => event.id === id)

describe('the stream of a socket', () => {
  it('begins with the full state and the marker, then sends only new events', async () => {
    await begin()
    const conversation = await fixture.conversation()
    await conversation.append(notes(0, 3))
    const client = fixture.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    await conversation.append(note('n3'))
    await waitForEvent(client, 'n3')
    const [full, marker, next] = envelopes(client)
    expect(full).toMatchObject({
      type: 'state',
      position: 2,
      event: {
        kind: 'ConversationStateUpdateEvent',
        key: 'full_state',
        value: { id: 'c', execution_status: 'idle', event_count: 3 },
      },
    })
    expect(marker).toMatchObject({
      type: 'caught_up',
      position: 2,
      event: { value: { position: 2, replayed: 0 } },
    })
    expect(next).toMatchObject({ type: 'event', position: 3, event: { id: 'n3' } })
    // Neither the full state nor the marker is in the log.
    expect((await conversation.state()).log.entries.length).toBe(4)
  })

  it('sends bare events without the envelope format', async () => {
    await begin()
    const conversation = await fixture.conversation()
    await conversation.append(note('n0'))
    const client = fixture.connect('c', { query: { resend_mode: 'all' } })
    await client.count(3)
    expect(client.frames.map((text) => JSON.parse(text))).toMatchObject([
      { kind: 'ConversationStateUpdateEvent', key: 'full_state' },
      { kind: 'MessageEvent', id: 'n0' },
      { kind: 'ConversationStateUpdateEvent', key: 'caught_up', value: { position: 0, replayed: 1 } },
    ])
  })

  it.each([
    ['from the beginning', { resend_mode: 'all' }, 0],
    ['after a position', { after: 41 }, 42],
    ['after an event', { after_event_id: 'n41' }, 42],
    ['after a position and its event', { after: 41, after_event_id: 'n41' }, 42],
    ['after position -1', { after: -1 }, 0],
    ['since a time', { resend_mode: 'since', after_timestamp: '2026-01-01T00:00:50Z' }, 50],
    ['since a time without a zone', { resend_mode: 'since', after_timestamp: '2026-01-01T00:00:50' }, 50],
    ['since a future time', { resend_mode: 'since', after_timestamp: '2036-01-01T00:00:00Z' }, 300],
  ])('replays the log %s', async (_, query, from) => {
    await begin()
    const conversation = await fixture.conversation()
    await conversation.append(notes(0, 300).map((event, i) => ({ ...event, timestamp: timeAt(i) })))
    const client = fixture.connect('c', { query: { ...ENVELOPE, ...query } })
    await caughtUp(client)
    await conversation.append(note('last'))
    await waitForEvent(client, 'last')
    const ids = Array.from({ length: 300 - from }, (__, i) => `n${from + i}`)
    expect(eventIds(client)).toEqual([...ids, 'last'])
    expect(envelopes(client)[0]?.position).toBe(from - 1)
  })

  it.each([
    ['a position beyond the log', { after: 9 }],
    ['an unknown event', { after_event_id: 'lost' }],
    ['a position of another event', { after: 1, after_event_id: 'n0' }],
    ['an invalid event id', { after_event_id: '__root__' }],
  ])('sends a reset and the whole log after %s (law B3)', async (_, query) => {
    await begin()
    const conversation = await fixture.conversation()
    await conversation.append(notes(0, 3))
    const client = fixture.connect('c', { query: { ...ENVELOPE, ...query } })
    await caughtUp(client)
    expect(envelopes(client).map(({ type, position }) => [type, position])).toEqual([
      ['reset', -1],
      ['state', -1],
      ['event', 0],
      ['event', 1],
      ['event', 2],
      ['caught_up', 2],
    ])
  })

  it('continues with exactly the remaining events after each reconnect', async () => {
    await begin()
    const conversation = await fixture.conversation()
    const all: (string | undefined)[] = []
    let position = -1
    let written = 0
    const write = async (): Promise<void> => {
      for (; written < 400; written += 1) {
        await conversation.append(note(`n${written}`))
        if (written % 7 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const writing = write()
    while (position < 399) {
      const client = fixture.connect('c', { query: { ...ENVELOPE, after: position } })
      await client.find((frame) => frame.type === 'event' && frame.position >= Math.min(399, position + 37))
      client.socket.terminate()
      const events = envelopes(client).filter(({ type }) => type === 'event')
      all.push(...events.map(({ event }) => event.id))
      position = events.at(-1)?.position ?? position
    }
    await writing
    expect(all).toEqual(notes(0, 400).map(({ id }) => id))
  })

  it('reports every change of status, also without a status update in the log', async () => {
    await begin()
    const conversation = await fixture.conversation()
    const client = fixture.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    await conversation.append({ kind: 'PauseEvent', id: 'p' })
    await conversation.append({
      kind: 'ConversationStateUpdateEvent',
      key: 'execution_status',
      value: 'running',
    })
    await conversation.append({
      kind: 'ConversationErrorEvent',
      source: 'environment',
      code: 'X',
      detail: 'x',
      id: 'e',
    })
    await conversation.append(note('last'))
    await waitForEvent(client, 'last')
    const report = envelopes(client).flatMap(({ type, event }) =>
      event.key === 'execution_status' ? [[type, event.value]] : [],
    )
    expect(report).toEqual([
      ['state', 'paused'],
      ['event', 'running'],
      ['state', 'error'],
    ])
  })

  it('sends deltas only live and before their event, and no encrypted content', async () => {
    await begin({ agent: scriptedAgent(['One two three.']) })
    const conversation = await fixture.conversation()
    const client = fixture.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    client.send({ role: 'user', content: [{ type: 'text', text: 'Count' }] })
    await client.find(({ event }) => event.kind === 'MessageEvent' && event.source === 'agent')
    await conversation.append({
      kind: 'MessageEvent',
      source: 'agent',
      id: 'secret',
      llm_message: { role: 'assistant', responses_reasoning_item: { encrypted_content: 'gAAAA' } },
    })
    await waitForEvent(client, 'secret')
    const kinds = envelopes(client).map(({ event }) => event.kind)
    const texts = envelopes(client).flatMap(({ event }) => ('content' in event ? [event.content] : []))
    expect(texts.join('')).toBe('One two three.')
    expect(kinds.indexOf('StreamingDeltaEvent')).toBeLessThan(
      envelopes(client).findIndex(({ event }) => event.kind === 'MessageEvent' && event.source === 'agent'),
    )
    expect(client.frames.join('')).not.toContain('gAAAA')
    const late = fixture.connect('c', { query: { resend_mode: 'all', ...ENVELOPE } })
    await caughtUp(late)
    expect(late.frames.join('')).not.toContain('StreamingDeltaEvent')
    expect(late.frames.join('')).not.toContain('gAAAA')
  })

  it('contains the events that are appended during a replay', async () => {
    await begin({ live: { bufferChars: 2_000 } })
    const conversation = await fixture.conversation()
    await conversation.append(notes(0, 2_000))
    const clients = [0, 1, 2].map(() => fixture.connect('c', { query: { ...ENVELOPE, resend_mode: 'all' } }))
    for (let index = 2_000; index < 2_600; index += 50) await conversation.append(notes(index, 50))
    const ids = notes(0, 2_600).map(({ id }) => id)
    for (const client of clients) {
      await waitForEvent(client, 'n2599')
      expect(eventIds(client)).toEqual(ids)
    }
  })
})

it('a replay since a time begins at the first later event, in the order of the log', async () => {
  await begin()
  const conversation = await fixture.conversation()
  const times = [1, 9, 2, 5, 3]
  await conversation.append(notes(0, 5).map((event, i) => ({ ...event, timestamp: timeAt(times[i] ?? 0) })))
  const client = fixture.connect('c', {
    query: { ...ENVELOPE, resend_mode: 'since', after_timestamp: timeAt(4) },
  })
  await caughtUp(client)
  expect(eventIds(client)).toEqual(['n1', 'n2', 'n3', 'n4'])
})

describe('store failures', () => {
  const BUSY = Object.assign(new Error('The store is busy.'), {
    name: 'ColloquyError',
    code: 'store_busy',
    data: {},
  })

  it('a reader gets an error during a replay, and then every event', async () => {
    const store = memoryStore()
    let remaining = 0
    const failing = wrapStore(store, {
      async read(...args) {
        // Fails after some pages succeeded.
        const from = args[1]?.from ?? 0
        if (remaining > 0 && from > 500 && from < 2_500) {
          remaining -= 1
          throw BUSY
        }
        return store.read(...args)
      },
    })
    await begin({ store: failing })
    const conversation = await fixture.conversation()
    const facts = notes(0, 3_000).map(({ id }): Event => ({
      kind: 'TokenEvent',
      source: 'agent',
      prompt_token_ids: [],
      response_token_ids: [],
      id: id as string,
    }))
    for (let index = 0; index < 3_000; index += 500)
      await conversation.append(facts.slice(index, index + 500))
    // Bodies are evicted, so readers get them from the store.
    await expect.poll(async () => (await conversation.state()).log.entries.get(0)?.event).toBeNull()
    remaining = 2
    const client = fixture.connect('c', { query: { ...ENVELOPE, resend_mode: 'all' } })
    await waitForEvent(client, 'n2999')
    expect(eventIds(client)).toEqual(notes(0, 3_000).map(({ id }) => id))
    expect(remaining).toBe(0)
    expect(envelopes(client).some(({ type }) => type === 'error')).toBe(true)
  })

  it('the socket closes with 1011 and without details after a permanent error', async () => {
    const failing = failingStore()
    await begin({ store: failing.store })
    const conversation = await fixture.conversation()
    const client = fixture.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    failing.fails = true
    await conversation.append({ kind: 'PauseEvent' })
    expect((await client.closed).code).toBe(CLOSE.failed)
    expect(envelopes(client).at(-1)).toMatchObject({ type: 'error', event: { code: 'InternalError' } })
    expect(client.frames.join('')).not.toContain(SECRET)
    expect(fixture.failures).toHaveLength(1)
    failing.fails = false
    // The next reader gets a working stream.
    await caughtUp(fixture.connect('c', { query: ENVELOPE }))
  })
})
