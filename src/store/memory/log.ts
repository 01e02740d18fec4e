import { freezeJson } from '../../event/freeze.ts'
import { type EventKind, KINDS } from '../../event/kinds.ts'
import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import type { JsonValue, Source } from '../../event/shapes.ts'
import type { Event } from '../../event/types.ts'
import type { BlobAudit } from '../contract/blobs.ts'
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
import type { Digests, LargeString } from '../kit/blobs.ts'
import { blobsOf, NO_BLOBS, replaceStrings, withReferences } from '../kit/blobs.ts'
import type { CheckedEventFilter, CheckedEventQuery } from '../kit/query/event-query.ts'
import { messageText } from '../kit/query/message-text.ts'
import { merge, type Range, SortedList } from './sorted.ts'

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
  readonly rows: SortedList<LogRow>
}

type Groups = Map<string, Group>

/** The long strings of all logs by hash, and the number of logs that use each. */
export type SharedStrings = Map<string, { readonly string: LargeString; logs: number }>

export interface MemoryLog {
  readonly rows: LogRow[]
  readonly ids: Map<string, number>
  readonly lanes: Map<number, LaneOrigin | null>
  readonly strings: Map<string, LargeString>
  readonly shared: SharedStrings
  /** All searchable events. `groups` has the same events by kind and source. */
  readonly all: SortedList<LogRow>
  readonly groups: Groups
  readonly laneGroups: Map<number, Groups>
  tip: LogTip
}

export const newLog = (shared: SharedStrings = new Map()): MemoryLog => ({
  rows: [],
  ids: new Map(),
  lanes: new Map(),
  strings: new Map(),
  shared,
  all: new SortedList(compareRows),
  groups: new Map(),
  laneGroups: new Map(),
  tip: EMPTY_TIP,
})

export const compareRows = (a: LogRow, b: LogRow): number =>
  a.time === b.time ? a.event.seq - b.event.seq : a.time < b.time ? -1 : 1

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

export function rowOf(log: MemoryLog, id: string): LogRow | undefined {
  const seq = log.ids.get(id)
  return seq === undefined ? undefined : log.rows[seq]
}

function piecesTo(log: MemoryLog, leafId: string): readonly PathSegment[] {
  const node = rowOf(log, leafId)?.node
  return node ? pathSegments(node, (lane) => log.lanes.get(lane) ?? null) : []
}

export const eventOf = ({ event, refs }: LogRow, asRefs = false): StoredEvent =>
  asRefs ? (refs ?? event) : event

export function writeDecision(log: MemoryLog, decision: AppendDecision): void {
  const digests: Digests = new Map()
  for (const { lane, parent } of decision.opened) log.lanes.set(lane, parent)
  for (const { event, time, node } of decision.added) {
    const row: LogRow = { ...deduplicate(log, event, digests), time, node }
    log.rows.push(row)
    if (node === null) continue
    log.ids.set(node.id, event.seq)
    if (isQuarantined(event.fact)) continue
    log.all.add(row)
    addTo(log.groups, event.fact, row)
    const inLane = log.laneGroups.get(node.lane) ?? new Map<string, Group>()
    log.laneGroups.set(node.lane, inLane)
    addTo(inLane, event.fact, row)
  }
  log.tip = decision.tip
}

/** Replaces bodies, and then deletes the long strings that no event uses. O(events). */
export function replaceFacts(log: MemoryLog, replaced: readonly (readonly [LogRow, Fact])[]): void {
  const digests: Digests = new Map()
  for (const [row, fact] of replaced) {
    Object.assign(row, deduplicate(log, Object.freeze({ ...row.event, fact }), digests))
    delete row.text
  }
  forgetStrings(log, new Set(log.rows.flatMap(hashesOf)))
}

export function forgetStrings(log: MemoryLog, used: ReadonlySet<string> = new Set()): void {
  for (const hash of log.strings.keys()) {
    if (used.has(hash)) continue
    log.strings.delete(hash)
    const shared = log.shared.get(hash)
    if (shared !== undefined && (shared.logs -= 1) === 0) log.shared.delete(hash)
  }
}

export function auditStrings(logs: readonly MemoryLog[], shared: SharedStrings): BlobAudit {
  const rows = logs.flatMap((log) => log.rows).filter(({ refs }) => refs !== null)
  const used = new Set(rows.flatMap(hashesOf))
  const lacking = rows.filter((row) => hashesOf(row).some((hash) => !shared.has(hash)))
  return {
    ...NO_BLOBS,
    blobs: shared.size,
    bytes: [...shared.values()].reduce((sum, { string }) => sum + string.bytes, 0),
    events: rows.length,
    unused: [...shared.keys()].filter((hash) => !used.has(hash)),
    missing: lacking.map(({ event }) => ({ conversationId: event.conversationId, seq: event.seq })),
  }
}

