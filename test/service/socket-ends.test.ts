import { describe, expect, it, onTestFinished } from 'vitest'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { WebSocket } from 'ws'
import { CLOSE } from '../../src/service/live/server-frames.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { gate } from './gate.ts'
import {
  caughtUp,
  ENVELOPE,
  envelopes,
  note,
  notes,
  type LiveFixture,
  liveFixtureOfTest,
  type LiveFixtureOptions,
} from './live-fixture.ts'

let fixture: LiveFixture

const begin = async (options: LiveFixtureOptions = {}): Promise<LiveFixture> =>
  (fixture = await liveFixtureOfTest(options))

const KEYS = { keys: ['right'] }
const AUTH = { type: 'auth', session_api_key: 'right' }

describe('the key of a socket', () => {
  it.each([
    ['the header', { headers: { 'x-session-api-key': 'right' } }],
    ['the first frame', { first: AUTH }],
    ['a cookie', { headers: { cookie: 'api_key=right' } }],
    ['the first frame after a wrong cookie', { headers: { cookie: 'api_key=wrong' }, first: AUTH }],
  ])('is accepted in %s', async (_, options) => {
    await begin(KEYS)
    await fixture.conversation()
    const client = fixture.connect('c', { query: ENVELOPE, ...options })
    await caughtUp(client)
    // A repeated key is ignored.
    client.send(AUTH)
    client.send('{}')
    expect((await client.find(({ type }) => type === 'error')).event).toMatchObject({ code: 'InvalidFrame' })
  })

  it.each([
    ['a wrong key in the first frame', { first: { type: 'auth', session_api_key: 'wrong' } }],
    ['an invalid first frame', { first: 'Hello' }],
    ['a message before the key', { first: { role: 'user', content: [{ text: 'Hi' }] } }],
    ['a key in the URL', { query: { session_api_key: 'right' } }],
    [
      'a key in the URL and in the header',
      { query: { session_api_key: 'right' }, headers: { 'x-session-api-key': 'right' } },
    ],
    [
      'a key in the cookie of a cross-site page',
      { headers: { cookie: 'api_key=right', origin: 'https://elsewhere.example' }, first: '{}' },
    ],
    ['a wrong key in a cookie', { headers: { cookie: 'api_key=wrong' }, first: '{}' }],
    ['a missing key', {}],
  ])('%s closes with 4001', async (_, options) => {
    await begin({ ...KEYS, sockets: { authTimeout: 50 } })
    const conversation = await fixture.conversation()
    const client = fixture.connect('c', options)
    expect((await client.closed).code).toBe(CLOSE.unauthorized)
    expect(client.frames).toEqual([])
    expect((await conversation.state()).log.entries.length).toBe(0)
    expect(fixture.service.live.size).toBe(0)
  })

  it('is not needed when none is configured, but a cross-site page is rejected', async () => {
    await begin()
    await fixture.conversation()
    await caughtUp(fixture.connect('c', { query: ENVELOPE }))
    const foreign = fixture.connect('c', { headers: { origin: 'https://elsewhere.example' } })
    expect((await foreign.closed).code).toBe(CLOSE.unauthorized)
  })
})

