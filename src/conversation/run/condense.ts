/** Condenses the view on the way: where the log asks for it, a condenser's limit does, or the provider has refused. */

import type { Condensation, ConversationErrorEvent, Event } from '../../event/types.ts'
import { hasCode } from '../../event/errors.ts'
import { isOnPathIn } from '../../log/ancestry.ts'
import { eventKindOf } from '../../log/entry.ts'
import { reduce } from '../../state/reduce.ts'
import type { State } from '../../state/state.ts'
import { checkEvents } from '../stamp.ts'
import { statusUpdate } from '../state-updates.ts'
import { isReplied } from '../turn.ts'
import { add, type RunContext } from './context.ts'
import { isOutOfRoom, type Said } from './reply-end.ts'

/** What a condenser says of a state: those of `colloquy/context` do. */
export type RunCondenserDecision =
  | { readonly type: 'keep' }
  | { readonly type: 'condense'; readonly event: Condensation }
  | {
      readonly type: 'refuse'
      readonly reason: {
        readonly message: string
        readonly triggers: readonly string[]
        /** Whether the model can hardly be asked without. */
        readonly required: boolean
      }
    }

/** Decides what to forget of a view; a `Condenser` of `colloquy/context` is one. */
export interface RunCondenser {
  condense(
    state: State,
    options: { readonly signal: AbortSignal },
  ): Promise<RunCondenserDecision> | RunCondenserDecision
}

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
  if (decision.type === 'refuse' && !decision.reason.required) return goOn
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
export const requestAfter = ({ condenser }: RunContext, said: Said, { branch }: State): Event[] =>
  condenser !== null && isOutOfRoom(said) && !branch.view.unhandledCondensationRequest ? [REQUEST] : []

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
