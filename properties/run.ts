/** Runs a law on arbitrary values: as often as `COLLOQUY_RUNS` says, with the seed in the message when it fails. */

import * as fc from 'fast-check'

/** How many values each property is tried on. */
export const RUNS = Number(process.env['COLLOQUY_RUNS'] ?? 1000)

/** Holds a check against arbitrary values. @throws Error with the smallest value found, and the seed that finds it again. */
export function always<T>(arbitrary: fc.Arbitrary<T>, check: (value: T) => void, runs = RUNS): void {
  const property = fc.property(arbitrary, (value) => check(value))
  fc.assert(property, { numRuns: Math.max(1, Math.round(runs)) })
}
