import { checkOptionNames } from '../event/check-value.ts'
import { completionOf, progressOf } from '../event/completion.ts'
import { kindOf, type LogWarning } from '../log/entry.ts'
import { openCallOf } from '../log/open-calls.ts'
import { findEventIn, type Log } from '../log/log.ts'
import { type State, branchOf } from '../state/state.ts'
import { counted, type Explanation, type NoteCode, type Reason, reportsOf } from './explanation.ts'
import { sentNotes, type SentOptions } from './sent.ts'
import { type Subject, subjectOf } from './subject.ts'
import { type UnitPosition, verdictOf, type Verdict } from './verdict.ts'
import { quote } from '../event/text.ts'
import { requestHeadOf } from '../event/reply.ts'
import { type Branch, workingCallOf } from '../state/branch.ts'
import { renderMessage } from '../messages/neutral.ts'
import { indexOfSummary, summaryId } from '../view/condense.ts'
import type { BatchUnit, MessageUnit, Unit } from '../view/units.ts'
import { isDerived, isPending, unitEvents } from '../view/units.ts'
import { completes, resultOfCall, whyNotWorking } from './path.ts'
import { countIn, stretchOf, removedUnits } from './removal.ts'

/**
 * Explains why an event is in HEAD's view or not. Returns the reason, the event's call or result, what is
 * removed with the event, and notes. For another HEAD, pass the state of `stateAt` or `switchTo`.
 *
 * O(entries since the event · log n + view · log n), and with a budget the cost of `fitToBudget`.
 * @param event id of an event or of a summary; or a position in the log, for a line without an id or with a
 *   repeated id
 * @param options how your program shortens requests
 * @throws ColloquyError `unknown_event` for an unknown event; `evicted` if a snapshot or `evict` left out a
 *   required body.
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
  checkOptionNames(options, 'budget count mask keepFirst forgetSystemPrompt forgetLastUserMessage')
  const subject = subjectOf(state, event)
  const { entry, id } = subject
  const verdict = verdictOf(state, subject)
  const { code } = verdict.reason
  const inView = code === 'unit' || code === 'batch'
  const notes = notesOn(subject, verdict, state)
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

function pairsOf({ entry }: Subject, { position: current, lateFor }: Verdict): readonly string[] {
  if (lateFor !== null) return [lateFor]
  if (current?.unit.type !== 'batch') return []
  const pairs = [...current.unit.results]
  const paired = pairs.flatMap((pair) =>
    pair.call.seq === entry.seq ? [pair.entry.id] : pair.entry.seq === entry.seq ? [pair.call.id] : [],
  )
  if (paired.length > 0) return paired
  const late = resultOfCall(entry, current.end)?.id ?? null
  return late === null ? [] : [late]
}

function notesOn(subject: Subject, verdict: Verdict, state: State): Note[] {
  const { entry } = subject
  return [
    ...entry.warnings.flatMap(repaired),
    ...idleNotes(subject, state),
    ...(entry.event === null ? [] : reportsOf(entry.event)).map(({ text }) =>
      note('reported', 'D20', `the provider reported about its request: ${text}`, []),
    ),
    ...(subject.derived ? [] : condensationNotes(subject, state.log)),
    ...(verdict.position === null ? [] : unitNotes(subject, verdict.position, pairsOf(subject, verdict))),
  ]
}

function idleNotes({ entry, derived }: Subject, state: State): Note[] {
  const { event, parent, seq, inTree } = entry
  if (event === null || derived || !inTree || completes(entry) !== null) return []
  const named = (completionOf(event) ?? progressOf(event))?.action_id
  if (named === undefined || workingCallOf(branchOf(parent), named, state.log) !== undefined) return []
  const since = findEventIn(state.log, named)?.seq ?? seq
  const { text, ids } = whyNotWorking(state, entry, named, state.log.entries.slice(Math.min(since, seq), seq))
  return completionOf(event) === null
    ? [note('idle', 'U11', `its progress is ignored: ${text}`, ids)]
    : [note('repaired', 'U11', `it completes no call: ${text}`, ids, 'P12')]
}

function repaired({ code, message }: LogWarning): Note[] {
  if (code === 'nothing_completed') return []
  const [rule, law] = code === 'quarantined' ? ['D16', 'E2'] : ['D8', 'T6']
  return [note('repaired', rule, message, [], law)]
}

function condensationNotes({ entry }: Subject, log: Log): Note[] {
  const { event, branch, id } = entry
  if (event?.kind !== 'Condensation' || id === null) return []
  const removed = removedUnits(entry, log)
  const waiting = removed.filter(isPending).flatMap(idsIn).length
  const text = `it removed ${counted(countIn(removed), 'event')} from the view`
  const more =
    waiting === 0 ? '' : `, and forgot ${counted(waiting, 'event')} of a batch that waited for a result`
  const notes = [note('took_out', 'U6', `${text}${more}`, removed.flatMap(idsIn))]
  if (indexOfSummary(branch.view.units, entry) >= 0)
    notes.push(note('summary', 'U6', 'its summary entered the view', [summaryId(id)]))
  return notes
}

function unitNotes(subject: Subject, current: UnitPosition, pairs: readonly string[]): Note[] {
  const units = [...current.branch.view.units]
  const { unit } = current
  const unitIds = idsIn(unit)
  const stretch = stretchOf(units, unit).flatMap((one) => (one === unit ? [] : idsIn(one)))
  const text = `it can only be forgotten together with ${counted(stretch.length, 'event')} of other units`
  return [
    ...(unit.type === 'batch'
      ? [...batchNotes(subject, unit, units, pairs), ...workNotes(subject, unit, current.branch)]
      : messageNotes(current.branch, unit)),
    ...(stretch.length === 0 ? [] : [note('stretch', 'U5', text, stretch)]),
    ...orderNotes(units, unit, unitIds),
  ]
}

function batchNotes(
  { entry }: Subject,
  unit: BatchUnit,
  units: readonly Unit[],
  pairs: readonly string[],
): Note[] {
  const notes: Note[] = []
  const isCall = [...unit.calls].some(({ seq }) => seq === entry.seq)
  if (pairs.length > 0) {
    const isLate = unit.results.length < unit.calls.length && !idsIn(unit).includes(pairs[0] ?? '')
    const text = isCall
      ? `its result is ${quote(pairs[0] ?? null)}${isLate ? ', which arrived after the call was forgotten' : ''}`
      : `it is the result of the call ${quote(pairs[0] ?? null)}`
    notes.push(note('paired', 'U3', text, pairs))
  } else if (isCall) notes.push(note('unanswered', 'U4', 'no result has ended it', []))
  const mates = idsIn(unit).filter((id) => id !== entry.id && !pairs.includes(id))
  const matesText = `${counted(mates.length, 'other event')} of its reply ${mates.length === 1 ? 'is' : 'are'} in its batch`
  if (mates.length > 0) notes.push(note('batch_mates', 'U2', matesText, mates))
  const split = units.filter(
    (one) =>
      one !== unit && one.type === 'batch' && one.responseId !== '' && one.responseId === unit.responseId,
  )
  if (split.length > 0) {
    const text = `other calls of the reply ${quote(unit.responseId)} are in ${counted(split.length, 'other batch', 'other batches')}, so the model sees several replies`
    notes.push(note('split_batch', 'U2', text, split.flatMap(idsIn), 'M7'))
  }
  return notes
}

function workNotes(
  { entry }: Subject,
  { calls, results }: BatchUnit,
  { view, workingCalls }: Branch,
): Note[] {
  const result = [...results].find((one) => one.entry.seq === entry.seq)
  const call = result?.call ?? [...calls].find(({ seq }) => seq === entry.seq)
  if (call === undefined) return []
  if (openCallOf(workingCalls, call.event.tool_call_id, call.seq) !== undefined)
    return [note('working', 'U11', 'its call is still working: no message has completed it', [])]
  return [...view.units].flatMap((unit) => {
    if (unit.type === 'batch' || unit.completes?.seq !== call.seq) return []
    const { id } = unit.item
    return [note('completed', 'U11', `the message ${quote(id)} has completed its call`, [id])]
  })
}

function messageNotes({ systemPrompt: latest }: Branch, unit: MessageUnit): Note[] {
  const { event } = unit.item
  if (unit.completes !== undefined) {
    const { id } = unit.completes
    return [
      note('completes', 'U11', `it completes the call ${quote(id)}, still working after its reply`, [id]),
    ]
  }
  if (event.kind === 'SystemPromptEvent') {
    if (latest === null || latest.id === unit.item.id) return []
    return [
      note('replaced_prompt', 'D24', `the later system prompt ${quote(latest.id)} is sent in its place`, [
        latest.id,
      ]),
    ]
  }
  return renderMessage(event) === null
    ? [note('says_nothing', 'U1', 'it has no content, so no message contains it', [])]
    : []
}

/** Returns the note that a reply precedes messages its model had not read, if `unit` is the reply or such a message. */
function orderNotes(units: readonly Unit[], unit: Unit, unitIds: readonly string[]): Note[] {
  const index = units.indexOf(unit)
  if (isPlaced(unit)) {
    const unread = units
      .slice(index + 1)
      .filter((one) => !isPlaced(one) && one.first < unit.first && !isSummary(one))
    const ids = unread.flatMap(idsIn)
    const text = `it is placed before ${counted(ids.length, 'message')} that its model had not read, because ${ids.length === 1 ? 'it' : 'they'} arrived during the request`
    return ids.length === 0 ? [] : [note('placed', 'U10', text, ids)]
  }
  if (isSummary(unit)) return []
  const passed = units.slice(0, index).filter((one) => isPlaced(one) && one.first > unit.first)
  const ids = passed.flatMap(idsIn).filter((id) => !unitIds.includes(id))
  const text = `the reply ${quote(ids[0] ?? null)} is placed before it, because the model of that reply had not read it`
  return ids.length === 0 ? [] : [note('passed', 'U10', text, ids)]
}

function isPlaced(unit: Unit): boolean {
  const event = unit.type === 'batch' ? unit.calls.get(0)?.event : unit.item.event
  return event !== undefined && requestHeadOf(event) !== undefined
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
