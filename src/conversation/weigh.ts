/** A state goes in, roughly the bytes that it takes in memory come out. */

import type { State } from '../state/state.ts'

/** How many entries are looked at. */
const SAMPLE = 32
/** What an entry takes beside its body, with the moment that is kept at it. */
const PER_MOMENT = 1_000
/** What an entry takes of which only the skeleton is known. */
const PER_SKELETON = 150

/** Bytes, reckoned from the bodies of a few entries evenly spread over the log. O(1). */
export function weigh({ log: { entries } }: State): number {
  const { length } = entries
  const step = Math.max(1, Math.floor(length / SAMPLE))
  let sum = 0
  let count = 0
  for (let at = length - 1; at >= 0; at -= step) {
    const fact = entries.get(at)?.event ?? entries.get(at)?.quarantined ?? null
    sum += fact === null ? PER_SKELETON : PER_MOMENT + 2 * JSON.stringify(fact).length
    count += 1
  }
  return count === 0 ? PER_MOMENT : Math.ceil((sum / count) * length)
}
