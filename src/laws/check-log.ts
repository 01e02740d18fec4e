/** Checks a log of any server against the laws. */

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
import { quote } from '../event/text.ts'
import type { Entry, EventEntry, LogWarning } from '../log/entry.ts'
import { findEventIn, type Log } from '../log/log.ts'
import type { Condensation } from '../event/types.ts'
import { type ResolvedCondensation, resolveCondensation } from '../view/condense.ts'
import { isPending, unitEvents } from '../view/unit.ts'

/** What is known about a log besides its content. */
export interface CheckOptions {
  /**
   * Whether the server is done: no call may be pending except for a user, nor the status running. Default:
   * no.
   */
  readonly ended?: boolean
  /**
   * Grammars for checking requests by the provider's rules, and what replies record of them. Default: none.
   */
  readonly grammars?: readonly GrammarName[]
  /** Writes the server's messages, if it masks, limits or cuts those of `toMessages`. */
  readonly messages?: RequestWriter
  /** Part of the derived ids of events. Default: the empty string. */
  readonly conversationId?: string
}

/**
 * Reports where a log differs from a correct server's, in log order. Accepts lines of JSON text, facts, or
 * results of `loadLine`; only lines show what JSON parsing lost (E8). Total on any values.
 *
 * O(n log n) for n facts, and O(view) per condensation, like the fold; with grammars also O(content of the
 * view) for at most 12 + 2 · log2(n) requests per grammar.
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
  const violations: LawViolation[] = []
  const report: Report = (law, { id, seq }, message) =>
    void violations.push(Object.freeze({ law, id, seq, message }))
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
  return violations.toSorted((a, b) => a.seq - b.seq)
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
      return repeatedId(findEventIn(log, entry.id ?? ''), entry)
    case 'unknown_parent':
      return unknownParent(log, entry)
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

function repeatedId(first: Entry | undefined, entry: Entry): string {
  const where = `${quote(entry.id)} is the id of the event at position ${first?.seq ?? 0}`
  const isSame = bodyOf(first) === bodyOf(entry)
  return isSame
    ? `${where} already, with the same content; a correct server appends an event once`
    : `${where} already, with other content; a correct server gives each event its own id`
}

const bodyOf = (entry: Entry | undefined): string =>
  canonicalJson(entry?.event ?? entry?.quarantined?.raw ?? null)

function unknownParent(log: Log, entry: Entry): string {
  const requested = entry.event?.parent_id ?? entry.quarantined?.parent_id ?? ''
  const named = findEventIn(log, requested)
  const why =
    requested === entry.id
      ? 'is the event itself'
      : named === undefined
        ? 'is not an event of this log'
        : `is later in the log, at position ${named.seq}`
  return `its parent ${quote(requested)} ${why}; a correct server names an earlier event`
}

/** V3 and K1. As much as the fold of each condensation. */
function watchCondensations(report: Report): LawWatch {
  return {
    step: (step) => {
      const { event } = step.entry
      if (event.kind === 'Condensation') checkCondensation(step, event, report)
    },
  }
}

function checkCondensation({ above, entry, before }: LogStep, event: Condensation, report: Report): void {
  const listed = new Set(event.forgotten_event_ids ?? [])
  const plan = resolveCondensation(above.view, entry as EventEntry<Condensation>, before.log)
  let unlisted = 0
  let first: string | null = null
  for (const { from, to } of plan.removed)
    for (const unit of above.view.units.slice(from, to)) {
      const ids = Array.from(unitEvents(unit), ({ id }) => id)
      if (isPending(unit)) {
        const why = `forgets ${quote(ids[0] ?? '')}, whose calls do not all have results`
        report('K1', entry, `${why}; a correct server condenses complete batches only`)
        continue
      }
      const more = ids.filter((id) => !listed.has(id))
      unlisted += more.length
      first ??= more[0] ?? null
    }
  if (first !== null) {
    const count = unlisted === 1 ? 'another event is' : `${unlisted} other events are`
    const what = `lists only a part of a unit or stretch, so that ${count} forgotten with it, first ${quote(first)}`
    report('V3', entry, `${what}; a correct server condenses between cut points`)
  } else if (plan.summaryIndex !== null) {
    checkOffset(plan, event.summary_offset ?? 0, (message) => report('V3', entry, message))
  }
}

/** The offset counts view events without the listed ones; it is valid at a border of stretches. */
function checkOffset(
  { summaryOffset, remaining }: ResolvedCondensation,
  offset: number,
  report: (message: string) => void,
): void {
  if (offset === 0 || offset === summaryOffset || offset === remaining) return
  const where =
    offset > remaining
      ? `beyond the ${remaining} remaining events of the view`
      : 'inside a reply or its thinking'
  report(`its summary_offset ${offset} is ${where}; a correct server writes a cut point`)
}
