/**
 * An event of a log as a live conversation gives it: without what only a store needs, so that it can be sent on as it
 * is.
 */

import type { Fact } from '../event/quarantine.ts'
import type { StoredEvent } from '../store/contract/query.ts'

/** An event of the log, at its position. */
export interface LoggedEvent {
  readonly type: 'event'
  /** Position in the log; subscribe with `after` this one to go on behind it. */
  readonly seq: number
  /** Null only for a quarantined line whose id cannot be read. */
  readonly id: string | null
  /** Id of the event it hangs on; null for a root and for what is not in the tree. */
  readonly parentId: string | null
  /** The event, or the line that could not be decoded. */
  readonly fact: Fact
}

/** Without what only a store needs. O(1). */
export const toLogged = ({
  seq,
  id,
  parentId,
  fact,
}: Pick<StoredEvent, 'seq' | 'id' | 'parentId' | 'fact'>): LoggedEvent => ({
  type: 'event',
  seq,
  id,
  parentId,
  fact,
})
