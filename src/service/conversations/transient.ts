/** Failures that may pass: whether to try again, how often, and how long to wait before. */

import { hasCode } from '../../event/errors.ts'
import { pause } from '../../conversation/async.ts'

/** Whether the store may be there again soon. */
export const isTransient = (error: unknown): boolean =>
  hasCode(error, 'store_busy') || hasCode(error, 'store_unavailable')

/** Whether what did not begin may begin yet: the store was away, or the process was, for longer than a lease lasts. */
export const canBeginLater = (error: unknown): boolean => isTransient(error) || hasCode(error, 'lease_lost')

/** Whether nothing more can be done for now, in whichever conversation: the store is away, or the service ends. */
export const isOfService = (error: unknown): boolean =>
  isTransient(error) || hasCode(error, 'closed') || hasCode(error, 'store_closed')

/** How often a stream tries again before it gives up, and the milliseconds it waits before, doubled each time. */
export const MOST_TRIES = 6
const FIRST_WAIT = 50

/** Waits before a try; ends early when the signal is aborted. */
export const waitBefore = (tries: number, signal: AbortSignal): Promise<void> =>
  pause(FIRST_WAIT * 2 ** tries, signal)
