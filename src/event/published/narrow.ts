/** An open action or observation goes in, and comes out typed when it is of the published kind asked for. */

import type { Action, Observation } from '../shapes.ts'
import type { ActionOf, PublishedAction } from './actions.ts'
import type { ObservationOf, PublishedObservation } from './observations.ts'

/**
 * Whether an action of a decoded event is of a published kind. Decoding has checked that it then has that kind's
 * fields. O(1).
 *
 * @example
 * const action = { kind: 'TerminalAction', command: 'ls' }
 * isAction(action, 'TerminalAction') && action.command // 'ls'
 */
export function isAction<K extends PublishedAction['kind']>(
  action: Action | null | undefined,
  kind: K,
): action is ActionOf<K> {
  return action?.kind === kind
}

/**
 * Whether an observation of a decoded event is of a published kind. Decoding has checked that it then has that
 * kind's fields. O(1).
 *
 * @example
 * const observation = { kind: 'TerminalObservation', exit_code: 1 }
 * isObservation(observation, 'TerminalObservation') && observation.exit_code // 1
 */
export function isObservation<K extends PublishedObservation['kind']>(
  observation: Observation | null | undefined,
  kind: K,
): observation is ObservationOf<K> {
  return observation?.kind === kind
}
