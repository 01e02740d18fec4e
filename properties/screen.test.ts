/** O: what users see. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import type { Fact } from '../src/event/quarantine.ts'
import { GRANT_KEYS } from '../src/state/call-status.ts'
import { hostileLog } from '../src/testing/index.ts'
import { checkTimeline } from './checks/timeline.ts'
import { always, alwaysOnLegal, RUNS } from './run.ts'
import { Tally } from './tally.ts'

/** A log at the end of which something is settled about each call. */
const settled = fc
  .tuple(hostileLog(), fc.constantFrom(...Object.values(GRANT_KEYS)))
  .map(([facts, key]): Fact[] => {
    const value = facts.flatMap(({ id }) => id ?? [])
    return [...facts, { kind: 'ConversationStateUpdateEvent', source: 'environment', key, value }]
  })

describe('O, on the screen', () => {
  it('O1 holds on hostile and legal logs', () => {
    const tally = new Tally<string>()
    const check = (facts: readonly Fact[]): void => {
      const met = new Set<string>()
      checkTimeline(facts, (situation) => met.add(situation))
      tally.count(met)
    }
    always(settled, check, RUNS / 2)
    alwaysOnLegal(check)
    const statuses = ['pending', 'waiting', 'approved', 'held', 'started', 'completed', 'failed', 'rejected']
    tally.require([...statuses, 'forgotten', 'evicted', 'evicted and whole'])
  })
})
