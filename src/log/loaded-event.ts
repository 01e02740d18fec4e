/** Reads bodies that may have been evicted: an error, where a result would be a guess. */

import { ColloquyError } from '../event/errors.ts'
import type { EventKind } from '../event/kinds.ts'
import type { Event } from '../event/types.ts'
import { type Entry, eventKindOf } from './entry.ts'
import { quote } from '../event/quote.ts'

/**
 * The event of an entry; null for a line that could not be read, and for a body that was evicted and is of none of the
 * kinds asked about.
 * @throws ColloquyError `evicted` for a body of one of these kinds that was evicted.
 */
export function loadedEvent(entry: Entry, kinds: readonly EventKind[]): Event | null {
  if (entry.event !== null) return entry.event
  const kind = eventKindOf(entry)
  if (!kinds.some((asked) => asked === kind)) return null
  const { id, seq } = entry
  const message = `the body of event ${quote(id)} (position ${seq}) was evicted by a snapshot or evict(); replay the whole log to read it`
  throw new ColloquyError('evicted', message, { event_id: id, seq })
}
