/** Applies a Condensation: whole units leave the view, and its summary takes their place (U6). */

import { hasText } from '../event/text.ts'
import type { Condensation, CondensationSummaryEvent } from '../event/types.ts'
import type { EventEntry } from '../log/entry.ts'
import { work } from '../log/work.ts'
import { stretchStarts } from './stretches.ts'
import { eventCount, isPending, type MessageUnit, type Unit } from './unit.ts'
import type { View } from './view.ts'

/**
 * The view after a condensation: whole units and whole stretches go, at most one summary comes. Ids that are not
 * in the view are ignored. O(view + listed ids).
 */
export function condense(view: View, entry: EventEntry<Condensation>): View {
  const { event } = entry
  const listed = new Set(event.forgotten_event_ids ?? [])
  const offset = event.summary_offset ?? null
  const inserts = offset !== null && hasText(event.summary)
  if (listed.size === 0 && !inserts) return { ...view, unhandledCondensationRequest: false }

  const units = [...view.units]
  const starts = stretchStarts(units)
  const hits = units.map((unit) => (listed.size > 0 ? countListed(unit, listed) : 0))
  const gone = forgotten(hits, starts)
  const place = inserts ? summaryPlace(units, starts, hits, offset) : -1
  work.units += units.length

  const first = Math.min(...[gone.indexOf(true), place, units.length].filter((index) => index >= 0))
  let kept = view.units.prefix(first)
  let length = view.length
  for (let index = first; index <= units.length; index += 1) {
    if (index === place) {
      kept = kept.push(summaryUnit(entry, kept.last()))
      length += 1
    }
    const unit = units[index]
    if (unit === undefined) break
    if (gone[index] === true) length -= eventCount(unit)
    else kept = kept.push(unit)
  }
  return { units: kept, length, unhandledCondensationRequest: false }
}

/** Which units go: those that hold a listed id, and with each its whole stretch. */
function forgotten(hits: readonly number[], starts: Int32Array): boolean[] {
  const gone = new Set(starts.filter((_, index) => (hits[index] ?? 0) > 0))
  return hits.map((_, index) => gone.has(starts[index] ?? -1))
}

/** How many of a unit's events are listed. Without an iterator: every unit of the view is asked. */
function countListed(unit: Unit, listed: ReadonlySet<string>): number {
  if (unit.type === 'message') return listed.has(unit.item.id) ? 1 : 0
  const { calls, results } = unit
  let count = 0
  for (let at = 0; at < calls.length; at += 1) if (listed.has(calls.get(at)?.id ?? '')) count += 1
  for (let at = 0; at < results.length; at += 1) if (listed.has(results.get(at)?.entry.id ?? '')) count += 1
  return count
}

/**
 * Index of the unit that the summary goes before. The offset counts view events without the listed ids; inside a unit
 * or a stretch it moves to the end, beyond the view to the view's end, and at a pending batch it stays before it.
 */
function summaryPlace(
  units: readonly Unit[],
  starts: Int32Array,
  hits: readonly number[],
  offset: number,
): number {
  const left = units.map((unit, index) => (isPending(unit) ? 0 : eventCount(unit) - (hits[index] ?? 0)))
  const wanted = Math.min(
    offset,
    left.reduce((sum, count) => sum + count, 0),
  )
  let at = 0
  for (const [index, count] of left.entries()) {
    if (at >= wanted && starts[index] === index) return index
    at += count
  }
  return units.length
}

/** The unit of a condensation's summary: its id, time and source are derived, so that every fold gives the same. */
function summaryUnit(entry: EventEntry<Condensation>, before: Unit | undefined): MessageUnit {
  const event: CondensationSummaryEvent = {
    id: summaryId(entry.id),
    ...(entry.timestamp === null ? {} : { timestamp: entry.timestamp }),
    source: entry.event.source ?? 'environment',
    summary: entry.event.summary ?? '',
    kind: 'CondensationSummaryEvent',
  }
  return {
    type: 'message',
    rank: before?.rank ?? -1,
    first: before?.first ?? -1,
    item: Object.freeze({ id: summaryId(entry.id), event: Object.freeze(event) }),
  }
}

/**
 * The id of the summary that a condensation puts into the view.
 * @example
 * summaryId('c1') // 'c1-summary'
 */
export const summaryId = (condensationId: string): string => `${condensationId}-summary`
