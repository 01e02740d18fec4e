/** One thing that is wrong or remarkable in a conversation, with the events that show it. */

/** `error`: the model is misled or the request fails; `warning`: wasted tokens; `note`: worth knowing. */
export type Severity = 'error' | 'warning' | 'note'

/** Kinds of findings, causes before consequences. */
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

export type FindingKind = (typeof FINDING_KINDS)[number]

export interface Finding {
  /** Stable for the same log: the kind and the position of the event. */
  readonly key: string
  readonly kind: FindingKind
  readonly severity: Severity
  readonly text: string
  /** The rule of the design, such as `U6`; `ruleOf` returns its sentence. Null where a law covers it. */
  readonly rule: string | null
  readonly law: string | null
  /** Position of the event, which is also the first of `ids` if it has an id. */
  readonly seq: number
  /** The events that prove it, the cause first. */
  readonly ids: readonly string[]
  readonly cost?: FindingCost
}

/** Cost of a changed prefix, in estimated tokens. */
export interface FindingCost {
  readonly cacheTokens: number
  readonly reasoningTokens: number
}
