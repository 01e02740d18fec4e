/** Reads events of which a body may have been let go: an entry goes in, its event comes out, or an error where an answer would be a guess. */

import { ColloquyError } from '../event/errors.ts'
import type { EventKind } from '../event/kinds.ts'
import type { Event } from '../event/types.ts'
import { type Entry, eventKindOf } from '../log/entry.ts'
import { quote } from '../log/place.ts'

/**
 * The event of an entry; null for a line that could not be read, and for a body that was let go and is of none of the kinds asked about.
 * @throws ColloquyError `not_held` for a body of one of these kinds that was let go.
 */
export function heldEvent(entry: Entry, kinds: readonly EventKind[]): Event | null {
  if (entry.event !== null) return entry.event
  const kind = eventKindOf(entry)
  if (!kinds.some((asked) => asked === kind)) return null
  const { id, seq } = entry
  const message = `the body of event ${quote(id)} (position ${seq}) was let go by a snapshot or compact(); fold the whole log to read it`
  throw new ColloquyError('not_held', message, { event_id: id, seq })
}
