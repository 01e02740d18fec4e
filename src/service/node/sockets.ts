/** The live streams as WebSockets: a service goes in, an upgrade handler for any Node server comes out. */

import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { CLOSE } from '../live/close-codes.ts'
import { requestIdOf } from '../observe/request-id.ts'
import type { Service } from '../service.ts'
import type { ConnectionOptions } from './bounds.ts'
import { Connection } from './connection.ts'
import { plainAnswer } from './plain-answer.ts'

/** How sockets are served. */
export interface SocketOptions extends Partial<ConnectionOptions> {
  /** Most bytes of a frame from a client. Default: 4 MiB. */
  readonly maxFrame?: number
}

/** Sockets of one service. */
export interface Sockets {
  /** Takes over a connection that asks for a WebSocket; one that asks for another path is refused with 404. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** How many are open. */
  readonly size: number
  /** Ends the streams of the service, closes all sockets with 1001, and waits for them; who does not close in time is cut off. */
  readonly close: () => Promise<void>
}

const BASE = 'http://localhost'

const PATH = /^\/sockets\/events\/([^/]+)\/?$/

/**
 * Serves `/sockets/events/{conversation_id}`. With no keys configured a page of another site is refused: to a browser's sockets, being on
 * this machine is no obstacle. When a socket closes, the service's log gets a line with its code, and the id that the upgrade answered.
 *
 * What is sent, where a reader may begin, and why a socket is closed: see `Format`, `LIVE_QUERY` and `CLOSE` in `service/live`. Give
 * `upgrade` and `close` to `listen`, as `serve` does.
 */
export function createSockets(
  { live, identify, log }: Pick<Service, 'live' | 'identify' | 'log'>,
  options: SocketOptions = {},
): Sockets {
  const { maxFrame = 4 * 2 ** 20, ...given } = options
  const bounds: ConnectionOptions = { queue: 2 ** 20, auth: 10_000, grace: 5_000, ...given }
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: maxFrame,
    perMessageDeflate: false,
    clientTracking: false,
  })
  const connections = new Set<Connection>()
  const ids = new WeakMap<IncomingMessage, string>()
  server.on('headers', (headers, request) => headers.push(`X-Request-ID: ${ids.get(request)}`))
  let beats: NodeJS.Timeout | undefined
  const beat = (): void => {
    for (const connection of connections) connection.beat()
  }
  const upgrade = (request: IncomingMessage, raw: Duplex, head: Buffer): void => {
    const target = request.url ?? '/'
    // Whatever is thrown here is caught by nobody, and would end the process.
    if (!URL.canParse(target, BASE)) return refuse(raw, 400)
    const { pathname, searchParams } = new URL(target, BASE)
    const id = decoded(PATH.exec(pathname)?.[1])
    if (id === null) return refuse(raw, 404)
    if (live.closed) return refuse(raw, 503)
    const requestId = requestIdOf(String(request.headers['x-request-id'] ?? ''))
    const start = performance.now()
    ids.set(request, requestId)
    server.handleUpgrade(request, raw, head, (socket) => {
      socket.once('close', (code) =>
        log?.({
          time: new Date().toISOString(),
          level: 'info',
          message: 'socket',
          request_id: requestId,
          method: 'GET',
          path: pathname,
          status: 101,
          close_code: code,
          milliseconds: Math.round((performance.now() - start) * 1_000) / 1_000,
        }),
      )
      const connection = new Connection({
        live,
        identify,
        socket,
        raw,
        request,
        id,
        query: searchParams,
        options: bounds,
      })
      if (connections.size >= live.options.inAll) {
        connection.close(CLOSE.busy, `There are ${live.options.inAll} sockets already; try again later`)
        return
      }
      connections.add(connection)
      beats ??= setInterval(beat, live.options.beat)
      socket.once('close', () => {
        connections.delete(connection)
        if (connections.size > 0) return
        clearInterval(beats)
        beats = undefined
      })
      void connection.serve()
    })
  }
  return {
    upgrade,
    get size() {
      return connections.size
    },
    async close() {
      live.close()
      for (const connection of connections) connection.close(CLOSE.away, 'The service goes away')
      const end = performance.now() + bounds.grace
      while (connections.size > 0 && performance.now() < end)
        await new Promise((resolve) => setTimeout(resolve, 5))
      for (const connection of connections) connection.terminate()
    },
  }
}

function decoded(text: string | undefined): string | null {
  if (text === undefined) return null
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

function refuse(raw: Duplex, status: number): void {
  // A peer that has gone meanwhile is no failure of the server's.
  raw.on('error', () => raw.destroy())
  raw.end(plainAnswer(status))
}
