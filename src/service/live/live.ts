/** The live streams of a service, within bounds on their number and on what is kept for them. */

import type { Conversation } from '../../conversation/conversation.ts'
import { HttpProblem } from '../http/problem.ts'
import { type Lifecycle, open } from '../conversations/conversations.ts'
import type { Frame } from './frame.ts'
import { FrameCache } from './frame-cache.ts'
import { session } from './session.ts'
import type { StartValues } from './start.ts'

/** How many may listen, and how much is kept for them. */
export interface LiveOptions {
  /** Most readers of one conversation. Default: 256. */
  readonly maxPerConversation?: number
  /** Most readers in all. Default: 4,096. */
  readonly maxTotal?: number
  /**
   * Characters of frames that are kept, so that each is written once for all readers; the last one besides. Default: 16
   * Mi.
   */
  readonly bufferChars?: number
  /** Milliseconds that a reader who takes nothing may hold on. Default: 15,000. */
  readonly writeTimeout?: number
  /** Milliseconds between heartbeats. Default: 20,000. */
  readonly heartbeatInterval?: number
  /** Called with failures of streams that are the service's own. Default: none. */
  readonly onFailure?: (error: unknown) => void
}

/** One stream. It is held until `end` is called. */
export interface LiveSession {
  readonly conversation: Conversation
  readonly frames: AsyncGenerator<Frame, void, undefined>
  readonly end: () => void
}

/** The streams of one service, over whatever transport. */
export class Live {
  readonly lifecycle: Lifecycle
  readonly options: Required<LiveOptions>
  readonly #cache: FrameCache
  /** How many listen to each conversation. */
  readonly #readers = new Map<string, number>()
  readonly #ends = new Set<() => void>()
  #closed = false

  constructor(lifecycle: Lifecycle, options: LiveOptions = {}) {
    this.lifecycle = lifecycle
    this.options = {
      maxPerConversation: 256,
      maxTotal: 4_096,
      bufferChars: 16 * 2 ** 20,
      writeTimeout: 15_000,
      heartbeatInterval: 20_000,
      onFailure: () => undefined,
      ...options,
    }
    this.#cache = new FrameCache(this.options.bufferChars)
  }

  /** How many listen. */
  get size(): number {
    return this.#ends.size
  }

  /** Whether no more streams are begun. */
  get closed(): boolean {
    return this.#closed
  }

  /**
   * Begins a stream.
   * @throws HttpProblem 404 for an unknown conversation, 422 for a place that it does not have, 429 where too many
   * listen; what the store throws.
   */
  async connect(id: string, start: StartValues): Promise<LiveSession> {
    const { engine } = this.lifecycle
    const conversation = await open(this.lifecycle, id)
    const stop = new AbortController()
    this.#take(conversation.id)
    const end = (): void => {
      if (!this.#ends.delete(end)) return
      stop.abort()
      this.#release(conversation.id)
    }
    this.#ends.add(end)
    try {
      const parts = { engine, conversation, cache: this.#cache, signal: stop.signal }
      return { conversation, frames: await session(parts, start), end }
    } catch (error) {
      end()
      throw error
    }
  }

  /** Ends all streams; begins no more. */
  close(): void {
    this.#closed = true
    for (const end of this.#ends) end()
  }

  #take(id: string): void {
    const { maxPerConversation, maxTotal } = this.options
    if (this.#closed) throw new HttpProblem(503, 'The service is going away.')
    if (this.size >= maxTotal)
      throw new HttpProblem(429, `There are ${maxTotal} streams already; try again later.`)
    const readers = this.#readers.get(id) ?? 0
    if (readers >= maxPerConversation) {
      throw new HttpProblem(
        429,
        `There are ${maxPerConversation} streams of this conversation already; try again later.`,
      )
    }
    this.#readers.set(id, readers + 1)
  }

  #release(id: string): void {
    const readers = (this.#readers.get(id) ?? 1) - 1
    if (readers > 0) this.#readers.set(id, readers)
    else this.#readers.delete(id)
  }
}
