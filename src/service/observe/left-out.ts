/**
 * Counts the signed parts that requests to models had to leave out, since each is reasoning that was paid for and lost.
 */

import type { LeftOut } from '../../messages/prefix.ts'
import type { Metrics } from './metrics.ts'

/** What runs are given as `onPrefix`: it counts, by reason, and tells the caller's own. */
export function countLeftOut(
  metrics: Metrics,
  onPrefix: ((left: LeftOut) => void) | undefined,
): (left: LeftOut) => void {
  const parts = metrics.counter(
    'colloquy_signed_parts_left_out_total',
    'Signed parts of replies that were left out of requests, by why they could not be sent.',
  )
  return (left) => {
    parts.add({ reason: left.reason }, left.parts)
    onPrefix?.(left)
  }
}
