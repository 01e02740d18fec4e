/**
 * Narrows the open actions and observations to the published types, which their `kind` alone cannot do: the fields
 * decide.
 */

import { isObject } from '../json.ts'
import type { Action, JsonValue, Observation } from '../shapes.ts'
import type { Check } from '../shape-schema.ts'
import type { ActionOf, PublishedAction } from './actions.ts'
import type { ObservationOf, PublishedObservation } from './observations.ts'
import { actionChecks, observationChecks } from './payload-schema.ts'

/**
 * Whether an action is of a published kind and has that kind's fields; one that does not fit is an action all the same,
 * and decodes with a warning (design D14). The fields are checked once for each object. O(1), the first time O(size).
 *
 * @example
 * const action = { kind: 'TerminalAction', command: 'ls' }
 * isAction(action, 'TerminalAction') && action.command // 'ls'
 * isAction({ kind: 'TerminalAction' }, 'TerminalAction') // false
 */
export function isAction<K extends PublishedAction['kind']>(
  action: Action | null | undefined,
  kind: K,
): action is ActionOf<K> {
  return fits(action, kind, actionChecks, ACTIONS)
}

/**
 * Whether an observation is of a published kind and has that kind's fields; one that does not fit is an observation all
 * the same, and decodes with a warning (design D14). The fields are checked once for each object. O(1), the first time
 * O(size).
 *
 * @example
 * const observation = { kind: 'TerminalObservation', exit_code: 1 }
 * isObservation(observation, 'TerminalObservation') && observation.exit_code // 1
 * isObservation({ kind: 'TerminalObservation', exit_code: '1' }, 'TerminalObservation') // false
 */
export function isObservation<K extends PublishedObservation['kind']>(
  observation: Observation | null | undefined,
  kind: K,
): observation is ObservationOf<K> {
  return fits(observation, kind, observationChecks, OBSERVATIONS)
}

/** What was found of each object; events are frozen, so that it stays true. */
const ACTIONS = new WeakMap<object, boolean>()
const OBSERVATIONS = new WeakMap<object, boolean>()

function fits(
  value: Action | Observation | null | undefined,
  kind: string,
  checks: ReadonlyMap<string, Check>,
  known: WeakMap<object, boolean>,
): boolean {
  if (!isObject(value as JsonValue | undefined) || value?.kind !== kind) return false
  const found = known.get(value)
  if (found !== undefined) return found
  const fit = checks.get(kind)?.(value as object as JsonValue).length === 0
  if (Object.isFrozen(value)) known.set(value, fit)
  return fit
}
