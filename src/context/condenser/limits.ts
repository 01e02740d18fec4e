/** The limits of a rolling condenser, checked, with their defaults. */

import { toMessages } from '../../messages/neutral.ts'
import type { Permissions } from '../blocks.ts'
import type { WriteMessages } from '../budget.ts'
import { checkNumber, invalid } from '../check-number.ts'
import { type CountTokens, estimateTokens } from '../estimate.ts'

/** When a view is condensed, and to what. */
export interface CondensationLimits extends Permissions {
  /** Most events in the view; one more, and it is condensed to about half. Default: 240. */
  readonly maxEvents?: number
  /**
   * Most tokens in what is sent; more, and it is condensed to half. Where several limits bind, the smallest. Default:
   * none.
   */
  readonly maxTokens?: number
  /** How tokens are counted. Default: `estimateTokens`. */
  readonly count?: CountTokens
  /** What is sent of a state, and so counted. Default: `toMessages`. */
  readonly write?: WriteMessages
  /** How many events at the start of the view stay, up to the next cut point. Default: 2. */
  readonly keepFirst?: number
  /** The least share of the view's events that is worth a summary, above 0 and below 1. Default: 0.1. */
  readonly minimumProgress?: number
}

/** The same, all there. */
export interface CheckedLimits extends Permissions {
  readonly maxEvents: number
  readonly maxTokens: number
  readonly count: CountTokens
  readonly write: WriteMessages
  readonly keepFirst: number
  readonly minimumProgress: number
}

/** @throws ColloquyError `invalid_argument` for limits that are none, or leave nothing to keep behind a summary. */
export function checkLimits(limits: CondensationLimits): CheckedLimits {
  const { maxEvents = 240, maxTokens = Infinity, keepFirst = 2, minimumProgress = 0.1 } = limits
  checkNumber('maxEvents', maxEvents, { least: 1 })
  checkNumber('maxTokens', maxTokens, { least: 1, whole: false })
  checkNumber('keepFirst', keepFirst, { least: 0 })
  if (!(minimumProgress > 0 && minimumProgress < 1))
    throw invalid(`minimumProgress must lie between 0 and 1; it is ${String(minimumProgress)}`, {
      minimumProgress,
    })
  if (Math.floor(maxEvents / 2) - keepFirst - 1 <= 0) {
    const needed = 2 * (keepFirst + 2)
    throw invalid(`maxEvents must be ${needed} or more where keepFirst is ${keepFirst}; it is ${maxEvents}`, {
      maxEvents,
      keepFirst,
    })
  }
  const { count = estimateTokens, write = toMessages } = limits
  return { ...limits, maxEvents, maxTokens, keepFirst, minimumProgress, count, write }
}
