/** Counts in how many runs of a property each hostile situation really occurred, and fails when one hardly ever did. */

import { RUNS } from './run.ts'

/** Below this many runs, from any other seed than that of all, it is luck what occurs. */
const ENOUGH = 1_000
const IS_LUCK = RUNS < ENOUGH && (process.env['COLLOQUY_RUNS'] ?? process.env['COLLOQUY_SEED']) !== undefined

/** One run of so many meets each situation at least. */
const ONE_IN = 40

/** A count by name. */
export class Tally<S extends string> {
  readonly #counts = new Map<S, number>()
  #runs = 0

  /** One run, and what occurred in it. */
  count(occurred: Iterable<S>): void {
    this.#runs += 1
    for (const name of new Set(occurred)) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }

  /** @throws Error when one of the situations occurred in fewer than one run of forty. */
  require(situations: readonly S[]): void {
    if (IS_LUCK) return
    const rare = situations.flatMap((name) => {
      const count = this.#counts.get(name) ?? 0
      return count < this.#runs / ONE_IN ? [`${name} in ${count} of ${this.#runs} runs`] : []
    })
    if (rare.length > 0) throw new Error(`too rare to be tested: ${rare.join(', ')}`)
  }
}
