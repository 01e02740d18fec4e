/** Counts in how many runs of a property each hostile situation really occurred, and fails when one hardly ever did. */

import { RUNS } from './run.ts'

/** Below this many runs a share of one in twenty is luck. */
const ENOUGH = 400

/** A count by name. */
export class Tally<S extends string> {
  readonly #counts = new Map<S, number>()
  #runs = 0

  /** One run, and what occurred in it. */
  count(occurred: Iterable<S>): void {
    this.#runs += 1
    for (const name of new Set(occurred)) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }

  /** @throws Error when one of the situations occurred in fewer than one run of twenty. */
  require(situations: readonly S[]): void {
    if (RUNS < ENOUGH) return
    const rare = situations.flatMap((name) => {
      const share = (this.#counts.get(name) ?? 0) / this.#runs
      return share < 1 / 20 ? [`${name} in ${(share * 100).toFixed(1)} % of the runs`] : []
    })
    if (rare.length > 0) throw new Error(`too rare to be tested: ${rare.join(', ')}`)
  }
}
