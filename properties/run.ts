/** Runs a law on arbitrary values: as often as `COLLOQUY_RUNS` says. A failure names the seed that finds it again. */

import * as fc from 'fast-check'
import type { Fact } from '../src/event/quarantine.ts'
import type { Event } from '../src/event/types.ts'
import { hostileLog, legalLog } from '../src/testing/index.ts'
import { count } from './counts.ts'

/** How many values each property is tried on; the night tries many more. */
export const RUNS = Number(process.env['COLLOQUY_RUNS'] ?? 200)

/** Holds a check against arbitrary values. @throws Error with the smallest value found, and the seed that finds it again. */
export function always<T>(arbitrary: fc.Arbitrary<T>, check: (value: T) => void, runs = RUNS): void {
  let [values, events] = [0, 0]
  const property = fc.property(arbitrary, (value) => {
    values += 1
    if (Array.isArray(value)) events += value.length
    check(value)
  })
  try {
    fc.assert(property, { numRuns: Math.max(1, Math.round(runs)) })
  } finally {
    count({ values, events })
  }
}

/** Holds a check against legal logs: a quarter as many, since they are more alike. @throws as `always` does. */
export function alwaysOnLegal(check: (events: readonly Event[]) => void): void {
  always(legalLog(), check, RUNS / 4)
}

/** Holds a check against hostile logs, and some legal ones. @throws as `always` does. */
export function alwaysOnLogs(check: (facts: readonly Fact[]) => void): void {
  always(hostileLog(), check)
  alwaysOnLegal(check)
}
