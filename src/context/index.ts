/** Entry point `colloquy/context`: condensers, budgets, masks, stuck detection, titles, usage. */

export { type Fit, type FitOptions, fitToBudget, type NoFit, type WriteMessages } from './budget.ts'
export { cacheBreakpoints } from './cache-breakpoints.ts'
export * from './condenser/condenser.ts'
export {
  buildSummaryPrompt,
  type SummaryBudget,
  type SummaryEvent,
  type SummaryPromptInput,
  type SummaryRequest,
} from './condenser/summary-request.ts'
export {
  type CondensationLimits,
  condensationOf,
  type CondensationPlan,
  planCondensation,
  rollingCondenser,
  type RollingOptions,
  type Summarise,
  type Summary,
} from './condenser/rolling.ts'
export { type CountTokens, estimateTokens } from './estimate.ts'
export { finalResponse } from './final-response.ts'
export { type MaskingOptions, observationMasking } from './masking.ts'
export * from './explain-prefix.ts'
export * from './stuck.ts'
export { fallbackTitle, titleInput } from './title.ts'
export { resumeTranscript, type TranscriptOptions } from './transcript.ts'
export { listRunnableCalls } from '../state/read.ts'
export type { ModelUsage, TokenCounts, TreeUsage, Usage, UsageOptions } from './usage.ts'
export { usageOfEvents, usageOfTree, usageTotals } from './usage.ts'
