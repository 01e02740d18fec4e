/** Follows rule U6 literally to compute the units after a condensation. */

import type { Condensation, CondensationSummaryEvent } from '../../src/event/types.ts'
import type { Note } from './notes.ts'
import {
  itemsOf,
  type Item,
  joinReason,
  hasPendingCall,
  visibleItems,
  type Unit,
  stretchesOf,
} from './unit.ts'
import { isBlank } from '../../src/messages/rules.ts'

/** A condensation with the id and timestamp from the log. */
export interface PlacedCondensation {
  readonly id: string
  readonly timestamp: string | null
  readonly event: Condensation
}

export function condense(units: readonly Unit[], placed: PlacedCondensation, note: Note): Unit[] {
  const listed = placed.event.forgotten_event_ids ?? []
  const stretches = stretchesOf(units)
  const hits = units.map((unit) => itemsOf(unit).some((item) => listed.includes(item.id)))
  const removed = units.map((_, index) => stretches.some((name, j) => name === stretches[index] && hits[j]))
  noteCuts(units, stretches, hits, listed, note)

  // The summary follows unit `after`, an index before any unit is removed; -1 is the front.
  const summary = summaryOf(placed)
  const after = summary === null ? null : insertionIndex(units, stretches, listed, placed.event, note)
  const out: Unit[] = []
  const put = (item: Item) => out.push({ type: 'message', rank: out.at(-1)?.rank ?? -1, item })
  if (summary !== null && after === -1) put(summary)
  for (const [index, unit] of units.entries()) {
    if (!removed[index]) out.push(unit)
    if (summary !== null && after === index) put(summary)
  }
  return out
}

/** Null without an offset or with a blank text. */
function summaryOf({ id, timestamp, event }: PlacedCondensation): Item | null {
  if ((event.summary_offset ?? null) === null || isBlank(event.summary ?? '')) return null
  const summary: CondensationSummaryEvent = {
    kind: 'CondensationSummaryEvent',
    id: `${id}-summary`,
    ...(timestamp === null ? {} : { timestamp }),
    source: event.source ?? 'environment',
    summary: event.summary ?? '',
  }
  return { id: `${id}-summary`, position: null, event: summary }
}

/**
 * Index of the unit right before the summary, so that a pending batch at the edge of its stretch follows
 * it.
 */
function insertionIndex(
  units: readonly Unit[],
  stretches: readonly number[],
  listed: readonly string[],
  event: Condensation,
  note: Note,
): number {
  const remaining: { readonly item: Item; readonly unit: number }[] = []
  for (const [unit, each] of units.entries()) {
    for (const item of visibleItems(each)) if (!listed.includes(item.id)) remaining.push({ item, unit })
  }
  const requested = event.summary_offset ?? 0
  if (requested > remaining.length) note('offset_beyond')
  let offset = Math.min(requested, remaining.length)
  const nameAt = (index: number) => stretches[remaining[index]?.unit ?? -1]
  while (offset > 0 && offset < remaining.length && nameAt(offset - 1) === nameAt(offset)) {
    note('offset_inside')
    offset += 1
  }
  let after = remaining[offset - 1]?.unit ?? -1
  while (after >= 0 && stretches[after + 1] === stretches[after]) after += 1
  const next = units[after + 1]
  if (next !== undefined && hasPendingCall(next)) note('offset_at_pending')
  return after
}

function noteCuts(
  units: readonly Unit[],
  stretches: readonly number[],
  hits: readonly boolean[],
  listed: readonly string[],
  note: Note,
): void {
  for (const [index, unit] of units.entries()) {
    if (!hits[index]) continue
    if (!itemsOf(unit).every((item) => listed.includes(item.id))) note('batch_cut')
    if (hasPendingCall(unit)) note('pending_forgotten')
    for (const j of stretches.keys()) {
      if (stretches[j] !== stretches[index] || hits[j]) continue
      const parts = units.flatMap((_, k) => (stretches[k] === stretches[index] ? [joinReason(units, k)] : []))
      note(parts.includes('reply') ? 'paused_cut' : 'loop_cut')
    }
    if (unit.type === 'message' && unit.item.position === null) note('summary_forgotten')
  }
}
