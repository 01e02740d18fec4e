/** The live streams of a service, within bounds on their number and on what is kept for them. */

import type { Conversation } from '../../conversation/conversation.ts'
import type { Engine } from '../../conversation/engine.ts'
import type { LoggedEvent } from '../../conversation/logged-event.ts'
import type { ReplyPlace } from '../../conversation/streamed.ts'
import { KINDS } from '../../event/kinds.ts'
import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import type { Status } from '../../state/status.ts'
import { type Lifecycle, open } from '../conversations/conversations.ts'
import { wholeInfoOf } from '../conversations/info.ts'
import { isPassing, MOST_TRIES, waitBefore } from '../conversations/transient.ts'
import { describeFailure, HttpProblem } from '../http/problem.ts'
import { deltaFrame, errorFrame, eventFrame, type Frame, stateFrame } from './frame.ts'
import { saidBefore, startAfter, type StartValues } from './start.ts'

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

/** What a reader listens to. */
interface SessionParts {
  readonly engine: Engine
  readonly conversation: Conversation
  readonly cache: FrameCache
  /** Ends the stream. */
  readonly signal: AbortSignal
}

/**
 * Finds out where a reader begins, so that a wrong place is refused before the stream. @throws HttpProblem 422; what
 * the store throws.
 *
 * The stream: a `full_state` that is not stored; the log after the place asked for; a `caught_up` when all that stood
 * there was given; then what comes, deltas too, and a `full_state` whenever a run is over, waits or is paused; until
 * the signal is aborted or the engine is closed. Where the log has not what the reader has, be it at the beginning or
 * later, a `reset` comes, and then all of this from the log's first event on. A client that stops reading holds up no
 * other. The stream throws `unknown_conversation` when the conversation is deleted, and what the store throws when it
 * does not come back.
 */
export async function session(
  parts: SessionParts,
  start: StartValues,
): Promise<AsyncGenerator<Frame, void, undefined>> {
  const said = saidBefore(start)
  const opening = await fullState(parts)
  const after = await startAfter(parts.engine.store, parts.conversation.id, opening.end, start)
  return stream(parts, opening, after, said)
}

/** A state as it is sent at the beginning of a stream. */
interface Opening {
  /** Position of its last event. */
  readonly end: number
  readonly status: Status
  /** The id of the entry at a position; null where none stands. */
  readonly idAt: (position: number) => string | null
  readonly frame: (position: number) => Frame
}

async function fullState({ conversation, engine }: SessionParts): Promise<Opening> {
  const { record, state } = await conversation.look()
  const info = await wholeInfoOf(engine.store, record, state)
  return {
    end: state.log.entries.length - 1,
    status: state.header.status,
    idAt: (position) => state.log.entries.get(position)?.id ?? null,
    frame: (position) => stateFrame(position, 'full_state', info),
  }
}

/**
 * @param start the position after which to begin; null where the reader has what the log has not
 * @param had how far the reader has come with a reply
 */
async function* stream(
  parts: SessionParts,
  opening: Opening,
  start: number | null,
  had: ReplyPlace | null,
): AsyncGenerator<Frame, void, undefined> {
  const { conversation, cache, signal } = parts
  let { end, status } = opening
  let last = start ?? -1
  let lastId = start === null ? null : opening.idAt(start)
  let from = last
  let tries = 0
  let told = false
  let said = had
  if (start === null) yield resetFrame()
  yield opening.frame(last)
  for (;;) {
    try {
      for await (const item of conversation.subscribe({
        after: last,
        ...(lastId !== null && { afterId: lastId }),
        ...(said && { said }),
        signal,
      })) {
        if (item.type === 'delta') {
          ;({ said } = item)
          yield cache.delta(last, item.event, said)
        }
        if (item.type === 'caught_up' && !told) {
          told = true
          yield stateFrame(last, 'caught_up', { position: last, replayed: last - from }, 'caught_up')
        }
        if (item.type === 'reset') {
          last = from = -1
          lastId = null
          told = false
          yield resetFrame()
          const now = await fullState(parts)
          ;({ end, status } = now)
          yield now.frame(last)
        }
        if (item.type !== 'event') continue
        last = item.seq
        lastId = item.id
        tries = 0
        const frame = cache.event(item)
        if (frame !== null) yield frame
        // The full state has what was there.
        if (last <= end || !movesStatus(item.fact)) continue
        const before = status
        ;({ status } = item)
        if (status !== before && !tellsStatus(item.fact, status))
          yield stateFrame(last, 'execution_status', status)
        // Clients take it for the end of the run, be it that it waits or is paused.
        if (before === 'running' && status !== 'running') {
          const now = await fullState(parts)
          if (now.status !== 'running') yield now.frame(last)
        }
      }
      return
    } catch (error) {
      if (signal.aborted || !isPassing(error) || tries >= MOST_TRIES) throw error
      const { code, detail } = describeFailure(error)
      yield errorFrame(last, code, detail)
      await waitBefore(tries, signal)
      tries += 1
    }
    if (signal.aborted) return
  }
}

const movesStatus = (fact: Fact): boolean => !isQuarantined(fact) && KINDS[fact.kind].movesStatus

/** Whether an event says so itself; many move the status without. */
const tellsStatus = (fact: Fact, status: Status): boolean =>
  !isQuarantined(fact) &&
  fact.kind === 'ConversationStateUpdateEvent' &&
  fact.key === 'execution_status' &&
  fact.value === status

/** Nothing of the log was given that holds. */
const resetFrame = (): Frame => stateFrame(-1, 'reset', null, 'reset')

interface Kept {
  readonly id: string | null
  readonly position: number
  readonly frame: Frame | null
}

/**
 * The latest frames of all streams of a service; the last one is kept however long it is, as many may be about to ask
 * for it.
 */
export class FrameCache {
  readonly #chars: number
  /** By the event itself: under the same id and position another log may hold another. */
  readonly #kept = new Map<Fact, Kept>()
  readonly #deltas = new WeakMap<Event, Frame>()
  #size = 0

  /** @param chars characters of frames that are kept, roughly */
  constructor(chars: number) {
    this.#chars = chars
  }

  /** Characters that are kept. */
  get size(): number {
    return this.#size
  }

  /** The frame of an event of a log; null for a line that is no event. O(1) for one that is kept, else O(size). */
  event(item: LoggedEvent): Frame | null {
    const kept = this.#kept.get(item.fact)
    // Logs may share an event that a fork has copied.
    if (kept !== undefined && kept.id === item.id && kept.position === item.seq) return kept.frame
    this.#forget(item.fact)
    const frame = eventFrame(item)
    this.#kept.set(item.fact, { id: item.id, position: item.seq, frame })
    this.#size += sizeOf(frame)
    for (const [fact] of this.#kept) {
      if (this.#size <= this.#chars || this.#kept.size === 1) break
      this.#forget(fact)
    }
    return frame
  }

  /** The frame of a delta, which is there as long as the delta is. */
  delta(position: number, event: Event, said: ReplyPlace): Frame {
    const kept = this.#deltas.get(event)
    if (kept?.position === position) return kept
    const frame = deltaFrame(position, event, said)
    this.#deltas.set(event, frame)
    return frame
  }

  #forget(fact: Fact): void {
    const kept = this.#kept.get(fact)
    if (kept === undefined) return
    this.#kept.delete(fact)
    this.#size -= sizeOf(kept.frame)
  }
}

/** A line that is no event takes a place too. */
const sizeOf = (frame: Frame | null): number => (frame?.size ?? 0) + 100
