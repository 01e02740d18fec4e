/** Live events over real sockets: what is sent on connect, what comes after, how it is resumed, and every way in which a socket ends. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { Event } from '../../src/event/types.ts'
import { CLOSE } from '../../src/service/live/close-codes.ts'
import { scriptedAgent } from '../../src/service/scripted-agent.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { wrapStore } from '../conversation/stores.ts'
import { gate } from './gate.ts'
import {
  type Client,
  type Envelope,
  envelopes,
  eventIds,
  failingStore,
  note,
  notes,
  SECRET,
  type World,
  type WorldOptions,
  worldOfTest,
} from './live-world.ts'

let here: World

const begin = async (options: WorldOptions = {}): Promise<World> => (here = await worldOfTest(options))

const ENVELOPE = { format: 'envelope' } as const
const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
const caughtUp = (client: Client): Promise<unknown> =>
  client.find<Envelope>(({ type }) => type === 'caught_up')
const has = (client: Client, id: string): Promise<unknown> =>
  client.find<Envelope>(({ event }) => event.id === id)

describe('the stream', () => {
  it('begins with the full state and the marker, then what comes; nothing of the log unless asked', async () => {
    await begin()
    const conversation = await here.conversation()
    await conversation.append(notes(0, 3))
    const client = here.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    await conversation.append(note('n3'))
    await has(client, 'n3')
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

  it('without the envelope sends bare events', async () => {
    await begin()
    const conversation = await here.conversation()
    await conversation.append(note('n0'))
    const client = here.connect('c', { query: { resend_mode: 'all' } })
    await client.count(3)
    expect(client.frames.map((text) => JSON.parse(text))).toMatchObject([
      { kind: 'ConversationStateUpdateEvent', key: 'full_state' },
      { kind: 'MessageEvent', id: 'n0' },
      { kind: 'ConversationStateUpdateEvent', key: 'caught_up', value: { position: 0, replayed: 1 } },
    ])
  })

  it.each([
    ['all', { resend_mode: 'all' }, 0],
    ['after a position', { after: 41 }, 42],
    ['after an event', { after_event_id: 'n41' }, 42],
    ['after a position and its event', { after: 41, after_event_id: 'n41' }, 42],
    ['after nothing', { after: -1 }, 0],
    ['since a time', { resend_mode: 'since', after_timestamp: '2026-01-01T00:00:50Z' }, 50],
    ['since a time without a zone', { resend_mode: 'since', after_timestamp: '2026-01-01T00:00:50' }, 50],
    ['since a time to come', { resend_mode: 'since', after_timestamp: '2036-01-01T00:00:00Z' }, 300],
  ])('replays %s', async (_, query, from) => {
    await begin()
    const conversation = await here.conversation()
    await conversation.append(notes(0, 300).map((event, i) => ({ ...event, timestamp: at(i) })))
    const client = here.connect('c', { query: { ...ENVELOPE, ...query } })
    await caughtUp(client)
    await conversation.append(note('last'))
    await has(client, 'last')
    const ids = Array.from({ length: 300 - from }, (__, i) => `n${from + i}`)
    expect(eventIds(client)).toEqual([...ids, 'last'])
    expect(envelopes(client)[0]?.position).toBe(from - 1)
  })

  it.each([
    ['a position that the log has not', { after: 9 }],
    ['an event that it has not', { after_event_id: 'lost' }],
    ['a position where it has another event', { after: 1, after_event_id: 'n0' }],
    ['an id that no event can have', { after_event_id: '__root__' }],
  ])('starts over, and says so, after %s (law B3)', async (_, query) => {
    await begin()
    const conversation = await here.conversation()
    await conversation.append(notes(0, 3))
    const client = here.connect('c', { query: { ...ENVELOPE, ...query } })
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

  it('a reconnect after the last position gives exactly the rest, wherever it broke off', async () => {
    await begin()
    const conversation = await here.conversation()
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
      const client = here.connect('c', { query: { ...ENVELOPE, after: position } })
      await client.find((frame) => frame.type === 'event' && frame.position >= Math.min(399, position + 37))
      client.socket.terminate()
      const events = envelopes(client).filter(({ type }) => type === 'event')
      all.push(...events.map(({ event }) => event.id))
      position = events.at(-1)?.position ?? position
    }
    await writing
    expect(all).toEqual(notes(0, 400).map(({ id }) => id))
  })

  it('tells of every change of status, also of those that no update in the log tells of', async () => {
    await begin()
    const conversation = await here.conversation()
    const client = here.connect('c', { query: ENVELOPE })
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
    await has(client, 'last')
    const told = envelopes(client).flatMap(({ type, event }) =>
      event.key === 'execution_status' ? [[type, event.value]] : [],
    )
    expect(told).toEqual([
      ['state', 'paused'],
      ['event', 'running'],
      ['state', 'error'],
    ])
  })

  it('carries deltas live only, before the event that they make up, and never a secret', async () => {
    await begin({ agent: scriptedAgent(['One two three.']) })
    const conversation = await here.conversation()
    const client = here.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    client.send({ role: 'user', content: [{ type: 'text', text: 'Count' }] })
    await client.find(({ event }) => event.kind === 'MessageEvent' && event.source === 'agent')
    await conversation.append({
      kind: 'MessageEvent',
      source: 'agent',
      id: 'secret',
      llm_message: { role: 'assistant', responses_reasoning_item: { encrypted_content: 'gAAAA' } },
    })
    await has(client, 'secret')
    const kinds = envelopes(client).map(({ event }) => event.kind)
    const words = envelopes(client).flatMap(({ event }) => ('content' in event ? [event.content] : []))
    expect(words.join('')).toBe('One two three.')
    expect(kinds.indexOf('StreamingDeltaEvent')).toBeLessThan(
      envelopes(client).findIndex(({ event }) => event.kind === 'MessageEvent' && event.source === 'agent'),
    )
    expect(client.frames.join('')).not.toContain('gAAAA')
    const late = here.connect('c', { query: { resend_mode: 'all', ...ENVELOPE } })
    await caughtUp(late)
    expect(late.frames.join('')).not.toContain('StreamingDeltaEvent')
    expect(late.frames.join('')).not.toContain('gAAAA')
  })

  it('one slow to begin with sees what was appended while it replayed', async () => {
    await begin({ live: { bufferChars: 2_000 } })
    const conversation = await here.conversation()
    await conversation.append(notes(0, 2_000))
    const clients = [0, 1, 2].map(() => here.connect('c', { query: { ...ENVELOPE, resend_mode: 'all' } }))
    for (let at = 2_000; at < 2_600; at += 50) await conversation.append(notes(at, 50))
    const ids = notes(0, 2_600).map(({ id }) => id)
    for (const client of clients) {
      await has(client, 'n2599')
      expect(eventIds(client)).toEqual(ids)
    }
  })
})

const KEYS = { keys: ['right'] }
const AUTH = { type: 'auth', session_api_key: 'right' }

it('since a time is from the first in the order of the log, though times go back', async () => {
  await begin()
  const conversation = await here.conversation()
  const times = [1, 9, 2, 5, 3]
  await conversation.append(notes(0, 5).map((event, i) => ({ ...event, timestamp: at(times[i] ?? 0) })))
  const client = here.connect('c', { query: { ...ENVELOPE, resend_mode: 'since', after_timestamp: at(4) } })
  await caughtUp(client)
  expect(eventIds(client)).toEqual(['n1', 'n2', 'n3', 'n4'])
})

describe('the key', () => {
  it.each([
    ['the header', { headers: { 'x-session-api-key': 'right' } }],
    ['the first frame', { first: AUTH }],
    ['a cookie', { headers: { cookie: 'api_key=right' } }],
    ['the first frame beside a wrong cookie', { headers: { cookie: 'api_key=wrong' }, first: AUTH }],
  ])('is taken from %s', async (_, options) => {
    await begin(KEYS)
    await here.conversation()
    const client = here.connect('c', { query: ENVELOPE, ...options })
    await caughtUp(client)
    // A key that comes again is passed over.
    client.send(AUTH)
    client.send('{}')
    expect((await client.find(({ type }) => type === 'error')).event).toMatchObject({ code: 'InvalidFrame' })
  })

  it.each([
    ['a wrong key in the first frame', { first: { type: 'auth', session_api_key: 'wrong' } }],
    ['a first frame that is none', { first: 'Hello' }],
    ['a message before the key', { first: { role: 'user', content: [{ text: 'Hi' }] } }],
    ['a key in the URL', { query: { session_api_key: 'right' } }],
    [
      'a key in the URL beside the header',
      { query: { session_api_key: 'right' }, headers: { 'x-session-api-key': 'right' } },
    ],
    [
      'a key in a cookie that a page of another site sends along',
      { headers: { cookie: 'api_key=right', origin: 'https://elsewhere.example' }, first: '{}' },
    ],
    ['a wrong key in a cookie', { headers: { cookie: 'api_key=wrong' }, first: '{}' }],
    ['no key in time', {}],
  ])('%s closes with 4001', async (_, options) => {
    await begin({ ...KEYS, sockets: { authTimeout: 50 } })
    const conversation = await here.conversation()
    const client = here.connect('c', options)
    expect((await client.closed).code).toBe(CLOSE.unauthorized)
    expect(client.frames).toEqual([])
    expect((await conversation.state()).log.entries.length).toBe(0)
    expect(here.service.live.size).toBe(0)
  })

  it('none is needed where none is configured, but a page of another site is refused', async () => {
    await begin()
    await here.conversation()
    await caughtUp(here.connect('c', { query: ENVELOPE }))
    const foreign = here.connect('c', { headers: { origin: 'https://elsewhere.example' } })
    expect((await foreign.closed).code).toBe(CLOSE.unauthorized)
  })
})

describe('the ends of a socket', () => {
  it('4004 for an unknown conversation, and for one that is deleted', async () => {
    await begin()
    const conversation = await here.conversation()
    expect((await here.connect('nobody').closed).code).toBe(CLOSE.unknown)
    expect((await here.connect('__root__').closed).code).toBe(CLOSE.unknown)
    const client = here.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    await conversation.delete()
    expect((await client.closed).code).toBe(CLOSE.unknown)
    expect(here.service.live.size).toBe(0)
  })

  it.each([
    [{ after: 'x' }, 'query.after'],
    [{ after: -2 }, 'query.after'],
    [{ resend_mode: 'some' }, 'query.resend_mode'],
    [{ resend_mode: 'since' }, 'query.after_timestamp'],
    [{ resend_mode: 'since', after_timestamp: 'yesterday' }, 'query.after_timestamp'],
    [{ format: 'xml' }, 'query.format'],
    [{ resend_all: 'true' }, 'resend_all'],
  ])('4400 for %j', async (query, words) => {
    await begin()
    const conversation = await here.conversation()
    await conversation.append(note('n0'))
    const { code, reason } = await here.connect('c', { query }).closed
    expect([code, reason]).toEqual([CLOSE.badRequest, expect.stringContaining(words)])
  })

  it('1013 beyond the limits, for one conversation and in all; a place that is left is free', async () => {
    await begin({ live: { maxPerConversation: 2, maxTotal: 3 } })
    await here.conversation('c')
    await here.conversation('d')
    const [first, second] = [here.connect('c', { query: ENVELOPE }), here.connect('c', { query: ENVELOPE })]
    await Promise.all([caughtUp(first), caughtUp(second)])
    expect((await here.connect('c').closed).code).toBe(CLOSE.busy)
    await caughtUp(here.connect('d', { query: ENVELOPE }))
    expect((await here.connect('d').closed).code).toBe(CLOSE.busy)
    first.socket.close()
    await first.closed
    await expect.poll(() => here.sockets.size).toBe(2)
    await caughtUp(here.connect('c', { query: ENVELOPE }))
  })

  it('1009 for a frame that is too large', async () => {
    await begin({ sockets: { maxFrameBytes: 1_000 } })
    await here.conversation()
    const client = here.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    client.send('x'.repeat(1_001))
    expect((await client.closed).code).toBe(CLOSE.tooLarge)
  })

  it('4009 when nothing is heard of the client', async () => {
    await begin({ live: { heartbeatInterval: 20 }, sockets: { closeTimeout: 50 } })
    await here.conversation()
    const client = here.connect('c', { query: ENVELOPE })
    const other = here.connect('c', { query: ENVELOPE })
    await Promise.all([caughtUp(client), caughtUp(other)])
    client.socket.pause()
    await expect.poll(() => here.sockets.size).toBe(1)
    client.socket.resume()
    expect((await client.closed).code).toBe(CLOSE.idle)
    // Who answers pings stays.
    expect(other.socket.readyState).toBe(other.socket.OPEN)
  })

  it('1001 when the server goes away, with the place to go on', async () => {
    await begin()
    const conversation = await here.conversation()
    await conversation.append(notes(0, 5))
    const client = here.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    const closing = here.server.close()
    const { code, reason } = await client.closed
    await closing
    expect([code, reason]).toEqual([CLOSE.away, expect.stringContaining('resume after 4')])
    expect([here.service.live.size, here.sockets.size]).toEqual([0, 0])
  })

  it('1001 when the engine is closed', async () => {
    await begin()
    await here.conversation()
    const client = here.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    await here.engine.close()
    expect((await client.closed).code).toBe(CLOSE.away)
  })

  it('404 for another path, before any socket', async () => {
    await begin()
    const socket = new WebSocket(`${here.server.url.replace('http', 'ws')}/sockets/other`)
    const error = await new Promise<Error>((resolve) => socket.once('error', resolve))
    expect(error.message).toContain('404')
  })

  it('400 for an address that is none, on whatever server', async () => {
    await begin()
    const server = createServer().on('upgrade', here.sockets.upgrade).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    for (const target of ['//[sockets/events/c', 'http://[/sockets/events/c', 'http:////']) {
      const socket = connect(port, '127.0.0.1')
      socket.write(
        `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      )
      const [said] = (await once(socket, 'data')) as [Buffer]
      expect(String(said)).toMatch(/^HTTP\/1\.1 400 /)
      await once(socket, 'close')
    }
  })
})

describe('what a client says', () => {
  it('is said and answered; what is malformed is told on that socket, and nothing else comes of it', async () => {
    await begin({ agent: scriptedAgent(['Good morning.']) })
    const conversation = await here.conversation()
    const client = here.connect('c', { query: ENVELOPE })
    const other = here.connect('c', { query: ENVELOPE })
    await Promise.all([caughtUp(client), caughtUp(other)])
    const bad = [
      'not json',
      '[]',
      'null',
      '{}',
      '{"role":"assistant","content":[{"text":"Hi"}]}',
      '{"content":[{"text":"Hi"}],"nope":1}',
      `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
      '{"content":"Hi"}',
    ]
    for (const frame of bad) client.send(frame)
    client.socket.send(Buffer.from([1, 2, 3]))
    client.send({ content: [{ type: 'text', text: 'Hello' }], key: 'k' })
    client.send({ role: 'user', content: [{ type: 'text', text: 'Hello' }], key: 'k' })
    await client.find(({ event }) => event.kind === 'MessageEvent' && event.source === 'agent')
    await here.service.runs.settle()
    const errors = envelopes(client).filter(({ type }) => type === 'error')
    expect(errors).toHaveLength(bad.length + 1)
    expect(
      errors.every(({ event }) => event.kind === 'ServerErrorEvent' && event.code === 'InvalidFrame'),
    ).toBe(true)
    expect(other.frames.join('')).not.toContain('ServerErrorEvent')
    const { items } = await here.engine.store.search({ conversationId: 'c', kinds: ['MessageEvent'] })
    expect(items.map(({ fact }) => 'source' in fact && fact.source)).toEqual(['user', 'agent'])
    expect((await conversation.state()).header.status).toBe('finished')
  })

  it('what cannot be run is told, and not said', async () => {
    const held = gate()
    await begin({ agent: () => held.step, maxRuns: 1 })
    await here.conversation('busy')
    await here.conversation()
    here.connect('busy', { first: { content: [{ text: 'Hi' }] } })
    await held.reached
    const client = here.connect('c', { query: ENVELOPE, first: { content: [{ text: 'Hi' }] } })
    await client.find(({ event }) => event.kind === 'ServerErrorEvent' && event.code === 'HTTP429')
    expect(await here.engine.store.count({ conversationId: 'c' })).toBe(0)
  })

  it('a key that was used for another message is told as what it is', async () => {
    await begin()
    await here.conversation()
    const client = here.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    client.send({ content: [{ text: 'Hello' }], key: 'k' })
    client.send({ content: [{ text: 'Other' }], key: 'k' })
    const { event } = await client.find(({ type }) => type === 'error')
    expect(event).toMatchObject({ kind: 'ServerErrorEvent', code: 'id_conflict' })
  })
})

describe('a store that fails', () => {
  const BUSY = Object.assign(new Error('The store is busy.'), {
    name: 'ColloquyError',
    code: 'store_busy',
    data: {},
  })

  it('in the middle of a replay: the reader is told, and misses nothing when it is there again', async () => {
    const store = memoryStore()
    let left = 0
    const failing = wrapStore(store, {
      async read(...args) {
        // After some pages went well.
        const from = args[1]?.from ?? 0
        if (left > 0 && from > 500 && from < 2_500) {
          left -= 1
          throw BUSY
        }
        return store.read(...args)
      },
    })
    await begin({ store: failing })
    const conversation = await here.conversation()
    const facts = notes(0, 3_000).map(({ id }): Event => ({
      kind: 'TokenEvent',
      source: 'agent',
      prompt_token_ids: [],
      response_token_ids: [],
      id: id as string,
    }))
    for (let at = 0; at < 3_000; at += 500) await conversation.append(facts.slice(at, at + 500))
    // Bodies are let go, so that they are read from the store.
    await expect.poll(async () => (await conversation.state()).log.entries.get(0)?.event).toBeNull()
    left = 2
    const client = here.connect('c', { query: { ...ENVELOPE, resend_mode: 'all' } })
    await has(client, 'n2999')
    expect(eventIds(client)).toEqual(notes(0, 3_000).map(({ id }) => id))
    expect(left).toBe(0)
    expect(envelopes(client).some(({ type }) => type === 'error')).toBe(true)
  })

  it('for good: the socket is closed with 1011, and nobody is told what went wrong inside', async () => {
    const failing = failingStore()
    await begin({ store: failing.store })
    const conversation = await here.conversation()
    const client = here.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    failing.fails = true
    await conversation.append({ kind: 'PauseEvent' })
    expect((await client.closed).code).toBe(CLOSE.failed)
    expect(envelopes(client).at(-1)).toMatchObject({ type: 'error', event: { code: 'InternalError' } })
    expect(client.frames.join('')).not.toContain(SECRET)
    expect(here.failures).toHaveLength(1)
    failing.fails = false
    // Whoever comes next finds a stream that works.
    await caughtUp(here.connect('c', { query: ENVELOPE }))
  })
})
