/** Opens the state of a stored conversation: from a snapshot and the events after it, or by replaying the log. */

import { hasCode } from '../event/errors.ts'
import { pendingCallCount } from '../log/open-calls.ts'
import { completeSnapshot, evict, readSnapshot } from '../state/snapshot.ts'
import { reduce } from '../state/reduce.ts'
import { CHUNK_SIZE } from '../state/snapshot/version.ts'
import { initialState, type State } from '../state/state.ts'
import type { ConversationRecord } from '../store/contract/conversation-record.ts'
import type { SnapshotPart } from '../store/contract/snapshot.ts'
import type { Store } from '../store/contract/store.ts'
import type { StoredEvent } from '../store/contract/stored-event.ts'
import { unknownConversation } from '../store/kit/errors.ts'
import type { Shared } from './shared.ts'

/** The record of a conversation. @throws ColloquyError `unknown_conversation`, `closed`. */
export async function recordOf(shared: Shared, id: string): Promise<ConversationRecord> {
  shared.check()
  return recordIn(shared.store, id)
}

/** The same where no engine is. @throws ColloquyError `unknown_conversation`. */
export async function recordIn(store: Store, id: string): Promise<ConversationRecord> {
  const record = await store.getConversation(id)
  if (record !== null) return record
  throw unknownConversation(id)
}

/** How many events are read at once. */
export const PAGE = 1_024

/** A state as it was opened. */
export interface Opened {
  readonly state: State
  /** Length of the log that the snapshot covers; 0 when there is none that can be used. */
  readonly snapshotAt: number
  /** When the conversation was created, which tells its log from one that stood under the id before. */
  readonly createdAt: string
}

/**
 * Of a log that is folded, bodies are evicted when so large a part of it has come since, at least a part of the
 * columnar log, and as many events as are kept: sooner spares the collector work, but each time costs O(length + what
 * is kept), the index of keys that is built anew included; so it comes to O(n) for the whole log.
 */
const HELD_PART = 1 / 32

/**
 * Opens a conversation. O(bytes of the snapshot + view + events after it): the columns of the whole log are in there,
 * which is read, and nothing is made or folded of it. Without a snapshot, or where the log goes on from what was
 * evicted, O(n log n).
 * @throws ColloquyError `unknown_conversation`.
 */
export async function openState(store: Store, id: string): Promise<Opened> {
  // The record is read before the log: a log that takes its place meanwhile is found by the next look at the record.
  const [record, parts] = await Promise.all([recordIn(store, id), store.loadSnapshot(id)])
  const { createdAt } = record
  const saved = await openSaved(store, record, parts)
  if (saved !== null) {
    const state = await foldOn(store, id, saved, true)
    if (state !== null) return { state, snapshotAt: saved.log.entries.length, createdAt }
  }
  const empty = initialState({ conversationId: id })
  // A log that goes back to what was evicted is folded once more, and all of it kept.
  const state = (await foldOn(store, id, empty, true)) ?? (await replayWhole(store, id))
  return { state, snapshotAt: 0, createdAt }
}

/** The state of the whole log, with everything held. O(n). @throws ColloquyError `unknown_conversation`. */
export async function replayWhole(store: Store, id: string): Promise<State> {
  const empty = initialState({ conversationId: id })
  return (await foldOn(store, id, empty, false)) ?? empty
}

/**
 * The state of the snapshot, with its bodies from the log; null where there is none, or it is of another log: the
 * time of creation in it tells, the last event that it knows, and each that it lacks.
 */
async function openSaved(
  store: Store,
  { id, createdAt }: ConversationRecord,
  parts: readonly SnapshotPart[],
): Promise<State | null> {
  const saved = parts.length === 0 ? null : readSnapshot(parts, id)
  if (saved === null || saved.record.length === 0 || saved.record.createdAt !== createdAt) return null
  const last = saved.record.length - 1
  const asked = new Set([...saved.lacking, last])
  const found = new Map<number, StoredEvent>()
  for (const { from, until } of rangesOf([...asked].toSorted((one, other) => one - other))) {
    for (let at = from; at < until; at += PAGE) {
      const events = await store.read(id, { from: at, limit: Math.min(PAGE, until - at) })
      for (const event of events) if (asked.has(event.seq)) found.set(event.seq, event)
    }
  }
  return found.has(last) ? completeSnapshot(saved, found) : null
}

/** Positions in a row. */
interface Range {
  readonly from: number
  until: number
}

/** So many events that are not needed are read sooner than asked around. */
const GAP = 16

/** Ranges that are read one by one at most; where a view is scattered further, what lies between is read too. */
const RANGES = 32

/** The ranges that hold all of the positions, which are in order. O(positions · log of what lies between). */
function rangesOf(positions: readonly number[], gap = GAP): readonly Range[] {
  const ranges: Range[] = []
  for (const at of positions) {
    const last = ranges.at(-1)
    if (last !== undefined && at - last.until <= gap) last.until = at + 1
    else ranges.push({ from: at, until: at + 1 })
  }
  return ranges.length > RANGES ? rangesOf(positions, 2 * gap) : ranges
}

/**
 * A state with all that comes after it in the log; null where that goes on from what the state does not hold.
 * @param lets whether bodies and checkpoints may be evicted on the way, so that memory holds those of a part of the log
 * only
 */
async function foldOn(store: Store, id: string, state: State, lets: boolean): Promise<State | null> {
  let now = state
  let restedAt = state.log.entries.length
  // For one page more: what a log goes back to is mostly a branch that was left a few events ago.
  let before: State | null = null
  for (;;) {
    const from = now.log.entries.length
    // Parts of the columnar log are written once when they are complete.
    const limit = PAGE - (from % PAGE)
    const events = await store.read(id, { from, limit })
    const next = foldFacts(now, events)
    if (next === null) {
      if (before === null) return null
      now = before
      before = null
      continue
    }
    now = next
    before = null
    if (events.length < limit) return now
    const { length } = now.log.entries
    const kept = now.branch.view.length + pendingCallCount(now.branch.pendingCalls)
    const due = lets && length % CHUNK_SIZE === 0 && length - restedAt >= Math.max(length * HELD_PART, kept)
    if (!due) continue
    before = now
    now = evict(now)
    restedAt = length
  }
}

/** The state after some events more; null where they go on from what the state does not hold. O(log n) for each. */
export function foldFacts(state: State, events: readonly StoredEvent[]): State | null {
  let now = state
  try {
    for (const { fact } of events) now = reduce(now, fact)
    return now
  } catch (error) {
    if (hasCode(error, 'evicted')) return null
    throw error
  }
}
