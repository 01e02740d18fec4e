/** U6, literally: computes the units after a condensation. */

import type { Condensation, CondensationSummaryEvent } from '../../src/event/types.ts'
import type { Note } from './notes.ts'
import { current, type Item, joined, pending, shown, type Unit, wholes } from './unit.ts'
import { isBlank } from '../../src/messages/rules.ts'

/** A condensation with the id and timestamp from the log. */
export interface PlacedCondensation {
  readonly id: string
  readonly timestamp: string | null
  readonly event: Condensation
}

export function condensed(units: readonly Unit[], placed: PlacedCondensation, note: Note): Unit[] {
  const listed = placed.event.forgotten_event_ids ?? []
  const names = wholes(units)
  const hit = units.map((unit) => current(unit).some((item) => listed.includes(item.id)))
  const gone = units.map((_, index) => names.some((name, j) => name === names[index] && hit[j]))
  noteCuts(units, names, hit, listed, note)

  // The summary follows unit `after`; -1 is the front. Found before any unit is removed.
  const summary = summaryOf(placed)
  const after = summary === null ? null : placeAfter(units, names, listed, placed.event, note)
  const out: Unit[] = []
  const put = (item: Item) => out.push({ type: 'message', rank: out.at(-1)?.rank ?? -1, item })
  if (summary !== null && after === -1) put(summary)
  for (const [index, unit] of units.entries()) {
    if (!gone[index]) out.push(unit)
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
function placeAfter(
  units: readonly Unit[],
  names: readonly number[],
  listed: readonly string[],
  event: Condensation,
  note: Note,
): number {
  const remaining: { readonly item: Item; readonly unit: number }[] = []
  for (const [unit, each] of units.entries()) {
    for (const item of shown(each)) if (!listed.includes(item.id)) remaining.push({ item, unit })
  }
  const requests = event.summary_offset ?? 0
  if (requests > remaining.length) note('offset_beyond')
  let offset = Math.min(requests, remaining.length)
  const nameAt = (index: number) => names[remaining[index]?.unit ?? -1]
  while (offset > 0 && offset < remaining.length && nameAt(offset - 1) === nameAt(offset)) {
    note('offset_inside')
    offset += 1
  }
  let after = remaining[offset - 1]?.unit ?? -1
  while (after >= 0 && names[after + 1] === names[after]) after += 1
  const next = units[after + 1]
  if (next !== undefined && pending(next)) note('offset_at_pending')
  return after
}

function noteCuts(
  units: readonly Unit[],
  names: readonly number[],
  hit: readonly boolean[],
  listed: readonly string[],
  note: Note,
): void {
  for (const [index, unit] of units.entries()) {
    if (!hit[index]) continue
    if (!current(unit).every((item) => listed.includes(item.id))) note('batch_cut')
    if (pending(unit)) note('pending_forgotten')
    for (const j of names.keys()) {
      if (names[j] !== names[index] || hit[j]) continue
      const parts = units.flatMap((_, k) => (names[k] === names[index] ? [joined(units, k)] : []))
      note(parts.includes('reply') ? 'paused_cut' : 'loop_cut')
    }
    if (unit.type === 'message' && unit.item.position === null) note('summary_forgotten')
  }
}
