/** One socket from its upgrade to its end: the key is asked for, the stream is sent, what the client says is said. */

import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Conversation } from '../../conversation/conversation.ts'
import { hasCode } from '../../event/errors.ts'
import { freezeJson } from '../../event/freeze.ts'
import { isObject } from '../../event/json.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { Credential, Identify } from '../auth/caller.ts'
import type { Access, KeyWatch } from '../auth/key-watch.ts'
import { type Lifecycle, sayAndRun } from '../conversations/conversations.ts'
import { authFrame, socketMessage } from '../request-schema.ts'
import { readParameters } from '../http/parameters.ts'
import type { ValidationError } from '../http/parameters.ts'
import { describeFailure, type FailureText, HttpProblem, problemText } from '../http/problem.ts'
import { CLOSE, errorFrame, type Format } from '../live/frame.ts'
import type { Live, LiveSession } from '../live/live.ts'
import { LIVE_QUERY, SlowReader } from '../live/start.ts'
import type { Admission, Budget, ConnectionOptions } from './budget.ts'

/** What a connection is made of. */
export interface ConnectionParts {
  readonly live: Live
  /** Finds whom a key belongs to. */
  readonly identify: Identify
  readonly keys: KeyWatch
  readonly socket: WebSocket
  readonly raw: Duplex
  /** What the request came to. */
  readonly admission: Admission
  /** The conversation, as the client wrote it. */
  readonly id: string
  readonly query: URLSearchParams
  readonly options: ConnectionOptions
  /** What all sockets may hold together of what came, and of what is to go. */
  readonly inbound: Budget
  readonly outbound: Budget
  /** Called when the client has shown a key, or needs none; false where there are too many already. */
  readonly onAdmitted: () => boolean
}

/** Heartbeats that may be missed. */
const MOST_MISSED = 2
/** Milliseconds that a client without a key has to close its side. */
const SHORT_GRACE = 1_000

/** A socket that was accepted. */
export class Connection {
  readonly #parts: ConnectionParts
  readonly #outlet: Outlet
  readonly #inbox: Inbox
  #session: LiveSession | null = null
  #format: Format = 'event'
  #position: number | null = null
  #missed = 0
  #taken = 0
  #access: Access | null = null
  #unwatch: () => void = () => undefined

