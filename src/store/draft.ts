/** A log's tip and its next facts go in one by one; the tree as it grows, HEAD and the lanes come out. */

import { ColloquyError } from '../event/errors.ts'
import { deriveEventId, isLegalId, ROOT } from '../event/ids.ts'
import { isQuarantined, type Fact } from '../event/quarantine.ts'
import type { Event } from '../event/types.ts'
import { stampedBody } from './body.ts'
import type { LaneEnd, LogTip, Lookup } from './lookup.ts'
import { type Lane, laneOf, type Spot } from './path.ts'
import type { StoredEvent } from './stored-event.ts'
import { instantIn } from './zone.ts'

/** An entry to be stored. */
export interface PlacedEvent {
  readonly event: StoredEvent
  /** Its place in the tree: what is stored beside the event, so that others can hang on it; null for what is not in the tree. */
  readonly spot: Spot | null
}

/** A log while an append is worked out: what stood before, and what is added so far. */
export interface Draft {
  readonly lookup: Lookup
  /** Whether bodies are stamped, and faults are errors. */
  readonly live: boolean
  readonly added: PlacedEvent[]
  readonly opened: Map<number, Lane>
  /** The last entries of the lanes that this append has to do with. */
  readonly ends: Map<number, number>
  /** HEAD as it stood, and the entries added so far. */
  readonly spots: Map<string, Spot>
  tip: LogTip
}

/** A draft with nothing added. */
export function newDraft(lookup: Lookup, live: boolean): Draft {
  const { tip } = lookup
  const ends = new Map(tip.lane === null ? [] : [[tip.lane.lane, tip.lane.end]])
  // HEAD is known already, and no announced id when a state update of this append hangs on it.
  const spots = new Map(tip.head === null ? [] : [[tip.head.id, tip.head]])
  return { lookup, live, added: [], opened: new Map(), ends, spots, tip }
}

/** Adds the next fact at the end of the log (design D7, D8, D15, D16); the same rules as `place` and `headAfter` of the log. */
export function placeNext(draft: Draft, fact: Fact): StoredEvent {
  const { lookup, live, tip } = draft
  const { conversationId } = lookup
  const seq = tip.version
  const event = isQuarantined(fact) ? null : fact
  const id = fact.id ?? (event === null ? null : deriveEventId(conversationId, seq, event))
  // A live fact is new here, or it would have been recognised.
  const stands = id !== null && (live || find(draft, id) === undefined)
  const parent = stands ? parentOf(draft, fact) : null
  const time = timeOf(event, lookup.timeZone) ?? tip.time
  const clock = seq === 0 || time > tip.clock ? time : tip.clock
  const body = live && event !== null ? stampedBody(event, tip.head?.id ?? null, seq === 0) : fact
  const stored: StoredEvent = Object.freeze({
    conversationId,
    seq,
    id,
    fact: body,
    parentId: parent?.id ?? null,
    stands,
    time,
  })
  const spot = stands ? spotOf(draft, stored, id, parent, clock) : null
  const head = spot === null ? tip.head : headAfter(draft, event, spot)
  const lane = spot?.real === true ? { lane: spot.lane, end: seq } : tip.lane
  if (spot !== null) draft.spots.set(spot.id, spot)
  draft.added.push({ event: stored, spot })
  draft.tip = { version: seq + 1, head, time, clock, lane }
  return stored
}

/** The lanes that stood before and are left with another last entry; the one appended to last is in the tip. */
export function leftLanes(draft: Draft): LaneEnd[] {
  return [...draft.ends]
    .filter(([lane]) => !draft.opened.has(lane) && lane !== draft.tip.lane?.lane)
    .map(([lane, end]) => ({ lane, end }))
}

function find(draft: Draft, id: string): Spot | undefined {
  // No database is asked for a text that it would change on the way in, and then find something else.
  return draft.spots.get(id) ?? (isLegalId(id) ? draft.lookup.find(id) : undefined)
}

function parentOf(draft: Draft, fact: Fact): Spot | null {
  const asked = fact.parent_id ?? null
  if (asked === null) return draft.tip.head
  if (asked === ROOT) return null
  const found = find(draft, asked)
  if (found !== undefined || !draft.live) return found ?? draft.tip.head
  throw new ColloquyError(
    'unknown_parent',
    `The parent ${quote(asked)} does not stand in the log; append it first, or name no parent to go on from HEAD.`,
    { conversationId: draft.lookup.conversationId, id: fact.id, parentId: asked },
  )
}

function timeOf(event: Event | null, timeZone: string | null): bigint | undefined {
  return event?.timestamp === undefined ? undefined : instantIn(event.timestamp, timeZone)
}

function spotOf(draft: Draft, stored: StoredEvent, id: string, parent: Spot | null, clock: bigint): Spot {
  const { seq, parentId, fact } = stored
  const kind = isQuarantined(fact) ? fact.event_kind : fact.kind
  const real = kind !== 'ConversationStateUpdateEvent'
  const endOf = (spot: Spot): number => draft.ends.get(spot.lane) ?? draft.lookup.laneEnd(spot.lane)
  const lane = laneOf(seq, real, parent, endOf)
  if (lane === seq) {
    const from = parent === null ? null : { lane: parent.lane, seq: parent.seq, clock: parent.clock }
    draft.opened.set(lane, { lane, parent: from, end: seq })
  } else {
    const opened = draft.opened.get(lane)
    if (opened !== undefined) draft.opened.set(lane, { ...opened, end: seq })
  }
  draft.ends.set(lane, seq)
  return { seq, id, parentId, real, lane, clock }
}

function headAfter(draft: Draft, event: Event | null, spot: Spot): Spot | null {
  const { head } = draft.tip
  if (spot.real) return spot
  if (event?.kind !== 'ConversationStateUpdateEvent' || event.key !== 'leaf_event_id') return head
  if (event.value === null) return null
  const target = typeof event.value === 'string' ? find(draft, event.value) : undefined
  if (target !== undefined) return anchorOf(draft, target)
  if (!draft.live) return head
  throw new ColloquyError(
    'unknown_event',
    `HEAD cannot go to ${typeof event.value === 'string' ? quote(event.value) : 'a value that is no id'}: no such event stands in the log.`,
    { conversationId: draft.lookup.conversationId, id: event.value },
  )
}

/** The entry that HEAD means when it is sent to this one: itself, or the nearest real one above (design D7). */
function anchorOf(draft: Draft, target: Spot): Spot | null {
  let spot: Spot | undefined = target
  while (spot !== undefined && !spot.real)
    spot = spot.parentId === null ? undefined : find(draft, spot.parentId)
  return spot ?? null
}

/** Text of unknown origin, short enough for a message. */
const quote = (text: string): string => {
  const shown = JSON.stringify(text)
  return shown.length > 80 ? `${shown.slice(0, 76)}…"` : shown
}
