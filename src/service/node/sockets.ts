import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { addTo } from '../../conversation/async.ts'
import { hasCode } from '../../event/errors.ts'
import type { Credential, Identify } from '../auth/caller.ts'
import { type Access, keyInterval, KeyWatch } from '../auth/key-watch.ts'
import { requestIdOf } from '../http/app.ts'
import { decoded } from '../http/parameters.ts'
import type { FailureText } from '../http/problem.ts'
import { describeFailure, HttpProblem, problemText, redactForClient, toProblem } from '../http/problem.ts'
import { type Channel, Closing, commandsChannel, eventsChannel, sessionChannel } from '../live/channels.ts'
import { invalidFrame, readFrame } from '../live/client-frames.ts'
import type { Live } from '../live/live.ts'
import { CLOSE } from '../live/server-frames.ts'
import { SlowReader } from '../live/start.ts'
import { authFrame } from '../request-schema.ts'
import type { Service } from '../service.ts'
import { type Admission, admit, Budget } from './budget.ts'
import { refuseUpgrade } from './plain-answer.ts'

interface ConnectionParts extends Pick<UpgradeRequest, 'admission' | 'channel' | 'url'> {
  readonly live: Live
  readonly identify: Identify
  readonly keys: KeyWatch
  readonly socket: WebSocket
  readonly raw: Duplex
  readonly limits: SocketLimits
  readonly inbound: Budget
  readonly outbound: Budget
  readonly onAdmitted: () => boolean
}

const LIMITS = {
  maxFrameBytes: 4 * 2 ** 20,
  /** Maximum number of sockets whose clients have not yet sent a key. */
  maxUnauthenticated: 1_024,
  /** Maximum bytes buffered for all sockets together. */
  maxInbound: 256 * 2 ** 20,
  maxOutbound: 512 * 2 ** 20,
  /** Maximum bytes queued for one client. */
  maxBufferedBytes: 2 ** 20,
  /** Milliseconds in which the client must send its key. */
  authTimeout: 10_000,
  /** Milliseconds in which a client must complete the close of its socket. */
  closeTimeout: 5_000,
}

export type SocketLimits = typeof LIMITS

const MAX_MISSED = 2
const REVOKED = [CLOSE.unauthorized, 'The key is no longer valid'] as const
/** Milliseconds in which a client without a key must complete the close of its socket. */
const SHORT_GRACE = 1_000

class Connection {
  readonly #parts: ConnectionParts
  readonly #outlet: Outlet
  readonly #inbox: Inbox
  #missed = 0
  #acceptedBefore = 0
  #access: Access | null = null
  #unwatch: () => void = () => undefined

