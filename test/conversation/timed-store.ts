/** A memory store whose leases end when a test says so. */

import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'

/** Milliseconds for which a lease lasts by the store's clock. */
export const TTL = 1_000_000

/** A memory store whose clock can be put forward. */
export function timed(): { store: Store; expire: () => void } {
  let clock = 1_000_000n
  const store = memoryStore({ clock: () => clock })
  return { store, expire: () => void (clock += BigInt(TTL) * 2_000n) }
}
