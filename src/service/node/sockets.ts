/** Live streams as WebSockets, as an upgrade handler for any Node server. */

import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { keyInterval, KeyWatch } from '../auth/key-watch.ts'
import { requestIdOf } from '../http/app.ts'
import { HttpProblem, redactForClient, toProblem } from '../http/problem.ts'
import { type Channel, commandsChannel, eventsChannel, sessionChannel } from '../live/channels.ts'
import { CLOSE } from '../live/frame.ts'
import type { Service } from '../service.ts'
import { type Admission, admit, Budget, type ConnectionOptions } from './budget.ts'
import { Connection } from './connection.ts'
import { rawResponse } from './plain-answer.ts'

/** Options of sockets. */
export interface SocketOptions extends Partial<ConnectionOptions> {
  /** Maximum bytes of a client's frame. Default: 4 MiB. */
  readonly maxFrameBytes?: number
  /** Maximum number of unauthenticated sockets; the oldest is closed for a new one. Default: 1,024. */
  readonly maxUnauthenticated?: number
  /** Maximum number of unauthenticated sockets of one network address. Default: 256. */
  readonly maxUnauthenticatedPerAddress?: number
  /** Maximum received bytes that all sockets hold, roughly. Default: 256 MiB. */
  readonly maxInbound?: number
  /** Maximum queued bytes for all clients, in addition to one frame for each. Default: 512 MiB. */
  readonly maxOutbound?: number
}

/** Sockets of one service. */
export interface Sockets {
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  readonly size: number
  /** Ends streams and closes sockets with 1001; terminates those that are late. */
  readonly close: () => Promise<void>
}

const BASE = 'http://localhost'

const PATH = /^\/sockets\/(?:(events|session)\/([^/]+)|bash-events)\/?$/

/**
 * Serves `/sockets/events/{conversation_id}`, `/sockets/session/{conversation_id}` and `/sockets/bash-events`.
 * Without keys, rejects pages of other sites, since browsers let them open sockets to this machine. Logs
 * closes.
 *
 * Frames, start positions and close codes: `Format`, `LIVE_QUERY` and `CLOSE` in `service/live`. Pass
 * `upgrade` and `close` to `listen`, as `serve` does.
 */
export function createSockets(
  {
    live,
    identify,
    log,
    allowOrigin,
    commands,
  }: Pick<Service, 'live' | 'identify' | 'log' | 'allowOrigin' | 'commands'>,
  options: SocketOptions = {},
): Sockets {
  const {
    maxFrameBytes = 4 * 2 ** 20,
    maxUnauthenticated = 1_024,
    maxUnauthenticatedPerAddress = 256,
    maxInbound = 256 * 2 ** 20,
    maxOutbound = 512 * 2 ** 20,
    ...limits
  } = options
  const bounds: ConnectionOptions = {
    maxBufferedBytes: 2 ** 20,
    authTimeout: 10_000,
    closeTimeout: 5_000,
    ...limits,
  }
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: maxFrameBytes,
    perMessageDeflate: false,
    clientTracking: false,
  })
  const keys = new KeyWatch(identify, keyInterval(live.options.heartbeatInterval))
  const [inbound, outbound] = [new Budget(maxInbound), new Budget(maxOutbound)]
  const connections = new Set<Connection>()
  const waiting = new Unauthenticated<Connection>(
    { total: maxUnauthenticated, perAddress: maxUnauthenticatedPerAddress },
    (connection) => connection.close(CLOSE.busy, 'Too many sockets without a key; try again'),
  )
  const open = (): Connection[] => [...connections, ...waiting]
  const ids = new WeakMap<IncomingMessage, string>()
  server.on('headers', (headers, request) => headers.push(`X-Request-ID: ${ids.get(request)}`))
  let heartbeats: NodeJS.Timeout | undefined
  const pingAll = (): void => {
    for (const connection of connections) connection.ping()
  }
  const accept = (
    raw: Duplex,
    head: Buffer,
    { request, channel, url, admission, logSocket }: UpgradeRequest,
  ): void => {
    server.handleUpgrade(request, raw, head, (socket) => {
      socket.once('close', (code) => logSocket(101, code))
      const connection = new Connection({
        live,
        identify,
        keys,
        socket,
        raw,
        admission,
        channel,
        query: url.searchParams,
        options: bounds,
        inbound,
        outbound,
        onAdmitted() {
          leave()
          if (connections.size >= live.options.maxTotal) return false
          connections.add(connection)
          heartbeats ??= setInterval(pingAll, live.options.heartbeatInterval)
          return true
        },
      })
      const leave =
        admission.type === 'needs_key'
          ? waiting.add(request.socket.remoteAddress ?? '', connection)
          : () => undefined
      socket.once('close', () => {
        leave()
        connections.delete(connection)
        if (connections.size > 0) return
        clearInterval(heartbeats)
        heartbeats = undefined
      })
      void connection.serve()
    })
  }
  const channelOf = (path: string): Channel | null => {
    const [match, protocol, part] = PATH.exec(path) ?? []
    if (match === undefined) return null
    if (part === undefined) return commandsChannel(commands)
    const id = decoded(part)
    if (id === null) return null
    return protocol === 'session' ? sessionChannel(live, id) : eventsChannel(live, id)
  }
  const upgrade = (request: IncomingMessage, raw: Duplex, head: Buffer): void => {
    const target = request.url ?? '/'
    // An error thrown here is not caught, and would end the process.
    if (!URL.canParse(target, BASE)) return refuse(raw, 400)
    const url = new URL(target, BASE)
    const start = performance.now()
    const requestId = requestIdOf(String(request.headers['x-request-id'] ?? ''))
    ids.set(request, requestId)
    const logSocket = (status: number, code?: number): void =>
      log?.({
        time: new Date().toISOString(),
        level: 'info',
        message: 'socket',
        request_id: requestId,
        method: 'GET',
        path: redactForClient(url.pathname),
        status,
        ...(code !== undefined && { close_code: code }),
        milliseconds: Math.round((performance.now() - start) * 1_000) / 1_000,
      })
    const channel = channelOf(url.pathname)
    if (channel === null) return refuse(raw, 404)
    // A peer that disconnects is not a server failure.
    raw.on('error', () => raw.destroy())
    void admit(identify, request, url.searchParams, allowOrigin).then(
      (admission) =>
        live.closed ? refuse(raw, 503) : accept(raw, head, { request, channel, url, admission, logSocket }),
      (error: unknown) => {
        const problem = error instanceof HttpProblem ? error : toProblem(error, {})
        if (problem === null) live.options.onFailure(error)
        refuse(raw, problem?.status ?? 500)
        logSocket(problem?.status ?? 500)
      },
    )
  }
  return {
    upgrade,
    get size() {
      return connections.size + waiting.size
    },
    async close() {
      live.close()
      for (const connection of open()) connection.close(CLOSE.away, 'The service is shutting down')
      const end = performance.now() + bounds.closeTimeout
      while (open().length > 0 && performance.now() < end)
        await new Promise((resolve) => setTimeout(resolve, 5))
      for (const connection of open()) connection.terminate()
    },
  }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

