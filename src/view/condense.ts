/** Applies a Condensation: removes whole units from the view and inserts its summary (U6). */

import { firstIndex } from '../event/json.ts'
import { hasText } from '../event/text.ts'
import type { Condensation, CondensationSummaryEvent } from '../event/types.ts'
import { type Entry, type EventEntry, eventKindOf, type UnitOrder } from '../log/entry.ts'
import { findEventIn, type Log } from '../log/log.ts'
import { Vector } from '../log/vector.ts'
import { work } from '../log/work.ts'
import {
  afterFlow,
  eventCount,
  type Flow,
  flowOf,
  hasStart,
  indexAfter,
  indexOfUnit,
  isPending,
  type MessageUnit,
  nextStart,
  stretchBefore,
  type Unit,
  type Units,
} from './units.ts'
import { type View, withUnit } from './view.ts'

interface Range {
  readonly from: number
  readonly to: number
}

interface ResolvedCondensation {
  readonly removed: readonly Range[]
  /** Index of the unit before which the summary is inserted; null without a summary. */
  readonly summaryIndex: number | null
}

/**
 * Plans a condensation: removes whole units and stretches, inserts at most one summary, and ignores ids
 * outside the view. O((k + r) · log n) for k listed ids, r removed units and a log of n entries. Finding a
 * listed summary among s adjacent summaries can be O(s).
 * @param log the log of the view, which may have later entries
 */
export function resolveCondensation(
  { units, length }: View,
  { event }: EventEntry<Condensation>,
  log: Log,
): ResolvedCondensation {
  const hits = listedUnits(units, event.forgotten_event_ids ?? [], log)
  const removed = stretchesOf(units, hits)
  const offset = event.summary_offset ?? null
  const remaining = hits.reduce((sum, { events }) => sum - events, length)
  if (offset === null || !hasText(event.summary)) return { removed, summaryIndex: null }
  return { removed, summaryIndex: nextStart(units, indexAtOffset(units, hits, Math.min(offset, remaining))) }
}

export function condense(view: View, entry: EventEntry<Condensation>, log: Log): View {
  const { removed, summaryIndex } = resolveCondensation(view, entry, log)
  const { units } = view
  let { length } = view
  let stored = Vector.empty<Unit>()
  let from = 0
  for (const range of removed) {
    stored = stored.concat(units.range(from, range.from))
    for (const unit of units.slice(range.from, range.to)) length -= eventCount(unit)
    from = range.to
  }
  stored = stored.concat(units.range(from))
  const condensed = { units: stored, length, unhandledCondensationRequest: false }
  if (summaryIndex === null) return condensed
  const removedBefore = removed.map(({ from, to }) => Math.max(0, Math.min(to, summaryIndex) - from))
  const index = removedBefore.reduce((sum, count) => sum - count, summaryIndex)
  const unit = summaryUnit(entry, stored.get(index - 1), stored.get(index))
  // With this order, a later condensation can find the summary by its id.
  entry.unit = unit
  return withUnit(condensed, unit, index)
}

export const removedUnits = (above: View, entry: EventEntry<Condensation>, log: Log): Unit[] =>
  resolveCondensation(above, entry, log).removed.flatMap(({ from, to }) => above.units.slice(from, to))

interface Hit {
  readonly index: number
  events: number
}

function listedUnits(units: Units, listed: readonly string[], log: Log): readonly Hit[] {
  const hits = new Map<number, Hit>()
  const add = (index: number): void => {
    const unit = units.get(index) as Unit
    const hit = hits.get(index) ?? { index, events: 0 }
    if (!isPending(unit)) hit.events += 1
    hits.set(index, hit)
  }
  for (const id of new Set(listed)) {
    const entry = findEventIn(log, id)
    const index = entry === undefined ? -1 : indexOfEvent(units, entry)
    if (index >= 0) add(index)
    const source = id.endsWith(SUFFIX) ? findEventIn(log, id.slice(0, -SUFFIX.length)) : undefined
    const summary = source === undefined ? -1 : indexOfSummary(units, source)
    if (summary >= 0) add(summary)
  }
  return [...hits.values()].toSorted((a, b) => a.index - b.index)
}

