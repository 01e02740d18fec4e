/** All operations of the agent server on one conversation. */

import type { Operation } from '../http/operation.ts'
import { agentOperations, type FindLlm } from './agent-operations.ts'
import { trajectoryOperations } from './trajectory-operations.ts'
import { confirmationOperations } from './confirmation-operations.ts'
import { controlOperations } from './run-operations.ts'
import { conversationOperations, type Upkeep } from './conversation-operations.ts'
import type { Lifecycle } from '../conversations/conversations.ts'
import { messageOperations } from './message-operations.ts'

/** All operations under `/api/conversations` that are not about reading events. */
export const lifecycleOperations = (lifecycle: Lifecycle, findLlm: FindLlm, upkeep: Upkeep): Operation[] => [
  ...agentOperations(lifecycle, findLlm),
  ...trajectoryOperations(lifecycle),
  ...conversationOperations(lifecycle, upkeep),
  ...controlOperations(lifecycle),
  ...confirmationOperations(lifecycle),
  ...messageOperations(lifecycle),
]
