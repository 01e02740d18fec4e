/** Rows of events as stored events, and back. */

import { ROOT } from '../../event/ids.ts'
import { KINDS } from '../../event/kinds.ts'
import { isQuarantined, type Fact } from '../../event/quarantine.ts'
import { messageText } from '../kit/query/message-text.ts'
import { type Bigint, readEvent } from '../kit/row.ts'
import type { StoredEvent } from '../contract/stored-event.ts'

/** A row as {@link EVENT_COLUMNS} selects it. */
export interface EventRow {
  readonly seq: number
  readonly id: string | null
  readonly parent_id: string | null
  readonly inTree: boolean
  readonly stamped: boolean
  readonly time: Bigint
  readonly body: string
}

/** What a stored event is made of, from the table `e`. */
export const EVENT_COLUMNS =
  'e.seq, e.id, e.parent_id, e.lane IS NOT NULL AS "inTree", e.stamped, e.time, e.body'

/** A row as the functions that search give it: all that they find is in the tree. */
export type FoundRow = Omit<EventRow, 'inTree'>

/** The event that a row holds. Frozen. O(size of the body). @throws `store_unavailable` for a body that was damaged. */
export function storedEvent(conversationId: string, row: FoundRow, inTree: boolean): StoredEvent {
  const { seq, id, parent_id: parentId, stamped, time, body } = row
  const place = { conversationId, seq, id, parentId, inTree, time: String(time) }
  return readEvent(place, body, stamped ? { parent_id: parentId ?? ROOT } : undefined)
}

/** How a search finds a fact: nothing finds a line that could not be decoded. */
export interface FoundBy {
  readonly kind: string | null
  readonly source: string | null
  readonly message: string | null
}

/**
 * The columns that a search of a fact goes by; null for a message that has no text to look into because it is none, as
 * a caller without types may give it. O(size of a message's text).
 */
export function foundBy(fact: Fact): FoundBy | null {
  if (isQuarantined(fact)) return { kind: null, source: null, message: null }
  const { kind, source } = fact
  try {
    return { kind, source: source ?? KINDS[kind].defaultSource, message: messageText(fact) }
  } catch {
    return null
  }
}
