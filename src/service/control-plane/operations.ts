/** All operations of the control plane, under `/api/v1`. */

import type { RedactionRules } from '../../context/redaction/rules.ts'
import type { Operation } from '../http/operation.ts'
import { conversationOperations } from './conversations/operations.ts'
import { conversationFileOperations } from './conversations/file-operations.ts'
import { moreConversationOperations } from './conversations/more-operations.ts'
import { messageOperations } from './messages/operations.ts'
import type { ControlPlane } from './control-plane.ts'
import { sandboxOperations } from './sandboxes/operations.ts'
import { specOperations } from './sandboxes/spec-operations.ts'
import { startOperations } from './starts/operations.ts'

/**
 * All operations of the control plane but those that read events.
 * @param rules what is masked in what anybody may read of public conversations
 */
export const controlPlaneOperations = (plane: ControlPlane, rules: RedactionRules | null): Operation[] => [
  ...conversationOperations(plane),
  ...moreConversationOperations(plane, rules),
  ...conversationFileOperations(plane),
  ...startOperations(plane),
  ...messageOperations(plane),
  ...sandboxOperations(plane),
  ...specOperations(plane),
]
