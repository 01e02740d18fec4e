/** One log in memory, with the ordered lists that searches walk. */

import { type EventKind, KINDS } from '../../event/kinds.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { Source } from '../../event/shapes.ts'
import type { StoredEvent } from '../contract/query.ts'
import {
  type AppendContext,
  type AppendDecision,
  EMPTY_TIP,
  type LaneOrigin,
  type LogTip,
  type PathSegment,
  pathSegments,
  type TreeNode,
} from '../kit/append/decide-append.ts'
import type { CheckedEventFilter, CheckedEventQuery } from '../kit/query/event-query.ts'
import { messageText } from '../kit/query/message-text.ts'
import { firstFrom, insertSorted, merge, type Walk } from './sorted.ts'

/** A stored entry, with the tree node that its children refer to. */
export interface LogRow {
  event: StoredEvent
  readonly time: bigint
  readonly node: TreeNode | null
  text?: string | null
  /** The event with references in place of its long strings; null if it has no long strings. */
  refs: StoredEvent | null
}

interface Group {
  readonly kind: EventKind
  readonly source: Source
  readonly rows: LogRow[]
}

type Groups = Map<string, Group>

export interface MemoryLog {
  readonly rows: LogRow[]
  readonly ids: Map<string, number>
  readonly lanes: Map<number, LaneOrigin | null>
  readonly all: LogRow[]
  readonly groups: Groups
  readonly laneGroups: Map<number, Groups>
  tip: LogTip
}

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

export function compareRows(a: LogRow, b: LogRow): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1
  return a.event.seq - b.event.seq
}

export function contextIn(
  log: MemoryLog,
  about: Pick<AppendContext, 'conversationId' | 'createdAt' | 'timeZone' | 'lease'>,
): AppendContext {
  return {
    ...about,
    tip: log.tip,
    find: (id) => rowOf(log, id)?.node ?? undefined,
    at: (seq) => (log.rows[seq] as LogRow).event,
  }
}

/** The entry of the tree with this id. O(1). */
export function rowOf(log: MemoryLog, id: string): LogRow | undefined {
  const seq = log.ids.get(id)
  return seq === undefined ? undefined : log.rows[seq]
}

/** The path to an event as segments; empty for an unknown event. O(segments). */
function piecesTo(log: MemoryLog, leafId: string): readonly PathSegment[] {
  const node = rowOf(log, leafId)?.node
  return node ? pathSegments(node, (lane) => log.lanes.get(lane) ?? null) : []
}

/** The event of a row, as it is read. O(1). */
export const eventOf = ({ event, refs }: LogRow, asRefs = false): StoredEvent =>
  asRefs ? (refs ?? event) : event

/** Writes a decided append. O(1) for each fact with the latest time, O(n) moves for an earlier one. */
export function writeDecision(
  log: MemoryLog,
  decision: AppendDecision,
  keep: (event: StoredEvent) => Pick<LogRow, 'event' | 'refs'>,
): void {
  for (const { lane, parent } of decision.opened) log.lanes.set(lane, parent)
  for (const { event: added, time, node } of decision.added) {
    const { event, refs } = keep(added)
    const row: LogRow = { event, refs, time, node }
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

/** A list that may have results, and its bounds in time and in position. */
interface Stretch {
  readonly rows: readonly LogRow[]
  readonly upTo: number
  readonly until: bigint | null
}

/**
 * Returns at most `limit` events after the query's position, in its order. Merges lists: one, or one for each
 * kind and source, in each path segment. O(lists · log n + limit · log lists). A text filter also visits the
 * messages in between; a path filter also visits later entries of its lanes that have earlier times.
 */
export function searchLog(log: MemoryLog, query: CheckedEventQuery, limit: number): LogRow[] {
  const { after, descending } = query
  const walks = stretches(log, query).map((stretch): Walk<LogRow> => {
    let [low, high] = bounds(stretch, query)
    if (after !== null) {
      const { time, seq } = after
      const isBefore = (row: LogRow): boolean =>
        row.time !== time ? row.time < time : descending ? row.event.seq < seq : row.event.seq <= seq
      if (descending) high = Math.min(high, firstFrom(stretch.rows, isBefore))
      else low = Math.max(low, firstFrom(stretch.rows, isBefore))
    }
    if (low >= high) return { list: stretch.rows, index: 0, end: 0, step: 1 }
    return descending
      ? { list: stretch.rows, index: high - 1, end: low - 1, step: -1 }
      : { list: stretch.rows, index: low, end: high, step: 1 }
  })
  const compare = descending ? (a: LogRow, b: LogRow): number => compareRows(b, a) : compareRows
  const fits = fitness(log, query)
  const matches: LogRow[] = []
  for (const row of merge(walks, compare)) {
    if (fits(row) && matches.push(row) === limit) break
  }
  return matches
}

/** Counts the events that match a filter. O(lists · log n), and the visits of {@link searchLog}. */
export function countLog(log: MemoryLog, filter: CheckedEventFilter): number {
  const fits = fitness(log, filter)
  const plain = filter.text === null && filter.leafId === null
  let count = 0
  for (const stretch of stretches(log, filter)) {
    const [low, high] = bounds(stretch, filter)
    if (plain) count += Math.max(0, high - low)
    else for (let index = low; index < high; index += 1) if (fits(stretch.rows[index] as LogRow)) count += 1
  }
  return count
}

function stretches(log: MemoryLog, filter: CheckedEventFilter): Stretch[] {
  const { kinds, source, leafId } = filter
  const wanted = (group: Group): boolean =>
    (kinds === null || kinds.has(group.kind)) && (source === null || group.source === source)
  const whole = { upTo: log.rows.length, until: null }
  if (leafId === null) {
    if (kinds === null && source === null) return [{ rows: log.all, ...whole }]
    return [...log.groups.values()].filter(wanted).map(({ rows }) => ({ rows, ...whole }))
  }
  return piecesTo(log, leafId).flatMap(({ lane, upTo, until }) =>
    [...(log.laneGroups.get(lane)?.values() ?? [])]
      .filter(wanted)
      .map(({ rows }) => ({ rows, upTo, until: log.tip.inOrder ? until : null })),
  )
}

function bounds(stretch: Stretch, { from, until }: CheckedEventFilter): [number, number] {
  const { rows } = stretch
  const low = from === null ? 0 : firstFrom(rows, ({ time }) => time < from)
  const high = until === null ? rows.length : firstFrom(rows, ({ time }) => time < until)
  const last = stretch.until
  if (last === null) return [low, high]
  return [
    low,
    Math.min(
      high,
      firstFrom(rows, ({ time }) => time <= last),
    ),
  ]
}

/** Filters that the lists do not apply: the text, and entries after the path has left their lane. */
function fitness(log: MemoryLog, { text, leafId }: CheckedEventFilter): (row: LogRow) => boolean {
  const upTo = new Map(
    (leafId === null ? [] : piecesTo(log, leafId)).map((segment) => [segment.lane, segment.upTo]),
  )
  return (row) => {
    if (leafId !== null && row.event.seq > (upTo.get(row.node?.lane ?? -1) ?? -1)) return false
    if (text === null) return true
    if (row.text === undefined) row.text = messageText(row.event.fact)
    return row.text?.includes(text) === true
  }
}
