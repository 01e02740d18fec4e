/** The events in which a conversation records its own state: status, HEAD, the statuses of calls, the policy. */

import type { JsonObject, JsonValue } from '../event/shapes.ts'
import type { ConversationStateUpdateEvent } from '../event/types.ts'
import { type CallStatus, GRANT_KEYS } from '../state/call-status.ts'
import type { Status } from '../state/status.ts'

const update = (key: string, value: JsonValue): ConversationStateUpdateEvent => ({
  kind: 'ConversationStateUpdateEvent',
  source: 'environment',
  key,
  value,
})

/** The status is this from now on. */
export const statusUpdate = (status: Status): ConversationStateUpdateEvent =>
  update('execution_status', status)

/** HEAD is this event from now on, or the empty HEAD for null (design D7). */
export const headUpdate = (eventId: string | null): ConversationStateUpdateEvent =>
  update('leaf_event_id', eventId)

/** These pending calls have this status from now on. */
export const grantUpdate = (grant: CallStatus, actionIds: readonly string[]): ConversationStateUpdateEvent =>
  update(GRANT_KEYS[grant], actionIds)

/** These calls need a user's consent from now on. */
export const policyUpdate = (policy: JsonObject | null): ConversationStateUpdateEvent =>
  update('confirmation_policy', policy)

/** Why a run is stuck. */
export const stuckUpdate = (reason: string): ConversationStateUpdateEvent => update('stuck_reason', reason)
