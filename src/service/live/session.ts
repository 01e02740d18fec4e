/**
 * One subscriber: the items of a subscription as frames, with what the wire adds to them: the full state, and changes
 * of status that no event holds.
 */

import type { Conversation } from '../../conversation/conversation.ts'
import type { ReplyPlace } from '../../conversation/streamed.ts'
import type { Engine } from '../../conversation/engine.ts'
import { KINDS } from '../../event/kinds.ts'
import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import type { Status } from '../../state/status.ts'
import { wholeInfoOf } from '../conversations/info.ts'
import { isPassing, MOST_TRIES, waitBefore } from '../conversations/transient.ts'
import { describeFailure } from '../http/failure-text.ts'
import { errorFrame, type Frame, stateFrame } from './frame.ts'
import type { FrameCache } from './frame-cache.ts'
import { saidBefore, startAfter, type StartValues } from './start.ts'

/** What a reader listens to. */
export interface SessionParts {
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
