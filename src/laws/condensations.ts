/** Whether condensations take out just what they list, and put their summary where the view has a border. */

import { hasText, quote } from '../event/text.ts'
import type { Condensation } from '../event/types.ts'
import { stretchStarts } from '../view/stretches.ts'
import { eventCount, isPending, type Unit, unitEvents } from '../view/unit.ts'
import type { LawWatch, LogStep, Report } from './violation.ts'

/** V3 and K1 of each condensation. O(view + listed ids) for one, as much as folding it. */
export function watchCondensations(report: Report): LawWatch {
  return {
    step: (step) => {
      const { event } = step.entry
      if (event.kind === 'Condensation') checkCondensation(step, event, report)
    },
  }
}

function checkCondensation({ above, entry }: LogStep, event: Condensation, report: Report): void {
  const listed = new Set(event.forgotten_event_ids ?? [])
  const units = [...above.view.units]
  const left = new Set<Unit>(entry.branch.view.units)
  let taken = 0
  let first: string | null = null
  for (const unit of units) {
    if (left.has(unit)) continue
    const ids = Array.from(unitEvents(unit), ({ id }) => id)
    if (isPending(unit)) {
      const why = `forgets ${quote(ids[0] ?? '')}, whose calls have not all their results`
      report('K1', entry, `${why}; a correct server condenses what is complete`)
      continue
    }
    const more = ids.filter((id) => !listed.has(id))
    taken += more.length
    first ??= more[0] ?? null
  }
  if (first !== null) {
    const count = taken === 1 ? 'another event is' : `${taken} other events are`
    const what = `lists a part of what goes together, so that ${count} forgotten with it, first ${quote(first)}`
    report('V3', entry, `${what}; a correct server condenses between cut points`)
  } else if ((event.summary_offset ?? null) !== null && hasText(event.summary)) {
    checkOffset(units, listed, event.summary_offset ?? 0, (message) => report('V3', entry, message))
  }
}

/** The offset counts view events without those listed; it is right at a border of stretches. */
function checkOffset(
  units: readonly Unit[],
  listed: ReadonlySet<string>,
  offset: number,
  say: (message: string) => void,
): void {
  const starts = stretchStarts(units)
  let at = 0
  let isBorder = offset === 0
  for (const [index, unit] of units.entries()) {
    if (at === offset && starts[index] === index) isBorder = true
    if (isPending(unit)) continue
    at += eventCount(unit) - Array.from(unitEvents(unit)).filter(({ id }) => listed.has(id)).length
  }
  if (isBorder || offset === at) return
  const where =
    offset > at ? `beyond the ${at} events that are left of the view` : 'inside of a reply or of its thinking'
  say(`its summary_offset ${offset} lies ${where}; a correct server gives a cut point`)
}
