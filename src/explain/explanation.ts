/** What is said of one event: whether the model may see it, and each fact of the fold that makes it so. */

/** Why an event is in the view, or is not. */
export type VerdictCode =
  /** In the view: a unit of its own. */
  | 'unit'
  /** In the view: part of a batch that has all its results. */
  | 'batch'
  /** Its batch waits for a result. */
  | 'pending'
  /** Its kind never enters a view. */
  | 'no_unit'
  /** A Condensation lists it. */
  | 'condensed'
  /** A Condensation lists another event of its batch. */
  | 'condensed_with_batch'
  /** A Condensation lists an event of its stretch. */
  | 'condensed_with_stretch'
  /** A result whose call had been forgotten before it came. */
  | 'late_result'
  /** A result without a call on its branch. */
  | 'orphan_result'
  /** A result of a call that has one. */
  | 'duplicate_result'
  /** HEAD is on another branch. */
  | 'other_branch'
  /** The line is no event. */
  | 'quarantined'
  /** An event before it has its id. */
  | 'repeated_id'

/** A further fact about an event. */
export type NoteCode =
  /** The result that a call has, or the call that a result ends. */
  | 'paired'
  /** A call without a result. */
  | 'unanswered'
  /** The other events of its reply. */
  | 'batch_mates'
  /** Another batch of the same reply, which could not be merged with this one. */
  | 'split_batch'
  /** What is forgotten with it. */
  | 'stretch'
  /** A reply is placed before messages that its model had not read. */
  | 'placed'
  /** A reply that had not read it is placed before it. */
  | 'passed'
  /** A later system prompt is sent in its place. */
  | 'replaced_prompt'
  /** It is in the view and has no content that could be sent. */
  | 'says_nothing'
  /** What a Condensation took out. */
  | 'took_out'
  /** The summary that a Condensation put into the view. */
  | 'summary'
  /** The budget leaves it out of what is sent. */
  | 'over_budget'
  /** The mask sends a short text in its place. */
  | 'masked'
  /** What replay repaired or ignored. */
  | 'repaired'

/** One fact about an event, and what makes it so. */
export interface Reason<Code extends string = VerdictCode | NoteCode> {
  readonly code: Code
  /** The rule of the design, as `U6`; `ruleOf` returns its sentence. */
  readonly rule: string
  /** The broken law of logs, as `P4`, for `sentenceOf` of `colloquy/laws`; null for none. */
  readonly law: string | null
  /** One sentence for people. It quotes ids and names only, never content. */
  readonly text: string
  /** The other events that it is about, in log order. */
  readonly ids: readonly string[]
}

/** What became of an event, seen from HEAD. */
export interface Explanation {
  /** Its id, or the id of a summary; null for a line without an id. */
  readonly id: string | null
  /** Position in the log; for a summary, the position of its Condensation. */
  readonly seq: number
  /** Null for a line without a kind. */
  readonly kind: string | null
  /** Whether `viewEvents` contains it. */
  readonly inView: boolean
  readonly verdict: Reason<VerdictCode>
  /** The event but for which it would be in the view: a Condensation, the result that came first, the event that took
   * HEAD to another branch, the event that has its id. Null where there is none. */
  readonly removedBy: string | null
  /** The results of a call; the call of a result. */
  readonly pairedWith: readonly string[]
  readonly notes: readonly Reason<NoteCode>[]
}
const RULES: Readonly<Record<string, string>> = {
  U1: 'Only system prompts, messages, summaries, calls and their results ever enter the view.',
  U2: 'The calls of one reply and their results are one batch, and go together.',
  U3: 'A result goes to the call that it names, and the first result of a call wins.',
  U4: 'A batch is out of the view until each of its calls has a result.',
  U5: 'Parts that a provider accepts only together are forgotten together.',
  U6: 'A Condensation removes what it lists, with whole batches and stretches; what is forgotten stays forgotten.',
  U8: 'A view is cut only between stretches, its oldest part first.',
  U10: 'A reply is placed directly after what its model had read.',
  D7: 'The view follows the branch under HEAD, and only the log moves HEAD.',
  D8: 'An event hangs on the parent that it names, else on HEAD, and an id means the first event that has it.',
  D16: 'A line that is no event is kept as it is, without effect.',
  D20: 'A reply is one thing, and its record contains what it was asked at and how it ended.',
  D23: 'Signed thinking is sent only behind what its reply saw.',
  D24: 'The past is changed rarely, since everything after the change must be read again.',
}

/**
 * The sentence of a rule; null where no explanation names it. O(1).
 * @example
 * ruleOf('U4') // 'A batch is out of the view until each of its calls has a result.'
 */
export const ruleOf = (rule: string): string | null =>
  Object.hasOwn(RULES, rule) ? (RULES[rule] ?? null) : null

/** A number with its noun, as in `1 event` or `2,048 events`. */
export const counted = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`
