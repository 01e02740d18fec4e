/** Settings and a difference go in, settings with the difference in them come out. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { MASK } from './secrets.ts'

const isMap = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Maps are merged at any depth, lists and all else are replaced, null takes a field away; a masked secret stays what it was, since who was
 * shown the mask knows no better. O(size).
 *
 * @example
 * merge({ a: { b: 1, c: 2 } }, { a: { b: null, d: [3] } }) // { a: { c: 2, d: [3] } }
 */
export function merge(before: JsonObject, diff: JsonObject): JsonObject {
  const merged = new Map<string, JsonValue>(Object.entries(before) as [string, JsonValue][])
  for (const [name, value] of Object.entries(diff) as [string, JsonValue][]) {
    const old = merged.get(name)
    if (value === null) merged.delete(name)
    else if (isMap(value)) merged.set(name, merge(isMap(old) ? old : {}, value))
    else if (value !== MASK) merged.set(name, value)
  }
  return Object.fromEntries(merged)
}
