/** Finds the condensation that removed an event from the view, and the id in its list that caused this (U5, U6). */

import { quote } from '../event/text.ts'
import type { Condensation } from '../event/types.ts'
import type { Entry, EventEntry } from '../log/entry.ts'
import type { Log } from '../log/log.ts'
import { removedUnits as unitsRemoved } from '../view/condense.ts'
import type { Branch } from '../state/branch.ts'
import { branchOf, type Checkpoint } from '../state/state.ts'
import { eventCount, isPending, stretchStarts, type Unit, unitEvents } from '../view/units.ts'
import type { Reason, VerdictCode } from './explanation.ts'
import { callsOfReplies, firstBetween, pathBetween, repliesOf, resultOfCall } from './path.ts'
import { findUnit, type Subject } from './subject.ts'

interface Removal {
  readonly by: Checkpoint
  readonly unit: Unit
  readonly branch: Branch
  readonly verdict: Reason<VerdictCode>
}

/**
 * Finds the condensation on the path to `below` that removed the subject's unit. Returns it with the reason.
 * Null if the unit still exists at `below`, in the view or pending, or if the subject never had a unit.
 */
export function findRemoval(subject: Subject, below: Entry): Removal | null {
  const by = firstBetween(subject.entry, below, ({ branch }) => findUnit(branch.view, subject) === undefined)
  if (by === null) return null
  const branch = branchOf(by.parent)
  const unit = findUnit(branch.view, subject)
  return unit === undefined ? null : { by, unit, branch, verdict: verdictFor(subject, by, branch, unit) }
}

function verdictFor({ id }: Subject, by: Checkpoint, { view }: Branch, unit: Unit): Reason<VerdictCode> {
  const { event } = by
  const ids = event?.kind === 'Condensation' ? (event.forgotten_event_ids ?? []) : []
  const condensation = `the condensation ${quote(by.id)}`
  const removed = (code: VerdictCode, rule: string, text: string, ids: readonly string[]) => ({
    code,
    rule,
    law: null,
    text,
    ids: [...ids, ...(by.id === null ? [] : [by.id])],
  })
  if (id !== null && ids.includes(id)) return removed('condensed', 'U6', `${condensation} lists it`, [])
  const listed = new Set(ids)
  const listedIn = (one: Unit): string[] =>
    Array.from(unitEvents(one), (item) => item.id).filter((each) => listed.has(each))
  const listedIds = listedIn(unit)
  if (listedIds.length > 0) {
    const text = `${condensation} lists ${quote(listedIds[0] ?? null)}, which is in the same batch`
    return removed('condensed_with_batch', 'U2', text, listedIds)
  }
  const mates = stretchOf([...view.units], unit).flatMap(listedIn)
  const text = `${condensation} lists ${quote(mates[0] ?? null)}, without which a provider rejects this event`
  return removed('condensed_with_stretch', 'U5', text, mates)
}

/** Returns the units that a condensation removes; none for another event. Costs as much as folding the condensation. */
export const removedUnits = (entry: Checkpoint, log: Log): Unit[] =>
  entry.event?.kind === 'Condensation'
    ? unitsRemoved(branchOf(entry.parent).view, entry as EventEntry<Condensation>, log)
    : []

export const removedWholeUnits = (entry: Checkpoint, log: Log): Unit[] =>
  removedUnits(entry, log).filter((unit) => !isPending(unit))

export const countIn = (units: readonly Unit[]): number =>
  units.reduce((sum, unit) => sum + eventCount(unit), 0)

/** Whether the unit would be in the view at `below` without this removal. */
export function wouldBeInView({ by, unit, branch }: Removal, below: Entry): boolean {
  const calls = unit.type === 'batch' ? [...unit.calls] : []
  const results = calls.map((call) => resultOfCall(call, below))
  if (results.includes(null)) return false
  const stretch = stretchOf([...branch.view.units], unit)
  const path = pathBetween(by, below).slice(1)
  // Without the removal, later calls of the same reply would have joined this batch.
  const mates = callsOfReplies(repliesOf(stretch), path, below)
  if (mates === null) return false
  return !isListed([...stretch.flatMap((one) => [...unitEvents(one)]), ...results, ...mates], path)
}

export function isListed(
  events: readonly ({ readonly id: string | null } | null)[],
  path: readonly Entry[],
): boolean {
  const ids = new Set(events.map((one) => one?.id))
  return path.some(
    ({ event }) =>
      event?.kind === 'Condensation' && (event.forgotten_event_ids ?? []).some((id) => ids.has(id)),
  )
}

export function stretchOf(units: readonly Unit[], unit: Unit): readonly Unit[] {
  const starts = stretchStarts(units)
  const start = starts[units.indexOf(unit)]
  return units.filter((_, index) => starts[index] === start)
}
