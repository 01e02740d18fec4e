import { LRUCache } from 'lru-cache'
import { addTo, pause } from '../../conversation/async.ts'
import type { Conversation } from '../../conversation/conversation.ts'
import type { Engine } from '../../conversation/engine.ts'
import type { LoggedEvent } from '../../conversation/logged-event.ts'
import type { ReplyOffset } from '../../conversation/streamed.ts'
import { checkOptionNames } from '../../event/check-value.ts'
import { KINDS } from '../../event/kinds.ts'
import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import { isTransient } from '../../store/kit/errors.ts'
import { type Lifecycle, openConversation } from '../conversations/conversations.ts'
import { wholeInfoOf } from '../conversations/info.ts'
import { reportsStatus } from '../conversations/run-progress.ts'
import type { Runs } from '../conversations/runs.ts'
import { describeFailure, HttpProblem } from '../http/problem.ts'
import { deltaFrame, errorFrame, eventFrame, type Frame, stateFrame } from './server-frames.ts'
import { resumePlace, startAfter, type StartValues } from './start.ts'

/** Maximum number of successive retries of a failed read. */
const MAX_RETRIES = 6
const FIRST_WAIT = 50

/** Limits of live streams. */
export interface LiveOptions {
  /** Maximum number of readers of one conversation. Default: 256. */
  readonly maxPerConversation?: number
  /** Maximum number of readers. Default: 4,096. */
  readonly maxTotal?: number
  /** Maximum characters of cached frames, which are serialized once for all readers. Default: 16 Mi. */
  readonly bufferChars?: number
  /** Milliseconds after which a reader that reads nothing is disconnected. Default: 15,000. */
  readonly writeTimeout?: number
  /** Milliseconds between heartbeats. Default: 20,000. */
  readonly heartbeatInterval?: number
  /** Called with internal failures of streams. Default: `onFailure` of the service. */
  readonly onFailure?: (error: unknown) => void
}

/** An open stream. It counts towards the limits until `end` is called. */
export interface LiveSession {
  readonly conversation: Conversation
  readonly frames: AsyncGenerator<Frame, void, undefined>
  readonly end: () => void
}

export class Live {
  readonly lifecycle: Lifecycle
  readonly options: Required<LiveOptions>
  readonly #cache: FrameCache
  readonly #readers = new Map<string, Set<object>>()
  readonly #ends = new Set<() => void>()
  /** Whether no more streams are opened; open streams continue until `close`. */
  isClosing = false

