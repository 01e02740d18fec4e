/** Settings and a difference go in, settings with the difference in them come out. */

import { canonicalJson } from '../../event/encode.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { HttpProblem } from '../http/problem.ts'
import { MASK, masked, maskedField } from './secrets.ts'

const isMap = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Maps are merged at any depth, lists and all else are replaced, null takes a field away; what is given as it was shown, masked, stays what it
 * was, since who was shown the mask knows no better. O(size).
 * @throws HttpProblem 400 for a masked secret in a list whose entry is no longer as it was shown: there is no telling which one it was.
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
    else if (Array.isArray(value)) merged.set(name, restored(value, Array.isArray(old) ? old : []))
    else if (value !== MASK && !(old !== undefined && value === maskedField(name, old)))
      merged.set(name, value)
  }
  return Object.fromEntries(merged)
}

/** A list, the masked entries in it as they were. */
function restored(list: readonly JsonValue[], before: readonly JsonValue[]): JsonValue[] {
  const old = new Map(before.map((item) => [canonicalJson(masked(item)), item]))
  return list.map((item) => {
    const kept = old.get(canonicalJson(item))
    if (kept !== undefined) return kept
    if (!canonicalJson(item).includes(MASK)) return item
    throw new HttpProblem(
      400,
      'An entry of a list was changed and holds a masked secret: give the secret itself.',
    )
  })
}
