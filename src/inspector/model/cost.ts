/** What a conversation took: tokens and cost by model and by use, with those that it started. */

import { type Usage, usageOfEvents } from '../../context/usage.ts'
import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import type { LogDocument } from '../log-document.ts'
import type { Replayed } from './replayed.ts'

/** What the first so many facts say was spent. O(facts). */
export function usageAt({ states }: Replayed, place: number): Usage {
  const entries = states.at(-1)?.log.entries.slice(0, place) ?? []
  return usageOfEvents(entries.flatMap(({ event, inTree }) => (event === null || !inTree ? [] : [event])))
}

/** What a whole log says was spent; of an id that stands twice the first event counts, as in the tree. O(facts). */
export function usageIn({ facts }: LogDocument): Usage {
  const seen = new Set<string>()
  return usageOfEvents(facts.filter((fact): fact is Event => isFirst(fact, seen) && !isQuarantined(fact)))
}

/** Whether no fact before has the id of this one. */
function isFirst({ id }: Fact, seen: Set<string>): boolean {
  if (id === undefined || id === null) return true
  const { size } = seen
  return seen.add(id).size > size
}

/** The indices of the logs that one of a list has started, and of those that these have. O(logs · depth). */
export function startedBy(
  index: number,
  titles: readonly Pick<LogDocument, 'name' | 'parent'>[],
): readonly number[] {
  const found = new Set<number>()
  const names = new Set([titles[index]?.name])
  for (let before = -1; before !== found.size;) {
    before = found.size
    for (const [at, { name, parent }] of titles.entries()) {
      if (at === index || parent === null || !names.has(parent)) continue
      found.add(at)
      names.add(name)
    }
  }
  return [...found]
}
