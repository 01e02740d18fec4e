/** Reads the path from an event to HEAD, with the results of the fold at each step. */

import { completionOf } from '../event/completion.ts'
import { ROOT } from '../event/ids.ts'
import { quote } from '../event/text.ts'
import { callIdOf, type Entry, isOnPathIn, responseIdOf } from '../log/entry.ts'
import { headAfter } from '../log/place.ts'
import { findEventIn, logPrefix } from '../log/log.ts'
import type { Checkpoint, State } from '../state/state.ts'
import { openCallOf } from '../log/open-calls.ts'
import type { Unit } from '../view/units.ts'

/** Returns the entries on the path from an ancestor (or from the root) down to an entry, both included. */
export function pathBetween(above: Entry | null, below: Entry | null): Checkpoint[] {
  const path: Checkpoint[] = []
  for (let entry: Entry | null = below; entry !== null; entry = entry === above ? null : entry.parent)
    path.push(entry as Checkpoint)
  return path.toReversed()
}

/**
 * Returns the first entry from `above` to `below` for which `isSo` is true. After this entry, `isSo` must be
 * true for all entries. O(log depth) checks.
 */
export function firstBetween(
  above: Entry,
  below: Entry,
  isSo: (entry: Checkpoint) => boolean,
): Checkpoint | null {
  const meets = (entry: Entry | null): boolean =>
    entry !== null && entry.depth >= above.depth && isSo(entry as Checkpoint)
  if (!meets(below)) return null
  let first = below
  for (let next: Entry | null | undefined = below; next; next = [first.jump, first.parent].find(meets))
    first = next
  return first as Checkpoint
}

/** Returns why a call that an event names was not a working call. `candidates`: entries that may have completed it. */
export function whyNotWorking(
  { log }: State,
  { parent }: Entry,
  actionId: string,
  candidates: Iterable<Entry>,
): { readonly text: string; readonly ids: readonly string[] } {
  const call = findEventIn(log, actionId)
  const name = quote(actionId)
  if (call === undefined) return { text: `no event has the id ${name}`, ids: [] }
  const ids = [actionId]
  if (callIdOf(call) === null) return { text: `${name} is not a call`, ids }
  if (parent === null || !isOnPathIn(call, parent))
    return { text: `the call ${name} is not on its branch`, ids }
  for (const entry of candidates)
    if (entry.id !== null && completes(entry) === actionId && isOnPathIn(entry, parent))
      return {
        text: `the message ${quote(entry.id)} has completed the call ${name}`,
        ids: [...ids, entry.id],
      }
  return { text: `the call ${name} has no working result there`, ids }
}

/** Returns the id of the call that a message completed; null if it completed none. */
export const completes = ({ event, inTree, warnings }: Entry): string | null =>
  event === null || !inTree || warnings.some(({ code }) => code === 'nothing_completed')
    ? null
    : (completionOf(event)?.action_id ?? null)

export interface Leaving {
  readonly by: Entry
  readonly from: Checkpoint
}

/**
 * Returns a function that finds where HEAD left the branch of an event. The event's position must be `from`
 * or later. The function returns null if HEAD is on the branch, or if the log did not set the current HEAD,
 * for example after `switchTo`. O(entries since `from` · log n), then O(1) per event.
 */
export function headMoves({ log }: State, from = 0): (event: Entry) => Leaving | null {
  const entries = log.entries.slice(from)
  const moves: { readonly by: Checkpoint; readonly head: Checkpoint | null }[] = []
  /** By the position of an entry: the index in `moves` of HEAD's last move to this entry or to a descendant. */
  const visits = new Map<number, number>()
  let head: Checkpoint | null = null
  for (const by of entries) {
    const step = headAfter(logPrefix(log, by.seq, head), by)
    head = step.head as Checkpoint | null
    if (!by.canBeHead && step.move !== 'made') continue
    if (head !== null) visits.set(head.seq, moves.length)
    moves.push({ by, head })
  }
  for (const { seq, parent } of entries.toReversed())
    if (parent !== null) visits.set(parent.seq, Math.max(visits.get(parent.seq) ?? -1, visits.get(seq) ?? -1))
  return ({ seq }) => {
    const last = visits.get(seq) ?? -1
    const left = moves[last + 1]
    const isOff = left !== undefined && head === log.head
    return isOff ? { by: left.by, from: moves[last]?.head as Checkpoint } : null
  }
}

export const describeParent = ({ parent }: Entry): string =>
  parent === null ? 'starts a new root' : `has the parent ${quote(parent.id)}`

/**
 * Returns the entries that would follow `event` on HEAD's branch if `by` had not moved HEAD to another
 * branch. Null if a later entry would have moved HEAD, too.
 */
export function wouldFollow({ log }: State, event: Entry, by: Entry): readonly Entry[] | null {
  const over = new Set<Entry>()
  const isOn = (one: Entry): boolean => (one.seq > by.seq ? over.has(one) : isOnPathIn(event, one))
  let isHeadOn = true
  for (let seq = by.seq + 1; seq < log.entries.length; seq += 1) {
    const entry = log.entries.get(seq) as Checkpoint
    if (!entry.inTree) continue
    const before = logPrefix(log, seq, null)
    const isNamedOn = (id: unknown): boolean | null => {
      // Without the move, the log would lack `by`, unless `by` is a state update.
      const isRemoved = id === by.id && by.canBeHead
      const named = typeof id === 'string' && !isRemoved ? findEventIn(before, id) : undefined
      return named === undefined ? null : isOn(named)
    }
    const { event: fact, quarantined } = entry
    const requested = fact?.parent_id ?? quarantined?.parent_id
    const isHere: boolean = requested === ROOT ? false : (isNamedOn(requested) ?? isHeadOn)
    if (isHere) over.add(entry)
    if (entry.canBeHead) isHeadOn = isHere
    else if (fact?.kind === 'ConversationStateUpdateEvent' && fact.key === 'leaf_event_id')
      isHeadOn = fact.value === null ? false : (isNamedOn(fact.value) ?? isHeadOn)
  }
  return isHeadOn ? [...over] : null
}

/** Returns the result of a call; null if the call is pending at `below`. */
export function resultOfCall(call: Entry, below: Entry): Checkpoint | null {
  const toolCallId = callIdOf(call)
  if (toolCallId === null) return null
  const isEnded = ({ branch }: Checkpoint): boolean =>
    openCallOf(branch.pendingCalls, toolCallId, call.seq) === undefined
  return firstBetween(call, below, isEnded)
}

/** Returns the calls of `replies` on the path, each with its result. Null if a call is pending at the entry `below`. */
export function callsOfReplies(
  replies: readonly (string | null)[],
  path: readonly Entry[],
  below: Entry,
): Entry[] | null {
  const entries: Entry[] = []
  for (const call of path) {
    if (!isOfReplies(replies, call)) continue
    const result = resultOfCall(call, below)
    if (result === null) return null
    entries.push(call, result)
  }
  return entries
}

export const repliesOf = (units: readonly Unit[]): string[] =>
  units.flatMap((unit) => (unit.type === 'batch' ? [unit.responseId] : []))

export function isOfReplies(replies: readonly (string | null)[], entry: Entry): boolean {
  const reply = responseIdOf(entry)
  return reply !== null && reply !== '' && replies.includes(reply)
}
