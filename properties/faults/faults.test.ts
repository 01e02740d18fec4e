/**
 * Tests the laws: each of many small deliberate faults in src/ must break at least one. A run
 * plays every sixth of the list, which is some of each folder and always the same; `COLLOQUY_FAULTS=all`, and the night,
 * play all.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAULTS } from './list.ts'
import { type Bench, mutated, openBench } from './runner.ts'

/** How many children run at a time. */
const AT_ONCE = 2

const ONE_IN = process.env['COLLOQUY_FAULTS'] === 'all' ? 1 : 6
const PLAYED = FAULTS.filter((_, index) => index % ONE_IN === 0)

describe('deliberate faults', () => {
  let bench: Bench
  let sound: Promise<string[]>
  const verdicts = new Map<string, Promise<string>>()

  beforeAll(async () => {
    bench = openBench(AT_ONCE)
    sound = Promise.all([
      bench.verdict(0, undefined, 'child.ts'),
      bench.verdict(1, undefined, 'execution-child.ts'),
      bench.verdict(0, undefined, 'loops-child.ts'),
      bench.verdict(1, undefined, 'redaction-child.ts'),
      bench.verdict(0, undefined, 'readers-child.ts'),
    ])
    await sound.catch(() => undefined)
    const waiting = [...PLAYED]
    const workers = Array.from({ length: AT_ONCE }, async (_, copy) => {
      for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
        const verdict = bench.verdict(copy, fault)
        verdicts.set(fault.name, verdict)
        // What went wrong is told by the test of this fault.
        await verdict.catch(() => undefined)
      }
    })
    await Promise.all(workers)
  }, 7_200_000)

  afterAll(() => bench.close())

  it('there are enough of them, each with a name of its own', () => {
    expect(FAULTS.length).toBeGreaterThanOrEqual(32)
    expect(new Set(FAULTS.map((fault) => fault.name)).size).toBe(FAULTS.length)
    expect(PLAYED.length).toBeGreaterThanOrEqual(32)
  })

  it('each changes a text that stands once in its file', () => {
    for (const fault of FAULTS) expect(mutated(fault)).not.toBe('')
  })

  it('without a fault all laws hold', async () => {
    expect(await sound).toEqual(Array.from({ length: 5 }, () => 'all laws hold'))
  })

  it.each(PLAYED)('$file: $name', async ({ name }) => {
    expect(await verdicts.get(name)).toMatch(/^[RTPVMOEXIKLB]\d+: /)
  })
})
