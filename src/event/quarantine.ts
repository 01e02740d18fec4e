/** Lines that cannot be decoded. They are stored and exported byte for byte, and decoded again after an upgrade. */

import { isLegalId } from './ids.ts'
import type { Issue } from './issues.ts'
import { isObject } from './json.ts'
import type { JsonValue } from './shapes.ts'
import type { Event } from './types.ts'

/** A line that could not be decoded (design D16). */
export interface Quarantined {
  readonly quarantined: true
  readonly raw: string
  readonly issues: readonly Issue[]
  /** The line's id, if legal and `parent_id` can be read. Such a line is in the tree unless its id is a duplicate. */
  readonly id?: string
  readonly parent_id?: string | null
  readonly event_kind?: string
}

/** What an entry of a log contains: an event, or a line that could not be decoded. */
export type Fact = Event | Quarantined

/**
 * Whether a fact is a line that could not be decoded. O(1).
 * @example
 * isQuarantined(loadLine('not json').fact) // true
 */
export function isQuarantined(fact: Fact): fact is Quarantined {
  return 'quarantined' in fact
}

/**
 * Returns a quarantined line with the id, parent and kind from its JSON. Includes id and parent only if the
 * id is legal, and the parent is a string, null or missing. The result is frozen; `issues` is not copied.
 * O(length of the id).
 * @param raw the line's text
 * @param issues why the line is not an event
 * @param value the line's JSON; undefined when it is invalid
 * @example
 * quarantine('{"kind":"Odd"}', [], { kind: 'Odd' }).event_kind // 'Odd'
 */
export function quarantine(raw: string, issues: readonly Issue[], value: JsonValue | undefined): Quarantined {
  return Object.freeze({ quarantined: true, raw, issues, ...treeFields(value) })
}

function treeFields(value: JsonValue | undefined): Pick<Quarantined, 'id' | 'parent_id' | 'event_kind'> {
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
