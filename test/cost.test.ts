/**
 * The cost of an event does not grow with the log: compares counted work at two lengths. `npm run
 * bench:growth` counts it at 100,000 events.
 */

import { describe, expect, it } from 'vitest'
import { countWork } from '../bench/count.ts'

const LENGTH = 20_000

describe('counted work per event', () => {
  const short = countWork(1_000)
  const long = countWork(LENGTH)

  it.each(Object.keys(short))('is less than 1.5 times as much at 20,000 events as at 1,000: %s', (name) => {
    expect(short[name]).toBeGreaterThan(0)
    expect((long[name] ?? Infinity) / (short[name] ?? 1)).toBeLessThan(1.5)
  })
})
