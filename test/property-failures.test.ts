/** A failing property prints its law, the case, and the seed and path that replay it. */

import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { LawBroken, legalLog } from '../src/testing/index.ts'

const failingProperty = fc.property(legalLog(), (facts) => {
  if (facts.length > 3) throw new LawBroken('R4', 'too long')
})

const failureOf = (run: () => void): string => {
  try {
    run()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  throw new Error('nothing failed')
}

it('prints the law, its sentence, the log and the command that replays it', () => {
  const text = failureOf(() => fc.assert(failingProperty, { numRuns: 200 }))
  expect(text).toMatch(/^Broken law R4: .+\n {2}too long\n {2}again: \{ seed: \d+, path: '[\d:]+' \}/)
  // A command appends up to three events at once, so that a log of 4 is not reached from every seed.
  expect([4, 5, 6]).toContain(text.match(/^\{"kind":.*\}$/gm)?.length)
  expect(text).toMatch(
    /replay it: COLLOQUY_SEED=\d+ COLLOQUY_PATH=[\d:]+ npm test -- test\/property-failures\.test\.ts -t 'prints the law/,
  )
  const [, seed, path = ''] = /seed: (\d+), path: '([\d:]+)'/.exec(text) ?? []
  const replayed = failureOf(() => fc.assert(failingProperty, { seed: Number(seed), path, numRuns: 1 }))
  expect(replayed).toBe(text)
})

it('prints a case that is not a log', () => {
  const property = fc.property(fc.integer(), (number) => void expect(number).toBeLessThan(10))
  expect(failureOf(() => fc.assert(property))).toContain('the case: [10]')
})
