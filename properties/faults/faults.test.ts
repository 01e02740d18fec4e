/** Every deliberate fault in src/ must break a law. `npm test` checks a sample. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAULTS } from './list.ts'
import { type Bench, childOf, CHILDREN, mutated, openBench } from './runner.ts'

const ALL = process.env['COLLOQUY_FAULTS'] === 'all'
/** Each copy of the sources is compiled once. */
const AT_ONCE = ALL ? 2 : 1
const ONE_IN = 60
const PLAYED = ALL ? FAULTS : FAULTS.filter((_, index) => index % ONE_IN === 0)
const PLAYED_BY = [...new Set(PLAYED.map(childOf))]

describe('deliberate faults', () => {
  let bench: Bench
  let sound: Promise<string[]>
  const verdicts = new Map<string, Promise<string>>()

  beforeAll(async () => {
    bench = openBench(AT_ONCE)
    sound = Promise.all(PLAYED_BY.map((child, index) => bench.verdict(index % AT_ONCE, undefined, child)))
    await sound.catch(() => undefined)
    const waiting = [...PLAYED]
    const workers = Array.from({ length: AT_ONCE }, async (_, copy) => {
      for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
        const verdict = bench.verdict(copy, fault)
        verdicts.set(fault.name, verdict)
        // The fault's own test reports the failure.
        await verdict.catch(() => undefined)
      }
    })
    await Promise.all(workers)
  }, 7_200_000)

  afterAll(() => bench.close())

  it('there are at least 200, with unique names', () => {
    expect(FAULTS.length).toBeGreaterThanOrEqual(200)
    expect(new Set(FAULTS.map((fault) => fault.name)).size).toBe(FAULTS.length)
    expect(PLAYED.length).toBeGreaterThanOrEqual(3)
  })

  it('each kind of child process checks some of them', () => {
    expect([...new Set(FAULTS.map(childOf))].toSorted()).toEqual(CHILDREN.toSorted())
  })

  it('each replaces a text that occurs exactly once in its file', () => {
    for (const fault of FAULTS) expect(mutated(fault)).not.toBe('')
  })

  it('all laws hold without a fault', async () => {
    expect(await sound).toEqual(PLAYED_BY.map(() => 'all laws hold'))
  })

  it.each(PLAYED)('a law fails if $name ($file)', async ({ name }) => {
    const verdict = await verdicts.get(name)
    expect(verdict).toMatch(/^[RTPVMOEXIKLB]\d+: /)
    // A fault that names something undefined shows nothing about the laws.
    expect(verdict).not.toContain('ReferenceError')
  })
})
