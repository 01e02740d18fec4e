/** Merges a difference into settings. */

import { canonicalJson } from '../../event/encode.ts'
import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { HttpProblem } from '../http/problem.ts'
import { MASK, masked, maskedField } from '../conversations/secrets.ts'

/**
 * Maps are merged at any depth, lists and all else are replaced, null takes a field away; what is given as it was
 * shown, masked, stays what it was, since who was shown the mask knows no better. O(size).
 * @throws HttpProblem 400 for a masked secret in a list whose entry is no longer as it was shown, or looks like another
 * one where there are fewer or more of these than before: it is not known which one it was.
 *
 * @example
 * merge({ a: { b: 1, c: 2 } }, { a: { b: null, d: [3] } }) // { a: { c: 2, d: [3] } }
 */
export function merge(before: JsonObject, diff: JsonObject): JsonObject {
  const merged = new Map<string, JsonValue>(Object.entries(before) as [string, JsonValue][])
  for (const [name, value] of Object.entries(diff) as [string, JsonValue][]) {
    const old = merged.get(name)
    if (value === null) merged.delete(name)
    else if (isObject(value)) merged.set(name, merge(isObject(old) ? old : {}, value))
    else if (Array.isArray(value)) merged.set(name, restored(value, Array.isArray(old) ? old : []))
    else if (value !== MASK && !(old !== undefined && value === maskedField(name, old)))
      merged.set(name, value)
  }
  return Object.fromEntries(merged)
}

/**
 * A list, the masked entries in it as they were: those that look alike in their order, when there are as many of them
 * as there were.
 */
function restored(list: readonly JsonValue[], before: readonly JsonValue[]): JsonValue[] {
  const old = Map.groupBy(before, (item) => canonicalJson(masked(item)))
  const given = Map.groupBy(list, canonicalJson)
  const taken = new Map<string, number>()
  return list.map((item) => {
    const shown = canonicalJson(item)
    const alike = old.get(shown) ?? []
    if (alike.length === 0 && !shown.includes(MASK)) return item
    const at = taken.get(shown) ?? 0
    taken.set(shown, at + 1)
    const isSure = alike.length === given.get(shown)?.length || new Set(alike.map(canonicalJson)).size === 1
    const kept = isSure ? alike[at % alike.length] : undefined
    if (kept !== undefined) return kept
    throw new HttpProblem(
      400,
      'An entry of a list was changed and holds a masked secret, or one of several that look alike was taken out or added: give the secret itself.',
    )
  })
}
