/** Transient failures: whether to retry, how often, and how long to wait. */

import { hasCode } from '../../event/errors.ts'
import { pause } from '../../conversation/async.ts'

/** Whether the store may be available again soon. */
export const isTransient = (error: unknown): boolean =>
  hasCode(error, 'store_busy') || hasCode(error, 'store_unavailable')

/**
 * Whether a run that could not begin may begin later: the store, or this process, was away for longer than a
 * lease.
 */
export const canBeginLater = (error: unknown): boolean => isTransient(error) || hasCode(error, 'lease_lost')

/** Whether the failure affects all conversations: the store is away, or the service is shutting down. */
export const isOfService = (error: unknown): boolean =>
  isTransient(error) || hasCode(error, 'closed') || hasCode(error, 'store_closed')

/** How many times a stream retries, and the milliseconds before the first retry, doubled each time. */
export const MAX_RETRIES = 6
const FIRST_WAIT = 50

/** Waits before a retry; ends early when the signal is aborted. */
export const waitBefore = (tries: number, signal: AbortSignal): Promise<void> =>
  pause(FIRST_WAIT * 2 ** tries, signal)
