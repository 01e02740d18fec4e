import { checkNumber, checkOptionNames, invalidArgument } from '../../event/check-value.ts'
import type { Condensation } from '../../event/types.ts'
import { isWhitespace } from '../../messages/text.ts'
import { reduce } from '../../state/reduce.ts'
import type { State } from '../../state/state.ts'
import { isWaitingForSummary } from '../../state/summary-failure.ts'
import { counted } from '../estimate.ts'
import type { Condenser, CondenserDecision } from './condenser.ts'
import {
  type CheckedLimits,
  checkLimits,
  type CondensationLimits,
  condensationOf,
  type CondensationPlan,
  LIMIT_NAMES,
  planWithin,
  refuse,
} from './plan.ts'
import { checkBudget, type SummaryBudget, type SummaryRequest, summaryRequest } from './summary-request.ts'

/** A summary, and the id of the reply that wrote it. */
export interface Summary {
  readonly text: string
  readonly llmResponseId?: string
}

/**
 * Writes a summary, usually by sending `request.prompt` to a model. Is called again with less text, up to
 * `retries` times, if it throws or the summary is too long.
 */
export type Summarise = (request: SummaryRequest, signal?: AbortSignal) => Promise<string | Summary>

/** Options of `rollingCondenser`. */
export interface RollingOptions extends CondensationLimits, SummaryBudget {
  readonly summarise: Summarise
  /** Maximum retries of a failed or too long summary. Each halves the maximum input and output. Default: 3. */
  readonly retries?: number
}

/**
 * Returns a condenser that replaces the middle of a view with a summary, as `planCondensation` decides. The
 * summariser reads all forgotten events and the previous summary. A blank summary is refused. With
 * `maxTokens`, it never returns a condensation that leaves a request above that limit.
 *
 * After a failure that the log records, the condenser waits for 16 events before it calls the summariser
 * again. Each further failure doubles the wait, up to 512. A required condensation (a request in the log, or
 * the token limit) does not wait. Costs `planCondensation` and the calls of the summariser.
 * @throws ColloquyError `invalid_argument` for invalid options.
 * @example
 * const condenser = rollingCondenser({ maxEvents: 8, summarise: async ({ events }) => `${events.length} messages` })
 * const say = (id) => ({ kind: 'MessageEvent', id, source: 'agent', llm_message: { role: 'assistant',
 *   content: [{ text: id }] } })
 * const state = replay(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map(say))
 * const { event } = await condenser.condense(state)
 * event.summary // '6 messages'
 * reduce(state, event).branch.view.length // 4
 */
export function rollingCondenser(options: RollingOptions): Condenser {
  checkOptionNames(options, LIMIT_NAMES, 'eventBudget totalBudget summarise retries')
  const limits = checkLimits(options)
  // It would otherwise only appear as a failed summary of a long conversation.
  if (typeof options.summarise !== 'function') invalidArgument('summarise', 'must be a function')
  const budget = checkBudget(options)
  const retries = checkNumber('retries', options.retries ?? 3, { least: 0 })
  return {
    handlesRequests: true,
    async condense(state, cancellation = {}) {
      checkOptionNames(cancellation, 'signal')
      const { signal } = cancellation
      signal?.throwIfAborted()
      const plan = planWithin(state, limits)
      if (plan.type !== 'plan') return plan
      const waits = refuse('summariser_waits', plan.triggers)
      if (!waits.reason.required && isWaitingForSummary(state)) return waits
      let refusal: CondenserDecision = refuse('summariser_failed', plan.triggers)
      for (let attempt = 0; attempt <= retries; attempt += 1) {
        const request = summaryRequest(plan, budget, attempt)
        let event: Condensation | null
        try {
          // Each attempt depends on the previous one.
          // oxlint-disable-next-line no-await-in-loop
          event = condensationEvent(plan, await options.summarise(request, signal))
        } catch (cause) {
          signal?.throwIfAborted()
          refusal = refuse('summariser_failed', plan.triggers, { cause })
          continue
        }
        signal?.throwIfAborted()
        if (event === null) return refuse('blank_summary', plan.triggers)
        if (isWithinLimits(state, event, limits)) return { type: 'condense', event }
        refusal = refuse('summary_too_long', plan.triggers)
      }
      return refusal
    },
  }
}

function condensationEvent(plan: CondensationPlan, returned: string | Summary): Condensation | null {
  const { text, llmResponseId }: Summary = typeof returned === 'string' ? { text: returned } : returned
  // An untyped caller may return anything.
  return typeof text !== 'string' || isWhitespace(text) ? null : condensationOf(plan, text, llmResponseId)
}

const isWithinLimits = (
  state: State,
  event: Condensation,
  { maxTokens, count, write }: CheckedLimits,
): boolean => maxTokens === Infinity || counted(count, write(reduce(state, event))) <= maxTokens
