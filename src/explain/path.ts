/** Looks along the path from an event to HEAD, by what the fold kept at each step. */

import { ROOT } from '../event/ids.ts'
import { quote } from '../event/text.ts'
import { isOnPathIn } from '../log/ancestry.ts'
import { callIdOf, type Entry, responseIdOf } from '../log/entry.ts'
import { headAfter } from '../log/place.ts'
import { findEventIn, logPrefix } from '../log/log.ts'
import type { Checkpoint, State } from '../state/state.ts'
import { openCallOf } from '../log/open-calls.ts'
import type { Unit } from '../view/unit.ts'

/** The entries on the path from one above, or the root, down to one below, both included. O(distance). */
export function pathBetween(above: Entry | null, below: Entry | null): Checkpoint[] {
  const path: Checkpoint[] = []
  for (let at: Entry | null = below; at !== null; at = at === above ? null : at.parent)
    path.push(at as Checkpoint)
  return path.toReversed()
}

/**
 * The first entry of a path of which something holds that, once so, stays so; undefined where it never does. O(log
 * path) questions.
 */
export function firstWhere(
  path: readonly Checkpoint[],
  isSo: (entry: Checkpoint) => boolean,
): Checkpoint | undefined {
  let low = 0
  for (let high = path.length; low < high;) {
    const middle = (low + high) >>> 1
    if (isSo(path[middle] as Checkpoint)) high = middle
    else low = middle + 1
  }
  return path[low]
}

export interface Leaving {
  readonly by: Entry
  readonly from: Checkpoint
}

/**
 * The entry with which HEAD left the branch of an event for good; null where no entry did so, as where the state is
 * looked at from elsewhere. O(entries since · log n).
 */
export function whereHeadLeft({ log }: State, event: Entry): Leaving | null {
  let head: Entry | null = null
  let isOn = false
  let left: Leaving | null = null
  for (let seq = event.seq; seq < log.entries.length; seq += 1) {
    const entry = log.entries.get(seq) as Checkpoint
    const from: Entry | null = head
    head =
      seq === event.seq || entry.canBeHead
        ? entry
        : headAfter(logPrefix(log, seq, head as Checkpoint), entry).head
    const was: Entry | null = isOn ? from : null
    isOn = head !== null && isOnPathIn(event, head)
    if (was !== null && !isOn) left = { by: entry, from: was as Checkpoint }
  }
  return isOn || head !== log.head ? null : left
}

export const hangsOn = ({ parent }: Entry): string =>
  parent === null ? 'begins a new root' : `hangs on ${quote(parent.id)}`

/**
 * The entries that would be on the branch of an event, with HEAD on it, but for the entry with which HEAD left it; null
 * where a later one leaves it, too. O(entries since · log n).
 */
export function wouldFollow({ log }: State, event: Entry, by: Entry): readonly Entry[] | null {
  const over = new Set<Entry>()
  const isOn = (one: Entry): boolean => (one.seq > by.seq ? over.has(one) : isOnPathIn(event, one))
  let isHeadOn = true
  for (let seq = by.seq + 1; seq < log.entries.length; seq += 1) {
    const entry = log.entries.get(seq) as Checkpoint
    if (!entry.inTree) continue
    const before = logPrefix(log, seq, null)
    /** Whether an id names an event of the branch; null for an unknown id. */
    const isNamedOn = (id: unknown): boolean | null => {
      // A state update would have the same place, and no content.
      const isGone = id === by.id && by.canBeHead
      const named = typeof id === 'string' && !isGone ? findEventIn(before, id) : undefined
      return named === undefined ? null : isOn(named)
    }
    const { event: fact, quarantined } = entry
    const asked = fact?.parent_id ?? quarantined?.parent_id
    const isHere: boolean = asked === ROOT ? false : (isNamedOn(asked) ?? isHeadOn)
    if (isHere) over.add(entry)
    if (entry.canBeHead) isHeadOn = isHere
    else if (fact?.kind === 'ConversationStateUpdateEvent' && fact.key === 'leaf_event_id')
      isHeadOn = fact.value === null ? false : (isNamedOn(fact.value) ?? isHeadOn)
  }
  return isHeadOn ? [...over] : null
}

/** The result that ended a call on the path down to an entry; null while it is pending there. O(path). */
export function resultOf(call: Entry, below: Entry): Checkpoint | null {
  const toolCallId = callIdOf(call)
  if (toolCallId === null) return null
  const isEnded = ({ branch }: Checkpoint): boolean =>
    openCallOf(branch.pendingCalls, toolCallId, call.seq) === undefined
  return firstWhere(pathBetween(call, below), isEnded) ?? null
}

/**
 * The calls of a path that are of some replies, and may come into their batches while these wait (U2), and their
 * results; null where one of them is pending at an entry. O(path) for each.
 */
export function callsOfReplies(
  replies: readonly (string | null)[],
  path: readonly Entry[],
  below: Entry,
): Entry[] | null {
  const found: Entry[] = []
  for (const call of path) {
    if (!isOfReplies(replies, call)) continue
    const result = resultOf(call, below)
    if (result === null) return null
    found.push(call, result)
  }
  return found
}

export const repliesOf = (units: readonly Unit[]): string[] =>
  units.flatMap((unit) => (unit.type === 'batch' ? [unit.responseId] : []))

export function isOfReplies(replies: readonly (string | null)[], entry: Entry): boolean {
  const reply = responseIdOf(entry)
  return reply !== null && reply !== '' && replies.includes(reply)
}
