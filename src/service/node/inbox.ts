/** What a socket's client sends: frames go in as they come, and come out one after the other; the client waits when too many do. */

import type { WebSocket } from 'ws'

/** Most frames that wait; those of one piece of the network beyond. */
const MOST = 16

/** One frame; the text of a binary one is null. */
export interface Received {
  readonly text: string | null
}

/** Frames in order. */
export class Inbox {
  readonly #socket: WebSocket
  readonly #frames: Received[] = []
  #wake: () => void = () => undefined

  constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (data, isBinary) => {
      // Text comes as one buffer, by the socket's own `binaryType`.
      this.#frames.push({ text: isBinary ? null : (data as Buffer).toString() })
      if (this.#frames.length >= MOST) socket.pause()
      this.#wake()
    })
    socket.on('close', () => this.#wake())
  }

  /** The next frame; null when the socket is closed. */
  async next(): Promise<Received | null> {
    while (this.#frames.length === 0) {
      if (this.#socket.readyState !== this.#socket.OPEN) return null
      this.#socket.resume()
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    return this.#frames.shift() ?? null
  }
}
