/** A memory store whose leases expire on demand. */

import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'

/** Lease duration in milliseconds of the store's clock. */
export const TTL = 1_000_000

export function timedStore(): { store: Store; expire: () => void } {
  let clock = 1_000_000n
  const store = memoryStore({ clock: () => clock })
  return { store, expire: () => void (clock += BigInt(TTL) * 2_000n) }
}
