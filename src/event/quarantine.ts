/** A line that could not be decoded, kept byte for byte: exported in its place, and tried again after an upgrade. */

import { isLegalId } from './ids.ts'
import type { Issue } from './issues.ts'
import { isObject } from './json.ts'
import type { JsonValue } from './shapes.ts'
import type { Event } from './types.ts'

/** One line that could not be decoded (design D16). */
export interface Quarantined {
  readonly quarantined: true
  /** The line's JSON text, as given. */
  readonly raw: string
  readonly issues: readonly Issue[]
  /** The id, where it is legal and the parent could be read: then the line is in the tree. */
  readonly id?: string
  /** The parent as given; only beside an id. */
  readonly parent_id?: string | null
  /** The kind it claims to be, known or not. */
  readonly event_kind?: string
}

/** What a log holds: an event, or a line that could not be read as one. */
export type Fact = Event | Quarantined

/**
 * Whether a fact is a line that could not be decoded. O(1).
 *
 * @example
 * isQuarantined(loadLine('not json').fact) // true
 */
export function isQuarantined(fact: Fact): fact is Quarantined {
  return 'quarantined' in fact
}

/**
 * Puts a line into quarantine, with what its JSON says of its place in the tree. Frozen. O(length of the id).
 *
 * @param raw the line's text
 * @param issues what keeps it from being an event
 * @param value the line's JSON; undefined when it is none
 */
export function quarantine(raw: string, issues: readonly Issue[], value: JsonValue | undefined): Quarantined {
  return Object.freeze({ quarantined: true, raw, issues, ...placeOf(value) })
}

function placeOf(value: JsonValue | undefined): Pick<Quarantined, 'id' | 'parent_id' | 'event_kind'> {
  if (!isObject(value)) return {}
  const { id, parent_id: parent, kind } = value
  const isParent = parent === undefined || parent === null || typeof parent === 'string'
  return {
    ...(typeof id === 'string' &&
      isLegalId(id) &&
      isParent && { id, ...(parent !== undefined && { parent_id: parent }) }),
    ...(typeof kind === 'string' && { event_kind: kind }),
  }
}
