/** What `condense` works out: the event that would be appended, the reason, and the state after it. */

import { reduce, type State } from '../../index.ts'
import { type Condensation, deriveEventId } from '../../event/index.ts'
import { condensationOf, planCondensation, type RefusalReason } from '../../context/index.ts'
import { PLACEHOLDER_SUMMARY } from '../args/commands.ts'
import type { FileRequest } from '../args/request.ts'

/** What became of a view. */
export interface Condensed {
  /** Null where nothing is to be appended. */
  readonly event: (Condensation & { readonly id: string }) | null
  /** `events` or `request`, what called for it; `not_needed`, or the code of the refusal. */
  readonly reason: 'events' | 'request' | 'not_needed' | RefusalReason['code']
  readonly after: State
}

/** The events that stay first, as many as the library keeps; fewer where the limit leaves no room for them. */
const KEPT_FIRST = 2

/** Condenses a state as a rolling condenser would, with the summary given. */
export function condensed(state: State, { maxEvents = Infinity, summary }: FileRequest): Condensed {
  const keepFirst = Math.min(KEPT_FIRST, Math.floor(maxEvents / 2) - 2)
  const plan = planCondensation(state, { maxEvents, keepFirst })
  if (plan.type === 'keep') return { event: null, reason: 'not_needed', after: state }
  if (plan.type === 'refuse') return { event: null, reason: plan.reason.code, after: state }
  const body = condensationOf(plan, summary ?? PLACEHOLDER_SUMMARY)
  // The same for a file and for the conversation that was imported from it.
  const event = { ...body, id: deriveEventId('', state.log.entries.length, body) }
  return {
    event,
    reason: plan.triggers.includes('request') ? 'request' : 'events',
    after: reduce(state, event),
  }
}
