/** One live reader: a conversation, its feed and a position go in; frames come out, without a gap and without a repeat. */

import type { Conversation } from '../../conversation/conversation.ts'
import type { Engine } from '../../conversation/engine.ts'
import { infoOf } from '../lifecycle/info.ts'
import { isPassing, MOST_TRIES, tellOf, waitBefore } from './faults.ts'
import type { Feed } from './feed.ts'
import { errorFrame, eventFrame, type Frame, stateFrame } from './frame.ts'
import { startAfter, type StartValues } from './start.ts'

/** What a reader listens to. */
export interface SessionParts {
  readonly engine: Engine
  readonly conversation: Conversation
  readonly feed: Feed
  /** Ends the stream. */
  readonly signal: AbortSignal
}

/**
 * Finds out where a reader begins, so that a wrong place is refused before the stream. @throws HttpProblem 422; what the store throws.
 *
 * The stream: a `full_state` that is not stored; the log after the place asked for; a `caught_up` when all that stood there was given;
 * then what comes, deltas too, until the signal is aborted or the engine is closed. Whoever stops reading holds up nobody. The stream
 * throws `unknown_conversation` when the conversation is deleted, and what the store throws when it does not come back.
 */
export async function session(
  parts: SessionParts,
  start: StartValues,
): Promise<AsyncGenerator<Frame, void, undefined>> {
  const { conversation, engine } = parts
  const state = await conversation.state()
  const end = state.log.entries.length - 1
  const after = await startAfter(engine.store, conversation.id, end, start)
  const full = stateFrame(after, 'full_state', infoOf(await conversation.record(), state))
  return stream(parts, full, after, end)
}

async function* stream(
  { conversation, feed, signal }: SessionParts,
  full: Frame,
  after: number,
  end: number,
): AsyncGenerator<Frame, void, undefined> {
  let last = after
  let tries = 0
  yield full
  let told = last >= end
  if (told) yield caughtUp(last, 0)
  // A promise that lived as long as the stream would collect all that ever waited for it.
  const wake = (): void => feed.wake()
  signal.addEventListener('abort', wake, { once: true })
  try {
    while (!signal.aborted) {
      let next = feed.next
      const upTo = feed.position
      // What the feed gave before is read from the log.
      while (last < upTo) {
        try {
          for await (const item of conversation.subscribe({ after: last, signal, deltas: 0 })) {
            if (item.type !== 'event') continue
            last = item.seq
            tries = 0
            const frame = eventFrame(item)
            if (frame !== null) yield frame
            if (!told && last >= end) {
              told = true
              yield caughtUp(last, last - after)
            }
            if (last >= upTo) break
          }
          // Else the engine was closed.
          if (last < upTo) return
        } catch (error) {
          if (signal.aborted || !isPassing(error) || tries >= MOST_TRIES) throw error
          const { code, detail } = tellOf(error)
          yield errorFrame(last, code, detail)
          await waitBefore(tries, signal)
          tries += 1
        }
        if (signal.aborted) return
      }
      // Whoever has fallen so far back that frames are no longer kept starts over from the log.
      while (next >= feed.first) {
        const entry = feed.at(next)
        if (entry === undefined) {
          if (feed.end !== null) {
            if (feed.end.error === null) return
            throw feed.end.error
          }
          await feed.changed
          if (signal.aborted) return
          continue
        }
        next += 1
        const { position, frame } = entry
        const isEvent = frame === null || frame.type === 'event'
        if (position < last || (isEvent && position === last)) continue
        last = position
        if (frame !== null) yield frame
        if (signal.aborted) return
        if (told || last < end) continue
        told = true
        yield caughtUp(last, last - after)
      }
    }
  } finally {
    signal.removeEventListener('abort', wake)
  }
}

const caughtUp = (position: number, replayed: number): Frame =>
  stateFrame(position, 'caught_up', { position, replayed }, 'caught_up')
