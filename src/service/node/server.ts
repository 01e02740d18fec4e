/** A Node server for a service with a `fetch` function. When it closes, it lets active requests finish. */

import { getRequestListener } from '@hono/node-server'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, isIPv4 } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RedactionRules } from '../../context/redaction/rules.ts'
import { redactingStore } from '../../context/redaction/store.ts'
import { endsWithin } from '../../conversation/async.ts'
import { createEngine } from '../../conversation/engine.ts'
import { checkOptionNames } from '../../event/check-value.ts'
import type { Store } from '../../store/contract/store.ts'
import { isAllowed, isForeign } from '../auth/caller.ts'
import { jsonResponse } from '../http/app.ts'
import type { AllowOrigin } from '../http/cors.ts'
import { SlowReader } from '../live/start.ts'
import { createService, SERVICE_OPTIONS, type ServiceOptions } from '../service.ts'
import { headersOf, rawResponse, refuseUpgrade, serveWithoutUpgrade } from './plain-answer.ts'
import { createSockets } from './sockets.ts'

export const DEFAULT_PORT = 8000

/** Maximum milliseconds for releasing leases. This time begins at the deadline of closing. */
const RELEASE_TIMEOUT = 500

/** Options of `serve`. */
export interface ServeOptions extends Omit<ServiceOptions, 'engine'> {
  readonly store: Store
  /** Address to listen on. Any address except loopback requires keys. Default: 127.0.0.1. */
  readonly host?: string
  /** 0 for a free port. Default: 8000. */
  readonly port?: number
  /** Approximate maximum bytes of idle conversations in memory. Default: 256 MiB. */
  readonly cacheBytes?: number
  /**
   * Rules that redact everything before it is stored. Agents and users then see only the redacted form.
   * Default: none.
   */
  readonly storedRedaction?: RedactionRules
  /** Milliseconds from the beginning of closing to the deadline. Default: 9,000. */
  readonly shutdownTimeout?: number
}

/**
 * Runs a service on a port until it is closed. Closing waits at most half of `shutdownTimeout` for requests
 * and runs, then closes sockets and interrupts runs. A run that is still active after `shutdownTimeout` is
 * abandoned: its conversation is paused and its lease released. The caller closes the store.
 * @throws Error with a one-line message if the address is unavailable, or if `keys` is missing although
 *   `host` is not loopback or `allowOrigins` contains `*`; ColloquyError `invalid_argument` for invalid
 *   options; the store's error if the store cannot be opened.
 * @example
 * const server = await serve({ store: memoryStore(), port: 0 })
 * const response = await fetch(`${server.url}/health`)
 * response.status // 200
 * await server.close()
 */
