import { ColloquyError } from '../event/errors.ts'
import type { EventKind } from '../event/kinds.ts'
import type { Quarantined } from '../event/quarantine.ts'
import { quote } from '../event/text.ts'
import type { Event } from '../event/types.ts'

/** Something that replay repaired or left out. */
export interface LogWarning {
  readonly seq: number
  readonly id: string | null
  readonly code:
    | 'quarantined'
    | 'duplicate_id'
    | 'unknown_parent'
    | 'head_ignored'
    | 'unreadable_timestamp'
    | 'reply_not_placed'
    | 'nothing_completed'
  readonly message: string
}

export const NO_WARNINGS: readonly LogWarning[] = Object.freeze([])

/** Sort keys of a unit, for searching its view: a view is sorted by `rank`, then by `first`, then by `tie`. */
export interface UnitOrder {
  /**
   * Position of the unit's first event. A derived summary (U6), and a unit inserted before the view's end, have
   * the rank of the previous unit.
   */
  readonly rank: number
  /** Position of the unit's first event; for a derived summary, the previous unit's `first`. */
  readonly first: number
  /** Order among the derived summaries that follow one unit. Default: 0. */
  readonly tie?: number
}

/** Why a tool result is not in the view. */
export type DropReason = 'duplicate_result' | 'orphan_result'

/** A fact at its position in the log. Fields other than the fact are derived (design D8, D15). */
export interface Entry {
  /** Position in the log, from 0 without gaps. */
  readonly seq: number
  /** The event's id; null only for a quarantined line whose id cannot be read. */
  readonly id: string | null
  /** The decoded event. Null for a quarantined line, and when the body was evicted (see `evicted`). */
  readonly event: Event | null
  /** The line that could not be decoded. Null for an event, and when the body was evicted. */
  readonly quarantined: Quarantined | null
  /** ISO 8601. An event without a valid time has the previous entry's time; null if no earlier entry has a time. */
  readonly timestamp: string | null
  /** Whether the entry is in the tree. False for a duplicate id, and for a line without a readable id. */
  readonly inTree: boolean
  /** Whether the entry can be HEAD: it is in the tree and not a state update (design D8). */
  readonly canBeHead: boolean
  readonly parent: Entry | null
  readonly depth: number
  /** An ancestor to which a walk up the path can skip, so that the walk is O(log depth). Null at a root. */
  readonly jump: Entry | null
  /** For an entry that cannot be HEAD, its nearest ancestor that can be HEAD. Otherwise null. */
  readonly above: Entry | null
  /** Order of the view unit that contains the event or its summary, or null. Set once by the fold. */
  unit: UnitOrder | null
  readonly warnings: readonly LogWarning[]
  readonly evicted?: EvictedBody
}

/** Fields of an event that remain in memory after its body was evicted. */
export interface EvictedBody {
  readonly kind: string | null
  readonly isEvent: boolean
  /** Tool call id of an action in the tree. */
  readonly callId: string | null
  /** LLM response id of an action in the tree; known at least for the first action of each response. */
  readonly responseId: string | null
  /** Reports the position and tool call id of each action on the entry's path, latest first. O(path). */
  readonly eachCall: (report: (seq: number, toolCallId: string) => void) => void
}

/** An entry with a decoded event. */
export interface EventEntry<E extends Event = Event> extends Entry {
  readonly id: string
  readonly event: E
}

/**
 * Returns the kind of an entry's event or line, or null if it cannot be read. O(1).
 * @example
 * const { log } = replay([loadLine('{"kind":"NewsEvent"}').fact])
 * kindOf(log.entries.get(0)) // 'NewsEvent'
 */
export function kindOf(entry: Entry): string | null {
  return entry.event?.kind ?? entry.quarantined?.event_kind ?? entry.evicted?.kind ?? null
}

/** Returns the kind of an entry's event. Null for an undecodable line, even if the line names a kind. */
export function eventKindOf(entry: Entry): string | null {
  return entry.event?.kind ?? (entry.evicted?.isEvent === true ? entry.evicted.kind : null)
}

export function callIdOf(entry: Entry): string | null {
  const { event } = entry
  if (event === null) return entry.evicted?.callId ?? null
  return entry.inTree && event.kind === 'ActionEvent' ? event.tool_call_id : null
}

export function responseIdOf(entry: Entry): string | null {
  const { event } = entry
  if (event === null) return entry.evicted?.responseId ?? null
  return entry.inTree && event.kind === 'ActionEvent' ? event.llm_response_id : null
}

/** Returns the entry that becomes HEAD when HEAD is moved to `entry` (design D7). O(1). */
export function anchorOf(entry: Entry | null): Entry | null {
  return entry === null || entry.canBeHead ? entry : entry.above
}

/**
 * Returns an entry's event; null for an undecodable line, and for an evicted body of a kind not in `kinds`.
 * @throws ColloquyError `evicted` for an evicted body of one of these kinds.
 */
export function loadedEvent(entry: Entry, kinds: readonly EventKind[]): Event | null {
  if (entry.event !== null) return entry.event
  const kind = eventKindOf(entry)
  if (!kinds.some((candidate) => candidate === kind)) return null
  const { id, seq } = entry
  const message = `The body of event ${quote(id)} (position ${seq}) is not in memory: a snapshot or \`evict\` left it out. Replay the whole log.`
  throw new ColloquyError('evicted', message, { event_id: id, seq })
}

/** Whether `above` is on the path from `entry` to its root. An entry is on its own path. O(log depth). */
export function isOnPathIn(above: Entry, entry: Entry | null): boolean {
  let current = entry
  while (current !== null && current.depth > above.depth)
    current = current.jump !== null && current.jump.depth >= above.depth ? current.jump : current.parent
  return current === above
}

/** Returns the entries from the root to `entry`, both included; empty for null. O(depth). */
export function pathToEntry(entry: Entry | null): Entry[] {
  const path: Entry[] = []
  for (let current = entry; current !== null; current = current.parent) path.push(current)
  return path.toReversed()
}
