/**
 * Statuses of pending calls. The log records them, so that a call is not executed again after a crash or by a
 * second process (P6).
 */

import type { JsonValue } from '../event/shapes.ts'
import { listPendingCallsIn } from '../log/open-calls.ts'
import type { Branch } from './branch.ts'

/**
 * Status of a pending call. `held`: the call waits, because the conversation was paused. `started`: the call
 * may have been executed already. Only a user or the step's `repeats` can allow another execution.
 */
export type CallStatus = 'approved' | 'held' | 'started'

/** A call and its status. */
export interface PendingCallStatus {
  readonly action_id: string
  readonly grant: CallStatus
}

export const GRANT_KEYS: Readonly<Record<CallStatus, string>> = {
  approved: 'approved_actions',
  held: 'held_actions',
  started: 'started_actions',
}

export const GRANTS = Object.keys(GRANT_KEYS) as readonly CallStatus[]

/**
 * Returns the statuses after a state update; the same object if nothing changes. A later status replaces an
 * earlier one. Only pending calls of the branch have a status. O(k log k) for k pending calls, O(1) for an
 * update of another key.
 */
export function foldCallStatuses(
  callStatuses: readonly PendingCallStatus[],
  branch: Branch,
  key: unknown,
  value: JsonValue | undefined,
): readonly PendingCallStatus[] {
  const grant = GRANTS.find((each) => GRANT_KEYS[each] === key)
  if (grant === undefined || !Array.isArray(value)) return callStatuses
  const listed = new Set<unknown>(value)
  const before = new Map(callStatuses.map((known) => [known.action_id, known]))
  const after = listPendingCallsIn(branch.pendingCalls).flatMap(({ entry: { id } }): PendingCallStatus[] => {
    const known = before.get(id)
    if (listed.has(id) && known?.grant !== grant) return [{ action_id: id, grant }]
    return known === undefined ? [] : [known]
  })
  const isSame = after.length === callStatuses.length && after.every((one, i) => one === callStatuses[i])
  return isSame ? callStatuses : after
}

export const withoutConsent = (callStatuses: readonly PendingCallStatus[]): readonly PendingCallStatus[] =>
  callStatuses.every(({ grant }) => grant === 'started')
    ? callStatuses
    : callStatuses.filter(({ grant }) => grant === 'started')

export const granted = (callStatuses: readonly PendingCallStatus[], status: CallStatus): Set<string> =>
  new Set(callStatuses.filter(({ grant }) => grant === status).map(({ action_id }) => action_id))