export async function serve(options: ServeOptions): Promise<Listening> {
  checkOptionNames(options, 'store host port cacheBytes storedRedaction shutdownTimeout', ...SERVICE_OPTIONS)
  const {
    storedRedaction: rules,
    store: originalStore,
    host = '127.0.0.1',
    port = DEFAULT_PORT,
    shutdownTimeout = 9_000,
    cacheBytes,
    ...rest
  } = options
  const keyless = (rest.keys ?? []).length === 0
  if (keyless && !isLoopback(host))
    throw new Error(`Cannot listen on ${host} without keys. Set keys, or use a loopback address.`)
  if (keyless && (rest.allowOrigins ?? []).includes('*'))
    throw new Error(
      'Without keys, any web page could use the service. Set keys, or list the allowed origins.',
    )
  const store = rules === undefined ? originalStore : redactingStore(originalStore, rules)
  // Shared replies are stored without redaction. So with redaction rules, no replies are shared.
  const shareReplies = rules === undefined
  const engine = createEngine({ store, shareReplies, ...(cacheBytes !== undefined && { cacheBytes }) })
  const service = createService({ ...rest, engine })
  const sockets = createSockets(service)
  const onShutdown = async (): Promise<void> => {
    const { webhookDispatcher, controlPlane, lostRuns, runs } = service
    const parts = [sockets, webhookDispatcher, controlPlane, lostRuns, engine]
    await Promise.allSettled([...parts.map((part) => part.close()), runs.settle()])
  }
  /** Releases leases of unfinished runs, so that other processes need not wait for expiry. */
  const releaseLeases = async (): Promise<void> => {
    for (const id of service.runs.ids) {
      const lease = await store.getLease(id)
      if (lease !== null) await store.releaseLease(lease)
    }
  }
  try {
    // Fail now, not at the first request, when the store cannot be opened.
    await store.listConversations({ limit: 1 })
    await service.controlPlane.start()
    service.webhookDispatcher.start()
    service.lostRuns.start()
    const server = await listen({
      fetch: service.fetch,
      host,
      port,
      shutdownTimeout,
      onlyLocal: keyless,
      allowOrigin: service.allowOrigin,
      upgrade: sockets.upgrade,
      onClosing() {
        service.live.isClosing = true
        return service.runs.settle()
      },
      onShutdown,
    })
    let closing: Promise<unknown> | null = null
    const close = async (): Promise<void> => {
      await (closing ??= server.close().then(() => endsWithin(RELEASE_TIMEOUT, releaseLeases())))
    }
    return { ...server, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    // Stop everything that was started, because it would keep the process alive.
    await endsWithin(shutdownTimeout, onShutdown())
    throw error
  }
}

/** Handles a WebSocket upgrade. */
export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/** Options of `listen`. */
export interface ListenOptions {
  readonly fetch: (request: Request) => Response | Promise<Response>
  /** Address to listen on. Default: 127.0.0.1. */
  readonly host?: string
  /** 0 for a free port. Default: 8000. */
  readonly port?: number
  /**
   * Handles WebSocket upgrades. All other upgrade requests are served as plain requests. Default: none;
   * WebSocket upgrades are then served as plain requests too.
   */
  readonly upgrade?: Upgrade
  /**
   * For a service without keys: whether to reject requests whose `Host` is not this machine, and sockets from
   * pages of other origins. Default: false.
   */
  readonly onlyLocal?: boolean
  /** Returns whether pages of an origin may open sockets in spite of `onlyLocal`. Default: no page may. */
  readonly allowOrigin?: AllowOrigin
  /**
   * Called when closing begins. Closing waits for this function and for requests, at most half of
   * `shutdownTimeout`. Default: none.
   */
  readonly onClosing?: () => Promise<void> | void
  /**
   * Called after `onClosing` and the wait for requests, to close sockets and end streams. Closing waits for
   * this function, at most until the deadline. Default: none.
   */
  readonly onShutdown?: () => Promise<void> | void
  /** Milliseconds from the beginning of closing to the deadline. Default: 9,000. */
  readonly shutdownTimeout?: number
}

/** A listening HTTP server. */
export interface Listening {
  readonly url: string
  readonly port: number
  /**
   * Accepts the connections that are already waiting, then no others. Lets requests finish, and closes
   * everything at the deadline. Can be called again.
   */
  readonly close: () => Promise<void>
  /** Closes the server, for `await using`. */
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** Milliseconds that closing waits for the rest of a request that is not fully received. */
const UPLOAD_GRACE = 500

/** Maximum number of connections that the kernel accepts for the process: the default of Node. */
const BACKLOG = 511

const FOREIGN = 'The service only accepts requests from this machine.'

/**
 * Starts an HTTP server. @throws Error with a one-line message if the address is unavailable.
 * @example
 * const server = await listen({ fetch: () => new Response('Hello'), port: 0 })
 * const response = await fetch(server.url)
 * response.status // 200
 * await server.close()
 */
export async function listen(options: ListenOptions): Promise<Listening> {
  checkOptionNames(
    options,
    'fetch host port upgrade onlyLocal allowOrigin onClosing onShutdown shutdownTimeout',
  )
  const { host = '127.0.0.1', port = DEFAULT_PORT, onlyLocal = false, shutdownTimeout = 9_000 } = options
  const pending = new Set<Pick<IncomingMessage, 'complete'>>()
  let stopping = false
  let checkPending: (() => void) | null = null
  const responding = new Set<ServerResponse>()
  const listener = getRequestListener(
    async (request, { incoming, outgoing }) => {
      if (onlyLocal && !namesLoopback(request.headers.get('host')))
        return jsonResponse({ detail: FOREIGN }, 403)
      pending.add(incoming)
      try {
        return cutOff(await options.fetch(request), outgoing)
      } finally {
        pending.delete(incoming)
        checkPending?.()
      }
    },
    { overrideGlobalObjects: false, errorHandler: () => jsonResponse({ detail: 'Malformed request.' }, 400) },
  )
  // Without this option, Node rejects requests without a `Host` itself, with an empty body.
  const server = createServer({ requireHostHeader: false }, (incoming, outgoing) => {
    // Old health checks use HTTP/1.0 without a Host. Browsers never send such requests.
    if (incoming.httpVersion === '1.0' && incoming.headers.host === undefined) {
      incoming.headers.host = 'localhost'
      incoming.rawHeaders.push('Host', 'localhost')
    }
    responding.add(outgoing)
    outgoing.shouldKeepAlive &&= !stopping
    outgoing.once('close', () => {
      responding.delete(outgoing)
      if (stopping) setImmediate(() => server.closeIdleConnections())
    })
    void listener(incoming, outgoing)
  })
  // The response may have no socket yet, because an earlier response of the connection is not complete.
  server.on('checkExpectation', (_incoming, outgoing) => {
    const body = '{"detail":"Expectation Failed"}'
    const headers = { 'content-type': 'application/json', 'content-length': body.length, connection: 'close' }
    outgoing.writeHead(417, headers).end(body)
  })
  const connections = new Set<Duplex>()
  let accepted = 0
  server.on('connection', (connection: Duplex) => {
    accepted += 1
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
  })
  const { upgrade, allowOrigin = () => false } = options
  const isOurs = (request: IncomingMessage): boolean => {
    if (!onlyLocal) return true
    const page = { headers: headersOf(request), url: 'http://localhost' }
    return namesLoopback(request.headers.host) && (!isForeign(page) || isAllowed(page, allowOrigin))
  }
  const upgraded = trackUpgrades(server, upgrade, isOurs, () => stopping)
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
    const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code ?? ''] ?? 400
    socket.end(rawResponse(status))
  })
  // This timeout is longer than the timeouts of load balancers, so that they close idle connections first.
  server.keepAliveTimeout = 65_000
  await bind(server, host, port)
  const { port: bound, address, family } = server.address() as AddressInfo

  const requestsEnd = (grace: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let isGraceOver = false
    const check = (): void => {
      const waits = isGraceOver ? [...pending].some(({ complete }) => complete) : pending.size > 0
      if (!waits) resolve()
    }
    const timer = setTimeout(() => {
      isGraceOver = true
      check()
    }, grace)
    checkPending = check
    check()
    return promise.finally(() => clearTimeout(timer))
  }

  /**
   * Accepts the connections that wait in the kernel, because closing would reset them. Each turn of the event
   * loop accepts one connection.
   */
  const emptyBacklog = async (limit: number): Promise<void> => {
    const maximum = accepted + BACKLOG
    for (;;) {
      const before = accepted
      // The current turn of the event loop may have polled for connections already.
      await nextTurn()
      await nextTurn()
      if (accepted === before || accepted >= maximum || performance.now() >= limit) return
    }
  }

  const close = async (): Promise<void> => {
    stopping = true
    const deadline = performance.now() + shutdownTimeout
    const timeLeft = (): number => Math.max(0, deadline - performance.now())
    const emptied = emptyBacklog(deadline - shutdownTimeout / 2)
    const closed = emptied.then(() => new Promise<void>((resolve) => server.close(() => resolve())))
    for (const outgoing of responding) outgoing.shouldKeepAlive = false
    const grace = Math.min(UPLOAD_GRACE, shutdownTimeout / 4)
    const requestsEnded = emptied.then(() => requestsEnd(grace))
    await endsWithin(shutdownTimeout / 2, Promise.all([requestsEnded, options.onClosing?.()]))
    await endsWithin(timeLeft(), Promise.resolve(options.onShutdown?.()))
    // Connections without a complete request get no response.
    const responses = [...responding].filter(({ req }) => req.complete)
    const busy = new Set<Duplex | null>([...upgraded, ...responses.map(({ socket }) => socket)])
    for (const connection of connections) if (!busy.has(connection)) connection.destroy()
    if (!(await endsWithin(timeLeft(), closed))) {
      for (const socket of upgraded) socket.destroy()
      server.closeAllConnections()
    }
    await closed
  }
  let ending: Promise<void> | null = null
  const end = (): Promise<void> => (ending ??= close())
  return {
    url: `http://${hostName(host, address, family)}:${bound}`,
    port: bound,
    close: end,
    [Symbol.asyncDispose]: end,
  }
}

