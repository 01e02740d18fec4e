/** Failures that may pass: whether to try again, how often, and how long to wait before. */

import { hasCode } from '../../event/errors.ts'
import { pause } from '../../conversation/async/pause.ts'

/** Whether the store may be there again soon. */
export const isPassing = (error: unknown): boolean =>
  hasCode(error, 'store_busy') || hasCode(error, 'store_unavailable')

/** How often a stream tries again before it gives up, and the milliseconds it waits before, doubled each time. */
export const MOST_TRIES = 6
const FIRST_WAIT = 50

/** Waits before a try; ends early when the signal is aborted. */
export const waitBefore = (tries: number, signal: AbortSignal): Promise<void> =>
  pause(FIRST_WAIT * 2 ** tries, signal)