  constructor(parts: ConnectionParts) {
    this.#parts = parts
    const { socket, raw, limits, live, inbound, outbound } = parts
    const { writeTimeout } = live.options
    this.#outlet = new Outlet(socket, raw, {
      maxBytes: limits.maxBufferedBytes,
      writeTimeout,
      budget: outbound,
    })
    this.#inbox = new Inbox(socket, raw, inbound, (why) => {
      if (socket.readyState !== socket.OPEN) return this.terminate()
      if (why === 'first') this.close(CLOSE.tooLarge, 'The first frame may contain only a key')
      else this.close(CLOSE.busy, 'Too much data is being sent; try again later')
    })
    for (const event of ['pong', 'ping', 'message'] as const) socket.on(event, () => (this.#missed = 0))
    // After a broken frame or the loss of the peer, the socket closes itself with a suitable code.
    socket.on('error', () => undefined)
    socket.on('close', () => this.#end())
  }

  /** Serves the socket until it is closed. Never throws. */
  async serve(): Promise<void> {
    try {
      if (await this.#admit()) await this.#stream()
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#end()
    }
  }

  ping(): void {
    const { socket } = this.#parts
    if (socket.readyState !== socket.OPEN) return
    // A client that reads is alive, though its pong may be queued behind the data.
    if (this.#outlet.accepted !== this.#acceptedBefore) this.#missed = 0
    this.#acceptedBefore = this.#outlet.accepted
    if (this.#missed >= MAX_MISSED) {
      this.close(CLOSE.idle, 'No response to pings')
      return
    }
    this.#missed += 1
    socket.ping()
  }

  close(code: number, reason: string): void {
    const { socket, limits, channel } = this.#parts
    this.#end()
    if (socket.readyState !== socket.OPEN) return
    const resume = channel.resume()
    socket.close(code, clip(reason, 120 - resume.length) + resume)
    // Read the client's last frames, even if reading was paused.
    socket.resume()
    const closeTimeout =
      this.#access === null ? Math.min(limits.closeTimeout, SHORT_GRACE) : limits.closeTimeout
    const timer = setTimeout(() => socket.terminate(), closeTimeout)
    socket.once('close', () => clearTimeout(timer))
  }

  terminate(): void {
    this.#parts.socket.terminate()
  }

  #end(): void {
    this.#unwatch()
    this.#parts.channel.end()
  }

  async #admit(): Promise<boolean> {
    const { admission, keys, onAdmitted, live, socket } = this.#parts
    if (admission.type === 'refused') {
      this.close(CLOSE.unauthorized, admission.reason)
      return false
    }
    const access = admission.type === 'admitted' ? admission.access : await this.#readKey(admission.org)
    if (socket.readyState !== socket.OPEN) return false
    if (access === null) {
      this.close(CLOSE.unauthorized, 'Unauthorized')
      return false
    }
    if (!onAdmitted()) {
      this.close(
        CLOSE.busy,
        `The maximum of ${live.options.maxTotal} open sockets has been reached; try again later`,
      )
      return false
    }
    this.#access = access
    this.#inbox.open()
    this.#unwatch = keys.watch(access, () => this.close(...REVOKED))
    return true
  }

  async #readKey(org: string | null): Promise<Access | null> {
    const { identify, limits } = this.#parts
    const timer = setTimeout(
      () => this.close(CLOSE.unauthorized, 'No key was sent in time'),
      limits.authTimeout,
    )
    const frame = await this.#inbox.next()
    clearTimeout(timer)
    const read = readFrame(frame?.text ?? '')
    const auth = 'value' in read ? authFrame.read(read.value) : null
    if (auth === null || !('value' in auth)) return null
    const credential: Credential = { text: auth.value.session_api_key, from: 'header' }
    const caller = await identify(credential, org)
    return caller === null ? null : { caller, credential, org }
  }

  async #stream(): Promise<void> {
    const { channel, socket, url } = this.#parts
    const messages = await channel.open(url.searchParams)
    if (socket.readyState !== socket.OPEN) return
    void this.#listen().catch((error: unknown) => this.#fail(error))
    for await (const bytes of messages) {
      await this.#outlet.write(bytes)
      if (socket.readyState !== socket.OPEN) return
    }
    this.close(CLOSE.away, 'The service is shutting down')
  }

  async #listen(): Promise<void> {
    for (;;) {
      const frame = await this.#inbox.next()
      if (frame === null) return
      try {
        if (this.#access === null || !(await this.#parts.keys.isGood(this.#access)))
          return this.close(...REVOKED)
        const failure =
          frame.text === null
            ? invalidFrame('Binary frames are not supported. Send JSON as text.')
            : await this.#parts.channel.receive(frame.text)
        if (failure !== null) this.#report(failure)
      } catch (error) {
        this.#report(this.#describe(error))
      }
    }
  }

  #report(failure: FailureText): void {
    const { socket, limits, channel } = this.#parts
    // A client that sends invalid frames and does not read the errors receives no more errors.
    if (socket.readyState !== socket.OPEN || this.#outlet.pending > limits.maxBufferedBytes) return
    this.#outlet.write(channel.failure(failure))?.catch(() => undefined)
  }

  #describe(error: unknown): FailureText {
    const failure = describeFailure(error)
    if (failure.code === 'InternalError') this.#parts.live.options.onFailure(error)
    return failure
  }

  #fail(error: unknown): void {
    if (error instanceof Closing) return this.close(...error.close)
    if (error instanceof SlowReader) return this.close(...this.#parts.channel.slow)
    if (hasCode(error, 'unknown_conversation')) return this.close(CLOSE.unknown, 'Unknown conversation')
    if (hasCode(error, 'closed')) return this.close(CLOSE.away, 'The service is shutting down')
    if (error instanceof HttpProblem)
      return this.close(CLOSE_CODES.get(error.status) ?? CLOSE.failed, problemText(error))
    this.#report(this.#describe(error))
    this.close(CLOSE.failed, 'The stream failed')
  }
}

const CLOSE_CODES: ReadonlyMap<number, number> = new Map([
  [403, CLOSE.unauthorized],
  [404, CLOSE.unknown],
  [422, CLOSE.badRequest],
  [429, CLOSE.busy],
  [503, CLOSE.away],
])

const clip = (text: string, bytes: number): string =>
  text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read)

const MAX_FRAMES = 16
const MAX_BYTES = 2 ** 18

/** Bytes of an unfinished frame that each socket may hold, even when the budget is exceeded. */
const GUARANTEED_BYTES = 2 ** 16

/** Maximum bytes of the first frame, which contains only a key. Earlier pings count towards it. */
const MAX_FIRST_FRAME = 4_096

/** A frame; the text of a binary frame is null. */
interface Received {
  readonly text: string | null
  readonly bytes: number
}

