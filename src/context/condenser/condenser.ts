/** The contract of a condenser: a decision about a state's view, or the reason why there is none. */

import type { Condensation } from '../../event/types.ts'
import type { State } from '../../state/state.ts'

/** What triggers a condensation: a request in the log, the tokens of the view, or its events. */
export type CondensationTrigger = 'request' | 'tokens' | 'events'

/** Why a condensation was refused. */
export type RefusalCode =
  /** A summary would not make the view shorter than what may be forgotten. */
  | 'nothing_to_forget'
  /** What has to stay exceeds the token limit. */
  | 'over_budget'
  /** The summariser threw on each attempt. */
  | 'summariser_failed'
  /** The summariser has failed before, and is not called yet. */
  | 'summariser_waits'
  /** The summariser returned no text. Forgetting without a summary would be silent. */
  | 'blank_summary'
  /** The messages with the summary exceed the token limit. */
  | 'summary_too_long'

export interface RefusalReason {
  readonly code: RefusalCode
  /** One sentence for people. Never quotes what the summariser threw. */
  readonly message: string
  readonly triggers: readonly CondensationTrigger[]
  /** Whether the next request depends on it: the log requires it, or the token limit is exceeded. */
  readonly required: boolean
  /** `never`: the same view is refused again. `later`: the summariser may succeed another time. */
  readonly again: 'never' | 'later'
  /** The last error of the summariser. */
  readonly cause?: unknown
}

export type CondenserDecision =
  /** No condensation is needed. */
  | { readonly type: 'keep' }
  /**
   * To be appended under HEAD. It makes the view shorter, clears a request, and takes out what it lists and nothing
   * else.
   */
  | { readonly type: 'condense'; readonly event: Condensation }
  | { readonly type: 'refuse'; readonly reason: RefusalReason }

/**
 * Decides what to forget of a view. It reads the state and changes nothing; the caller appends the event.
 *
 * Every request ends. On `condense` append the event: that clears the request, and as each condensation makes the view
 * shorter, asking again comes to an end. On `refuse` the request still stands in the view, and asking again at once
 * would go round in circles. So: when `required` is false, go on with the view as it is. When it is true, end the run
 * with a ConversationErrorEvent, or ask the model all the same; ask the condenser again when the view has changed, and
 * where `again` is `later` also after a pause. A run that is given the condenser (`run(step, { condenser })`) does so.
 */
export interface Condenser {
  /** Whether it handles a CondensationRequest. If not, it returns `keep`, and no request should be made. */
  readonly handlesRequests: boolean
  /**
   * Rejects when the signal is aborted, with the signal's reason, and with what the caller's own functions throw, the
   * summariser aside.
   */
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
 * Condensers in order: the first that condenses decides. Where none does, the first refusal counts. One that handles
 * requests is enough for the whole to do so.
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
