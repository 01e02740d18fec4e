/** A fact as a store keeps it: the body as text, and beside it what the log worked out. */

import type { Fact } from '../../event/quarantine.ts'

/** One position of a stored log. */
export interface StoredEvent {
  readonly conversationId: string
  /** Position in the log, dense from 0. */
  readonly seq: number
  /** The event's id, derived when the body has none; null only for a quarantined line without a readable id. */
  readonly id: string | null
  /** The event, frozen; or the line that could not be decoded, kept as given. */
  readonly fact: Fact
  /** Id of the entry it hangs on; null for a root and for what is not in the tree. */
  readonly parentId: string | null
  /** Whether it is part of the tree. */
  readonly inTree: boolean
  /**
   * Microseconds since 1970-01-01T00:00:00Z, of the entry before when the body has no time that can be read; 0 when
   * none has. In decimal digits, since they may be more than a JSON number holds: `BigInt(time)` counts with it.
   */
  readonly time: string
}
