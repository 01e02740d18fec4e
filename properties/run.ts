/** Checks laws on generated values. A failure prints the command that replays it. */

import * as fc from 'fast-check'
import type { Fact } from '../src/event/quarantine.ts'
import type { Event } from '../src/event/types.ts'
import { hostileLog, legalLog } from '../src/testing/index.ts'
import { count } from './counts.ts'

/** Values per property. `npm run test:night` uses many more. */
export const RUNS = Number(process.env['COLLOQUY_RUNS'] ?? 100)
/** Values per property whose check takes over 10 ms. */
export const COSTLY_RUNS = Math.ceil(RUNS / 4)
const IS_REPLAY = process.env['COLLOQUY_PATH'] !== undefined

/** @throws Error with the law, the minimal counterexample, its seed and its path */
export function always<T>(arbitrary: fc.Arbitrary<T>, check: (value: T) => void, runs = RUNS): void {
  let [values, events] = [0, 0]
  const property = fc.property(arbitrary, (value) => {
    values += 1
    if (Array.isArray(value)) events += value.length
    check(value)
  })
  try {
    fc.assert(property, { numRuns: IS_REPLAY ? 1 : Math.max(1, Math.round(runs)) })
  } catch (error) {
    // Other properties of the same test cannot replay this path.
    if (!IS_REPLAY || !String(error).includes('Unable to replay')) throw error
  } finally {
    count({ values, events })
  }
}

/** Legal logs are more alike, so a quarter as many are enough. @throws as `always` does */
export function alwaysOnLegal(check: (events: readonly Event[]) => void): void {
  always(legalLog(), check, RUNS / 4)
}

export function alwaysOnLogs(check: (facts: readonly Fact[]) => void): void {
  always(hostileLog(), check)
  alwaysOnLegal(check)
}