/** Returns the host of the URL: `localhost` for a wildcard address, to which clients cannot connect. */
function hostName(host: string, address: string, family: string): string {
  if (address === '0.0.0.0' || address === '::') return 'localhost'
  const name = host === 'localhost' ? host : address
  return family === 'IPv6' && name.includes(':') ? `[${name}]` : name
}

/** Destroys the connection if the client reads too slowly, instead of reporting an error of the server. */
function cutOff(response: Response, outgoing: { destroy(): unknown }): Response {
  const { body, headers } = response
  if (body === null || headers.get('content-type') !== 'text/event-stream') return response
  const reader = body.getReader()
  const passed = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // Listen on `closed`: while the server waits for a slow reader, it does not call `pull`.
        reader.closed.catch((error: unknown) => {
          if (error instanceof SlowReader) outgoing.destroy()
          else controller.error(error)
        })
      },
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(passed, response)
}

function trackUpgrades(
  server: Server,
  upgrade: Upgrade | undefined,
  isOurs: (request: IncomingMessage) => boolean,
  stopping: () => boolean,
): ReadonlySet<Duplex> {
  const sockets = new Set<Duplex>()
  // A server without an upgrade listener serves upgrade requests as plain requests.
  if (upgrade === undefined) return sockets
  server.on('upgrade', (request, socket, head) => {
    if (request.headers.upgrade?.trim().toLowerCase() !== 'websocket')
      return serveWithoutUpgrade(server, request, socket, head)
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    if (stopping()) return refuseUpgrade(socket, 503, 'The service is shutting down.')
    try {
      if (!isOurs(request)) return refuseUpgrade(socket, 403, FOREIGN)
      upgrade(request, socket, head)
    } catch {
      // An exception in a listener would end the process, and the request may contain anything.
      refuseUpgrade(socket, 400, 'Malformed request.')
    }
  })
  return sockets
}

