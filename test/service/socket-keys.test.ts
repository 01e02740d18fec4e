import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { CLOSE } from '../../src/service/live/server-frames.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { wrapStore } from '../conversation/stores.ts'
import {
  caughtUp,
  type Client,
  type Envelope,
  ENVELOPE,
  note,
  type LiveFixture,
  liveFixtureOfTest,
  type LiveFixtureOptions,
} from './live-fixture.ts'

let fixture: LiveFixture

const begin = async (options: LiveFixtureOptions = {}): Promise<LiveFixture> =>
  (fixture = await liveFixtureOfTest({ keys: ['right'], ...options }))

const RIGHT = { 'x-session-api-key': 'right' }
const AUTH = { type: 'auth', session_api_key: 'right' }

const opened = (client: Client): Promise<unknown> => client.raw

/** The header of a text frame whose payload never arrives. */
function frameHead(bytes: number): Buffer {
  const head = Buffer.alloc(14)
  head.writeUInt16BE(0x81_ff)
  head.writeBigUInt64BE(BigInt(bytes), 2)
  return head
}

describe('an unauthenticated socket', () => {
  it.each([
    ['an endless frame', frameHead(4 * 2 ** 20)],
    ['an endless fragment', Buffer.concat([Buffer.of(0x01, 0xfe, 0x10, 0x01), Buffer.alloc(4)])],
  ])('closes with 1009 after 5,000 bytes of %s', async (_what, head) => {
    await begin()
    await fixture.conversation()
    const clients = Array.from({ length: 20 }, () => fixture.connect('c'))
    for (const client of clients) {
      const raw = await client.raw
      raw.write(Buffer.concat([head, Buffer.alloc(3_000)]))
      raw.write(Buffer.alloc(2_000))
    }
    const codes = await Promise.all(clients.map(async ({ closed }) => (await closed).code))
    expect(new Set(codes)).toEqual(new Set([CLOSE.tooLarge]))
    await expect.poll(() => fixture.sockets.size).toBe(0)
  })

  it('closes with 1009 for a first frame of 5,000 bytes', async () => {
    await begin()
    await fixture.conversation()
    const client = fixture.connect('c', { first: { ...AUTH, pad: 'x'.repeat(5_000) } })
    expect((await client.closed).code).toBe(CLOSE.tooLarge)
  })

  it('can send its key and a long message at once', async () => {
    await begin()
    await fixture.conversation()
    const client = fixture.connect('c', { query: ENVELOPE })
    client.socket.on('open', () => {
      client.send(AUTH)
      client.send({ role: 'user', content: [{ type: 'text', text: 'x'.repeat(2 ** 20) }] })
    })
    const { event } = await client.find<Envelope>(({ event: { kind } }) => kind === 'MessageEvent')
    expect(JSON.stringify(event).length).toBeGreaterThan(2 ** 20)
  })

  it('does not use the slot of an authenticated one: the oldest closes with 1013', async () => {
    await begin({ sockets: { maxUnauthenticated: 3 }, live: { maxTotal: 2 } })
    await fixture.conversation()
    const idle: Client[] = []
    for (let n = 0; n < 8; n += 1) {
      const client = fixture.connect('c')
      idle.push(client)
      await opened(client)
    }
    for (const client of idle.slice(0, 5)) expect((await client.closed).code).toBe(CLOSE.busy)
    await caughtUp(fixture.connect('c', { query: ENVELOPE, headers: RIGHT }))
    await caughtUp(fixture.connect('c', { query: ENVELOPE, first: AUTH }))
    expect((await idle[5]?.closed)?.code).toBe(CLOSE.busy)
    // Authenticated sockets have a separate limit.
    expect((await fixture.connect('c', { headers: RIGHT }).closed).code).toBe(CLOSE.busy)
    expect(idle[7]?.socket.readyState).toBe(WebSocket.OPEN)
  })

  it.runIf(process.platform === 'linux')('does not close the sockets of another address', async () => {
    await begin({ sockets: { maxUnauthenticated: 3 } })
    await fixture.conversation()
    const url = `${fixture.server.url.replace('http', 'ws')}/sockets/events/c`
    const other = new WebSocket(url, { localAddress: '127.0.0.2' })
    onTestFinished(() => other.terminate())
    await once(other, 'open')
    const flood: Client[] = []
    for (let n = 0; n < 5; n += 1) {
      const client = fixture.connect('c')
      flood.push(client)
      await opened(client)
    }
    for (const client of flood.slice(0, 3)) expect((await client.closed).code).toBe(CLOSE.busy)
    expect(other.readyState).toBe(WebSocket.OPEN)
  })

  it('closes with 1013 when another one connects at the limit', async () => {
    await begin({ sockets: { maxUnauthenticated: 1 } })
    await fixture.conversation()
    const first = fixture.connect('c')
    await opened(first)
    const second = fixture.connect('c')
    await opened(second)
    expect((await first.closed).code).toBe(CLOSE.busy)
    second.send(AUTH)
    await second.find<{ readonly key?: string }>(({ key }) => key === 'caught_up')
  })

  it('is rejected with 401 for a wrong key in a header', async () => {
    await begin()
    await fixture.conversation()
    const client = fixture.connect('c', { headers: { 'x-session-api-key': 'wrong' } })
    await expect(opened(client)).rejects.toThrow('401')
    expect(fixture.sockets.size).toBe(0)
  })
})

