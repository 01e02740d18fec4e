/** Entry `colloquy/context`: condensers, budgets, masks, stuck detection, titles, usage. */

export { type Fit, type FitOptions, fitToBudget, type NoFit, type WriteMessages } from './budget.ts'
export { cacheBreakpoints } from './cache-breakpoints.ts'
export {
  type CondensationTrigger,
  type Condenser,
  type CondenserDecision,
  noopCondenser,
  pipelineCondenser,
  type RefusalCode,
  type RefusalReason,
} from './condenser/condenser.ts'
export type { SummaryEvent } from './condenser/summary-request.ts'
export type { CondensationLimits } from './condenser/plan.ts'
export { condensationOf, type CondensationPlan, planCondensation } from './condenser/plan.ts'
export { buildSummaryPrompt, type SummaryPromptInput } from './condenser/summary-request.ts'
export { rollingCondenser, type RollingOptions, type Summarise, type Summary } from './condenser/rolling.ts'
export type { SummaryBudget, SummaryRequest } from './condenser/summary-request.ts'
export { type CountTokens, estimateTokens } from './estimate.ts'
export { finalResponse } from './final-response.ts'
export { type MaskingOptions, observationMasking } from './masking.ts'
export { explainPrefix, type PrefixChange } from './explain-prefix.ts'
export { stablePrefix } from './explain-prefix.ts'
export { stuckDetector, type StuckDetector } from './stuck.ts'
export { nudgeMessage } from './stuck.ts'
export type { StuckOptions, StuckPattern, StuckThresholds } from './stuck.ts'
export type { StuckVerdict } from './stuck.ts'
export { fallbackTitle, titleInput } from './title.ts'
export { resumeTranscript, type TranscriptOptions } from './transcript.ts'
export { listRunnableCalls } from '../state/read.ts'
export {
  type ModelUsage,
  type TokenCounts,
  type TreeUsage,
  type Usage,
  type UsageOptions,
  usageOfEvents,
  usageOfTree,
  usageTotals,
} from './usage.ts'