const LISTEN_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use: use another port, or 0 for any free one',
  EACCES: 'requires more permissions: use a port of 1024 or more',
  EADDRNOTAVAIL: 'is not an address of this machine',
  ENOTFOUND: 'is no address of this machine',
  EAI_AGAIN: 'is no address of this machine',
}

async function bind(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason = LISTEN_ERRORS[error.code ?? ''] ?? `is unavailable (${error.code ?? error.message})`
      const address =
        error.code === 'EADDRINUSE' || error.code === 'EACCES' ? `port ${port} of ${host}` : host
      reject(new Error(`${address} ${reason}`, { cause: error }))
    })
    server.listen({ host, port }, resolve)
  })
  server.removeAllListeners('error')
}

/**
 * Whether an address can be reached only from this machine.
 * @example
 * isLoopback('127.0.0.1') // true
 * isLoopback('0.0.0.0') // false
 */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1')
  if (name === 'localhost' || name === '::1') return true
  const four = name.startsWith('::ffff:') ? name.slice(7) : name
  return isIPv4(four) && four.startsWith('127.')
}

/** Whether a `Host` header names this machine. With DNS rebinding, the header still has the attacker's name. */
export function namesLoopback(hostHeader: string | null | undefined): boolean {
  const name = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(hostHeader ?? '')?.[1]
  return name !== undefined && (isLoopback(name) || name.toLowerCase().endsWith('.localhost'))
}
