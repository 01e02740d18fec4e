/** Writes the rows of one chunk as columns. */

import { type DropReason, type Entry, eventKindOf, kindOf, type LogWarning } from '../entry.ts'
import {
  CAN_BE_HEAD,
  codeOf,
  DROPPED_ORPHAN,
  DROPPED_SECOND,
  HAS_REPORTS,
  IS_EVENT,
  OTHER_KIND,
  type Rare,
  IN_TREE,
} from './chunk.ts'
import { type Key, writeKeys, bytesOf, writeTimes } from './columns.ts'
import { type Label, type Seal, seal } from './sealed.ts'

/** Where a chunk stands. */
export interface ChunkPlace {
  /** The position of its first row. */
  readonly first: number
  /** How many rows a complete chunk has. */
  readonly size: number
  /** The seal of the chunk before: a chunk names, by way of it, all that came before. */
  readonly link: Seal
}

/** A chunk as sealed bytes. O(rows). */
export function writeChunk(
  label: Label,
  { first, size, link }: ChunkPlace,
  rows: readonly Row[],
): Uint8Array {
  const numbers = (of: (row: Row) => number) => bytesOf(column(new Int32Array(rows.length), rows, of))
  const small = (of: (row: Row) => number) => column(new Uint8Array(rows.length), rows, of)
  const keys = (of: (row: Row) => string | null, once = false) => {
    const list: Key[] = []
    let last: string | null = null
    rows.forEach((row, at) => {
      const text = of(row)
      if (text === null || (once && text === last)) return
      list.push({ seq: first + at, text })
      last = text
    })
    return writeKeys(list)
  }
  const dropCount = rows.filter((row) => row.dropped !== null).length
  return seal(label, [
    bytesOf(Int32Array.of(first, rows.length, size, ...link, dropCount)),
    numbers((row) => row.parent),
    numbers((row) => row.depth),
    numbers((row) => row.jump),
    numbers((row) => row.above),
    small(flagsOf),
    small((row) => codeOf(row.kind)),
    ...writeTimes(rows.map((row) => row.timestamp)),
    new TextEncoder().encode(rare(rows, first)),
    ...keys((row) => row.id),
    ...keys((row) => row.callId),
    // One for a run of actions of the same response is enough to tell that there was one.
    ...keys((row) => row.responseId, true),
  ])
}

/**
 * A number of each row, put into a list of numbers. By hand: `from` with a function goes through an iterator, ten times
 * slower.
 */
function column<L extends Int32Array | Uint8Array>(
  list: L,
  rows: readonly Row[],
  of: (row: Row) => number,
): L {
  for (let at = 0; at < rows.length; at += 1) list[at] = of(rows[at] as Row)
  return list
}

const flagsOf = (row: Row): number =>
  (row.inTree ? IN_TREE : 0) |
  (row.canBeHead ? CAN_BE_HEAD : 0) |
  (row.isEvent ? IS_EVENT : 0) |
  (row.warnings.length > 0 ? HAS_REPORTS : 0) |
  (row.dropped === 'duplicate_result' ? DROPPED_SECOND : 0) |
  (row.dropped === 'orphan_result' ? DROPPED_ORPHAN : 0)

/** The rare facts as JSON text; no text when there are none. */
function rare(rows: readonly Row[], first: number): string {
  const kinds = rows.flatMap((row, at) =>
    codeOf(row.kind) === OTHER_KIND ? [[first + at, row.kind ?? ''] as const] : [],
  )
  const warnings = rows.flatMap((row) => row.warnings)
  return kinds.length + warnings.length === 0 ? '' : JSON.stringify({ kinds, warnings } satisfies Rare)
}

/** One position of a log without its body. Other positions are named by number, -1 for none. */
export interface Row {
  readonly id: string | null
  readonly timestamp: string | null
  readonly kind: string | null
  /** Whether it holds an event; a line that could not be decoded otherwise. */
  readonly isEvent: boolean
  readonly inTree: boolean
  readonly canBeHead: boolean
  readonly parent: number
  readonly depth: number
  readonly jump: number
  readonly above: number
  /** The tool call id of an action that is in the tree, and the LLM response it belongs to. */
  readonly callId: string | null
  readonly responseId: string | null
  /** Why a tool result stays out of the view. */
  readonly dropped: DropReason | null
  readonly warnings: readonly LogWarning[]
}

/** The row of an entry whose body is at hand. O(1). */
export function rowOf(entry: Entry, dropped: DropReason | null): Row {
  const action = entry.inTree && entry.event?.kind === 'ActionEvent' ? entry.event : null
  return {
    id: entry.id,
    timestamp: entry.timestamp,
    kind: kindOf(entry),
    isEvent: eventKindOf(entry) !== null,
    inTree: entry.inTree,
    canBeHead: entry.canBeHead,
    parent: entry.parent?.seq ?? -1,
    depth: entry.depth,
    jump: entry.jump?.seq ?? -1,
    above: entry.above?.seq ?? -1,
    callId: action?.tool_call_id ?? null,
    responseId: action?.llm_response_id ?? null,
    dropped,
    warnings: entry.warnings,
  }
}
