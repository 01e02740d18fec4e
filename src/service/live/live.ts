/** The live readers of a service: a conversation's id and a place go in, a stream of frames comes out, for as many as there may be. */

import type { Conversation } from '../../conversation/conversation.ts'
import { HttpProblem } from '../http/problem.ts'
import { type Lifecycle, open } from '../lifecycle/lifecycle.ts'
import { Feed } from './feed.ts'
import type { Frame } from './frame.ts'
import { session } from './session.ts'
import type { StartValues } from './start.ts'

/** How many may listen, and how much is kept for them. */
export interface LiveOptions {
  /** Most readers of one conversation. Default: 256. */
  readonly perConversation?: number
  /** Most readers in all. Default: 4,096. */
  readonly inAll?: number
  /** Characters of frames that are kept for the readers of one conversation, so that the log is read once for all. Default: 4 Mi. */
  readonly kept?: number
  /** Milliseconds that a reader who takes nothing may hold on. Default: 15,000. */
  readonly patience?: number
  /** Milliseconds between signs of life. Default: 20,000. */
  readonly beat?: number
  /** Told of failures of streams that are the service's own. Default: nobody is. */
  readonly onFailure?: (error: unknown) => void
}

/** One stream. It is held until `end` is called. */
export interface LiveSession {
  readonly conversation: Conversation
  readonly frames: AsyncGenerator<Frame, void, undefined>
  readonly end: () => void
}

interface Shared {
  readonly feed: Feed
  readonly ready: Promise<void>
  readers: number
}

/** The streams of one service, over whatever transport. */
export class Live {
  readonly lifecycle: Lifecycle
  readonly options: Required<LiveOptions>
  readonly #feeds = new Map<string, Shared>()
  readonly #ends = new Set<() => void>()
  #closed = false

  constructor(lifecycle: Lifecycle, options: LiveOptions = {}) {
    this.lifecycle = lifecycle
    this.options = {
      perConversation: 256,
      inAll: 4_096,
      kept: 4 * 2 ** 20,
      patience: 15_000,
      beat: 20_000,
      onFailure: () => undefined,
      ...options,
    }
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
   * @throws HttpProblem 404 for an unknown conversation, 422 for a place that it does not have, 429 where too many listen; what the store throws.
   */
  async connect(id: string, start: StartValues): Promise<LiveSession> {
    const { engine } = this.lifecycle
    const conversation = await open(this.lifecycle, id)
    const stop = new AbortController()
    const shared = this.#take(conversation)
    const end = (): void => {
      if (!this.#ends.delete(end)) return
      stop.abort()
      shared.readers -= 1
      if (shared.readers === 0) this.#drop(conversation.id, shared)
    }
    this.#ends.add(end)
    try {
      await shared.ready
      const { feed } = shared
      const frames = await session({ engine, conversation, feed, signal: stop.signal }, start)
      return { conversation, frames, end }
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

  #take(conversation: Conversation): Shared {
    const { perConversation, inAll, kept } = this.options
    if (this.#closed) throw new HttpProblem(503, 'The service is going away.')
    if (this.size >= inAll) throw new HttpProblem(429, `There are ${inAll} streams already; try again later.`)
    const known = this.#feeds.get(conversation.id)
    // One that has ended is of no use to anybody new.
    if (known !== undefined && known.feed.end === null) {
      if (known.readers >= perConversation) {
        throw new HttpProblem(
          429,
          `There are ${perConversation} streams of this conversation already; try again later.`,
        )
      }
      known.readers += 1
      return known
    }
    const feed = new Feed(conversation, kept)
    const shared: Shared = { feed, ready: feed.start(), readers: 1 }
    shared.ready.catch(() => this.#drop(conversation.id, shared))
    this.#feeds.set(conversation.id, shared)
    return shared
  }

  #drop(id: string, shared: Shared): void {
    shared.feed.stop()
    if (this.#feeds.get(id) === shared) this.#feeds.delete(id)
  }
}