  constructor(parts: ConnectionParts) {
    this.#parts = parts
    const { socket, raw, options, live, inbound, outbound } = parts
    const { writeTimeout } = live.options
    this.#outlet = new Outlet(socket, raw, { most: options.maxBufferedBytes, writeTimeout, budget: outbound })
    this.#inbox = new Inbox(socket, raw, inbound, (why) => {
      if (socket.readyState !== socket.OPEN) return this.terminate()
      if (why === 'first') this.close(CLOSE.tooLarge, 'The first frame holds a key and nothing else')
      else this.close(CLOSE.busy, 'Too much is being sent; try again later')
    })
    const heard = (): void => void (this.#missed = 0)
    for (const event of ['pong', 'ping', 'message'] as const) socket.on(event, heard)
    // A broken frame or a lost peer: the socket closes itself, with the code that fits.
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

  /** Looks whether anything was heard of the client since the last time, and asks for a heartbeat. */
  heartbeatInterval(): void {
    const { socket } = this.#parts
    if (socket.readyState !== socket.OPEN) return
    // A client that takes what is sent is alive, though the response to a ping waits behind it.
    if (this.#outlet.taken !== this.#taken) this.#missed = 0
    this.#taken = this.#outlet.taken
    if (this.#missed >= MOST_MISSED) {
      this.close(CLOSE.idle, 'Nothing was heard')
      return
    }
    this.#missed += 1
    socket.ping()
  }

  /** Closes the socket, and says where to go on. */
  close(code: number, reason: string): void {
    const { socket, options } = this.#parts
    this.#end()
    if (socket.readyState !== socket.OPEN) return
    const place = this.#position === null ? '' : `; resume after ${this.#position}`
    socket.close(code, clip(reason, 120 - place.length) + place)
    // What the client says last is read, though nothing was for a while.
    socket.resume()
    const closeTimeout =
      this.#access === null ? Math.min(options.closeTimeout, SHORT_GRACE) : options.closeTimeout
    const timer = setTimeout(() => socket.terminate(), closeTimeout)
    socket.once('close', () => clearTimeout(timer))
  }

  /** Ends the socket without more ado. */
  terminate(): void {
    this.#parts.socket.terminate()
  }

  #end(): void {
    this.#unwatch()
    this.#session?.end()
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
      this.close(CLOSE.busy, `There are ${live.options.maxTotal} sockets already; try again later`)
      return false
    }
    this.#access = access
    this.#inbox.open()
    this.#unwatch = keys.watch(access, () => this.#lock())
    return true
  }

  /** The key was deleted, or has run out. */
  #lock(): void {
    this.close(CLOSE.unauthorized, 'The key is no longer good')
  }

  async #readKey(org: string | null): Promise<Access | null> {
    const { identify, options } = this.#parts
    const timer = setTimeout(() => this.close(CLOSE.unauthorized, 'No key came in time'), options.authTimeout)
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
    const { live, socket, id, query } = this.#parts
    const unknown = [...query.keys()].find((name) => !Object.hasOwn(LIVE_QUERY, name))
    if (unknown !== undefined)
      return this.close(CLOSE.badRequest, `There is no parameter ${JSON.stringify(unknown)}`)
    const read = readParameters(LIVE_QUERY, 'query', (name) => query.getAll(name))
    if ('errors' in read) throw new HttpProblem(422, read.errors)
    this.#format = read.values.format
    this.#session = await live.connect(id, read.values)
    if (socket.readyState !== socket.OPEN) return
    void this.#listen(this.#session).catch((error: unknown) => this.#fail(error))
    for await (const frame of this.#session.frames) {
      this.#position = frame.position
      const full = this.#outlet.write(frame.bytes(this.#format))
      if (full !== null) await full
      if (socket.readyState !== socket.OPEN) return
    }
    this.close(CLOSE.away, 'The service goes away')
  }

  /** Appends the client's message; what is wrong with a frame is sent on this socket, and nothing else comes of it. */
  async #listen({ conversation }: LiveSession): Promise<void> {
    for (;;) {
      const frame = await this.#inbox.next()
      if (frame === null) return
      try {
        if (!(await this.#isGood())) return this.#lock()
        const wrong =
          frame.text === null
            ? wrongFrame('Binary frames are not read; send JSON as text.')
            : await say(this.#parts.live.lifecycle, conversation, frame.text)
        if (wrong !== null) this.#tell(wrong)
      } catch (error) {
        this.#tell(this.#told(error))
      }
    }
  }

  /** Whether the client may say something still. */
  async #isGood(): Promise<boolean> {
    return this.#access !== null && (await this.#parts.keys.isGood(this.#access))
  }

  #tell({ code, detail }: { readonly code: string; readonly detail: string }): void {
    const { socket, options } = this.#parts
    // A client that sends nonsense and reads no errors is sent no more of them.
    if (socket.readyState !== socket.OPEN || this.#outlet.pending > options.maxBufferedBytes) return
    const frame = errorFrame(this.#position ?? -1, code, detail)
    this.#outlet.write(frame.bytes(this.#format))?.catch(() => undefined)
  }

  #told(error: unknown): { readonly code: string; readonly detail: string } {
    const told = describeFailure(error)
    if (told.code === 'InternalError') this.#parts.live.options.onFailure(error)
    return told
  }

  #fail(error: unknown): void {
    if (error instanceof SlowReader) return this.close(CLOSE.slow, 'Too slow')
    if (hasCode(error, 'unknown_conversation')) return this.close(CLOSE.unknown, 'Unknown conversation')
    if (hasCode(error, 'closed')) return this.close(CLOSE.away, 'The service goes away')
    if (error instanceof HttpProblem) {
      return this.close(CODES.get(error.status) ?? CLOSE.failed, problemText(error))
    }
    this.#tell(this.#told(error))
    this.close(CLOSE.failed, 'The stream failed')
  }
}

