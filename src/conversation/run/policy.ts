import { BUILT_IN_TOOLS } from '../../event/kinds.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { ActionEvent } from '../../event/types.ts'

/** Whether a user must approve a call. `reply` has all calls of the same reply, even calls with a result. */
export type Policy = (call: ActionEvent, reply: readonly ActionEvent[]) => boolean

/** Risks in ascending order. */
const RISKS: readonly unknown[] = ['LOW', 'MEDIUM', 'HIGH']

/**
 * Returns the policy that a `confirmation_policy` update sets: AlwaysConfirm, NeverConfirm, or ConfirmRisky
 * with `threshold` (default HIGH) and `confirm_unknown` (default true). Null never requires confirmation; an
 * unknown kind always does. An unknown threshold requires confirmation for every known risk. If a call requires
 * confirmation, all calls of its reply wait. A reply whose only call is `finish` or `think` never waits.
 * @example
 * const call = { kind: 'ActionEvent', tool_name: 'rm', security_risk: 'HIGH' }
 * toPolicy({ kind: 'ConfirmRisky' })(call, [call]) // true
 */
export function toPolicy(policy: JsonObject | null): Policy {
  if (policy === null || policy['kind'] === 'NeverConfirm') return () => false
  const needsConfirmation = policy['kind'] === 'ConfirmRisky' ? isRiskier(policy) : () => true
  return (call, reply) =>
    !(reply.length === 1 && BUILT_IN_TOOLS.has(call.tool_name)) && reply.some(needsConfirmation)
}

function isRiskier({ threshold, confirm_unknown: unknown }: JsonObject): (call: ActionEvent) => boolean {
  const minimum = RISKS.indexOf(threshold ?? 'HIGH')
  return ({ security_risk: risk = 'UNKNOWN' }) => {
    const rank = RISKS.indexOf(risk)
    return rank === -1 ? unknown !== false : rank >= minimum
  }
}
