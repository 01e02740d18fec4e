import type { Fact } from '../event/quarantine.ts'
import type { Event } from '../event/types.ts'

/** An event of the log, at its position. */
export interface LoggedEvent {
  readonly type: 'event'
  /** Position in the log. Subscribe with `after: seq` to continue after it. */
  readonly seq: number
  /** Id of the event; null only for a quarantined line whose id cannot be read. */
  readonly id: string | null
  /** Id of the parent event. Null for a root, and for events outside the tree. */
  readonly parentId: string | null
  /** The event, or the line that could not be decoded. */
  readonly fact: Fact
}

/** An event that was appended. Unlike a line of an import, it is readable and has an id. */
export interface AppendedEvent extends LoggedEvent {
  readonly id: string
  readonly fact: Event
}

export const toLogged = ({ seq, id, parentId, fact }: Omit<LoggedEvent, 'type'>): LoggedEvent => ({
  type: 'event',
  seq,
  id,
  parentId,
  fact,
})
