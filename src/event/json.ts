/** Functions on JSON values. Only `setOwn` changes its argument. */

import type { JsonObject, JsonValue } from './shapes.ts'

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the result of `read`, or `otherwise` if `read` throws. */
export function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}

/** Returns the value of a JSON text, or undefined if the text is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return undefined
  }
}

/** Returns the first index from `low` that fits, else `high`. If an index fits, all later indices must fit. */
export function firstIndex(low: number, high: number, fits: (index: number) => boolean): number {
  while (low < high) {
    const middle = (low + high) >>> 1
    if (fits(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** Returns an own field. `object[key]` would also return inherited fields, such as `constructor`. */
export const ownField = <T>(object: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

export function textAt(object: JsonObject, key: string): string | null {
  const value = object[key]
  return typeof value === 'string' ? value : null
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}

/** Sets a field. Assigning `__proto__` would set the prototype instead, and lose the value. */
export function setOwn(object: object, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  } else {
    ;(object as Record<string, unknown>)[key] = value
  }
}

export function without(object: JsonObject, ...keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}

/** Returns the fields whose value is neither null nor undefined. */
export const withoutNulls = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as {
    readonly [Name in keyof T]?: NonNullable<T[Name]>
  }

export function edit(object: JsonObject, key: string, change: (value: JsonValue) => JsonValue): JsonObject {
  const before = object[key]
  if (before === undefined) return object
  const after = change(before)
  return after === before ? object : { ...object, [key]: after }
}

/** Like {@link edit}, but changes the field only if its value is an object. O(keys). */
export function editObject(
  object: JsonObject,
  key: string,
  change: (value: JsonObject) => JsonObject,
): JsonObject {
  return edit(object, key, (value) => (isObject(value) ? change(value) : value))
}

/** Like {@link edit}, but changes each object in the field's list. Keeps other values and items. O(keys + items). */
export function editEach(
  object: JsonObject,
  key: string,
  change: (item: JsonObject) => JsonObject,
): JsonObject {
  return edit(object, key, (list) => {
    if (!isList(list)) return list
    // Most lists need no change, and are not copied.
    const first = list.findIndex((item) => isObject(item) && change(item) !== item)
    return first === -1 ? list : list.map((item) => (isObject(item) ? change(item) : item))
  })
}

/**
 * Replaces each part of a value with the result of `change`, outermost first. Does not descend into a
 * replaced part, or below `depth` levels. Shares unchanged parts. O(size).
 */
export function mapDeep(value: unknown, change: (value: unknown) => unknown, depth = 1_000): unknown {
  const other = change(value)
  if (other !== value || typeof value !== 'object' || value === null || depth === 0) return other
  const changed = Object.entries(value).flatMap(([key, inner]: [string, unknown]) => {
    const after = mapDeep(inner, change, depth - 1)
    return after === inner ? [] : [[key, after] as const]
  })
  if (changed.length === 0) return value
  const copy: object = Array.isArray(value) ? [...(value as readonly unknown[])] : { ...value }
  for (const [key, after] of changed) setOwn(copy, key, after)
  return copy
}

/** Returns the index of the quote that closes the quote at `from`, or the length of the text. O(length). */
export function quoteEnd(text: string, from: number): number {
  const quote = text[from]
  let end = from + 1
  while (end < text.length && text[end] !== quote) end += text[end] === '\\' ? 2 : 1
  return Math.min(end, text.length)
}

/** Visits the tokens of JSON text, except true, false and null, until `visit` returns false. */
export function eachJsonToken(text: string, visit: (token: string, index: number) => boolean | void): void {
  // Each call creates a pattern, because `visit` may call this function for nested JSON. The pattern matches
  // only the opening quote of a string, because long matches overflow the stack of a JavaScript engine.
  const tokens = /["{}[\],:]|-?\d[\d.eE+-]*/g
  for (let match = tokens.exec(text); match !== null; match = tokens.exec(text)) {
    const { index } = match
    if (match[0] === '"') tokens.lastIndex = quoteEnd(text, index) + 1
    if (visit(text.slice(index, tokens.lastIndex), index) === false) return
  }
}