/** How a problem of a request is sent over a socket. */
const CODES: ReadonlyMap<number, number> = new Map([
  [403, CLOSE.unauthorized],
  [404, CLOSE.unknown],
  [422, CLOSE.badRequest],
  [429, CLOSE.busy],
  [503, CLOSE.away],
])

/** As much of a text as fits into so many bytes of a close frame. */
function clip(text: string, bytes: number): string {
  let end = Math.min(text.length, bytes)
  while (Buffer.byteLength(text.slice(0, end)) > bytes) end -= 1
  return text.slice(0, end)
}

/** Most frames that wait, and most bytes of them; those of one piece of the network beyond. */
const MAX_FRAMES = 16
const MAX_BYTES = 2 ** 18

/** Bytes of an unfinished frame that each may hold, whatever others do. */
const ALWAYS = 2 ** 16

/**
 * Most bytes of the first frame, which holds a key and nothing else, with what a client may send of pings before it.
 */
const MAX_FIRST_FRAME = 4_096

/** One frame; the text of a binary one is null. */
interface Received {
  readonly text: string | null
  readonly bytes: number
}

/** Frames in order. Until `open` is called only one is read, and that one must be short. */
class Inbox {
  readonly #socket: WebSocket
  readonly #budget: Budget
  readonly #frames: Received[] = []
  #queued = 0
  /** Bytes that came since the last frame was whole. */
  #unfinished = 0
  #isWhole = false
  #isOpen = false
  #wake: () => void = () => undefined