/** The queue of received frames. Until `open` is called, reads only one short frame. */
class Inbox {
  readonly #socket: WebSocket
  readonly #budget: Budget
  readonly #frames: Received[] = []
  #queued = 0
  #unfinished = 0
  #isWhole = false
  #isOpen = false
  #wake: () => void = () => undefined

  constructor(socket: WebSocket, raw: Duplex, budget: Budget, overflow: (why: 'first' | 'total') => void) {
    this.#socket = socket
    this.#budget = budget
    socket.on('message', (data, isBinary) => {
      if (socket.readyState !== socket.OPEN) return
      // With the default `binaryType`, each frame arrives as one buffer.
      const bytes = (data as Buffer).byteLength
      this.#isWhole = true
      if (!this.#isOpen && bytes > MAX_FIRST_FRAME) return overflow('first')
      this.#frames.push({ text: isBinary ? null : (data as Buffer).toString(), bytes })
      this.#queued += bytes
      budget.add(bytes)
      if (!this.#isOpen || this.#frames.length >= MAX_FRAMES || this.#queued >= MAX_BYTES) socket.pause()
      this.#wake()
    })
    // Count the bytes of unfinished frames, which the WebSocket library does not report. This listener runs
    // before the library's.
    raw.on('data', ({ byteLength }: Buffer) => {
      if (this.#isWhole) this.#finish()
      else {
        this.#unfinished += byteLength
        budget.add(byteLength)
      }
      if (!this.#isOpen && this.#frames.length === 0 && this.#unfinished > MAX_FIRST_FRAME) overflow('first')
      else if (this.#unfinished > GUARANTEED_BYTES && budget.isSpent) overflow('total')
    })
    socket.on('close', () => {
      this.#finish()
      budget.add(-this.#queued)
      this.#queued = 0
      this.#wake()
    })
  }

  open(): void {
    this.#isOpen = true
  }

  async next(): Promise<Received | null> {
    while (this.#frames.length === 0) {
      if (this.#socket.readyState !== this.#socket.OPEN) return null
      this.#socket.resume()
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    const frame = this.#frames.shift() ?? null
    if (frame === null || this.#queued === 0) return frame
    this.#queued -= frame.bytes
    this.#budget.add(-frame.bytes)
    return frame
  }

  #finish(): void {
    this.#isWhole = false
    this.#budget.add(-this.#unfinished)
    this.#unfinished = 0
  }
}

interface OutletOptions {
  readonly maxBytes: number
  /** Maximum milliseconds that a write waits for a full queue while the client reads nothing. */
  readonly writeTimeout: number
  /** Budget shared by all sockets. When it is spent, each socket may queue one frame. */
  readonly budget: Budget
}

/** The part of a WebSocket that this file uses. Declared here, so that callers do not need the types of `ws`. */
interface Sender {
  send(bytes: Uint8Array, options: { binary: boolean; compress: boolean }, onSent: () => void): void
}

export class Outlet {
  readonly #socket: Sender
  readonly #raw: Duplex
  readonly #options: OutletOptions
  #pending = 0
  #accepted = 0
  #corked = false
  #waiting: Promise<void> | null = null
  #resume: (() => void) | null = null

  constructor(socket: Sender, raw: Duplex, options: OutletOptions) {
    this.#socket = socket
    this.#raw = raw
    this.#options = options
  }

  get accepted(): number {
    return this.#accepted
  }

  get pending(): number {
    return this.#pending
  }

  /**
   * Returns a promise if the queue is full: await it before sending more. The promise rejects with SlowReader
   * when the peer reads nothing for `writeTimeout`.
   */
  write(bytes: Uint8Array): Promise<void> | null {
    this.#cork()
    const { maxBytes: limit, budget } = this.#options
    this.#pending += bytes.byteLength
    budget.add(bytes.byteLength)
    this.#socket.send(bytes, { binary: false, compress: false }, () => {
      this.#accepted += 1
      this.#pending -= bytes.byteLength
      budget.add(-bytes.byteLength)
      if (this.#pending === 0 || (this.#pending <= limit / 2 && !budget.isSpent)) this.#resume?.()
    })
    return this.#pending > limit || budget.isSpent ? (this.#waiting ??= this.#room()) : null
  }

  /** Sends the frames of one turn of the event loop in one system call. */
  #cork(): void {
    if (this.#corked) return
    this.#corked = true
    this.#raw.cork()
    process.nextTick(() => {
      this.#corked = false
      this.#raw.uncork()
    })
  }

  #room(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let before = this.#accepted
    const check = (): void => {
      if (this.#accepted === before) reject(new SlowReader('The reader is too slow.'))
      before = this.#accepted
    }
    // After a blocked event loop, timers fire before the callbacks of writes.
    const timer = setInterval(() => setImmediate(check), this.#options.writeTimeout)
    this.#resume = resolve
    return promise.finally(() => {
      clearInterval(timer)
      this.#waiting = null
      this.#resume = null
    })
  }
}

export interface Sockets {
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  readonly size: number
  /** Ends streams, and closes sockets with 1001. After `closeTimeout`, terminates sockets that are still open. */
  readonly close: () => Promise<void>
}

const BASE = 'http://localhost'

const PATH = /^\/sockets\/(?:(events|session)\/([^/]+)|bash-events)\/?$/

/**
 * Returns the WebSocket side of a service. Browsers let any page open a socket to this machine. A service
 * without keys therefore rejects sockets from pages of other origins, except the origins in `allowOrigins`.
 */
export function createSockets(
  { live, identify, log, allowOrigin, commands }: Service,
  changes: Partial<SocketLimits> = {},
): Sockets {
  const limits = { ...LIMITS, ...changes }
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: limits.maxFrameBytes,
    perMessageDeflate: false,
    clientTracking: false,
  })
  const keys = new KeyWatch(identify, keyInterval(live.options.heartbeatInterval))
  const [inbound, outbound] = [new Budget(limits.maxInbound), new Budget(limits.maxOutbound)]
  const shared = { live, identify, keys, limits, inbound, outbound }
  const connections = new Set<Connection>()
  const waiting = new Unauthenticated(limits.maxUnauthenticated)
  const open = (): Connection[] => [...connections, ...waiting]
  const ids = new WeakMap<IncomingMessage, string>()
  // Responds as the service does to other errors. By default, the library responds with plain text.
  server.on('wsClientError', (_error, socket) => refuseUpgrade(socket, 400))
  server.on('headers', (headers, request) => headers.push(`X-Request-ID: ${ids.get(request)}`))
  let heartbeats: NodeJS.Timeout | undefined
  const pingAll = (): void => {
    for (const connection of connections) connection.ping()
  }
  const accept = (raw: Duplex, head: Buffer, upgraded: UpgradeRequest): void => {
    const { request, admission, logSocket } = upgraded
    server.handleUpgrade(request, raw, head, (socket) => {
      socket.once('close', (code) => logSocket(101, code))
      const connection = new Connection({
        ...upgraded,
        ...shared,
        socket,
        raw,
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
    return protocol === 'session' ? sessionChannel(live, decoded(part)) : eventsChannel(live, decoded(part))
  }
  const upgrade = (request: IncomingMessage, raw: Duplex, head: Buffer): void => {
    const target = request.url ?? '/'
    // An error thrown here is not caught, and would end the process.
    if (!URL.canParse(target, BASE)) return refuseUpgrade(raw, 400)
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
    const refuse = (status: number): void => {
      refuseUpgrade(raw, status)
      logSocket(status)
    }
    const channel = channelOf(url.pathname)
    if (channel === null) return refuse(404)
    // A peer that disconnects is not a server failure.
    raw.on('error', () => raw.destroy())
    void admit(identify, request, url.searchParams, allowOrigin).then(
      (admission) =>
        live.isClosing ? refuse(503) : accept(raw, head, { request, channel, url, admission, logSocket }),
      (error: unknown) => {
        const problem = error instanceof HttpProblem ? error : toProblem(error, {})
        if (problem === null) live.options.onFailure(error)
        refuse(problem?.status ?? 500)
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
      const end = performance.now() + limits.closeTimeout
      while (open().length > 0 && performance.now() < end)
        await new Promise((resolve) => setTimeout(resolve, 5))
      for (const connection of open()) connection.terminate()
    },
  }
}

interface UpgradeRequest {
  readonly request: IncomingMessage
  readonly channel: Channel
  readonly url: URL
  readonly admission: Admission
  readonly logSocket: (status: number, code?: number) => void
}

/**
 * Unauthenticated sockets. At the maximum, a new socket evicts the oldest socket of the address with the
 * most sockets. So a flood of sockets from one address evicts only sockets of this address.
 */
class Unauthenticated {
  readonly #limit: number
  readonly #waiting = new Map<string, Set<Connection>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return [...this].length
  }

  *[Symbol.iterator](): Generator<Connection> {
    for (const sockets of this.#waiting.values()) yield* sockets
  }

  add(address: string, socket: Connection): () => void {
    if (this.size >= this.#limit) this.#evict()
    return addTo(this.#waiting, address, socket)
  }

  #evict(): void {
    const [largest] = [...this.#waiting.values()].toSorted((a, b) => b.size - a.size)
    const [oldest] = largest ?? []
    if (oldest === undefined) return
    largest?.delete(oldest)
    oldest.close(CLOSE.busy, 'Too many sockets without a key; try again')
  }
}
