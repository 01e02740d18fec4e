/** The errors that all stores throw alike. */

import { ColloquyError } from '../../event/errors.ts'

/** `unknown_conversation`. */
export const unknownConversation = (conversationId: string): ColloquyError =>
  new ColloquyError(
    'unknown_conversation',
    `There is no conversation ${JSON.stringify(conversationId)}; create it first.`,
    { conversationId },
  )

/** `conversation_exists`. */
export const conversationExists = (conversationId: string): ColloquyError =>
  new ColloquyError(
    'conversation_exists',
    `A conversation ${JSON.stringify(conversationId)} exists already; use it, or give another id.`,
    { conversationId },
  )

/** `store_closed`. */
export const storeClosed = (): ColloquyError =>
  new ColloquyError('store_closed', 'The store was closed; open it again.')