  /** @param overflow is called when a first frame is too long, or all sockets together hold too much */
  constructor(socket: WebSocket, raw: Duplex, budget: Budget, overflow: (why: 'first' | 'total') => void) {
    this.#socket = socket
    this.#budget = budget
    socket.on('message', (data, isBinary) => {
      if (socket.readyState !== socket.OPEN) return
      // Text comes as one buffer, by the socket's own `binaryType`.
      const bytes = (data as Buffer).byteLength
      this.#isWhole = true
      if (!this.#isOpen && bytes > MAX_FIRST_FRAME) return overflow('first')
      this.#frames.push({ text: isBinary ? null : (data as Buffer).toString(), bytes })
      this.#queued += bytes
      budget.add(bytes)
      if (!this.#isOpen || this.#frames.length >= MAX_FRAMES || this.#queued >= MAX_BYTES) socket.pause()
      this.#wake()
    })
    // Bytes are counted below the library, which knows whole frames only; it is given each piece before.
    raw.on('data', ({ byteLength }: Buffer) => {
      if (this.#isWhole) this.#finish()
      else {
        this.#unfinished += byteLength
        budget.add(byteLength)
      }
      if (!this.#isOpen && this.#frames.length === 0 && this.#unfinished > MAX_FIRST_FRAME) overflow('first')
      else if (this.#unfinished > ALWAYS && budget.isSpent) overflow('total')
    })
    socket.on('close', () => {
      this.#finish()
      budget.remove(this.#queued)
      this.#queued = 0
      this.#wake()
    })
  }

  /** Reads frames of any length from now on: the client has shown a key, or needs none. */
  open(): void {
    this.#isOpen = true
  }

  /** The next frame; null when the socket is closed. */
  async next(): Promise<Received | null> {
    while (this.#frames.length === 0) {
      if (this.#socket.readyState !== this.#socket.OPEN) return null
      this.#socket.resume()
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    const frame = this.#frames.shift() ?? null
    if (frame === null || this.#queued === 0) return frame
    this.#queued -= frame.bytes
    this.#budget.remove(frame.bytes)
    return frame
  }

  #finish(): void {
    this.#isWhole = false
    this.#budget.remove(this.#unfinished)
    this.#unfinished = 0
  }
}

/** What is said of a frame that is none of ours. */
const wrongFrame = (detail: string): FailureText => ({ code: 'InvalidFrame', detail })

/** Reads the JSON of a frame. */
function readFrame(text: string): { readonly value: JsonValue } | FailureText {
  let value
  try {
    value = JSON.parse(text) as JsonValue
  } catch {
    // The parser's own words quote the text, which may hold a key.
    return wrongFrame('The frame is no JSON.')
  }
  const [issue] = freezeJson(value)
  return issue === undefined ? { value } : wrongFrame(`The frame cannot be kept: ${issue.msg}`)
}

/**
 * Says `{ role, content }` in a conversation, and has it run where there is an agent and `run` is not false. A frame
 * that carries a key again is passed over.
 * @throws ColloquyError as `sendMessage` does; HttpProblem 429.
 */
export async function say(
  lifecycle: Lifecycle,
  conversation: Conversation,
  text: string,
): Promise<FailureText | null> {
  const read = readFrame(text)
  if (!('value' in read)) return read
  const { value } = read
  if (isObject(value) && value['type'] === 'auth') return null
  const checked = socketMessage.read(value)
  if ('errors' in checked) return wrongFrame(sayErrors(checked.errors))
  const { run = true, ...said } = checked.value
  await sayAndRun(lifecycle, conversation, said, run)
  return null
}

/** The first few, each with its place in the frame. */
const sayErrors = (errors: readonly ValidationError[]): string =>
  errors
    .slice(0, 3)
    .map(({ loc, msg }) => `${loc.slice(1).join('.') || 'frame'}: ${msg}`)
    .join(' ')

/** How long the way out is, and how long it may stand still. */
interface OutletOptions {
  /** Bytes that may wait; a frame more than that is taken, and then no other. */
  readonly most: number
  /** Milliseconds that nothing may be taken while too much waits. */
  readonly writeTimeout: number
  /** What all sockets may hold together; where that is more, each has one frame on its way. */
  readonly budget: Budget
}

/** Counts what was handed over and what the operating system has taken of it. */
export class Outlet {
  readonly #socket: WebSocket
  readonly #raw: Duplex
  readonly #options: OutletOptions
  #pending = 0
  #taken = 0
  #corked = false
  /** Until there is room, all who wait for it wait for the same. */
  #waiting: Promise<void> | null = null
  #resume: (() => void) | null = null

  constructor(socket: WebSocket, raw: Duplex, options: OutletOptions) {
    this.#socket = socket
    this.#raw = raw
    this.#options = options
  }

  /** How many frames were taken; grows for as long as the peer lives. */
  get taken(): number {
    return this.#taken
  }

  /** Bytes that wait. */
  get pending(): number {
    return this.#pending
  }

  /**
   * Hands a frame over. Gives a promise when enough waits: nothing is to be handed over before it resolves. It rejects
   * with SlowReader when nothing is taken for too long.
   */
  write(bytes: Uint8Array): Promise<void> | null {
    this.#cork()
    const { most, budget } = this.#options
    this.#pending += bytes.byteLength
    budget.add(bytes.byteLength)
    this.#socket.send(bytes, { binary: false, compress: false }, () => {
      this.#taken += 1
      this.#pending -= bytes.byteLength
      budget.remove(bytes.byteLength)
      if (this.#pending === 0 || (this.#pending <= most / 2 && !budget.isSpent)) this.#resume?.()
    })
    return this.#pending > most || budget.isSpent ? (this.#waiting ??= this.#room()) : null
  }

  /** Frames of one turn of the event loop go to the system in one call. */
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
    let before = this.#taken
    const look = (): void => {
      if (this.#taken === before) reject(new SlowReader('The reader takes nothing.'))
      before = this.#taken
    }
    // After the event loop was held up, timers come before the news that something was taken.
    const timer = setInterval(() => setImmediate(look), this.#options.writeTimeout)
    this.#resume = resolve
    return promise.finally(() => {
      clearInterval(timer)
      this.#waiting = null
      this.#resume = null
    })
  }
}