describe('a socket', () => {
  it('closes with 4004 for an unknown or deleted conversation', async () => {
    await begin()
    const conversation = await fixture.conversation()
    expect((await fixture.connect('nobody').closed).code).toBe(CLOSE.unknown)
    expect((await fixture.connect('__root__').closed).code).toBe(CLOSE.unknown)
    const client = fixture.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    await conversation.delete()
    expect((await client.closed).code).toBe(CLOSE.unknown)
    expect(fixture.service.live.size).toBe(0)
  })

  it.each([
    [{ after: 'x' }, 'query.after'],
    [{ after: -2 }, 'query.after'],
    [{ resend_mode: 'some' }, 'query.resend_mode'],
    [{ resend_mode: 'since' }, 'query.after_timestamp'],
    [{ resend_mode: 'since', after_timestamp: 'yesterday' }, 'query.after_timestamp'],
    [{ format: 'xml' }, 'query.format'],
    [{ resend_all: 'true' }, 'resend_all'],
  ])('closes with 4400 for the query %j', async (query, text) => {
    await begin()
    const conversation = await fixture.conversation()
    await conversation.append(note('n0'))
    const { code, reason } = await fixture.connect('c', { query }).closed
    expect([code, reason]).toEqual([CLOSE.badRequest, expect.stringContaining(text)])
  })

  it('closes with 1013 beyond the limits, until another socket closes', async () => {
    await begin({ live: { maxPerConversation: 2, maxTotal: 3 } })
    await fixture.conversation('c')
    await fixture.conversation('d')
    const [first, second] = [
      fixture.connect('c', { query: ENVELOPE }),
      fixture.connect('c', { query: ENVELOPE }),
    ]
    await Promise.all([caughtUp(first), caughtUp(second)])
    expect((await fixture.connect('c').closed).code).toBe(CLOSE.busy)
    await caughtUp(fixture.connect('d', { query: ENVELOPE }))
    expect((await fixture.connect('d').closed).code).toBe(CLOSE.busy)
    first.socket.close()
    await first.closed
    await expect.poll(() => fixture.sockets.size).toBe(2)
    await caughtUp(fixture.connect('c', { query: ENVELOPE }))
  })

  it('closes with 1009 for a frame that is too large', async () => {
    await begin({ sockets: { maxFrameBytes: 1_000 } })
    await fixture.conversation()
    const client = fixture.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    client.send('x'.repeat(1_001))
    expect((await client.closed).code).toBe(CLOSE.tooLarge)
  })

  it('closes with 4009 when the client does not answer pings', async () => {
    await begin({ live: { heartbeatInterval: 200 }, sockets: { closeTimeout: 50 } })
    await fixture.conversation()
    const client = fixture.connect('c', { query: ENVELOPE })
    const other = fixture.connect('c', { query: ENVELOPE })
    await Promise.all([caughtUp(client), caughtUp(other)])
    client.socket.pause()
    await expect.poll(() => fixture.sockets.size).toBe(1)
    client.socket.resume()
    expect((await client.closed).code).toBe(CLOSE.idle)
    // A client that answers pings stays connected.
    expect(other.socket.readyState).toBe(other.socket.OPEN)
  })

  it('closes with 1001 and the position to resume from when the server closes', async () => {
    await begin()
    const conversation = await fixture.conversation()
    await conversation.append(notes(0, 5))
    const client = fixture.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    const closing = fixture.server.close()
    const { code, reason } = await client.closed
    await closing
    expect([code, reason]).toEqual([CLOSE.away, expect.stringContaining('resume after 4')])
    expect([fixture.service.live.size, fixture.sockets.size]).toEqual([0, 0])
  })

  it('closes with 1001 when the engine closes', async () => {
    await begin()
    await fixture.conversation()
    const client = fixture.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    await fixture.engine.close()
    expect((await client.closed).code).toBe(CLOSE.away)
  })

  it('is rejected with 404 for an unknown path', async () => {
    await begin()
    const socket = new WebSocket(`${fixture.server.url.replace('http', 'ws')}/sockets/other`)
    const error = await new Promise<Error>((resolve) => socket.once('error', resolve))
    expect(error.message).toContain('404')
  })

  it('is rejected with 400 for an invalid URL, on any HTTP server', async () => {
    await begin()
    const server = createServer().on('upgrade', fixture.sockets.upgrade).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    for (const target of ['//[sockets/events/c', 'http://[/sockets/events/c', 'http:////']) {
      const socket = connect(port, '127.0.0.1')
      socket.write(
        `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      )
      const [text] = (await once(socket, 'data')) as [Buffer]
      expect(String(text)).toMatch(/^HTTP\/1\.1 400 /)
      await once(socket, 'close')
    }
  })
})

describe('a message over a socket', () => {
  it('gets a reply; an invalid one is reported on its socket and not appended', async () => {
    await begin({ agent: scriptedAgent(['Good morning.']) })
    const conversation = await fixture.conversation()
    const client = fixture.connect('c', { query: ENVELOPE })
    const other = fixture.connect('c', { query: ENVELOPE })
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
    await fixture.service.runs.settle()
    const errors = envelopes(client).filter(({ type }) => type === 'error')
    expect(errors).toHaveLength(bad.length + 1)
    expect(
      errors.every(({ event }) => event.kind === 'ServerErrorEvent' && event.code === 'InvalidFrame'),
    ).toBe(true)
    expect(other.frames.join('')).not.toContain('ServerErrorEvent')
    const { items } = await fixture.engine.store.search({ conversationId: 'c', kinds: ['MessageEvent'] })
    expect(items.map(({ fact }) => 'source' in fact && fact.source)).toEqual(['user', 'agent'])
    expect((await conversation.state()).header.status).toBe('finished')
  })

  it('is reported and not appended at the maximum number of runs', async () => {
    const current = gate()
    await begin({ agent: () => current.step, maxRuns: 1 })
    await fixture.conversation('busy')
    await fixture.conversation()
    fixture.connect('busy', { first: { content: [{ text: 'Hi' }] } })
    await current.reached
    const client = fixture.connect('c', { query: ENVELOPE, first: { content: [{ text: 'Hi' }] } })
    await client.find(({ event }) => event.kind === 'ServerErrorEvent' && event.code === 'HTTP429')
    expect(await fixture.engine.store.count({ conversationId: 'c' })).toBe(0)
  })

  it('is reported as `id_conflict` if its key belongs to another message', async () => {
    await begin()
    await fixture.conversation()
    const client = fixture.connect('c', { query: ENVELOPE })
    await caughtUp(client)
    client.send({ content: [{ text: 'Hello' }], key: 'k' })
    client.send({ content: [{ text: 'Other' }], key: 'k' })
    const { event } = await client.find(({ type }) => type === 'error')
    expect(event).toMatchObject({ kind: 'ServerErrorEvent', code: 'id_conflict' })
  })
})
