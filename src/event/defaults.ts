/** Writes out the contract's defaults of a decoded event, for consumers that do not know them. */

import { copyJson } from './freeze.ts'
import { type Shape, shapeOfKind, walkShapes } from './nested-shapes.ts'
import type { JsonObject } from './shapes.ts'
import type { Event } from './types.ts'

/**
 * A deep-frozen copy of a decoded event in which every default of the contract (interface 2.2 and 2.3) is written
 * out: the source, the empty lists, `cache_prompt: false` and the like. What is given stays as it is and comes
 * first; id, timestamp and parent have no default, and neither have fields that are null when they say nothing.
 * O(size).
 *
 * @example
 * withDefaults({ kind: 'PauseEvent', id: 'p1' }) // { kind: 'PauseEvent', id: 'p1', source: 'user' }
 */
export function withDefaults<E extends Event>(event: E): E {
  const filled = walkShapes(event as object as JsonObject, shapeOfKind(event.kind), fill)
  // The copy changes no type: it holds the fields given, and defaults that the type allows.
  return copyJson(filled).value as object as E
}

function fill(given: JsonObject, { defaults }: Shape): JsonObject {
  const missing = Object.entries(defaults).filter(([key]) => !Object.hasOwn(given, key))
  return missing.length === 0 ? given : { ...given, ...Object.fromEntries(missing) }
}
