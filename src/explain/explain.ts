/** Says of one event why the model may see it, or may not. */

import { kindOf } from '../log/entry.ts'
import type { State } from '../state/state.ts'
import type { Explanation } from './explanation.ts'
import { notesOn, pairsOf } from './notes.ts'
import { sentNotes, type SentOptions } from './sent.ts'
import { subjectOf } from './subject.ts'
import { judge } from './verdict.ts'

/**
 * Why an event is in the view under HEAD, or is not: what keeps it out, what it was paired with, what goes with it, and
 * what is to be said of it beside that. All of it is read off what the fold kept. Look from elsewhere with `stateAt` or
 * `switchTo`.
 *
 * O(entries since the event · log n + view · log n), and with a budget what `fitToBudget` takes.
 *
 * @param event the id of an event, or of a summary that a Condensation put into the view; or a position in the log, for
 * lines without an id and events whose id stands twice
 * @param options the policy by which requests are made, to be told what it leaves out
 * @throws ColloquyError `unknown_event` for what is not there; `evicted` where a snapshot or `evict` dropped what
 * tells.
 * @example
 * const state = replay([
 *   { kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user', content: [{ text: 'hi' }] } },
 *   { kind: 'Condensation', id: 'c', forgotten_event_ids: ['m'], llm_response_id: 'r' },
 * ])
 * const { inView, verdict, removedBy } = explain(state, 'm')
 * inView // false
 * verdict.text // 'the condensation "c" lists it'
 * removedBy // 'c'
 */
export function explain(state: State, event: string | number, options: SentOptions = {}): Explanation {
  const subject = subjectOf(state, event)
  const { entry, id } = subject
  const verdict = judge(state, subject)
  const { code } = verdict.reason
  const inView = code === 'unit' || code === 'batch'
  const notes = notesOn(subject, verdict)
  return {
    id,
    seq: entry.seq,
    kind: subject.derived ? 'CondensationSummaryEvent' : kindOf(entry),
    inView,
    verdict: verdict.reason,
    removedBy: verdict.removedBy,
    pairedWith: pairsOf(subject, verdict),
    notes: inView ? [...notes, ...sentNotes(state, subject, options)] : notes,
  }
}
