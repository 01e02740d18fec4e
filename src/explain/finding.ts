/**
 * `error`: a misled model, a failed request, a repeated call or a likely secret; `warning`: wasted tokens or
 * lost content; `note`: worth knowing.
 */
export type Severity = 'error' | 'warning' | 'note'

/** Kinds of findings; causes precede consequences. */
export const FINDING_KINDS = [
  'secret',
  'quarantined',
  'doubled_call',
  'split_batch',
  'doubled_result',
  'orphan_result',
  'forgotten_task',
  'signed_behind_change',
  'cache_broken',
  'loop',
  'cut_off',
  'lost_branch',
  'late_result',
  'idle_completion',
  'idle_progress',
  'pending_call',
  'working_call',
  'repaired',
  'law',
] as const

/** Kind of a finding. */
export type FindingKind = (typeof FINDING_KINDS)[number]

/** A problem or a notable detail of a conversation. */
export interface Finding {
  /** Kind and position of the finding. The same log always produces the same keys. */
  readonly key: string
  readonly kind: FindingKind
  readonly severity: Severity
  readonly text: string
  /** Rule of the design, such as `U6`; `ruleOf` returns its sentence. Null if no rule applies. */
  readonly rule: string | null
  readonly law: string | null
  /** Position of the event in the log. Its id, if any, is the first of `ids`. */
  readonly seq: number
  /** Ids of the events that prove the finding, the cause first. */
  readonly ids: readonly string[]
  readonly cost?: FindingCost
}

/** What a changed prefix costs, in estimated tokens. */
export interface FindingCost {
  readonly cacheTokens: number
  readonly reasoningTokens: number
}