/** Returns the index of the unit that contains an event, or -1. O(log n). */
export function indexOfEvent(units: Units, { unit: order, seq }: Entry): number {
  if (order === null) return -1
  const index = indexOfUnit(units, { rank: order.rank, first: order.first })
  const unit = units.get(index)
  return unit !== undefined && containsEvent(unit, seq) ? index : -1
}

function containsEvent(unit: Unit, seq: number): boolean {
  if (unit.type === 'message') return 'seq' in unit.item && unit.item.seq === seq
  return (
    hasPosition(unit.calls, seq, (call) => call.seq) ||
    hasPosition(unit.results, seq, ({ entry }) => entry.seq)
  )
}

function hasPosition<T>(list: Vector<T>, seq: number, positionOf: (item: T) => number): boolean {
  const first = firstIndex(0, list.length, (index) => {
    work.units += 1
    return positionOf(list.get(index) as T) >= seq
  })
  const item = list.get(first)
  return item !== undefined && positionOf(item) === seq
}

export function indexOfSummary(units: Units, entry: Entry): number {
  if (entry.unit === null || eventKindOf(entry) !== 'Condensation') return -1
  const order: UnitOrder = entry.unit
  // `tie` is halved for each summary, so if many summaries are between two units, some can share an order.
  for (let index = indexOfUnit(units, order); ; index += 1) {
    const unit = units.get(index)
    work.units += 1
    if (
      unit === undefined ||
      unit.rank !== order.rank ||
      unit.first !== order.first ||
      unit.tie !== order.tie
    )
      return -1
    if (unit.type === 'message' && unit.summaryOf === entry.seq) return index
  }
}

/** Returns the stretches that contain the units listed by the condensation. */
function stretchesOf(units: Units, hits: readonly Hit[]): Range[] {
  const ranges: Range[] = []
  const flowAt = (index: number): Flow => flowOf(units.get(index) as Unit)
  let stretch = stretchBefore(units, 0)
  let to = 0
  for (const { index } of hits) {
    if (index < to) continue
    if (index > to) {
      to = index
      stretch = stretchBefore(units, to)
      while (!hasStart(stretch, flowAt(to))) {
        to -= 1
        stretch = stretchBefore(units, to)
      }
    }
    const from = to
    do {
      work.units += 1
      stretch = afterFlow(stretch, flowAt(to))
      to += 1
    } while (to < units.length && !hasStart(stretch, flowAt(to)))
    ranges.push({ from, to })
  }
  return ranges
}

/** Returns the first index after `offset` events of the view, without counting events that the condensation lists. */
function indexAtOffset(units: Units, hits: readonly Hit[], offset: number): number {
  let listed = 0
  for (const { index, events } of hits) {
    const result = indexAfter(units, offset + listed)
    if (result <= index) return result
    listed += events
  }
  return indexAfter(units, offset + listed)
}

/** Creates the summary. The Condensation determines its id, time and source, so all folds create equal summaries. */
function summaryUnit(
  entry: EventEntry<Condensation>,
  before: Unit | undefined,
  next: Unit | undefined,
): MessageUnit {
  const event: CondensationSummaryEvent = {
    id: summaryId(entry.id),
    ...(entry.timestamp === null ? {} : { timestamp: entry.timestamp }),
    source: entry.event.source ?? 'environment',
    summary: entry.event.summary ?? '',
    kind: 'CondensationSummaryEvent',
  }
  const { rank, first, tie = 0 } = before ?? { rank: -1, first: -1 }
  const isCrowded = next !== undefined && next.rank === rank && next.first === first
  const nextTie = isCrowded ? (next.tie ?? 0) : tie + 2
  return {
    type: 'message',
    rank,
    first,
    tie: before === undefined ? nextTie - 1 : (tie + nextTie) / 2,
    summaryOf: entry.seq,
    item: Object.freeze({ id: summaryId(entry.id), event: Object.freeze(event) }),
  }
}

const SUFFIX = '-summary'

export const summaryId = (condensationId: string): string => `${condensationId}${SUFFIX}`
