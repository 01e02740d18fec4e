import { hasCode } from '../../event/errors.ts'
import { pause } from '../../conversation/async.ts'

export const isTransient = (error: unknown): boolean =>
  hasCode(error, 'store_busy') || hasCode(error, 'store_unavailable')

/** Whether a run that failed to begin can be retried: the store was unavailable, or the lease was lost. */
export const canBeginLater = (error: unknown): boolean => isTransient(error) || hasCode(error, 'lease_lost')

/** Whether an error affects all conversations: the store is unavailable, or the service is shutting down. */
export const isOfService = (error: unknown): boolean =>
  isTransient(error) || hasCode(error, 'closed') || hasCode(error, 'store_closed')

export const MAX_RETRIES = 6
const FIRST_WAIT = 50

export const waitBefore = (tries: number, signal: AbortSignal): Promise<void> =>
  pause(FIRST_WAIT * 2 ** tries, signal)
