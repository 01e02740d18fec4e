/** Says of one event why the model may see it, or may not. */

import { kindOf, type LogWarning } from '../log/entry.ts'
import type { State } from '../state/state.ts'
import { counted, type Explanation, type NoteCode, type Reason } from './explanation.ts'
import { sentNotes, type SentOptions } from './sent.ts'
import { type Subject, subjectOf } from './subject.ts'
import { type Held, judge, type Verdict } from './verdict.ts'
import { quote } from '../event/text.ts'
import { askedAfter } from '../event/reply.ts'
import type { Branch } from '../state/branch.ts'
import { renderMessage } from '../messages/neutral.ts'
import { summaryId } from '../view/condense.ts'
import {
  type BatchUnit,
  isDerived,
  isPending,
  type MessageUnit,
  type Unit,
  unitEvents,
} from '../view/unit.ts'
import { resultOf } from './path.ts'
import { eventsIn, stretchOf, unitsGone } from './taken-out.ts'

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

type Note = Reason<NoteCode>

/** The results of a call, or the call of a result. O(batch + path). */
function pairsOf({ entry }: Subject, { held, lateFor }: Verdict): readonly string[] {
  if (lateFor !== null) return [lateFor]
  if (held?.unit.type !== 'batch') return []
  const pairs = [...held.unit.results]
  const own = pairs.flatMap((pair) =>
    pair.call.seq === entry.seq ? [pair.entry.id] : pair.entry.seq === entry.seq ? [pair.call.id] : [],
  )
  if (own.length > 0) return own
  const late = resultOf(entry, held.end)?.id ?? null
  return late === null ? [] : [late]
}

function notesOn(subject: Subject, verdict: Verdict): Note[] {
  const { entry } = subject
  return [
    ...entry.warnings.map(repaired),
    ...(subject.derived ? [] : condensationNotes(subject)),
    ...(verdict.held === null ? [] : unitNotes(subject, verdict.held, pairsOf(subject, verdict))),
  ]
}

const repaired = ({ code, message }: LogWarning): Note =>
  note('repaired', code === 'quarantined' ? 'D16' : 'D8', message, [], code === 'quarantined' ? 'E2' : 'T6')

function condensationNotes({ entry }: Subject): Note[] {
  const { event, branch, id } = entry
  if (event?.kind !== 'Condensation' || id === null) return []
  const gone = unitsGone(entry)
  const waiting = gone.filter(isPending).flatMap(idsIn).length
  const text = `it removed ${counted(eventsIn(gone), 'event')} from the view`
  const more =
    waiting === 0 ? '' : `, and forgot ${counted(waiting, 'event')} of a batch that waited for a result`
  const found = [note('took_out', 'U6', `${text}${more}`, gone.flatMap(idsIn))]
  const summary = [...branch.view.units].find(
    (unit) => unit.type === 'message' && isDerived(unit) && unit.item.id === summaryId(id),
  )
  if (summary !== undefined)
    found.push(note('summary', 'U6', 'its summary went into the view', [summaryId(id)]))
  return found
}

function unitNotes(subject: Subject, held: Held, pairs: readonly string[]): Note[] {
  const units = [...held.branch.view.units]
  const { unit } = held
  const own = idsIn(unit)
  const stretch = stretchOf(units, unit).flatMap((one) => (one === unit ? [] : idsIn(one)))
  return [
    ...(unit.type === 'batch' ? batchNotes(subject, unit, units, pairs) : messageNotes(held.branch, unit)),
    ...(stretch.length === 0
      ? []
      : [
          note(
            'stretch',
            'U5',
            `it is forgotten only together with ${counted(stretch.length, 'event')} of other units`,
            stretch,
          ),
        ]),
    ...orderNotes(units, unit, own),
  ]
}

function batchNotes(
  { entry }: Subject,
  unit: BatchUnit,
  units: readonly Unit[],
  pairs: readonly string[],
): Note[] {
  const found: Note[] = []
  const isCall = [...unit.calls].some(({ seq }) => seq === entry.seq)
  if (pairs.length > 0) {
    const isLate = unit.results.length < unit.calls.length && !idsIn(unit).includes(pairs[0] ?? '')
    const text = isCall
      ? `its result is ${quote(pairs[0] ?? null)}${isLate ? ', which arrived after the call was forgotten' : ''}`
      : `it is the result of the call ${quote(pairs[0] ?? null)}`
    found.push(note('paired', 'U3', text, pairs))
  } else if (isCall) found.push(note('unanswered', 'U4', 'no result has ended it', []))
  const mates = idsIn(unit).filter((id) => id !== entry.id && !pairs.includes(id))
  if (mates.length > 0)
    found.push(
      note(
        'batch_mates',
        'U2',
        `${counted(mates.length, 'other event')} of its reply ${mates.length === 1 ? 'is' : 'are'} in its batch`,
        mates,
      ),
    )
  const split = units.filter(
    (one) =>
      one !== unit && one.type === 'batch' && one.responseId !== '' && one.responseId === unit.responseId,
  )
  if (split.length > 0) {
    const text = `other calls of the reply ${quote(unit.responseId)} are in ${counted(split.length, 'batch', 'batches')} of their own, so that the model is shown several replies`
    found.push(note('split_batch', 'U2', text, split.flatMap(idsIn), 'M7'))
  }
  return found
}

function messageNotes({ systemPrompt: latest }: Branch, unit: MessageUnit): Note[] {
  const { event } = unit.item
  if (event.kind === 'SystemPromptEvent') {
    if (latest === null || latest.id === unit.item.id) return []
    return [
      note('replaced_prompt', 'D24', `the later system prompt ${quote(latest.id)} is sent in its place`, [
        latest.id,
      ]),
    ]
  }
  return renderMessage(event) === null
    ? [note('says_nothing', 'U1', 'it has no content, so no message is made of it', [])]
    : []
}

/** A reply that is placed before messages that its model had not read. O(units). */
function orderNotes(units: readonly Unit[], unit: Unit, own: readonly string[]): Note[] {
  const at = units.indexOf(unit)
  if (isPlaced(unit)) {
    const unread = units
      .slice(at + 1)
      .filter((one) => !isPlaced(one) && one.first < unit.first && !isSummary(one))
    const ids = unread.flatMap(idsIn)
    const text = `it is placed before ${counted(ids.length, 'message')} that arrived while its model was working, which had not read ${ids.length === 1 ? 'it' : 'them'}`
    return ids.length === 0 ? [] : [note('placed', 'U10', text, ids)]
  }
  if (isSummary(unit)) return []
  const passed = units.slice(0, at).filter((one) => isPlaced(one) && one.first > unit.first)
  const ids = passed.flatMap(idsIn).filter((id) => !own.includes(id))
  const text = `the reply ${quote(ids[0] ?? null)} is placed before it, since its model had not read it`
  return ids.length === 0 ? [] : [note('passed', 'U10', text, ids)]
}

/** Whether a unit records what it was asked at. */
function isPlaced(unit: Unit): boolean {
  const event = unit.type === 'batch' ? unit.calls.get(0)?.event : unit.item.event
  return event !== undefined && askedAfter(event) !== undefined
}

const isSummary = (unit: Unit): boolean => unit.type === 'message' && isDerived(unit)

const idsIn = (unit: Unit): string[] => Array.from(unitEvents(unit), (item) => item.id)

function note(
  code: NoteCode,
  rule: string,
  text: string,
  ids: readonly string[],
  law: string | null = null,
): Note {
  return { code, rule, law, text, ids }
}
