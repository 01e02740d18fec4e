/** Fails if a situation occurred in too few runs. */

import { RUNS } from './run.ts'

/** Fewer runs with another seed depend on luck. */
const ENOUGH = 1_000
const IS_LUCK = RUNS < ENOUGH && (process.env['COLLOQUY_RUNS'] ?? process.env['COLLOQUY_SEED']) !== undefined

const ONE_IN = 40

export class Tally<S extends string> {
  readonly #counts = new Map<S, number>()
  #runs = 0

  count(occurred: Iterable<S>): void {
    this.#runs += 1
    for (const name of new Set(occurred)) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }

  /** @throws Error if a situation was rarer than one run in forty */
  require(situations: readonly S[]): void {
    if (IS_LUCK) return
    const rare = situations.flatMap((name) => {
      const count = this.#counts.get(name) ?? 0
      return count < this.#runs / ONE_IN ? [`${name} in ${count} of ${this.#runs} runs`] : []
    })
    if (rare.length > 0) throw new Error(`too rare to be tested: ${rare.join(', ')}`)
  }
}
