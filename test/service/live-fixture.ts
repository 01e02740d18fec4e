/** A service on a real port, and clients that read its conversations over real sockets. */

import type { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import type { Event } from '../../src/event/types.ts'
import { createService, type Service, type ServiceOptions } from '../../src/service/index.ts'
import { listen, type Listening } from '../../src/service/node/server.ts'
import { createSockets, type SocketLimits, type Sockets } from '../../src/service/node/sockets.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { wrapStore } from '../conversation/stores.ts'

export interface LiveFixtureOptions extends Omit<ServiceOptions, 'engine'> {
  readonly store?: Store
  readonly sockets?: Partial<SocketLimits>
}

export interface LiveFixture {
  readonly engine: Engine
  readonly service: Service
  readonly sockets: Sockets
  readonly server: Listening
  /** The service's internal failures. */
  readonly failures: readonly unknown[]
  readonly conversation: (id?: string) => Promise<Conversation>
  readonly connect: (id: string, options?: ClientOptions) => Client
  readonly end: () => Promise<void>
}

export interface ClientOptions {
  readonly query?: Readonly<Record<string, string | number>>
  readonly headers?: Readonly<Record<string, string>>
  /** Sent when the socket opens. */
  readonly first?: unknown
  readonly protocol?: 'events' | 'session' | 'bash-events'
}

/** A frame in the envelope format. */
export interface Envelope {
  readonly type: string
  readonly position: number
  readonly event: Event & { readonly key?: string; readonly value?: unknown }
}

/** A client with all frames it has received. */
export interface Client {
  readonly socket: WebSocket
  /** The underlying connection, once open. */
  readonly raw: Promise<Duplex>
  readonly frames: readonly string[]
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  readonly send: (value: unknown) => void
  /** Resolves with the first matching frame, past or future. */
  readonly find: <T = Envelope>(fits: (frame: T) => boolean) => Promise<T>
  /** Resolves once this many frames have arrived. */
  readonly count: (frames: number) => Promise<void>
}

/** The query for envelopes. */
export const ENVELOPE = { format: 'envelope' } as const

/** Resolves when a client has caught up. */
export const caughtUp = (client: Client): Promise<unknown> =>
  client.find<Envelope>(({ type }) => type === 'caught_up')

export async function liveFixture(options: LiveFixtureOptions = {}): Promise<LiveFixture> {
  const { store = memoryStore(), sockets: socketOptions = {}, ...rest } = options
  const engine = createEngine({ store })
  const failures: unknown[] = []
  const onFailure = (error: unknown): void => void failures.push(error)
  const service = createService({ engine, onFailure, ...rest })
  const sockets = createSockets(service, { closeTimeout: 1_000, ...socketOptions })
  const server = await listen({
    fetch: service.fetch,
    port: 0,
    upgrade: sockets.upgrade,
    onShutdown: sockets.close,
    shutdownTimeout: 2_000,
  })
  const clients = new Set<Client>()
  return {
    engine,
    service,
    sockets,
    server,
    failures,
    conversation: (id = 'c') => engine.create({ id }),
    connect(id, input) {
      const { protocol = 'events' } = input ?? {}
      const path = protocol === 'bash-events' ? protocol : `${protocol}/${encodeURIComponent(id)}`
      const connected = client(`${server.url.replace('http', 'ws')}/sockets/${path}`, input)
      clients.add(connected)
      return connected
    },
    async end() {
      for (const { socket } of clients) socket.terminate()
      await server.close()
      await engine.close()
      await store.close()
    },
  }
}

/** Starts a service that ends with the test. */
export async function liveFixtureOfTest(options: LiveFixtureOptions = {}): Promise<LiveFixture> {
  const fixture = await liveFixture(options)
  onTestFinished(fixture.end)
  return fixture
}

/** A store that fails on demand, with a secret in its error message. */
export function failingStore(): { readonly store: Store; fails: boolean } {
  const store = memoryStore()
  const failing = {
    fails: false,
    store: wrapStore(store, {
      async getConversation(id) {
        if (failing.fails) throw new Error(SECRET)
        return store.getConversation(id)
      },
    }),
  }
  return failing
}

/** The secret in the failing store's error. */
export const SECRET = 'secret of the database'

function client(url: string, { query = {}, headers = {}, first }: ClientOptions = {}): Client {
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
  const search = pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
  const socket = new WebSocket(`${url}${search}`, { headers, perMessageDeflate: false })
  const frames: string[] = []
  const waiting = new Set<() => void>()
  const closed = Promise.withResolvers<{ code: number; reason: string }>()
  const raw = Promise.withResolvers<Duplex>()
  raw.promise.catch(() => undefined)
  socket.on('upgrade', (response) => raw.resolve(response.socket))
  socket.on('open', () => {
    if (first !== undefined) socket.send(typeof first === 'string' ? first : JSON.stringify(first))
  })
  socket.on('message', (data) => {
    frames.push(String(data))
    for (const check of waiting) check()
  })
  socket.on('close', (code, reason) => closed.resolve({ code, reason: String(reason) }))
  socket.on('error', (error) => raw.reject(error))
  const until = <T>(check: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const again = (): void => {
        const result = check()
        if (result === undefined) return
        waiting.delete(again)
        resolve(result)
      }
      waiting.add(again)
      void closed.promise.then(({ code }) =>
        reject(new Error(`closed with ${code} after ${frames.length} frames`)),
      )
      again()
    })
  return {
    socket,
    raw: raw.promise,
    frames,
    closed: closed.promise,
    send: (value) => socket.send(typeof value === 'string' ? value : JSON.stringify(value)),
    find<T>(fits: (frame: T) => boolean): Promise<T> {
      let seen = 0
      return until(() => {
        for (; seen < frames.length; seen += 1) {
          const frame = JSON.parse(frames[seen] as string) as T
          if (fits(frame)) return frame
        }
        return undefined
      })
    },
    count: async (number) => {
      await until(() => (frames.length >= number ? true : undefined))
    },
  }
}

/** All envelopes received so far. */
export const envelopes = ({ frames }: Client): Envelope[] =>
  frames.map((text) => JSON.parse(text) as Envelope)

/** The ids of the logged events received so far. */
export const eventIds = (client: Client): (string | undefined)[] =>
  envelopes(client).flatMap(({ type, event }) => (type === 'event' ? [event.id] : []))

/** A message for logs that are compared by ids. */
export const note = (id: string, text = id): Event => ({
  kind: 'MessageEvent',
  source: 'environment',
  id,
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
})

/** Notes with ids from `n<from>` on. */
export const notes = (from: number, count: number, text?: string): Event[] =>
  Array.from({ length: count }, (_, index) => note(`n${from + index}`, text))
