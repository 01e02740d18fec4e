/** Finds the condensation that took something out of the view, and what of its list did so (U5, U6). */

import { quote } from '../event/text.ts'
import type { Entry } from '../log/entry.ts'
import type { Branch } from '../state/branch.ts'
import { branchOf, type Checkpoint } from '../state/state.ts'
import { stretchStarts } from '../view/stretches.ts'
import { eventCount, isPending, type Unit, unitEvents } from '../view/unit.ts'
import type { Reason, VerdictCode } from './explanation.ts'
import { callsOfReplies, firstWhere, pathBetween, repliesOf, resultOf } from './path.ts'
import { findUnit, type Subject } from './subject.ts'

interface TakenOut {
  readonly by: Checkpoint
  /** The unit, and the branch before it was removed. */
  readonly unit: Unit
  readonly branch: Branch
  readonly verdict: Reason<VerdictCode>
}

/**
 * What took a subject out of the view that once had it, on the path down to an entry; null while it is there. O(path +
 * view · log path).
 */
export function takenOut(subject: Subject, below: Entry): TakenOut | null {
  const path = pathBetween(subject.entry, below)
  const by = firstWhere(path, ({ branch }) => findUnit(branch.view, subject) === undefined)
  if (by === undefined) return null
  const branch = branchOf(by.parent)
  const unit = findUnit(branch.view, subject)
  return unit === undefined ? null : { by, unit, branch, verdict: verdictFor(subject, by, branch, unit) }
}

function verdictFor({ id }: Subject, by: Checkpoint, { view }: Branch, unit: Unit): Reason<VerdictCode> {
  const { event } = by
  const listed = new Set(event?.kind === 'Condensation' ? event.forgotten_event_ids : [])
  const who = `the condensation ${quote(by.id)}`
  const said = (code: VerdictCode, rule: string, text: string, ids: readonly string[]) => ({
    code,
    rule,
    law: null,
    text,
    ids: [...ids, ...(by.id === null ? [] : [by.id])],
  })
  if (id !== null && listed.has(id)) return said('condensed', 'U6', `${who} lists it`, [])
  const listedIn = (one: Unit): string[] =>
    Array.from(unitEvents(one), (item) => item.id).filter((each) => listed.has(each))
  const own = listedIn(unit)
  if (own.length > 0) {
    const text = `${who} lists ${quote(own[0] ?? null)}, which is of the same batch`
    return said('condensed_with_batch', 'U2', text, own)
  }
  const mates = stretchOf([...view.units], unit).flatMap(listedIn)
  const text = `${who} lists ${quote(mates[0] ?? null)}, without which a provider does not accept it`
  return said('condensed_with_stretch', 'U5', text, mates)
}

/** The units that an event removed from the view, in their order. O(units). */
export function unitsGone({ branch, parent }: Checkpoint): Unit[] {
  const left = new Set<Unit>(branch.view.units)
  return [...branchOf(parent).view.units].filter((unit) => !left.has(unit))
}

/** What a condensation removed from the view: whole units, without pending ones. O(view). */
export const unitsTakenOut = (entry: Checkpoint): Unit[] =>
  unitsGone(entry).filter((unit) => !isPending(unit))

export const eventsIn = (units: readonly Unit[]): number =>
  units.reduce((sum, unit) => sum + eventCount(unit), 0)

/**
 * Whether the view at an entry would have what was taken out, but for the condensation that did so: no later one takes
 * it, and all its calls have their results. O(path + view).
 */
export function wouldBeShown({ by, unit, branch }: TakenOut, below: Entry): boolean {
  const calls = unit.type === 'batch' ? [...unit.calls] : []
  const results = calls.map((call) => resultOf(call, below))
  if (results.includes(null)) return false
  const stretch = stretchOf([...branch.view.units], unit)
  const path = pathBetween(by, below).slice(1)
  // Calls that began a batch of their own may have joined it.
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

/** The units that are forgotten with a unit, including itself. O(units). */
export function stretchOf(units: readonly Unit[], unit: Unit): readonly Unit[] {
  const starts = stretchStarts(units)
  const start = starts[units.indexOf(unit)]
  return units.filter((_, index) => starts[index] === start)
}
