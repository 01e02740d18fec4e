/** The error of a call that needs a conversation which is not there. */

import { ColloquyError } from '../../event/errors.ts'

/** `unknown_conversation`, to be thrown. */
export const unknownConversation = (conversationId: string): ColloquyError =>
  new ColloquyError(
    'unknown_conversation',
    `There is no conversation ${JSON.stringify(conversationId)}; create it first.`,
    { conversationId },
  )
