/** One socket from its upgrade to its end: the key is asked for, the stream is sent, what the client says is said. */

import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { hasCode } from '../../event/errors.ts'
import type { Credential, Identify } from '../auth/caller.ts'
import type { Access, KeyWatch } from '../auth/key-watch.ts'
import { readParameters } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { authFrame } from '../live/frame-schema.ts'
import { CLOSE } from '../live/close-codes.ts'
import { problemText, describeFailure } from '../http/failure-text.ts'
import { SlowReader } from '../live/slow-reader.ts'
import { errorFrame, type Format } from '../live/frame.ts'
import type { Live, LiveSession } from '../live/live.ts'
import { readFrame, say, wrongFrame } from '../live/inbound.ts'
import { LIVE_QUERY } from '../live/start.ts'
import type { Admission } from './admission.ts'
import type { ConnectionOptions } from './bounds.ts'
import type { Budget } from './budget.ts'
import { Inbox } from './inbox.ts'
import { Outlet } from './outlet.ts'

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
    const authTimeout = 'value' in read ? authFrame.read(read.value) : null
    if (authTimeout === null || !('value' in authTimeout)) return null
    const credential: Credential = { text: authTimeout.value.session_api_key, from: 'header' }
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
