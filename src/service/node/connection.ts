/** One socket from its upgrade to its end: the key is asked for, the stream is sent, what the client says is said. */

import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { hasCode } from '../../event/errors.ts'
import { credentialOf, type Identify, isForeign } from '../auth.ts'
import { readParameters } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { authFrame } from '../lifecycle/schema.ts'
import { CLOSE } from '../live/close-codes.ts'
import { sayProblem, SlowReader, tellOf } from '../live/faults.ts'
import { errorFrame, type Format } from '../live/frame.ts'
import type { Live, LiveSession } from '../live/live.ts'
import { readFrame, say, wrongFrame } from '../live/say.ts'
import { LIVE_QUERY } from '../live/start.ts'
import type { ConnectionOptions } from './bounds.ts'
import { headersOf } from './headers.ts'
import { Inbox } from './inbox.ts'
import { Outlet } from './outlet.ts'

/** What a connection is made of. */
export interface ConnectionParts {
  readonly live: Live
  /** Tells whom a key belongs to. */
  readonly identify: Identify
  readonly socket: WebSocket
  readonly raw: Duplex
  readonly request: IncomingMessage
  /** The conversation, as the client wrote it. */
  readonly id: string
  readonly query: URLSearchParams
  readonly options: ConnectionOptions
}

/** Signs of life that may be missed. */
const MOST_MISSED = 2
/** Names under which clients have put keys into URLs, where every log and proxy reads them. */
const KEYS_IN_URL = ['session_api_key', 'api_key', 'access_token', 'token']

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

  constructor(parts: ConnectionParts) {
    this.#parts = parts
    const { socket, raw, options, live } = parts
    this.#outlet = new Outlet(socket, raw, { most: options.queue, patience: live.options.patience })
    this.#inbox = new Inbox(socket)
    const heard = (): void => void (this.#missed = 0)
    for (const event of ['pong', 'ping', 'message'] as const) socket.on(event, heard)
    // A broken frame or a lost peer: the socket closes itself, with the code that fits.
    socket.on('error', () => undefined)
    socket.on('close', () => this.#session?.end())
  }

  /** Serves the socket until it is closed. Never throws. */
  async serve(): Promise<void> {
    try {
      if (await this.#admit()) await this.#stream()
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#session?.end()
    }
  }

  /** Looks whether anything was heard of the client since the last time, and asks for a sign of life. */
  beat(): void {
    const { socket } = this.#parts
    if (socket.readyState !== socket.OPEN) return
    // Who takes what is sent is alive, though the answer to a ping waits behind it.
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
    this.#session?.end()
    if (socket.readyState !== socket.OPEN) return
    const place = this.#position === null ? '' : `; resume after ${this.#position}`
    socket.close(code, clip(reason, 120 - place.length) + place)
    const timer = setTimeout(() => socket.terminate(), options.grace)
    socket.once('close', () => clearTimeout(timer))
  }

  /** Ends the socket without more ado. */
  terminate(): void {
    this.#parts.socket.terminate()
  }

  async #admit(): Promise<boolean> {
    const { query } = this.#parts
    if (KEYS_IN_URL.some((name) => query.has(name))) {
      this.close(CLOSE.unauthorized, 'A key has no place in a URL: send it in the first frame')
      return false
    }
    if (await this.#hasKey()) return true
    this.close(CLOSE.unauthorized, 'Unauthorized')
    return false
  }

  async #hasKey(): Promise<boolean> {
    const { identify, request, options } = this.#parts
    const headers = headersOf(request)
    // Where being on this machine is all that it takes, no page of another site may come along.
    if ((await identify(null)) !== null) return !isForeign({ headers, url: 'http://localhost' })
    const isKnown = async (text: string): Promise<boolean> =>
      (await identify({ text, from: 'header' }, headers.get('x-org-id'))) !== null
    const given = credentialOf({ headers })
    // A browser sends cookies along with sockets of any page, so they are not asked.
    if (given?.from === 'header') return isKnown(given.text)
    const timer = setTimeout(() => this.close(CLOSE.unauthorized, 'No key came in time'), options.auth)
    const frame = await this.#inbox.next()
    clearTimeout(timer)
    const read = readFrame(frame?.text ?? '')
    const auth = 'value' in read ? authFrame.read(read.value) : null
    return auth !== null && 'value' in auth && isKnown(auth.value.session_api_key)
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

  /** Says what the client says; what is wrong with a frame is told on this socket, and nothing else comes of it. */
  async #listen({ conversation }: LiveSession): Promise<void> {
    for (;;) {
      const frame = await this.#inbox.next()
      if (frame === null) return
      try {
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

  #tell({ code, detail }: { readonly code: string; readonly detail: string }): void {
    const { socket, options } = this.#parts
    // Whoever sends nonsense and reads no answers is not answered any more.
    if (socket.readyState !== socket.OPEN || this.#outlet.pending > options.queue) return
    const frame = errorFrame(this.#position ?? -1, code, detail)
    this.#outlet.write(frame.bytes(this.#format))?.catch(() => undefined)
  }

  #told(error: unknown): { readonly code: string; readonly detail: string } {
    const told = tellOf(error)
    if (told.code === 'InternalError') this.#parts.live.options.onFailure(error)
    return told
  }

  #fail(error: unknown): void {
    if (error instanceof SlowReader) return this.close(CLOSE.slow, 'Too slow')
    if (hasCode(error, 'unknown_conversation')) return this.close(CLOSE.unknown, 'Unknown conversation')
    if (hasCode(error, 'closed')) return this.close(CLOSE.away, 'The service goes away')
    if (error instanceof HttpProblem) {
      return this.close(CODES.get(error.status) ?? CLOSE.failed, sayProblem(error))
    }
    this.#tell(this.#told(error))
    this.close(CLOSE.failed, 'The stream failed')
  }
}

/** How a problem of a request is told by a socket. */
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
