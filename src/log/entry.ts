/** One position of the log: the fact as given, and beside it where it is in the tree. */

import { ColloquyError } from '../event/errors.ts'
import type { EventKind } from '../event/kinds.ts'
import type { Event } from '../event/types.ts'
import { quote } from '../event/text.ts'
import type { Quarantined } from '../event/quarantine.ts'

/** What a replay repaired or ignored, and where. */
export interface LogWarning {
  readonly seq: number
  /** The id of the entry at that position, when it has one. */
  readonly id: string | null
  readonly code:
    | 'quarantined'
    | 'duplicate_id'
    | 'unknown_parent'
    | 'head_ignored'
    | 'unreadable_timestamp'
    | 'reply_not_placed'
    | 'nothing_completed'
  /** One sentence for people. */
  readonly message: string
}

/** Why a tool result stays out of the view. */
export type DropReason = 'duplicate_result' | 'orphan_result'

/**
 * A fact at its place.
 *
 * The body is kept as given; what the log worked out stands beside it: the id (derived when the body has none), the
 * timestamp (of the entry before when the body has none that can be read) and the effective parent (design D8, D15).
 */
export interface Entry {
  /** Position in the log, dense from 0; the order of facts. */
  readonly seq: number
  /** The event's id; null only for a quarantined line whose id cannot be read. */
  readonly id: string | null
  /** The decoded event; null when the line is quarantined, and where the body was evicted (see the field `evicted`). */
  readonly event: Event | null
  /** The line that could not be decoded; null for an event, and where the body was evicted. */
  readonly quarantined: Quarantined | null
  /** ISO 8601 text; null while no entry so far had one. */
  readonly timestamp: string | null
  /** Whether the entry is part of the tree: a second event under a known id and an unreadable line are not. */
  readonly inTree: boolean
  /** Whether it can be HEAD: it is in the tree and is no state update (design D8). */
  readonly canBeHead: boolean
  /** The entry it hangs on; null for a root and for what is not in the tree. */
  readonly parent: Entry | null
  /** Number of entries above it on its path. */
  readonly depth: number
  /** An ancestor further up, so that ancestry takes O(log depth) hops; null at a root. */
  readonly jump: Entry | null
  /** For an entry that cannot be HEAD, the nearest one above it that can; otherwise null. */
  readonly above: Entry | null
  /** What there is to say about it; mostly nothing. */
  readonly warnings: readonly LogWarning[]
  /** Only on an entry of a snapshot, or of a state that has evicted it: what is known of its body without the body. */
  readonly evicted?: EvictedBody
}

/** What stays known of a body that was evicted. */
export interface EvictedBody {
  readonly kind: string | null
  /** Whether it was an event; a line that could not be decoded otherwise. */
  readonly isEvent: boolean
  /** The tool call id of an action that is in the tree. */
  readonly callId: string | null
  /** The LLM response of such an action; at least of the first action of each response. */
  readonly responseId: string | null
  /** Calls back with position and tool call id of every action on its path, the last first. O(path). */
  readonly eachCall: (say: (seq: number, toolCallId: string) => void) => void
}

/** An entry that holds a decoded event, as every event of a view does. */
export interface EventEntry<E extends Event = Event> extends Entry {
  readonly id: string
  readonly event: E
}

/**
 * The kind of an entry's event, as far as it can be read.
 * @example
 * const { log } = replay([loadLine('{"kind":"NewsEvent"}').fact])
 * kindOf(log.entries.get(0)) // 'NewsEvent'
 */
export function kindOf(entry: Entry): string | null {
  return entry.event?.kind ?? entry.quarantined?.event_kind ?? entry.evicted?.kind ?? null
}

/** The kind of an entry's event; null for a line that could not be decoded, whatever it claims to be. */
export function eventKindOf(entry: Entry): string | null {
  if (entry.event !== null) return entry.event.kind
  return entry.evicted?.isEvent === true ? entry.evicted.kind : null
}

/** The tool call id of an action that is in the tree; null for anything else. */
export function callIdOf(entry: Entry): string | null {
  const { event } = entry
  if (event === null) return entry.evicted?.callId ?? null
  return entry.inTree && event.kind === 'ActionEvent' ? event.tool_call_id : null
}

/** The LLM response of such an action; of those evicted at least for the first action of each response. */
export function responseIdOf(entry: Entry): string | null {
  const { event } = entry
  if (event === null) return entry.evicted?.responseId ?? null
  return entry.inTree && event.kind === 'ActionEvent' ? event.llm_response_id : null
}

/**
 * The entry that HEAD means when it is sent to this one, as the rule of the tree had it when it was placed (design D7).
 * O(1).
 */
export function anchorOf(entry: Entry | null): Entry | null {
  return entry === null || entry.canBeHead ? entry : entry.above
}

/**
 * The event of an entry; null for a line that could not be read, and for a body that was evicted and is of none of the
 * kinds asked about.
 * @throws ColloquyError `evicted` for a body of one of these kinds that was evicted.
 */
export function loadedEvent(entry: Entry, kinds: readonly EventKind[]): Event | null {
  if (entry.event !== null) return entry.event
  const kind = eventKindOf(entry)
  if (!kinds.some((asked) => asked === kind)) return null
  const { id, seq } = entry
  const message = `the body of event ${quote(id)} (position ${seq}) was evicted by a snapshot or evict(); replay the whole log to read it`
  throw new ColloquyError('evicted', message, { event_id: id, seq })
}
