/** Holds a log that some server wrote to the laws, whatever that server is. */

import type { GrammarName } from '../event/reply.ts'
import type { Loaded } from '../event/load.ts'
import { branchOf, type Checkpoint, initialState, type State } from '../state/state.ts'
import { reduce } from '../state/reduce.ts'
import { watchCalls } from './calls.ts'
import {
  type LawViolation,
  type LawWatch,
  loadItem,
  type LogItem,
  type LogStep,
  type Report,
  reportWarnings,
} from './load.ts'
import { type RequestWriter, watchRequests } from './requests.ts'
import { watchStops } from './stops.ts'
import { canonicalJson } from '../event/encode.ts'
import { hasText, quote } from '../event/text.ts'
import type { Entry, LogWarning } from '../log/entry.ts'
import { findEventIn, type Log } from '../log/log.ts'
import type { Condensation } from '../event/types.ts'
import { stretchStarts } from '../view/stretches.ts'
import { eventCount, isPending, type Unit, unitEvents } from '../view/unit.ts'

/** What is known of a log besides its content. */
export interface CheckOptions {
  /**
   * Whether the server is done with it: no run goes on, so that no call may be pending, unless it waits for a user, and
   * the status may not be running. Default: no, the log may go on.
   */
  readonly ended?: boolean
  /**
   * The grammars in which requests are judged: what would be sent, where a model was asked, by the provider's rules,
   * and what replies record of their requests. Default: none.
   */
  readonly grammars?: readonly GrammarName[]
  /** What the server sends of a state, where that is not what `toMessages` gives: with masks, limits or cuts. */
  readonly messages?: RequestWriter
  /** Part of the ids of events that have none. Default: the empty string. */
  readonly conversationId?: string
}

/**
 * Where a log is not what a correct server writes, in log order; a log without a mistake gives an empty list. Takes
 * lines of JSON text, facts, or what `loadLine` gives; of lines alone it is known what JSON lost (E8). Total on any
 * values, also on such as are no events.
 *
 * O(n log n) for n facts, and O(view) for each condensation, as the fold; with grammars also O(content of the view) at
 * no more than 12 + 2 · log2(n) places for each of them.
 * @example
 * const call = { id: 'c', name: 'ls', arguments: '{}', origin: 'completion' }
 * const log = [
 *   {
 *     kind: 'ActionEvent', id: 'a', thought: [], tool_name: 'ls', tool_call_id: 'c', tool_call: call,
 *     llm_response_id: 'r',
 *   },
 *   { kind: 'AgentErrorEvent', id: 'e', tool_name: 'ls', tool_call_id: 'c', error: 'no' },
 *   { kind: 'AgentErrorEvent', id: 'f', tool_name: 'ls', tool_call_id: 'c', error: 'no' },
 * ]
 * checkLog(log).map(({ law, id }) => [law, id]) // [['P4', 'f']]
 */
export function checkLog(facts: Iterable<LogItem>, options: CheckOptions = {}): readonly LawViolation[] {
  const { ended = false, conversationId } = options
  const found: LawViolation[] = []
  const report: Report = (law, { id, seq }, message) =>
    void found.push(Object.freeze({ law, id, seq, message }))
  const watches = [
    watchCalls(report, ended),
    watchCondensations(report),
    watchStops(report, ended),
    watchRequests(report, options),
  ]
  let state = initialState(conversationId === undefined ? {} : { conversationId })
  for (const item of facts) {
    const before: State = state
    const { fact, warnings }: Loaded = loadItem(item)
    state = reduce(before, fact)
    const entry = state.log.entries.last() as Checkpoint
    reportWarnings(warnings, entry, report)
    if (!isStep(entry)) continue
    const step: LogStep = { before, after: state, entry, above: branchOf(entry.parent) }
    for (const watch of watches) watch.step(step)
  }
  for (const watch of watches) watch.end?.(state)
  for (const entry of state.log.entries) reportRepairs(state.log, entry, report)
  return found.toSorted((a, b) => a.seq - b.seq)
}

const isStep = (entry: Checkpoint): entry is LogStep['entry'] => entry.inTree && entry.event !== null

const LAW_OF: Readonly<Record<LogWarning['code'], string>> = {
  quarantined: 'E2',
  duplicate_id: 'T6',
  unknown_parent: 'T6',
  head_ignored: 'T6',
  unreadable_timestamp: 'T6',
  reply_not_placed: 'T6',
  nothing_completed: 'P12',
}

