/**
 * What a socket's client sends, one frame after the other; the client waits when too much does, and is cut off when a
 * frame is too long.
 */

import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Budget } from './budget.ts'

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
export interface Received {
  readonly text: string | null
  readonly bytes: number
}

/** Frames in order. Until `open` is called only one is read, and that one must be short. */
export class Inbox {
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
