/** Tries again while the database is busy, within a time limit. */

import { hasCode } from '../../event/errors.ts'

/**
 * Milliseconds; short, since a process that writes without a break leaves little room between two of its transactions.
 */
const LONGEST_PAUSE = 10

/**
 * Tries a work until it is not refused as `store_busy`, at growing intervals, at least once. The event loop goes on in
 * between.
 *
 * @param deadline on the clock of `performance.now()`
 * @throws whatever the work throws; `store_busy` when the deadline has passed.
 *
 * @example
 * await retry(0, () => 'done') // 'done'
 */
export async function retry<T>(deadline: number, work: () => T | Promise<T>): Promise<T> {
  for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      return await work()
    } catch (error) {
      if (!hasCode(error, 'store_busy') || performance.now() >= deadline) throw error
    }
    // Two that wait for each other's gaps must not go on in step.
    const rest = Math.min(pause * (0.5 + Math.random() / 2), deadline - performance.now())
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, rest)))
  }
}
