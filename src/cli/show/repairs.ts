/** A recording goes in, what was put right or set aside on the way comes out, in the order of the file. */

import { droppedAnswers, findEntry, isAnswer, listReports, type State, UPCASTERS } from '../../index.ts'
import type { Recording } from '../recording.ts'
import { reasonOf } from './describe.ts'
import { counted, glimpse } from './text.ts'

/** One thing that was put right or set aside. */
export interface Repair {
  /** The line of the file. */
  readonly line: number
  readonly what: string
  readonly detail: string
}

const REPORTS = {
  quarantined: 'set aside',
  duplicate_id: 'repeated id',
  unknown_parent: 'unknown parent',
  head_ignored: 'HEAD not moved',
  unreadable_timestamp: 'unreadable time',
} as const

const DROPPED = {
  duplicate_answer: 'second answer',
  orphan_answer: 'stray answer',
} as const

/** The widest name of a repair. */
export const REPAIR_WIDTH = 15

/** Everything that was repaired in the log up to a state, and on its branch. */
export function repairsOf(recording: Recording, state: State = recording.state): Repair[] {
  const end = recording.lines[state.log.entries.length - 1] ?? 0
  const upcasts = upcastRepairs(recording).filter(({ line }) => line <= end)
  return [...upcasts, ...logRepairs(recording, state), ...branchRepairs(recording, state)].toSorted(
    (a, b) => a.line - b.line,
  )
}

/** What loading did: events of older shapes, brought up to today's. */
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

/** What the log reports, all branches alike. */
export function logRepairs({ lines }: Recording, { log }: State): Repair[] {
  return listReports(log).map(({ seq, id, code, message }) => {
    const detail = (): string => {
      if (code === 'quarantined') return reasonOf(log.entries.get(seq)?.quarantined ?? null)
      const twin = code === 'duplicate_id' && id !== null ? findEntry(log, id) : undefined
      // The core counts positions; people look for lines.
      return glimpse(
        twin === undefined
          ? message
          : `left out of the tree: line ${lines[twin.seq]} has the id ${id} already`,
      )
    }
    return { line: lines[seq] ?? 0, what: REPORTS[code], detail: detail() }
  })
}

/** Answers on the branch that answer nothing. */
function branchRepairs({ lines }: Recording, { branch, log }: State): Repair[] {
  return droppedAnswers(branch).flatMap(({ id, reason }) => {
    const entry = findEntry(log, id)
    if (entry?.event === undefined || entry.event === null || !isAnswer(entry.event)) return []
    const { tool_name, tool_call_id } = entry.event
    const why =
      reason === 'duplicate_answer' ? 'its call was answered before' : 'it answers no open call of the view'
    const detail = glimpse(`left out of the view: ${why} (${tool_name}, ${tool_call_id})`)
    return [{ line: lines[entry.seq] ?? 0, what: DROPPED[reason], detail }]
  })
}
