/** M21: requests that continue earlier ones. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { hostileLog, legalLog } from '../src/testing/index.ts'
import { checkCached, checkVisits, type Visit } from './checks/request-cache.ts'
import { always, COSTLY_RUNS, RUNS } from './run.ts'
import { Tally } from './tally.ts'
import { type WireGrammar, WIRES } from './wire/reply.ts'

/** Shared, because creating an arbitrary of logs costs more than a draw. */
const logs = hostileLog()

describe('M21, requests with a cache', () => {
  it.each(Object.keys(WIRES) as WireGrammar[])(
    '%s: requests of a growing log equal those written without a cache',
    (grammar) => {
      const tally = new Tally<'shared'>()
      const check = ([facts, stride]: [Parameters<typeof checkCached>[0], number]): void =>
        tally.count(checkCached(facts, grammar, stride) ? ['shared'] : [])
      always(fc.tuple(logs, fc.integer({ min: 1, max: 4 })), check, COSTLY_RUNS)
      always(fc.tuple(legalLog(), fc.integer({ min: 1, max: 4 })), check, RUNS / 10)
      tally.require(['shared'])
    },
  )

  it.each(Object.keys(WIRES) as WireGrammar[])(
    '%s: requests of states in any order equal those written without a cache',
    (grammar) => {
      const tally = new Tally<'shared'>()
      const visit: fc.Arbitrary<Visit> = fc.record({
        position: fc.nat({ max: 20 }).map((step) => step / 20),
        mode: fc.constantFrom(0, 0, 0, 0, 2, 3),
        model: fc.constantFrom('any', 'any', 'any', 'other'),
        cut: fc.constantFrom(0, 0, 1, 2, 3),
      })
      const visits = fc.array(visit, { minLength: 6, maxLength: 16 })
      const check = ([facts, all]: [Parameters<typeof checkVisits>[0], Visit[]]): void =>
        tally.count(checkVisits(facts, grammar, all) ? ['shared'] : [])
      always(fc.tuple(logs, visits), check, COSTLY_RUNS)
      always(fc.tuple(legalLog(), visits), check, RUNS / 10)
      tally.require(['shared'])
    },
  )
})
