/** The interface of a condenser: a decision about a state's view. */

import type { Condensation } from '../../event/types.ts'
import type { State } from '../../state/state.ts'

/** What triggers a condensation: a request in the log, the tokens of the view, or its events. */
export type CondensationTrigger = 'request' | 'tokens' | 'events'

/** Why a condensation was refused. */
export type RefusalCode =
  /** A summary would not make the view shorter than the events it replaces. */
  | 'nothing_to_forget'
  /** The events that must stay exceed the token limit. */
  | 'over_budget'
  | 'summariser_failed'
  /** The summariser failed before, and is not called yet. */
  | 'summariser_waits'
  /** The summariser returned no text. Without a summary, the events would be lost silently. */
  | 'blank_summary'
  | 'summary_too_long'

export interface RefusalReason {
  readonly code: RefusalCode
  /** One sentence. Never quotes what the summariser threw. */
  readonly message: string
  readonly triggers: readonly CondensationTrigger[]
  /** Whether the next request depends on it: the log requires it, or the token limit is exceeded. */
  readonly required: boolean
  /** `never`: the same view is refused again. `later`: the summariser may succeed on another attempt. */
  readonly again: 'never' | 'later'
  readonly cause?: unknown
}

export type CondenserDecision =
  | { readonly type: 'keep' }
  /** Append at HEAD. Shortens the view, clears a request, and removes only listed events. */
  | { readonly type: 'condense'; readonly event: Condensation }
  | { readonly type: 'refuse'; readonly reason: RefusalReason }

/**
 * Decides which events of a view to forget. Changes nothing.
 *
 * `condense`: append the event, which clears the request. `refuse`: the request remains; if `required` is true,
 * end the run with a ConversationErrorEvent or call the model anyway, otherwise continue. Call the condenser
 * again only after the view has changed, or, if `again` is `later`, after a pause. `run(step, { condenser })`
 * does all of this.
 */
export interface Condenser {
  readonly handlesRequests: boolean
  /** Rejects with the signal's reason, and with errors of the caller's functions except the summariser. */
  condense(
    state: State,
    options?: { readonly signal?: AbortSignal },
  ): Promise<CondenserDecision> | CondenserDecision
}

/**
 * A condenser that never forgets anything, and handles no request.
 * @example
 * noopCondenser().condense(initialState()) // { type: 'keep' }
 */
export function noopCondenser(): Condenser {
  return { handlesRequests: false, condense: () => ({ type: 'keep' }) }
}

/**
 * Returns a condenser that tries others in order and uses the first condensation, or otherwise the first
 * refusal. Handles requests if one of the others does.
 * @example
 * (await pipelineCondenser([noopCondenser(), noopCondenser()]).condense(initialState())).type // 'keep'
 */
export function pipelineCondenser(condensers: readonly Condenser[]): Condenser {
  return {
    handlesRequests: condensers.some((condenser) => condenser.handlesRequests),
    async condense(state, options) {
      let refusal: CondenserDecision | null = null
      for (const condenser of condensers) {
        // In order: a later one may cost a model call.
        // oxlint-disable-next-line no-await-in-loop
        const decision = await condenser.condense(state, options)
        if (decision.type === 'condense') return decision
        if (decision.type === 'refuse') refusal ??= decision
      }
      return refusal ?? { type: 'keep' }
    },
  }
}
