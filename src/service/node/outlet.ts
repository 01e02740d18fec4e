/** Writes the frames of one socket within a bound of bytes, and gives up on a peer that does not read. */

import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { SlowReader } from '../live/slow-reader.ts'
import type { Budget } from './budget.ts'

/** How long the way out is, and how long it may stand still. */
export interface OutletOptions {
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
