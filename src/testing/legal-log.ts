/**
 * Legal logs: what a correct agent server writes, from first prompt to final reply, with all the turns a run can take.
 */

import type * as fc from 'fast-check'
import type { Event } from '../event/types.ts'
import { type LegalLength, legalPlan } from './legal-commands.ts'
import { writeLegalLog } from './legal-writer.ts'

/**
 * Any log that a correct server may have written when it stopped, be it in the middle of a run: parallel calls, results
 * of every form in any order, confirmation, rejection, pauses, errors, condensation between cut points, navigation and
 * branches. Replay has no warning of it. All events have an id and a timestamp; their parents are stamped in all of
 * them or in none.
 * @example
 * fc.assert(fc.property(legalLog(), events => listWarnings(replay(events)).length === 0))
 */
export function legalLog(length: LegalLength = {}): fc.Arbitrary<readonly Event[]> {
  return legalPlan(length).map(writeLegalLog)
}
