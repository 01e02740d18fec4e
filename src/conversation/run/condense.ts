import { isEarlyEnd, isOfReply, replyOf } from '../../event/reply.ts'
import type { ConversationErrorEvent, Event } from '../../event/types.ts'
import { renderMessage } from '../../messages/neutral.ts'
import type { ReplyOutcome } from '../../messages/reply.ts'
import { isFinalReply } from '../../state/status.ts'
import type { StepOutput } from './step.ts'
import { type Entry, eventKindOf, isOnPathIn, loadedEvent } from '../../log/entry.ts'
import { reduce } from '../../state/reduce.ts'
import type { State } from '../../state/state.ts'
import { failureUpdate, isWaitingForSummary } from '../../state/summary-failure.ts'
import { orAborted } from '../async.ts'
import { checkEvents } from '../stamp.ts'
import { errorEvent } from '../decide.ts'
import { isReplied } from '../turn.ts'
import { add, readReplica, type RunContext } from './context.ts'

type Condensing =
  | { readonly next: 'ask' | 'look' | 'stop' }
  | { readonly next: 'end'; readonly with: Event[] }

export const CONDENSATION_REFUSED = 'CondensationRefused'
const NO_CONDENSER = 'A condensation was requested, but the run has no condenser.'

/**
 * Calls the condenser, and appends its event if the event still applies. The run ends with an error if the
 * event does not shorten the view, or if the condenser refuses a required condensation or ignores a request.
 * A request that was refused before does not end the run again.
 * @throws the condenser's errors, `invalid_event` for an invalid event.
 */
export async function condense(run: RunContext, state: State): Promise<Condensing> {
  const { condenser, signal } = run
  const { branch } = state
  run.refusalCause = undefined
  const isRequested = branch.view.unhandledCondensationRequest
  const proceed: Condensing = { next: isReplied(branch) ? 'stop' : 'ask' }
  const refuse = async (message: string, triggers: readonly string[]): Promise<Condensing> =>
    triggers.every((trigger) => trigger === 'request') &&
    (await readReplica(run, (replica) => replica.read(wasRefused)))
      ? proceed
      : { next: 'end', with: [errorEvent(CONDENSATION_REFUSED, message)] }
  if (condenser === null)
    return isRequested && isReplied(branch) ? refuse(NO_CONDENSER, ['request']) : { next: 'ask' }
  const decision = await orAborted(condenser.condense(state, { signal }), signal)
  if (signal.aborted) return { next: 'look' }
  if (decision?.type !== 'keep' && decision?.type !== 'condense' && decision?.type !== 'refuse')
    throw new TypeError('`condense` must return an object with the type keep, condense or refuse.')
  if (decision.type === 'condense') {
    const [event] = checkEvents([decision.event])
    if (event === undefined || reduce(state, event).branch.view.length >= branch.view.length)
      return refuse('The condenser did not shorten the view.', [decision.type])
    await add(run, (now) => (isUnchanged(state, now) ? [event] : []))
    return { next: 'look' }
  }
  if (decision.type === 'keep')
    return isRequested ? refuse('The condenser does not handle requests.', ['request']) : { next: 'ask' }
  const { message, triggers, required, again, cause } = decision.reason
  if (required) {
    run.refusalCause = cause
    return refuse(message, triggers)
  }
  if (again === 'later')
    await add(run, (now) => (isWaitingForSummary(now) ? [] : [failureUpdate(now, message)]))
  return proceed
}

export const requestIf = (isTooLong: boolean, { condenser }: RunContext, { branch }: State): Event[] =>
  isTooLong && condenser !== null && !branch.view.unhandledCondensationRequest
    ? [{ kind: 'CondensationRequest', source: 'environment' }]
    : []

function isUnchanged({ log: { head, entries } }: State, { log }: State): boolean {
  if (head === null || !isOnPathIn(head, log.head)) return false
  return !log.entries.slice(entries.length).some((entry) => eventKindOf(entry) === 'Condensation')
}

/** Whether the latest condensation request on HEAD's branch was refused already. @throws `evicted`. */
function wasRefused({ log }: State): boolean {
  for (let entry: Entry | null = log.head; entry !== null; entry = entry.parent) {
    if (eventKindOf(entry) === 'CondensationRequest') return false
    const event = loadedEvent(entry, ['ConversationErrorEvent'])
    if (event?.kind === 'ConversationErrorEvent' && event.code === CONDENSATION_REFUSED) return true
  }
  return false
}

const MAX_EMPTY = 3

/**
 * Returns the error that ends a run after a step, or null. A paused reply is no error, because the model can
 * continue it. Truncated calls are not errors either, because the model is notified. O(events).
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
      return failed('ReplyBrokenOff', 'The reply was cut off', null)
    default:
      return null
  }
}

export const isOutOfRoom = ({ events, outcome }: StepOutput): boolean => {
  const end = outcome ?? recordedEnd(events)
  return end?.type === 'truncated' && end.reason === 'model_context_window_exceeded'
}

export const errorAfterEmptyReplies = (times: number): ConversationErrorEvent | null =>
  times < MAX_EMPTY ? null : failed('NoReply', `The model returned ${times} empty replies in a row`, null)

export function isEmptyOutput(events: readonly Event[]): boolean {
  const replies = events.filter(isOfReply)
  if (replies.length > 0) return replies.every(isEmptyReply)
  return events.every(({ kind }) => kind === 'ConversationStateUpdateEvent')
}

const isEmptyReply = (event: Event): boolean =>
  event.kind === 'MessageEvent' &&
  (renderMessage(event) === null || (!isFinalReply(event) && !isEarlyEnd(replyOf(event)?.outcome)))

function recordedEnd(events: readonly Event[]): ReplyOutcome | null {
  const reply = events.map(replyOf).find((each) => isEarlyEnd(each?.outcome))
  const type: unknown = reply?.outcome
  if (!isEarlyEnd(type)) return null
  const stop: unknown = reply?.stop_reason
  if (type === 'paused') return { type }
  if (type === 'refused' || type === 'failed') return { type, explanation: null }
  if (type === 'broken_off') return { type, text: '' }
  return { type, reason: typeof stop === 'string' ? stop : '' }
}

const failed = (code: string, what: string, why: string | null): ConversationErrorEvent =>
  errorEvent(code, why === null || why === '' ? `${what}.` : `${what}: ${why}`)