  constructor(lifecycle: Lifecycle, options: LiveOptions = {}) {
    checkOptionNames(
      options,
      'maxPerConversation maxTotal bufferChars writeTimeout heartbeatInterval onFailure',
    )
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

  get size(): number {
    return this.#ends.size
  }

  /**
   * Opens a session. @throws HttpProblem 404 for an unknown conversation, 422 for an invalid start, 429 for
   * too many streams, 503 while the service is closing; errors of the store.
   */
  async connect(id: string, start: StartValues): Promise<LiveSession> {
    const { engine, runs } = this.lifecycle
    const { conversation } = await openConversation(this.lifecycle, id)
    const stop = new AbortController()
    const release = this.#acquire(conversation.id)
    const end = (): void => {
      if (!this.#ends.delete(end)) return
      stop.abort()
      release()
    }
    this.#ends.add(end)
    try {
      const parts = { engine, runs, conversation, cache: this.#cache, signal: stop.signal }
      return { conversation, frames: await session(parts, start), end }
    } catch (error) {
      end()
      throw error
    }
  }

  close(): void {
    this.isClosing = true
    for (const end of this.#ends) end()
  }

  #acquire(id: string): () => void {
    const { maxPerConversation, maxTotal } = this.options
    if (this.isClosing) throw new HttpProblem(503, 'The service is shutting down.')
    if (this.size >= maxTotal)
      throw new HttpProblem(429, `The maximum of ${maxTotal} open streams has been reached. Try again later.`)
    if ((this.#readers.get(id)?.size ?? 0) >= maxPerConversation) {
      throw new HttpProblem(
        429,
        `The maximum of ${maxPerConversation} open streams per conversation has been reached. Try again later.`,
      )
    }
    return addTo(this.#readers, id, {})
  }
}

interface SessionParts {
  readonly engine: Engine
  readonly conversation: Conversation
  readonly cache: FrameCache
  readonly signal: AbortSignal
  readonly runs: Pick<Runs, 'has' | 'onEnd'>
}

class RunEnds {
  #isNew = false
  #wake: () => void = () => undefined

  /** Whether a run has ended and `during` has not yet yielded its `run_ended`. */
  get isNew(): boolean {
    return this.#isNew
  }

  add(): void {
    this.#isNew = true
    this.#wake()
  }

  async *during<T>(
    items: AsyncGenerator<T, void, undefined>,
  ): AsyncGenerator<T | { readonly type: 'run_ended' }> {
    let next: Promise<IteratorResult<T, void>> | null = null
    try {
      for (;;) {
        if (this.#isNew) {
          this.#isNew = false
          yield { type: 'run_ended' }
          // Another run may have ended while the reader was slow.
          continue
        }
        next ??= items.next()
        const runEnded = new Promise<null>((resolve) => (this.#wake = () => resolve(null)))
        const result = await Promise.race([next, runEnded])
        if (result === null) continue
        next = null
        if (result.done === true) return
        yield result.value
      }
    } finally {
      next?.catch(() => undefined)
      void items.return().catch(() => undefined)
    }
  }
}

/**
 * Checks the start position, then returns the stream.
 *
 * The stream first yields a `full_state`, which is not stored. The log after the position and a `caught_up`
 * follow. Then it yields new events and deltas, until the signal is aborted or the engine is closed. It yields
 * a `full_state` again when a running conversation is paused, and as the last frame of every run: a client that
 * started a run waits for this frame. If the log no longer has the events that the
 * reader has read, as after a restored backup, the stream yields a `reset` and starts again at the first event.
 * A slow client does not delay others. The stream throws `unknown_conversation` when the conversation is
 * deleted, and the store's error when the store stays unavailable.
 * @throws HttpProblem 422; what the store throws.
 */
export async function session(
  parts: SessionParts,
  start: StartValues,
): Promise<AsyncGenerator<Frame, void, undefined>> {
  const resumeFrom = resumePlace(start)
  const runEnds = new RunEnds()
  const unlisten = parts.runs.onEnd(parts.conversation.id, () => runEnds.add())
  parts.signal.addEventListener('abort', unlisten, { once: true })
  const opening = await fullState(parts)
  const after = await startAfter(parts.engine.store, parts.conversation.id, opening.end, start)
  return stream(parts, opening, after, resumeFrom, runEnds)
}

async function fullState({ conversation, engine }: SessionParts) {
  const { record, state } = await conversation.look()
  const info = await wholeInfoOf(engine.store, record, state)
  return {
    end: state.log.entries.length - 1,
    status: state.header.status,
    idAt: (position: number) => state.log.entries.get(position)?.id ?? null,
    frame: (position: number) => stateFrame(position, 'full_state', info),
  }
}

/**
 * Yields the stream's frames.
 * @param start the position after which the stream begins; null if the log lacks the reader's position
 * @param resumeFrom how much of a reply the reader has received; null if nothing
 */
async function* stream(
  parts: SessionParts,
  opening: Awaited<ReturnType<typeof fullState>>,
  start: number | null,
  resumeFrom: ReplyOffset | null,
  runEnds: RunEnds,
): AsyncGenerator<Frame, void, undefined> {
  const { conversation, cache, signal, runs } = parts
  let { end, status } = opening
  let last = start ?? -1
  let lastId = start === null ? null : opening.idAt(start)
  let from = last
  let tries = 0
  let isCaughtUp = false
  let offset = resumeFrom
  let due: number | null = null
  if (start === null) yield resetFrame()
  yield opening.frame(last)
  for (;;) {
    try {
      const items = conversation.subscribe({
        after: last,
        ...(lastId !== null && { afterId: lastId }),
        ...(offset && { replyOffset: offset }),
        signal,
      })
      for await (const item of runEnds.during(items)) {
        if (item.type === 'delta') {
          ;({ offset } = item)
          yield cache.delta(last, item.event, offset)
        }
        if (item.type === 'caught_up' && !isCaughtUp) {
          isCaughtUp = true
          yield stateFrame(last, 'caught_up', { position: last, replayed: last - from }, 'caught_up')
        }
        if (item.type === 'reset') {
          // Read the state first: if the read fails, the next subscription begins with the reset again.
          const now = await fullState(parts)
          ;({ end, status } = now)
          last = from = -1
          lastId = null
          isCaughtUp = false
          due = null
          yield resetFrame()
          yield now.frame(last)
        }
        if (item.type === 'run_ended') due = last
        if (item.type === 'event') {
          last = item.seq
          lastId = item.id
          tries = 0
          const frame = cache.event(item)
          if (frame !== null) yield frame
          // The full state includes earlier events.
          if (last > end && movesStatus(item.fact)) {
            const before = status
            ;({ status } = item)
            if (status !== before && !reportsStatus(item.fact, status))
              yield stateFrame(last, 'execution_status', status)
            const isReportedLater = status !== 'paused' && (runEnds.isNew || runs.has(conversation.id))
            if (before === 'running' && status !== 'running' && due === null && !isReportedLater) due = last
          }
        }
        if (due === null || last < due) continue
        const now = await fullState(parts)
        due = now.end
        if (last < due) continue
        due = null
        if (now.status !== 'running') yield now.frame(last)
      }
      return
    } catch (error) {
      if (signal.aborted || !isTransient(error) || tries >= MAX_RETRIES) throw error
      const { code, detail } = describeFailure(error)
      yield errorFrame(last, code, detail)
      await pause(FIRST_WAIT * 2 ** tries, signal)
      tries += 1
    }
    if (signal.aborted) return
  }
}

const movesStatus = (fact: Fact): boolean => !isQuarantined(fact) && KINDS[fact.kind].movesStatus

const resetFrame = (): Frame => stateFrame(-1, 'reset', null, 'reset')

/** Frames of the latest events, each serialized once for all readers. */
export class FrameCache {
  /** The keys are event objects, because another log may have another event with the same id and position. */
  readonly #frames: LRUCache<Fact, { readonly item: LoggedEvent; readonly frame: Frame | null }>
  readonly #deltas = new WeakMap<Event, Frame>()

  /** @param chars maximum number of characters; only the latest frame may exceed it */
  constructor(chars: number) {
    const maxSize = Math.min(Math.max(1, Math.floor(chars)), Number.MAX_SAFE_INTEGER)
    const sizeOf = (frame: Frame | null): number => Math.min(maxSize, (frame?.size ?? 0) + 100)
    this.#frames = new LRUCache({ maxSize, sizeCalculation: ({ frame }) => sizeOf(frame) })
  }

  get size(): number {
    return this.#frames.calculatedSize
  }

  event(item: LoggedEvent): Frame | null {
    const cached = this.#frames.get(item.fact)
    // Forks share event objects.
    if (cached?.item.id === item.id && cached.item.seq === item.seq) return cached.frame
    const frame = eventFrame(item)
    this.#frames.set(item.fact, { item, frame })
    return frame
  }

  delta(position: number, event: Event, offset: ReplyOffset): Frame {
    const cached = this.#deltas.get(event)
    if (cached?.position === position) return cached
    const frame = deltaFrame(position, event, offset)
    this.#deltas.set(event, frame)
    return frame
  }
}
