/** The way out of one socket: frames go in; so many bytes may wait to be taken, and a peer that takes nothing is given up. */

import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { SlowReader } from '../live/faults.ts'

/** How long the way out is, and how long it may stand still. */
export interface OutletOptions {
  /** Bytes that may wait; a frame more than that is taken, and then no other. */
  readonly most: number
  /** Milliseconds that nothing may be taken while too much waits. */
  readonly patience: number
}

/** Counts what was handed over and what the operating system has taken of it. */
export class Outlet {
  readonly #socket: WebSocket
  readonly #raw: Duplex
  readonly #options: OutletOptions
  #pending = 0
  #taken = 0
  #corked = false
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
   * Hands a frame over. Gives a promise when enough waits: nothing is to be handed over before it resolves. It rejects with SlowReader when
   * nothing is taken for too long.
   */
  write(bytes: Uint8Array): Promise<void> | null {
    this.#cork()
    this.#pending += bytes.byteLength
    this.#socket.send(bytes, { binary: false, compress: false }, () => {
      this.#taken += 1
      this.#pending -= bytes.byteLength
      if (this.#pending <= this.#options.most / 2) this.#resume?.()
    })
    return this.#pending > this.#options.most ? this.#room() : null
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
    const timer = setInterval(() => setImmediate(look), this.#options.patience)
    this.#resume = resolve
    return promise.finally(() => {
      clearInterval(timer)
      this.#resume = null
    })
  }
}
