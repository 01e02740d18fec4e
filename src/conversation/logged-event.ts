import type { Fact } from '../event/quarantine.ts'

/** An event of the log, at its position. */
export interface LoggedEvent {
  readonly type: 'event'
  /** Position in the log. Subscribe with `after: seq` to continue after it. */
  readonly seq: number
  /** Null only for a quarantined line whose id cannot be read. */
  readonly id: string | null
  /** Id of the parent event. Null for a root, and for events outside the tree. */
  readonly parentId: string | null
  /** The event, or the line that could not be decoded. */
  readonly fact: Fact
}

export const toLogged = ({ seq, id, parentId, fact }: Omit<LoggedEvent, 'type'>): LoggedEvent => ({
  type: 'event',
  seq,
  id,
  parentId,
  fact,
})