/** Reports the warnings of an entry of the whole log. O(log n), and O(size) for a repeated id. */
function reportRepairs(log: Log, entry: Entry, report: Report): void {
  for (const warning of entry.warnings) report(LAW_OF[warning.code], entry, sentenceFor(log, entry, warning))
}

function sentenceFor(log: Log, entry: Entry, { code, message }: LogWarning): string {
  switch (code) {
    case 'quarantined':
      return `the line is ${message.replace(/\.$/, '')}; a correct server writes one of the 19 events on each line`
    case 'duplicate_id':
      return twice(findEventIn(log, entry.id ?? ''), entry)
    case 'unknown_parent':
      return parentOf(log, entry)
    case 'head_ignored':
      return `${message}; a correct server moves HEAD to an event that the log has`
    case 'unreadable_timestamp':
      return `${message}; a correct server writes ISO 8601`
    case 'nothing_completed':
      return `the message ${message}; a correct server completes a working call once`
    case 'reply_not_placed':
      return `the reply ${message}; a correct server appends a reply before so much else`
  }
}

function twice(first: Entry | undefined, entry: Entry): string {
  const where = `${quote(entry.id)} is the id of the event at position ${first?.seq ?? 0}`
  const isSame = bodyOf(first) === bodyOf(entry)
  return isSame
    ? `${where} already, with the same content; a correct server appends an event once`
    : `${where} already, with other content; a correct server gives each event an id of its own`
}

const bodyOf = (entry: Entry | undefined): string =>
  canonicalJson(entry?.event ?? entry?.quarantined?.raw ?? null)

function parentOf(log: Log, entry: Entry): string {
  const asked = entry.event?.parent_id ?? entry.quarantined?.parent_id ?? ''
  const named = findEventIn(log, asked)
  const why =
    asked === entry.id
      ? 'is the event itself'
      : named === undefined
        ? 'is no event of this log'
        : `is later in the log, at position ${named.seq}`
  return `its parent ${quote(asked)} ${why}; a correct server names an earlier event`
}

/** V3 and K1. O(view + listed ids) for each condensation, as much as folding it. */
function watchCondensations(report: Report): LawWatch {
  return {
    step: (step) => {
      const { event } = step.entry
      if (event.kind === 'Condensation') checkCondensation(step, event, report)
    },
  }
}

function checkCondensation({ above, entry }: LogStep, event: Condensation, report: Report): void {
  const listed = new Set(event.forgotten_event_ids ?? [])
  const units = [...above.view.units]
  const left = new Set<Unit>(entry.branch.view.units)
  let taken = 0
  let first: string | null = null
  for (const unit of units) {
    if (left.has(unit)) continue
    const ids = Array.from(unitEvents(unit), ({ id }) => id)
    if (isPending(unit)) {
      const why = `forgets ${quote(ids[0] ?? '')}, whose calls have not all their results`
      report('K1', entry, `${why}; a correct server condenses what is complete`)
      continue
    }
    const more = ids.filter((id) => !listed.has(id))
    taken += more.length
    first ??= more[0] ?? null
  }
  if (first !== null) {
    const count = taken === 1 ? 'another event is' : `${taken} other events are`
    const what = `lists a part of what goes together, so that ${count} forgotten with it, first ${quote(first)}`
    report('V3', entry, `${what}; a correct server condenses between cut points`)
  } else if ((event.summary_offset ?? null) !== null && hasText(event.summary)) {
    checkOffset(units, listed, event.summary_offset ?? 0, (message) => report('V3', entry, message))
  }
}

/** The offset counts view events without the listed ones; it is valid at a border of stretches. */
function checkOffset(
  units: readonly Unit[],
  listed: ReadonlySet<string>,
  offset: number,
  say: (message: string) => void,
): void {
  const starts = stretchStarts(units)
  let at = 0
  let isBorder = offset === 0
  for (const [index, unit] of units.entries()) {
    if (at === offset && starts[index] === index) isBorder = true
    if (isPending(unit)) continue
    at += eventCount(unit) - Array.from(unitEvents(unit)).filter(({ id }) => listed.has(id)).length
  }
  if (isBorder || offset === at) return
  const where =
    offset > at ? `beyond the ${at} events that are left of the view` : 'inside of a reply or of its thinking'
  say(`its summary_offset ${offset} is ${where}; a correct server writes a cut point`)
}
