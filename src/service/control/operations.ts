/** The control plane over HTTP: its parts go in, the table of operations under `/api/v1` comes out. */

import type { Operation } from '../http/operation.ts'
import { conversationOperations } from './conversation-operations.ts'
import { messageOperations } from './message-operations.ts'
import type { Plane } from './plane.ts'
import { sandboxOperations } from './sandbox-operations.ts'
import { specOperations } from './spec-operations.ts'
import { startOperations } from './start-operations.ts'

/** All operations of the control plane but those that read events. */
export const controlPlane = (plane: Plane): Operation[] => [
  ...conversationOperations(plane),
  ...startOperations(plane),
  ...messageOperations(plane),
  ...sandboxOperations(plane),
  ...specOperations(plane),
]
