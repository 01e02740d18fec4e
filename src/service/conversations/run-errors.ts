/** What the errors mean that a run ends with, or does not begin with. */

import { ColloquyError, hasCode } from '../../event/errors.ts'

/** When the other run's lease expires, in milliseconds since 1970 on the store's clock; 0 where that is not known. */
export const expiryOf = (error: unknown): number =>
  hasCode(error, 'already_running') && typeof error.data['expiresAt'] === 'number'
    ? error.data['expiresAt']
    : 0

/** Whether an end is no failure. */
export const isExpected = (error: unknown): boolean =>
  hasCode(error, 'already_running') || hasCode(error, 'unknown_conversation') || hasCode(error, 'closed')

export const alreadyRunning = (conversationId: string): ColloquyError =>
  new ColloquyError(
    'already_running',
    'The conversation is running already in this service; wait for that run, or interrupt it.',
    { conversationId },
  )
