/** Which calls a user must agree to. */

import type { JsonObject } from '../../event/shapes.ts'
import type { ActionEvent } from '../../event/types.ts'

/**
 * Asked for each call that is about to be executed; `reply` holds all calls of the same LLM response, ended or not.
 * True: ask a user first.
 */
export type Policy = (call: ActionEvent, reply: readonly ActionEvent[]) => boolean

/** Tools that change nothing: alone in a reply, they need no consent. */
const HARMLESS: ReadonlySet<string> = new Set(['finish', 'think'])

const RANKS: Readonly<Record<string, number>> = { LOW: 1, MEDIUM: 2, HIGH: 3 }

/**
 * The policy that an update of `confirmation_policy` means: AlwaysConfirm, NeverConfirm, or ConfirmRisky with a
 * `threshold` (default HIGH) and `confirm_unknown` (default true). Null: never. A policy of another kind always asks.
 * @example
 * const call = { kind: 'ActionEvent', tool_name: 'rm', security_risk: 'HIGH' }
 * toPolicy({ kind: 'ConfirmRisky' })(call, [call]) // true
 */
export function toPolicy(policy: JsonObject | null): Policy {
  if (policy === null || policy['kind'] === 'NeverConfirm') return () => false
  const asks = policy['kind'] === 'ConfirmRisky' ? riskier(policy) : () => true
  return (call, reply) => !(reply.length === 1 && HARMLESS.has(call.tool_name)) && reply.some(asks)
}

/** Asks where either does. */
export const stricter =
  (a: Policy, b: Policy): Policy =>
  (call, reply) =>
    a(call, reply) || b(call, reply)

function riskier({ threshold, confirm_unknown: unknown }: JsonObject): (call: ActionEvent) => boolean {
  const least = (typeof threshold === 'string' ? RANKS[threshold] : undefined) ?? RANKS['HIGH'] ?? 0
  return ({ security_risk: risk = 'UNKNOWN' }) => {
    const rank = RANKS[risk]
    return rank === undefined ? unknown !== false : rank >= least
  }
}
