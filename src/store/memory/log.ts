/** One log in memory, with the ordered lists that searches walk. */

import { type EventKind, KINDS } from '../../event/kinds.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { Source } from '../../event/shapes.ts'
import type { AppendContext, LogTip } from '../kit/append/append-context.ts'
import { EMPTY_TIP } from '../kit/append/append-context.ts'
import type { LaneOrigin, PathSegment, TreeNode } from '../kit/append/lanes.ts'
import { pathSegments } from '../kit/append/lanes.ts'
import type { AppendDecision } from '../kit/append/decide-append.ts'
import type { StoredEvent } from '../contract/stored-event.ts'
import { insertSorted } from './sorted.ts'

/** An entry, and what others need to know to hang on it. */
export interface Row {
  readonly event: StoredEvent
  readonly time: bigint
  readonly node: TreeNode | null
  /** The text that a search looks into, once one did. */
  text?: string | null
}

/** The events of one kind and source in time order. */
export interface Group {
  readonly kind: EventKind
  readonly source: Source
  readonly rows: Row[]
}

type Groups = Map<string, Group>

/** A log with its indexes. */
export interface MemoryLog {
  readonly rows: Row[]
  readonly ids: Map<string, number>
  readonly lanes: Map<number, LaneOrigin | null>
  /** What a search may find, in time order: all, by kind and source, and by lane and kind and source. */
  readonly all: Row[]
  readonly groups: Groups
  readonly laneGroups: Map<number, Groups>
  tip: LogTip
}

/** An empty log. */
export function newLog(): MemoryLog {
  return {
    rows: [],
    ids: new Map(),
    lanes: new Map(),
    all: [],
    groups: new Map(),
    laneGroups: new Map(),
    tip: EMPTY_TIP,
  }
}

/** The order of a search: by time, then by position. */
export function compareRows(a: Row, b: Row): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1
  return a.event.seq - b.event.seq
}

/** The log as an append may look at it. */
export function contextIn(
  log: MemoryLog,
  about: Pick<AppendContext, 'conversationId' | 'createdAt' | 'timeZone' | 'lease'>,
): AppendContext {
  return {
    ...about,
    tip: log.tip,
    find: (id) => rowOf(log, id)?.node ?? undefined,
    at: (seq) => (log.rows[seq] as Row).event,
  }
}

/** The entry of the tree with this id. O(1). */
export function rowOf(log: MemoryLog, id: string): Row | undefined {
  const seq = log.ids.get(id)
  return seq === undefined ? undefined : log.rows[seq]
}

/** The path to an event, in segments; none when there is no such event. O(segments). */
export function piecesTo(log: MemoryLog, leafId: string): readonly PathSegment[] {
  const node = rowOf(log, leafId)?.node
  return node ? pathSegments(node, (lane) => log.lanes.get(lane) ?? null) : []
}

/** Writes what an append came to. O(1) for each fact whose time is the latest, O(n) moves for one that is earlier. */
export function write(log: MemoryLog, decision: AppendDecision): void {
  for (const { lane, parent } of decision.opened) log.lanes.set(lane, parent)
  for (const { event, time, node } of decision.added) {
    const row: Row = { event, time, node }
    log.rows.push(row)
    if (node === null) continue
    log.ids.set(node.id, event.seq)
    if (isQuarantined(event.fact)) continue
    const { kind } = event.fact
    const source = (event.fact.source ?? KINDS[kind].defaultSource) as Source
    insertSorted(log.all, row, compareRows)
    insertSorted(groupIn(log.groups, kind, source).rows, row, compareRows)
    const inLane = log.laneGroups.get(node.lane) ?? new Map<string, Group>()
    log.laneGroups.set(node.lane, inLane)
    insertSorted(groupIn(inLane, kind, source).rows, row, compareRows)
  }
  log.tip = decision.tip
}

function groupIn(groups: Groups, kind: EventKind, source: Source): Group {
  const key = `${kind} ${source}`
  const known = groups.get(key)
  if (known !== undefined) return known
  const group: Group = { kind, source, rows: [] }
  groups.set(key, group)
  return group
}
