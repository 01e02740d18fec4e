/** O1 to O3: what users see. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Fact } from '../src/event/quarantine.ts'
import { GRANT_KEYS } from '../src/state/call-status.ts'
import { hostileLog, legalLog } from '../src/testing/index.ts'
import { backgroundLog } from './background-log.ts'
import { checkTimeline } from './checks/timeline.ts'
import { checkUIChunks } from './checks/ui-chunks.ts'
import { checkUIMessages } from './checks/ui-messages.ts'
import { always, alwaysOnLegal, COSTLY_RUNS, RUNS } from './run.ts'
import { Tally } from './tally.ts'

/** Ends with a decision on each call. */
const settled = fc
  .tuple(hostileLog(), fc.constantFrom(...Object.values(GRANT_KEYS)))
  .map(([facts, key]): Fact[] => {
    const value = facts.flatMap(({ id }) => id ?? [])
    return [...facts, { kind: 'ConversationStateUpdateEvent', source: 'environment', key, value }]
  })

describe('O, timeline and AI SDK messages', () => {
  it('O1 holds on hostile and legal logs', () => {
    const tally = new Tally<string>()
    const check = (facts: readonly Fact[]): void => {
      const met = new Set<string>()
      checkTimeline(facts, (situation) => met.add(situation))
      tally.count(met)
    }
    always(settled, check, COSTLY_RUNS)
    alwaysOnLegal(check)
    const statuses = ['pending', 'waiting', 'approved', 'held', 'started', 'completed', 'failed', 'rejected']
    tally.require([...statuses, 'forgotten', 'evicted', 'evicted and whole'])
    always(backgroundLog(), check, COSTLY_RUNS)
    tally.require(['working', 'progress', 'latest progress'])
  })

  it('O2 holds on hostile and legal logs', () => {
    const tally = new Tally<string>()
    const check = (facts: readonly Fact[]): void => {
      const met = new Set<string>()
      checkUIMessages(facts, (situation) => met.add(situation))
      tally.count(met)
    }
    always(settled, check, COSTLY_RUNS)
    alwaysOnLegal(check)
    tally.require(['reply in an earlier turn'])
    always(backgroundLog(), check, COSTLY_RUNS)
    tally.require(['works', 'works with progress', 'progress in a later turn'])
    tally.require(['done', 'failed', 'cancelled', 'lost'])
  })

  it('O3 holds on hostile and legal logs', async () => {
    const tally = new Tally<string>()
    const property = (log: fc.Arbitrary<readonly Fact[]>) =>
      fc.asyncProperty(log, fc.array(fc.string(), { maxLength: 3 }), async (facts, deltas) => {
        const met = new Set<string>()
        await checkUIChunks(facts, deltas, (situation) => met.add(situation))
        tally.count(met)
      })
    const log = fc.oneof({ arbitrary: settled, weight: 1 }, { arbitrary: legalLog(), weight: 1 })
    await fc.assert(property(log), { numRuns: Math.max(1, Math.round(RUNS / 6)) })
    await fc.assert(property(backgroundLog()), { numRuns: Math.max(1, Math.round(RUNS / 2)) })
    tally.require([
      'a whole reply',
      'a step removed',
      'streamed text',
      'preliminary output',
      'progress replaced',
    ])
  })
})
