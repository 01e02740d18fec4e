/** What was repaired, quarantined or left out of the view of a recording, in the order of the file. */

import { findEvent, isToolResult, listWarnings, type State, switchTo } from '../../index.ts'
import { listDroppedResults, listLeaves } from '../../state/index.ts'
import { UPCASTERS } from '../../event/index.ts'
import type { Recording } from '../input/recording.ts'
import { glimpseIssue, reasonOf } from '../../inspector/index.ts'
import { counted, glimpse } from '../print/text.ts'

/** One thing that was repaired or quarantined. */
export interface Repair {
  /** The line of the file. */
  readonly line: number
  readonly what: string
  readonly detail: string
}

/** One that no log of a correct server has. */
export interface Breach extends Repair {
  /** Stable name of what is wrong. */
  readonly code: string
}

const REPORTS = {
  quarantined: 'quarantined',
  duplicate_id: 'repeated id',
  unknown_parent: 'unknown parent',
  head_ignored: 'HEAD not moved',
  unreadable_timestamp: 'unreadable time',
  reply_not_placed: 'reply not placed',
} as const

const DROPPED = {
  duplicate_result: 'second result',
  orphan_result: 'stray result',
} as const

/** What may be wrong with an event that loads; any other type is that of a payload. */
const LOSSES: ReadonlyMap<string, string> = new Map([
  ['number_changed', 'number changed'],
  ['duplicate_key', 'repeated key'],
])

/** The widest name of a repair. */
export const REPAIR_WIDTH = 16

/**
 * What else is odd about a log that loads, all branches alike: its warnings, results that end no call, payloads that do
 * not fit their kind and what a line's JSON loses. O(n), and for each branch O(results dropped on it).
 */
export function breachesOf(recording: Recording): Breach[] {
  const { state, warnings } = recording
  const odd = warnings.map(({ line, issue }): Breach => {
    const lost = LOSSES.get(issue.type)
    return { line, what: lost ?? 'odd payload', detail: glimpseIssue(issue), code: issue.type }
  })
  const dropped = new Map<string, Breach>()
  for (const { id } of listLeaves(state)) {
    const branch = id === null ? state : switchTo(state, id)
    for (const [result, breach] of branchRepairs(recording, branch)) dropped.set(result, breach)
  }
  return [...odd, ...logRepairs(recording, state), ...dropped.values()].toSorted((a, b) => a.line - b.line)
}

/** Everything that was repaired in the log up to a state, and on its branch. */
export function repairsOf(recording: Recording, state: State = recording.state): Repair[] {
  const end = recording.lines[state.log.entries.length - 1] ?? 0
  const upcasts = upcastRepairs(recording).filter(({ line }) => line <= end)
  return [...upcasts, ...logRepairs(recording, state), ...branchRepairs(recording, state).values()].toSorted(
    (a, b) => a.line - b.line,
  )
}

/** What loading did: events of older shapes, upcast to today's. */
export function upcastRepairs({ upcasts }: Recording): Repair[] {
  return Array.from(upcasts, ([name, { count, line }]) => {
    const description = UPCASTERS.find((upcaster) => upcaster.name === name)?.description ?? ''
    return {
      line,
      what: 'older shape',
      detail: `${name}${count === 1 ? '' : ` on ${counted(count, 'line')}`}: ${description}`,
    }
  })
}

/** The warnings of the log, all branches alike. */
function logRepairs({ lines }: Recording, state: State): Breach[] {
  return listWarnings(state).map(({ seq, id, code, message }) => {
    const detail = (): string => {
      if (code === 'quarantined') return reasonOf(state.log.entries.get(seq)?.quarantined ?? null)
      const existing = code === 'duplicate_id' && id !== null ? findEvent(state, id) : undefined
      // The core counts positions; people look for lines.
      return glimpse(
        existing === undefined
          ? message
          : `left out of the tree: line ${lines[existing.seq]} has the id ${id} already`,
      )
    }
    return { line: lines[seq] ?? 0, what: REPORTS[code], detail: detail(), code }
  })
}

/** Results on the branch that end no call, by id. */
function branchRepairs({ lines }: Recording, state: State): Map<string, Breach> {
  const found = new Map<string, Breach>()
  for (const { id, reason } of listDroppedResults(state)) {
    const entry = findEvent(state, id)
    if (entry?.event === undefined || entry.event === null || !isToolResult(entry.event)) continue
    const { tool_name, tool_call_id } = entry.event
    const why =
      reason === 'duplicate_result' ? 'its call has a result already' : 'it ends no pending call of the view'
    const detail = glimpse(`left out of the view: ${why} (${tool_name}, ${tool_call_id})`)
    found.set(id, { line: lines[entry.seq] ?? 0, what: DROPPED[reason], detail, code: reason })
  }
  return found
}
