/** What is found in a conversation: one thing that is wrong or remarkable, in words, with the events that show it. */

/** How bad it is: the model was misled or the request fails; it costs; it is worth knowing. */
export type Severity = 'error' | 'warning' | 'note'

/** The kinds of findings. Of one severity, what causes others stands before what follows from it, as in this list. */
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
  'pending_call',
  'repaired',
  'law',
] as const

/** What kind of finding it is. */
export type FindingKind = (typeof FINDING_KINDS)[number]

/** One thing that is wrong or remarkable. */
export interface Finding {
  /** Stable for the same log: its kind, and the position of the event that it is about. */
  readonly key: string
  readonly kind: FindingKind
  readonly severity: Severity
  /** What happened, in one sentence for people. It quotes ids and names only, never what was said. */
  readonly text: string
  /** The rule of the design, as `U6`; `ruleOf` gives its sentence. Null where a law says all. */
  readonly rule: string | null
  /** The law of logs that is broken, as `P4`, for `sentenceOf` of `colloquy/laws`; null for none. */
  readonly law: string | null
  /** Position of the event that it is about, and the first of `ids` where that has an id. */
  readonly seq: number
  /** The events that show it, what caused it first. */
  readonly ids: readonly string[]
  /** What it cost, where that is known. */
  readonly cost?: FindingCost
}

/** What a changed prefix cost, in estimated tokens. */
export interface FindingCost {
  /** What had to be read anew that a provider may have had in its cache. */
  readonly cacheTokens: number
  /** Thinking that is no longer sent. */
  readonly reasoningTokens: number
}
