/** The lifecycle of conversations over HTTP: an engine and runs go in, the table of operations comes out. */

import type { Operation } from '../http/operation.ts'
import { confirmationOperations } from './confirmation.ts'
import { controlOperations } from './control.ts'
import { conversationOperations } from './conversations.ts'
import type { Lifecycle } from './lifecycle.ts'
import { messageOperations } from './messages.ts'

/** All operations under `/api/conversations` that are not about reading events. */
export const lifecycleOperations = (lifecycle: Lifecycle): Operation[] => [
  ...conversationOperations(lifecycle),
  ...controlOperations(lifecycle),
  ...confirmationOperations(lifecycle),
  ...messageOperations(lifecycle),
]
