/** Takes in what a step yields: events go in; they are appended, with what must follow them at once. */

import { hashText } from '../../event/hash.ts'
import { isAnswer } from '../../event/kinds.ts'
import type { Event, MessageEvent } from '../../event/types.ts'
import { findEntry } from '../../log/log.ts'
import { isReply } from '../../state/last-word.ts'
import { reduce } from '../../state/reduce.ts'
import type { State } from '../../state/state.ts'
import { AFTER_FINISH, errorAnswer, openCallsOf } from '../decide.ts'
import { checkEvents } from '../draft.ts'
import { placeLateAnswers } from '../late-answers.ts'
import { isDone, isFinishCall } from '../turn.ts'
import { statusUpdate } from '../updates.ts'
import { add, type RunContext } from './context.ts'
import { contextMessage } from './hooks.ts'

/** Says again what a user said while the model was thinking: in the log it stands before the reply that did not know of it. */
const ADDED = 'The user has added, while you were replying:'

/** The id of the message that says for the nth time again what another one said: whoever takes out the one finds the others. */
const repeatId = (messageId: string, n: number): string => `repeat-${hashText(messageId)}-${n}`

/** The ids of the messages that say again what this one said, in log order. O(repeats). */
export function repeatsOf({ log }: State, messageId: string): string[] {
  const ids: string[] = []
  for (
    let id = repeatId(messageId, 0);
    findEntry(log, id) !== undefined;
    id = repeatId(messageId, ids.length)
  )
    ids.push(id)
  return ids
}

/**
 * Appends what a step has yielded; deltas are published instead. `since` is the length of the log that the step was handed: what users have
 * said after it, it does not know. @throws `invalid_event`, what the store throws.
 */
export async function take(run: RunContext, yielded: readonly Event[], since: number): Promise<void> {
  const kept = yielded.filter((event) => {
    if (event.kind !== 'StreamingDeltaEvent') return true
    run.publish(event)
    return false
  })
  const events = checkEvents(kept)
  if (events.length === 0) return
  const added = await add(run, (state) =>
    withConsequences(run, state, placeLateAnswers(state, events), since),
  )
  for (const { id, fact } of added)
    if ('kind' in fact && fact.kind === 'ActionEvent' && id !== null) run.born.add(id)
}

/** Events with what follows from them in the same moment. O(events, and messages since). */
function withConsequences(run: RunContext, state: State, events: readonly Event[], since: number): Event[] {
  const all = [...events, ...answersAfterFinish(state, events), ...repeats(state, events, since)]
  const before = state.header.status
  let after = state
  for (const event of all) after = reduce(after, event)
  const { status } = after.header
  // A pause holds, whatever else comes of a reply that was in flight.
  if (before === 'paused' && status === 'running') return [...all, statusUpdate('paused')]
  // It is not over while something may be against it: an open call, an unread message, or a hook.
  const guarded = !isDone(after.branch) || run.hooks.some(({ on }) => on === 'Stop')
  return before !== 'finished' && status === 'finished' && guarded ? [...all, statusUpdate('running')] : all
}

/** Answers to calls that came after a finish in the same reply, be it in these events or before, and without one. O(events + open calls). */
function answersAfterFinish(state: State, events: readonly Event[]): Event[] {
  const finished = new Set(
    openCallsOf(state).flatMap(({ event }) => (isFinishCall(event) ? [event.llm_response_id] : [])),
  )
  const answered = new Set(events.flatMap((event) => (isAnswer(event) ? [event.tool_call_id] : [])))
  const answers: Event[] = []
  for (const event of events) {
    if (event.kind !== 'ActionEvent' || answered.has(event.tool_call_id)) continue
    const { llm_response_id } = event
    if (finished.has(llm_response_id)) answers.push(errorAnswer(event, AFTER_FINISH))
    else if (isFinishCall(event)) finished.add(llm_response_id)
  }
  return answers
}

/**
 * The messages that users have sent since the step was handed the state, once more, when events say the last word without knowing of them:
 * so the turn is not over.
 */
function repeats(state: State, events: readonly Event[], since: number): MessageEvent[] {
  const { lastUserMessage } = state.branch
  const isLast = events.some((event) => isReply(event) || isFinishCall(event))
  if (!isLast || lastUserMessage === null || lastUserMessage.seq < since) return []
  const found: MessageEvent[] = []
  for (let at = state.log.head; at !== null && at.seq >= since; at = at.parent as typeof at) {
    if (at.event?.kind !== 'MessageEvent' || at.event.source !== 'user' || at.id === null) continue
    // A reply in several pieces has several last words: each is followed by what it does not know.
    const id = repeatId(at.id, repeatsOf(state, at.id).length)
    found.push({ ...contextMessage(`${ADDED}\n\n${textOf(at.event)}`), id })
  }
  return found.toReversed()
}

/** What a message says, as text. */
export const textOf = ({ llm_message, extended_content }: MessageEvent): string =>
  [...(llm_message.content ?? []), ...(extended_content ?? [])]
    .flatMap((part) => ('text' in part && typeof part.text === 'string' ? [part.text] : []))
    .join('\n')
