/**
 * What a run does where a reply is none that a user waits for: one that was ended early ends the run too, with an error
 * that says why, unless it can be gone on with; a model that says nothing is asked again, a few times.
 */

import { earlyEndOf, isOfReply, replyOf } from '../../event/reply.ts'
import type { ConversationErrorEvent, Event } from '../../event/types.ts'
import { renderMessage } from '../../messages/render-message.ts'
import type { ReplyOutcome } from '../../messages/reply-events.ts'
import { isFinalReply } from '../../state/final-reply.ts'

/** What a step has given when it was called. */
export interface Said {
  /** What was appended of it. */
  readonly events: readonly Event[]
  /** What ended its reply, where the step said so. */
  readonly outcome: ReplyOutcome | null
}

/** How often in a row a model may be asked and say nothing. */
const MOST_SILENT = 3

/**
 * The error that ends a run after what a step has said; null where the run goes on: a paused reply is sent back, and a
 * model whose calls were cut off hears of that. O(events).
 */
export function errorAfter({ events, outcome }: Said): ConversationErrorEvent | null {
  const end = outcome ?? recordedEnd(events)
  switch (end?.type) {
    case 'truncated':
      if (events.some(({ kind }) => kind === 'ActionEvent')) return null
      return failed('ReplyTruncated', 'A limit on tokens cut off the reply', end.reason)
    case 'refused':
      return failed('ReplyRefused', 'The model refused to reply', end.explanation)
    case 'filtered':
      return failed('ReplyFiltered', 'A content filter held back the reply', end.reason)
    case 'failed':
      return failed('ReplyFailed', 'The provider failed to reply', end.explanation)
    case 'broken_off':
      return failed('ReplyBrokenOff', 'The reply broke off before its end', null)
    default:
      return null
  }
}

/** Whether a reply ended because the model's window was full. */
export const isOutOfRoom = ({ events, outcome }: Said): boolean => {
  const end = outcome ?? recordedEnd(events)
  return end?.type === 'truncated' && end.reason === 'model_context_window_exceeded'
}

/** The same of a run in which a model was asked so many times in a row and said nothing. */
export const errorAfterSilence = (times: number): ConversationErrorEvent | null =>
  times < MOST_SILENT ? null : failed('NoReply', `The model was asked ${times} times and said nothing`, null)

/**
 * Whether nothing came of asking: a reply without words and calls that says nothing of how it ended, or none at all.
 * O(events).
 */
export function isSilence(events: readonly Event[]): boolean {
  const replies = events.filter(isOfReply)
  if (replies.length > 0) return replies.every(saysNothing)
  return events.every(({ kind }) => kind === 'ConversationStateUpdateEvent')
}

/** A paused reply of which nothing could be sent back is no better than none. */
const saysNothing = (event: Event): boolean =>
  event.kind === 'MessageEvent' &&
  (renderMessage(event) === null || (!isFinalReply(event) && earlyEndOf(event) === null))

/** What ended a reply, as far as the record of its events tells it. */
function recordedEnd(events: readonly Event[]): ReplyOutcome | null {
  const event = events.find((each) => earlyEndOf(each) !== null)
  if (event === undefined) return null
  const type = earlyEndOf(event) ?? 'paused'
  const stop: unknown = replyOf(event)?.stop_reason
  if (type === 'paused') return { type }
  if (type === 'refused') return { type, explanation: null }
  return { type, reason: typeof stop === 'string' ? stop : '' }
}

const failed = (code: string, what: string, why: string | null): ConversationErrorEvent => ({
  kind: 'ConversationErrorEvent',
  source: 'environment',
  code,
  detail: why === null || why === '' ? `${what}.` : `${what}: ${why}`,
})
