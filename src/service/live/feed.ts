/** The live end of one conversation: it is read once, and its latest frames are kept for all who listen, within a bound. */

import type { Conversation } from '../../conversation/conversation.ts'
import type { SubscriptionItem } from '../../conversation/subscribe.ts'
import { KINDS } from '../../event/kinds.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { State } from '../../state/state.ts'
import type { Status } from '../../state/status.ts'
import { isPassing, MOST_TRIES, tellOf, waitBefore } from './faults.ts'
import { deltaFrame, errorFrame, eventFrame, type Frame, stateFrame } from './frame.ts'

/** One step of the stream: the position after it, and what is given; nothing for a line that is no event. */
interface Entry {
  readonly position: number
  readonly frame: Frame | null
}

/** Frames that are kept for those who are a little behind; whoever falls further back reads the log. */
const MOST_KEPT = 4_096

/** Frames by number, the latest of them kept. Readers pull: nobody is waited for. */
export class Feed {
  readonly #conversation: Conversation
  readonly #bytes: number
  readonly #stop = new AbortController()
  #entries: Entry[] = []
  #first = 0
  #size = 0
  #position = -1
  #state: State | null = null
  #told: Status = 'idle'
  #changed = Promise.withResolvers<void>()
  #end: { readonly error: unknown } | null = null

  /** @param bytes how many characters of frames are kept, roughly */
  constructor(conversation: Conversation, bytes: number) {
    this.#conversation = conversation
    this.#bytes = bytes
  }

  /** Begins to read behind the end of the log. @throws what the store throws. */
  async start(): Promise<void> {
    const state = await this.#conversation.state()
    this.#state = state
    this.#told = state.header.status
    this.#position = state.log.entries.length - 1
    void this.#read()
  }

  /** Number of the first frame that is kept. */
  get first(): number {
    return this.#first
  }

  /** Number of the next frame. */
  get next(): number {
    return this.#first + this.#entries.length
  }

  /** Position in the log of the last event in a frame; those up to it are in no frame to come. */
  get position(): number {
    return this.#position
  }

  /** Why there will be no more frames; null while there may be. An error of null: the engine was closed. */
  get end(): { readonly error: unknown } | null {
    return this.#end
  }

  /** The frame with a number that is kept. O(1). */
  at(number: number): Entry | undefined {
    return this.#entries[number - this.#first]
  }

  /** Resolves when something may be new. */
  get changed(): Promise<void> {
    return this.#changed.promise
  }

  /** Lets all readers look again. */
  wake(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  stop(): void {
    this.#stop.abort()
  }

  async #read(): Promise<void> {
    const { signal } = this.#stop
    for (let tries = 0; ; tries += 1) {
      try {
        for await (const item of this.#conversation.subscribe({ after: this.#position, signal })) {
          tries = 0
          await this.#take(item)
        }
        return this.#finish(null)
      } catch (error) {
        if (signal.aborted || !isPassing(error) || tries >= MOST_TRIES) return this.#finish(error)
        const { code, detail } = tellOf(error)
        this.#push(errorFrame(this.#position, code, detail))
        await waitBefore(tries, signal)
      }
    }
  }

  async #take(item: SubscriptionItem): Promise<void> {
    if (item.type === 'delta') this.#push(deltaFrame(this.#position, item.event))
    if (item.type !== 'event') return
    this.#position = item.seq
    this.#push(eventFrame(item))
    const { fact } = item
    if (isQuarantined(fact) || !KINDS[fact.kind].movesStatus) return
    const status = await this.#statusAt(item.seq)
    if (status === this.#told) return
    this.#told = status
    // Many events move the status without saying so.
    const isSaid =
      fact.kind === 'ConversationStateUpdateEvent' && fact.key === 'execution_status' && fact.value === status
    if (!isSaid) this.#push(stateFrame(item.seq, 'execution_status', status))
  }

  /** The status right after an event; where that was let go, the latest. */
  async #statusAt(seq: number): Promise<Status> {
    const known = this.#state
    const state = known !== null && seq < known.log.entries.length ? known : await this.#conversation.state()
    this.#state = state
    try {
      return (state.log.entries.get(seq)?.header ?? state.header).status
    } catch {
      return state.header.status
    }
  }

  #push(frame: Frame | null): void {
    this.#entries.push({ position: this.#position, frame })
    this.#size += frame?.size ?? 0
    // Half of them at once, so that each is moved once at most.
    if (this.#size > this.#bytes || this.#entries.length > MOST_KEPT) this.#trim()
    this.wake()
  }

  #trim(): void {
    let drop = 0
    let size = this.#size
    const most = MOST_KEPT / 2
    for (const { frame } of this.#entries) {
      const left = this.#entries.length - drop
      if (left <= 1 || (size <= this.#bytes / 2 && left <= most)) break
      size -= frame?.size ?? 0
      drop += 1
    }
    this.#entries = this.#entries.slice(drop)
    this.#first += drop
    this.#size = size
  }

  #finish(error: unknown): void {
    this.#end = { error }
    this.wake()
  }
}
