import { ColloquyError, hasCode } from '../../event/errors.ts'

export const isTransient = (error: unknown): boolean =>
  hasCode(error, 'store_busy') || hasCode(error, 'store_unavailable')

/** Returns the error `unknown_conversation`. */
export const unknownConversation = (conversationId: string): ColloquyError =>
  new ColloquyError(
    'unknown_conversation',
    `Unknown conversation ${JSON.stringify(conversationId)}. Create it first.`,
    { conversationId },
  )

/** Returns the error `conversation_exists`. */
export const conversationExists = (conversationId: string): ColloquyError =>
  new ColloquyError(
    'conversation_exists',
    `Conversation ${JSON.stringify(conversationId)} already exists. Open it, or choose another id.`,
    { conversationId },
  )

/** Returns the error `store_closed`. */
export const storeClosed = (): ColloquyError =>
  new ColloquyError('store_closed', 'The store is closed. Create another one.')

export const invalidWithin = (rule: string): ColloquyError =>
  new ColloquyError('invalid_argument', `\`within\` ${rule}.`, { field: 'within' })

/** Rejects `within` in a store without transactions. @throws `invalid_argument`. */
export function refuseWithin({ within }: { readonly within?: unknown }): void {
  if (within !== undefined) throw invalidWithin('requires a SQLite or PostgreSQL store')
}
