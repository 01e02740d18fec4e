import type { Condensation } from '../../event/types.ts'
import type { State } from '../../state/state.ts'

/** Why a view is condensed: the log requests it, or the view has too many tokens or events. */
export type CondensationTrigger = 'request' | 'tokens' | 'events'

export type RefusalCode =
  /**
   * Too few events can be forgotten: fewer than 2 or, if the condensation is optional, a smaller share of the
   * view's events than `minimumProgress`.
   */
  | 'nothing_to_forget'
  /** The events that must stay exceed the token limit. */
  | 'over_budget'
  | 'summariser_failed'
  /** The summariser failed recently, and is not called again yet. */
  | 'summariser_waits'
  /** The summariser returned no text. Without a summary, the events would be lost silently. */
  | 'blank_summary'
  | 'summary_too_long'

/** Why a condensation was refused, whether it is required, and whether to try again. */
export interface RefusalReason {
  readonly code: RefusalCode
  /** One sentence, without the summariser's error. */
  readonly message: string
  readonly triggers: readonly CondensationTrigger[]
  /** Whether the condensation is required: the log requests it, or the tokens exceed the limit. */
  readonly required: boolean
  /** `never`: the same view will be refused again. `later`: the summariser may succeed next time. */
  readonly again: 'never' | 'later'
  readonly cause?: unknown
}

export type CondenserDecision =
  | { readonly type: 'keep' }
  /** Append the event at HEAD. It shortens the view and completes the log's condensation request, if any. */
  | { readonly type: 'condense'; readonly event: Condensation }
  | { readonly type: 'refuse'; readonly reason: RefusalReason }

/**
 * Decides which events of a view to forget, and changes nothing. `run(step, { condenser })` executes the
 * decision. If you call a condenser yourself, append the event of a `condense` decision. After `refuse`,
 * continue, unless `reason.required` is true: then end the run with a ConversationErrorEvent, or call the model
 * anyway. Call the condenser again after the view has changed or, if `reason.again` is `later`, after some time.
 */
export interface Condenser {
  readonly handlesRequests: boolean
  /**
   * Returns the decision. Rejects with the signal's reason if the signal is aborted. Also rejects if one of
   * the caller's functions throws, except the summariser.
   */
  condense(
    state: State,
    options?: { readonly signal?: AbortSignal },
  ): Promise<CondenserDecision> | CondenserDecision
}

/**
 * Returns a condenser that never forgets anything.
 * @example
 * noopCondenser().condense(initialState()) // { type: 'keep' }
 */
export function noopCondenser(): Condenser {
  return { handlesRequests: false, condense: () => ({ type: 'keep' }) }
}

/**
 * Returns a condenser that calls `condensers` in order and returns the first condensation, or else the first
 * refusal.
 * @example
 * (await pipelineCondenser([noopCondenser(), noopCondenser()]).condense(initialState())).type // 'keep'
 */
export function pipelineCondenser(condensers: readonly Condenser[]): Condenser {
  return {
    handlesRequests: condensers.some((condenser) => condenser.handlesRequests),
    async condense(state, options) {
      let refusal: CondenserDecision | null = null
      for (const condenser of condensers) {
        // Condensers run in order, because a later condenser may call a model.
        // oxlint-disable-next-line no-await-in-loop
        const decision = await condenser.condense(state, options)
        if (decision.type === 'condense') return decision
        if (decision.type === 'refuse') refusal ??= decision
      }
      return refusal ?? { type: 'keep' }
    },
  }
}