function refuse(raw: Duplex, status: number): void {
  // A peer that disconnects is not a server failure.
  raw.on('error', () => raw.destroy())
  raw.end(rawResponse(status))
}

interface UpgradeRequest {
  readonly request: IncomingMessage
  readonly channel: Channel
  readonly url: URL
  readonly admission: Admission
  readonly logSocket: (status: number, code?: number) => void
}

interface UnauthenticatedBounds {
  readonly total: number
  readonly perAddress: number
}

/** Evicts the oldest socket, so that a client with a prompt key is always admitted. */
class Unauthenticated<T> {
  readonly #bounds: UnauthenticatedBounds
  readonly #evict: (socket: T) => void
  readonly #waiting = new Map<string, Set<T>>()
  #size = 0

  constructor(bounds: UnauthenticatedBounds, evict: (socket: T) => void) {
    this.#bounds = bounds
    this.#evict = evict
  }

  get size(): number {
    return this.#size
  }

  *[Symbol.iterator](): Generator<T> {
    for (const sockets of this.#waiting.values()) yield* sockets
  }

  /** Adds a socket; returns a function that removes it. O(1), and O(addresses) at the maximum. */
  add(address: string, socket: T): () => void {
    const sameAddress = this.#waiting.get(address)
    if (sameAddress !== undefined && sameAddress.size >= this.#bounds.perAddress)
      this.#evictOldest(address, sameAddress)
    else if (this.#size >= this.#bounds.total) this.#evictOldest(...this.#largest())
    const sockets = this.#waiting.get(address) ?? new Set()
    this.#waiting.set(address, sockets.add(socket))
    this.#size += 1
    return () => this.#remove(address, socket)
  }

  /** The address with the most sockets, so that one address never evicts another's. */
  #largest(): [string, Set<T>] {
    let largest: [string, Set<T>] = ['', new Set()]
    for (const entry of this.#waiting) if (entry[1].size > largest[1].size) largest = entry
    return largest
  }

  #evictOldest(address: string, sockets: ReadonlySet<T>): void {
    const [oldest] = sockets
    if (oldest === undefined) return
    this.#remove(address, oldest)
    this.#evict(oldest)
  }

  #remove(address: string, socket: T): void {
    const sockets = this.#waiting.get(address)
    if (sockets?.delete(socket) !== true) return
    this.#size -= 1
    if (sockets.size === 0) this.#waiting.delete(address)
  }
}