describe('all sockets together', () => {
  it('have a maximum of buffered bytes, and close with 1013 beyond it', async () => {
    await begin({ sockets: { maxInbound: 1_000_000 } })
    await fixture.conversation()
    const clients = Array.from({ length: 10 }, () => fixture.connect('c', { headers: RIGHT }))
    for (const client of clients) {
      const raw = await client.raw
      raw.write(Buffer.concat([frameHead(4 * 2 ** 20), Buffer.alloc(400_000)]))
    }
    await expect.poll(() => fixture.sockets.size).toBeLessThan(4)
    const [code] = await Promise.race(clients.map(async ({ closed }) => [(await closed).code]))
    expect(code).toBe(CLOSE.busy)
  })
})

const inWindow = (milliseconds: number | null) => ({
  name: 'ci',
  not_before: null,
  expires_at: milliseconds === null ? null : new Date(Date.now() + milliseconds).toISOString(),
  org_id: null,
})

/** Two readers over sockets and one over server-sent events. */
async function readersOf(key: string): Promise<{
  readonly sockets: readonly Client[]
  /** The event stream's whole text. */
  readonly stream: Promise<string>
}> {
  const header = fixture.connect('c', { query: ENVELOPE, headers: { authorization: `Bearer ${key}` } })
  const frame = fixture.connect('c', { query: ENVELOPE, first: { type: 'auth', session_api_key: key } })
  await Promise.all([caughtUp(header), caughtUp(frame)])
  const response = await fetch(`${fixture.server.url}/api/conversations/c/events/stream`, {
    headers: { 'x-access-token': key },
  })
  return { sockets: [header, frame], stream: response.text() }
}

describe('an open stream', () => {
  it.each([
    ['was deleted', null],
    ['has expired', 4_000],
  ])('ends with an error when its key %s, and streams of other keys continue', async (what, window) => {
    // An expired key is detected without a heartbeat.
    await begin({ live: { heartbeatInterval: window === null ? 300 : 600_000 } })
    const conversation = await fixture.conversation()
    const [ending, valid] = [
      await fixture.service.keys.create(inWindow(window)),
      await fixture.service.keys.create(inWindow(null)),
    ]
    const validReaders = await readersOf(valid.key)
    const session = fixture.connect('c', { query: ENVELOPE, headers: RIGHT })
    const { sockets, stream } = await readersOf(ending.key)
    if (what === 'was deleted') await fixture.service.keys.remove(ending.id)
    for (const { closed } of sockets) expect((await closed).code).toBe(CLOSE.unauthorized)
    expect(await stream).toContain('The key is no longer valid.')
    await conversation.append(note('later'))
    for (const client of [...validReaders.sockets, session]) {
      await client.find<Envelope>(({ event }) => event.id === 'later')
    }
    for (const { frames } of sockets) expect(frames.join('')).not.toContain('later')
    expect(fixture.service.live.size).toBe(4)
    await fixture.server.close()
    expect(await validReaders.stream).toContain('later')
  })

  it('rejects a message after the deletion of its key, before the next check', async () => {
    await begin({ live: { heartbeatInterval: 600_000 } })
    const conversation = await fixture.conversation()
    const { id, key } = await fixture.service.keys.create(inWindow(null))
    const client = fixture.connect('c', { query: ENVELOPE, headers: { authorization: `Bearer ${key}` } })
    await caughtUp(client)
    await fixture.service.keys.remove(id)
    client.send({ role: 'user', content: [{ type: 'text', text: 'Hello' }] })
    expect((await client.closed).code).toBe(CLOSE.unauthorized)
    expect((await conversation.state()).log.entries.length).toBe(0)
  })

  it('stays open while the keys cannot be read', async () => {
    const plain = memoryStore()
    let away = false
    let refused = 0
    const store = wrapStore(plain, {
      async listItems(...args) {
        if (away) {
          refused += 1
          throw Object.assign(new Error('away'), {
            name: 'ColloquyError',
            code: 'store_unavailable',
            data: {},
          })
        }
        return plain.listItems(...args)
      },
    })
    await begin({ store, live: { heartbeatInterval: 300 } })
    const conversation = await fixture.conversation()
    const { key } = await fixture.service.keys.create(inWindow(null))
    const client = fixture.connect('c', { query: ENVELOPE, headers: { authorization: `Bearer ${key}` } })
    await caughtUp(client)
    away = true
    await expect.poll(() => refused).toBeGreaterThan(2)
    away = false
    await conversation.append(note('later'))
    await client.find<Envelope>(({ event }) => event.id === 'later')
  })
})