const hashesOf = ({ refs }: LogRow): string[] => (refs?.blobs ?? []).map(({ hash }) => hash)

function keepString(log: MemoryLog, string: LargeString): void {
  if (log.strings.has(string.hash)) return
  const shared = log.shared.get(string.hash) ?? { string, logs: 0 }
  shared.logs += 1
  log.shared.set(string.hash, shared)
  log.strings.set(string.hash, shared.string)
}

/**
 * Returns two versions of an event: one contains the log's copies of its long strings, the other contains
 * references to them. Adds new strings to the log.
 */
function deduplicate(log: MemoryLog, event: StoredEvent, digests: Digests): Pick<LogRow, 'event' | 'refs'> {
  const strings = blobsOf(event.fact, digests)
  if (strings.length === 0) return { event, refs: null }
  for (const one of strings) keepString(log, one)
  const textOf = ({ hash, text }: LargeString): string => log.strings.get(hash)?.text ?? text
  const fact = replaceStrings(event.fact as object as JsonValue, strings, textOf)
  freezeJson(fact)
  return {
    event: Object.freeze({ ...event, fact: fact as object as Fact }),
    refs: withReferences(event, strings),
  }
}

function addTo(groups: Groups, { kind, source: named }: Event, row: LogRow): void {
  const source = (named ?? KINDS[kind].defaultSource) as Source
  const key = `${kind} ${source}`
  const group = groups.get(key) ?? { kind, source, rows: new SortedList(compareRows) }
  groups.set(key, group)
  group.rows.add(row)
}

/**
 * Merges the sorted lists of all matching kinds, sources and path segments. A text filter also visits
 * messages that do not match. A path filter visits all branches if times decrease in the log.
 */
export function searchLog(log: MemoryLog, query: CheckedEventQuery, limit: number): LogRow[] {
  const { after, descending } = query
  const order =
    after === null
      ? null
      : ({ time, event }: LogRow): number =>
          time === after.time ? event.seq - after.seq : time < after.time ? -1 : 1
  const walks = stretches(log, query).map(({ rows, ...bounds }) =>
    rows.between({ ...bounds, order, descending }),
  )
  const fits = query.text === null && query.leafId === null ? null : fitness(log, query)
  const matches: LogRow[] = []
  for (const row of merge(walks, descending ? (a, b) => compareRows(b, a) : compareRows))
    if (fits?.(row) !== false && matches.push(row) === limit) break
  return matches
}

export function countLog(log: MemoryLog, filter: CheckedEventFilter): number {
  const fits = fitness(log, filter)
  let count = 0
  for (const { rows, isEarly, isLate } of stretches(log, filter)) {
    if (filter.text === null && filter.leafId === null)
      count += Math.max(0, rows.rank((row) => !isLate(row)) - rows.rank(isEarly))
    else
      for (const row of rows.between({ isEarly, isLate, order: null, descending: false }))
        if (fits(row)) count += 1
  }
  return count
}

type Stretch = Pick<Range<LogRow>, 'isEarly' | 'isLate'> & Pick<Group, 'rows'>

function stretches(log: MemoryLog, filter: CheckedEventFilter): Stretch[] {
  const { kinds, source, leafId, from, until } = filter
  const isEarly = ({ time }: LogRow): boolean => from !== null && time < from
  const isLate = ({ time }: LogRow): boolean => until !== null && time >= until
  if (leafId === null && kinds === null && source === null) return [{ rows: log.all, isEarly, isLate }]
  const fitting = (groups: Groups | undefined): Group[] =>
    [...(groups?.values() ?? [])].filter(
      (group) => (kinds?.has(group.kind) ?? true) && (source ?? group.source) === group.source,
    )
  if (leafId === null) return fitting(log.groups).map(({ rows }) => ({ rows, isEarly, isLate }))
  return piecesTo(log, leafId).flatMap(({ lane, until: last }) => {
    const isBehind = (row: LogRow): boolean => isLate(row) || (log.tip.inOrder && row.time > last)
    return fitting(log.laneGroups.get(lane)).map(({ rows }) => ({ rows, isEarly, isLate: isBehind }))
  })
}

/** Returns a check of the filters that the sorted lists do not apply: the text, and the path to the leaf. */
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
