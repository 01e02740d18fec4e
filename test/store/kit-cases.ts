/** The conformance kit as the tests run it. */

import { RUNS } from '../../properties/run.ts'
import { type ConformanceCase, type ConformanceOptions, storeConformance } from '../../src/testing/index.ts'

/** Returns the whole kit. Outside of night runs its random trials are a fifth, which find each fault of kit.test.ts. */
export function kitCases(options: ConformanceOptions): ConformanceCase[] {
  const whole = storeConformance(options)
  if (RUNS >= 100) return whole
  const quick = new Map(storeConformance({ ...options, size: 'quick' }).map((one) => [one.name, one]))
  return whole.map((one) => quick.get(one.name) ?? one)
}
