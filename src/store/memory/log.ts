/** One log in memory: entries in order of facts, and beside them the lists that searches walk; placements go in. */

import { ColloquyError } from '../../event/errors.ts'
import { type EventKind, KINDS } from '../../event/kinds.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { Source } from '../../event/shapes.ts'
import type { Lookup, LogTip } from '../lookup.ts'
import { EMPTY_TIP } from '../lookup.ts'
import type { LaneParent, Piece, Spot } from '../path.ts'
import { pathPieces } from '../path.ts'
import type { Placement } from '../placement.ts'
import type { StoredEvent } from '../stored-event.ts'
import { insertSorted } from './sorted.ts'

/** An entry, and what others need to know to hang on it. */
export interface Row {
  readonly event: StoredEvent
  readonly spot: Spot | null
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
  readonly lanes: Map<number, { readonly parent: LaneParent | null; end: number }>
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
  if (a.event.time !== b.event.time) return a.event.time < b.event.time ? -1 : 1
  return a.event.seq - b.event.seq
}

/** The log as an append may look at it. */
export function lookupIn(
  log: MemoryLog,
  about: Pick<Lookup, 'conversationId' | 'timeZone' | 'lease'>,
): Lookup {
  return {
    ...about,
    tip: log.tip,
    find: (id) => rowOf(log, id)?.spot ?? undefined,
    laneEnd: (lane) => log.lanes.get(lane)?.end ?? -1,
    at: (seq) => (log.rows[seq] as Row).event,
  }
}

/** The entry of the tree with this id. O(1). */
export function rowOf(log: MemoryLog, id: string): Row | undefined {
  const seq = log.ids.get(id)
  return seq === undefined ? undefined : log.rows[seq]
}

/** The path to an event, in pieces; none when there is no such event. O(pieces). */
export function piecesTo(log: MemoryLog, leafId: string): readonly Piece[] {
  const spot = rowOf(log, leafId)?.spot
  return spot ? pathPieces(spot, (lane) => log.lanes.get(lane)?.parent ?? null) : []
}

/** Writes what an append came to. O(1) for each fact whose time is the latest, O(n) moves for one that is earlier. */
export function write(log: MemoryLog, placement: Placement): void {
  for (const { lane, parent, end } of placement.opened) log.lanes.set(lane, { parent, end })
  for (const { lane, end } of placement.left) {
    const known = log.lanes.get(lane)
    if (known === undefined) throw new ColloquyError('store_unavailable', `Lane ${lane} is gone.`)
    known.end = end
  }
  for (const { event, spot } of placement.added) {
    const row: Row = { event, spot }
    log.rows.push(row)
    if (spot === null) continue
    log.ids.set(spot.id, event.seq)
    if (isQuarantined(event.fact)) continue
    const { kind } = event.fact
    const source = (event.fact.source ?? KINDS[kind].defaultSource) as Source
    insertSorted(log.all, row, compareRows)
    insertSorted(groupIn(log.groups, kind, source).rows, row, compareRows)
    const inLane = log.laneGroups.get(spot.lane) ?? new Map<string, Group>()
    log.laneGroups.set(spot.lane, inLane)
    insertSorted(groupIn(inLane, kind, source).rows, row, compareRows)
  }
  log.tip = placement.tip
}

function groupIn(groups: Groups, kind: EventKind, source: Source): Group {
  const key = `${kind} ${source}`
  const known = groups.get(key)
  if (known !== undefined) return known
  const group: Group = { kind, source, rows: [] }
  groups.set(key, group)
  return group
}
