import { ownField } from '../event/json.ts'
import { replyOf } from '../event/reply.ts'
import { quote } from '../event/text.ts'
import type { Event } from '../event/types.ts'
import { objectOf, objectsOf, stringOf } from '../messages/text.ts'

/** Why an event is in the view or not. */
export type VerdictCode =
  | 'unit'
  /** The event is in the view, in a batch that has all its results. */
  | 'batch'
  /** The event's batch waits for a result. */
  | 'pending'
  | 'no_unit'
  | 'condensed'
  | 'condensed_with_batch'
  | 'condensed_with_stretch'
  /** A result whose call was forgotten before the result arrived. */
  | 'late_result'
  | 'orphan_result'
  | 'duplicate_result'
  | 'other_branch'
  | 'quarantined'
  | 'repeated_id'

/** Name of a further fact about an event. */
export type NoteCode =
  | 'paired'
  | 'unanswered'
  /** The call continued in the background after the event, and a message has completed it. */
  | 'completed'
  | 'completes'
  | 'working'
  /** The event reports progress of a call that is not a working call (U11), so it is ignored. */
  | 'idle'
  | 'batch_mates'
  /** Another batch has calls of the same reply, but could not be merged with the event's batch. */
  | 'split_batch'
  /** The events that are forgotten together with this event. */
  | 'stretch'
  /** A reply is placed before messages that its model had not read. */
  | 'placed'
  /** A reply is placed before this message, because the reply's model had not read the message. */
  | 'passed'
  | 'replaced_prompt'
  | 'says_nothing'
  | 'took_out'
  | 'summary'
  | 'over_budget'
  | 'masked'
  /** What the provider reported about the request for this reply. */
  | 'reported'
  | 'repaired'

/** A fact about an event, with its rule. */
export interface Reason<Code extends string = VerdictCode | NoteCode> {
  readonly code: Code
  /** Rule of the design, such as `U6`; `ruleOf` returns its sentence. */
  readonly rule: string
  /** Broken law, such as `P4`, or null. `sentenceOf` of `colloquy/laws` returns the law's text. */
  readonly law: string | null
  /** One sentence with ids and names, without content. */
  readonly text: string
  /** Ids of the events that the text is about. */
  readonly ids: readonly string[]
}

/** Why an event is in HEAD's view or not. */
export interface Explanation {
  /** Id of the event or summary; null for a line without an id. */
  readonly id: string | null
  /** Position in the log; for a summary, the position of its Condensation. */
  readonly seq: number
  readonly kind: string | null
  readonly inView: boolean
  readonly verdict: Reason<VerdictCode>
  /**
   * Id of the event that keeps this event out of the view: a Condensation, the first result of the same
   * call, the event that moved HEAD, or the first event with the same id. Null if there is no single such event.
   */
  readonly removedBy: string | null
  /** Id of a call's result, or of a result's call; empty for other events. */
  readonly pairedWith: readonly string[]
  readonly notes: readonly Reason<NoteCode>[]
}
const RULES: Readonly<Record<string, string>> = {
  U1: 'Only system prompts, messages, summaries, calls and their results ever enter the view.',
  U2: 'The calls of one reply and their results are one batch, and stay together.',
  U3: 'A result belongs to the call that it names, and the first result of a call wins.',
  U4: 'A batch is out of the view until each of its calls has a result.',
  U5: 'Parts that a provider accepts only together are forgotten together.',
  U6: 'A Condensation removes the events it lists, with their whole batches and stretches; a forgotten event stays forgotten.',
  U8: 'A view is shortened only between stretches, and its oldest part is removed first.',
  U10: 'A reply is placed directly after the last event that its model had read.',
  U11: 'The first message that names a working call completes the call. The message is a unit where it arrived.',
  D7: 'The view follows the branch under HEAD, and only the log moves HEAD.',
  D8: 'An event follows the parent that it names, or else HEAD. A repeated id names the first event with this id.',
  D16: 'A line that is not an event is stored unchanged, and has no effect.',
  D20: 'The record of a reply contains the HEAD of its request, and how the reply ended.',
  D23: 'Signed thinking is sent only if everything before its reply is unchanged.',
  D24: 'The past is changed rarely: the provider must read everything after the change once more.',
}

/**
 * Returns the sentence of a rule of the design; null if no explanation uses it. O(1).
 * @example
 * ruleOf('U4') // 'A batch is out of the view until each of its calls has a result.'
 */
export const ruleOf = (rule: string): string | null => ownField(RULES, rule) ?? null

/**
 * Returns a number with its noun.
 * @example
 * [counted(1, 'event'), counted(2_048, 'event')] // ['1 event', '2,048 events']
 */
export const counted = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`

interface Report {
  readonly text: string
  /** Whether the report proves that the request did not extend the previous request. */
  readonly isBreak: boolean
}

/** Returns what the provider reported about a request: withheld reasoning, a missed cache, a refusal. */
export function reportsOf(event: Event): Report[] {
  const { input_transformations, prompt_cache_diagnostics, diagnostics, stop_details } = objectOf(
    replyOf(event)?.metadata,
  )
  const reports = objectsOf(input_transformations).flatMap(({ id, reason }): Report[] => {
    const text = `it withheld the reasoning ${quote(stringOf(id))} from the model (${shortName(reason)})`
    return shortName(reason) === '' ? [] : [{ text, isBreak: reason === 'prefix_mismatch' }]
  })
  const missed = objectOf(objectOf(diagnostics)['cache_miss_reason'])['type']
  const miss = shortName(objectOf(prompt_cache_diagnostics)['reason'] ?? missed)
  if (miss !== '')
    reports.push({ text: `it missed its cache (${miss})`, isBreak: /messages|input/.test(miss) })
  const refusal = shortName(objectOf(stop_details)['category'])
  if (refusal !== '') reports.push({ text: `it refused (${refusal})`, isBreak: false })
  return reports
}

const shortName = (value: unknown): string => stringOf(value).slice(0, 40)
