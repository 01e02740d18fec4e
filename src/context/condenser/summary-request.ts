/** What the summariser is given, within its budgets. */

import { wellFormed } from '../../messages/text.ts'
import { checkNumber } from '../check-number.ts'
import { type SummaryEvent, textsOf } from './event-text.ts'
import { excerpt, fairLimit } from './excerpt.ts'
import type { CondensationPlan } from './plan.ts'
import { buildSummaryPrompt } from './prompt.ts'

/** What the summariser is given. */
export interface SummaryRequest {
  /** The summaries among what is forgotten, whole however long; null for none. */
  readonly previousSummary: string | null
  /** All other events that are forgotten, arguments and results included, within the budgets. */
  readonly events: readonly SummaryEvent[]
  /** How many tokens the summary may take; null without a token limit. */
  readonly maxTokens: number | null
  /** 0 for the first, one more for each time that the summariser failed. */
  readonly attempt: number
  /** All of it as one text, ready to be sent. */
  readonly prompt: string
}

/** How much of the events the summariser is given. In UTF-16 units; each attempt halves both. */
export interface SummaryBudget {
  /** For the text of one event: of a longer one head and tail are kept. Default: 10,000. */
  readonly eventBudget?: number
  /** For the texts of all of them; the longest give way first. The summary before is not counted. Default: 400,000. */
  readonly totalBudget?: number
}

/** The budgets with their defaults. @throws ColloquyError `invalid_argument` */
export function checkBudget({
  eventBudget = 10_000,
  totalBudget = 400_000,
}: SummaryBudget): Required<SummaryBudget> {
  checkNumber('eventBudget', eventBudget, { least: 1 })
  checkNumber('totalBudget', totalBudget, { least: 1 })
  return { eventBudget, totalBudget }
}

/** The request of an attempt. O(content). */
export function summaryRequest(
  plan: CondensationPlan,
  budget: Required<SummaryBudget>,
  attempt: number,
): SummaryRequest {
  const { summaries, events } = textsOf(plan.units)
  const share = 2 ** -attempt
  const lengths = events.map(({ text }) => text.length)
  const limit = fairLimit(
    lengths,
    Math.floor(budget.eventBudget * share),
    Math.floor(budget.totalBudget * share),
  )
  const given = {
    previousSummary: summaries.length === 0 ? null : summaries.join('\n\n'),
    events: events.map((event) => ({ ...event, text: wellFormed(excerpt(event.text, limit)) })),
    maxTokens: plan.room === null ? null : Math.max(1, Math.floor(plan.room * share)),
    attempt,
  }
  return { ...given, prompt: buildSummaryPrompt(given) }
}
