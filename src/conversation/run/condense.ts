/** Condenses the view on the way: where the log asks for it, a condenser's limit does, or the provider has refused. */

import { earlyEndOf, isOfReply, replyOf } from '../../event/reply.ts'
import type { ConversationErrorEvent, Event } from '../../event/types.ts'
import { renderMessage } from '../../messages/neutral.ts'
import type { ReplyOutcome } from '../../messages/reply.ts'
import { isFinalReply } from '../../state/status.ts'
import type { StepOutput } from './step.ts'
import { hasCode } from '../../event/errors.ts'
import { isOnPathIn } from '../../log/ancestry.ts'
import { eventKindOf } from '../../log/entry.ts'
import { reduce } from '../../state/reduce.ts'
import type { State } from '../../state/state.ts'
import { failureUpdate, isWaitingForSummary } from '../../state/summary-failure.ts'
import { checkEvents } from '../stamp.ts'
import { statusUpdate } from '../decide.ts'
import { isReplied } from '../turn.ts'
import { add, type RunContext } from './context.ts'

/** What to do next: ask the model, look again at what there is to do, or end the run with events. */
export type Condensing = { readonly next: 'ask' | 'look' } | { readonly next: 'end'; readonly with: Event[] }

/** The code of the error that says why there is no condensation. */
const REFUSED = 'CondensationRefused'

/**
 * Asks the condenser, and appends what it decides where that still fits. A condensation that is needed and cannot be
 * had ends the run with an error that says why. Where only the log has asked for it, and was told why not, the run goes
 * on without. @throws what the condenser throws, `invalid_event` for what it gives.
 */
export async function condense(run: RunContext, state: State): Promise<Condensing> {
  const { condenser, signal } = run
  if (condenser === null) return { next: 'ask' }
  const decision = await orAborted(condenser.condense(state, { signal }), signal)
  if (decision === null) return { next: 'look' }
  const { branch } = state
  if (decision.type === 'condense') {
    const [event] = checkEvents([decision.event])
    if (event === undefined || reduce(state, event).branch.view.length >= branch.view.length)
      return refused('The condenser has made the view no shorter.')
    await add(run, (now) => (isAsItWas(state, now) ? [event] : []))
    return { next: 'look' }
  }
  const isRequested = branch.view.unhandledCondensationRequest
  if (decision.type === 'keep' && !isRequested) return { next: 'ask' }
  const goOn: Condensing = isReplied(branch)
    ? { next: 'end', with: [statusUpdate('finished')] }
    : { next: 'ask' }
  if (decision.type === 'refuse' && !decision.reason.required) {
    const { again, message: reason } = decision.reason
    if (again === 'later')
      await add(run, (now) => (isWaitingForSummary(now) ? [] : [failureUpdate(now, reason)]))
    return goOn
  }
  const { message, triggers } =
    decision.type === 'refuse'
      ? decision.reason
      : { message: 'The condenser takes no requests.', triggers: ['request'] }
  if (!triggers.every((trigger) => trigger === 'request') || !wasRefused(state)) return refused(message)
  return goOn
}

/**
 * What is appended where the provider says that a request was too long, or that a reply had no room: a request for a
 * condensation. None where the run has no condenser, or that one has been asked and refused.
 */
export const requestFor = ({ condenser }: RunContext, why: unknown, { branch }: State): Event[] =>
  condenser !== null && hasCode(why, 'context_too_long') && !branch.view.unhandledCondensationRequest
    ? [REQUEST]
    : []

/** The same after a reply that ran out of room. */
export const requestAfter = ({ condenser }: RunContext, output: StepOutput, { branch }: State): Event[] =>
  condenser !== null && isOutOfRoom(output) && !branch.view.unhandledCondensationRequest ? [REQUEST] : []

const REQUEST: Event = { kind: 'CondensationRequest', source: 'environment' }

function refused(detail: string): Condensing {
  const error: ConversationErrorEvent = {
    kind: 'ConversationErrorEvent',
    source: 'environment',
    code: REFUSED,
    detail,
  }
  return { next: 'end', with: [error] }
}

/** Whether a decision on a state still fits: what came since is behind it, and condenses nothing. O(what came). */
function isAsItWas({ log: { head, entries } }: State, { log }: State): boolean {
  if (head === null || !isOnPathIn(head, log.head)) return false
  return !log.entries.slice(entries.length).some((entry) => eventKindOf(entry) === 'Condensation')
}

/** Whether it was said already that what the log asks for cannot be had. O(events since it was asked for). */
function wasRefused({ log }: State): boolean {
  for (let at = log.head; at !== null; at = at.parent as typeof at) {
    const { event } = at
    if (event?.kind === 'ConversationErrorEvent' && event.code === REFUSED) return true
    if (event?.kind === 'CondensationRequest') return false
  }
  return false
}

/** What a promise gives; null when the signal is aborted first, and the promise is left behind. */
async function orAborted<T>(work: Promise<T> | T, signal: AbortSignal): Promise<T | null> {
  const aborted = Promise.withResolvers<null>()
  const abort = (): void => aborted.resolve(null)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return signal.aborted ? null : await Promise.race([work, aborted.promise])
  } catch (error) {
    if (signal.aborted) return null
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** How often in a row a model may be asked and say nothing. */
const MOST_SILENT = 3

/**
 * The error that ends a run after what a step has said; null where the run goes on: a paused reply is sent back, and a
 * model whose calls were cut off hears of that. O(events).
 */
export function errorAfter({ events, outcome }: StepOutput): ConversationErrorEvent | null {
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
const isOutOfRoom = ({ events, outcome }: StepOutput): boolean => {
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
  if (type === 'refused' || type === 'failed') return { type, explanation: null }
  if (type === 'broken_off') return { type, text: '' }
  return { type, reason: typeof stop === 'string' ? stop : '' }
}

const failed = (code: string, what: string, why: string | null): ConversationErrorEvent => ({
  kind: 'ConversationErrorEvent',
  source: 'environment',
  code,
  detail: why === null || why === '' ? `${what}.` : `${what}: ${why}`,
})
