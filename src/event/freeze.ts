/** Deep-freezes values, so that they can be shared, and reports what JSON cannot represent. */

import type { Issue } from './issues.ts'
import { setOwn } from './json.ts'
import type { JsonValue } from './shapes.ts'

/** Maximum nesting of objects and lists (design D17). */
export const MAX_DEPTH = 512

/** Maximum number of copied values. A proxy can be endless, and lists that share items can expand without limit. */
const MAX_VALUES = 5_000_000

const MAX_ISSUES = 100

export const decodedLists = new WeakSet<object>()

/** Freezes and marks a list of decoded events, so that a store does not check them again. */
export function decodedList<T>(list: readonly T[]): readonly T[] {
  decodedLists.add(list)
  return Object.freeze(list)
}

/** The issues, and a deep-frozen JSON copy that has null for each value that could not be copied. */
interface JsonCopy {
  readonly value: JsonValue
  readonly issues: readonly Issue[]
}

interface FreezeWalk {
  readonly issues: Issue[]
  readonly path: (string | number)[]
  /** The objects that are being copied, outermost first. */
  readonly above: object[]
  /** Copies without issues, by original. `level`: number of containers around the original when it was copied. */
  readonly copies: Map<object, { readonly copy: JsonValue; readonly size: number; readonly level: number }>
  room: number
}

/**
 * Copies a value as deep-frozen JSON; never changes its input. An undefined property counts as absent, and
 * `__proto__` is an ordinary key.
 *
 * Never throws. Issues report getters, functions, symbols, bigints, NaN and infinities, class instances,
 * cycles, nesting beyond {@link MAX_DEPTH}, gaps in lists, and proxies that throw. O(size · depth).
 */
export function copyJson(value: unknown): JsonCopy {
  const plain = copyPlain(value, MAX_DEPTH, { values: MAX_PLAIN_VALUES })
  if (plain !== undefined) return { value: plain, issues: NO_ISSUES }
  const walk: FreezeWalk = { issues: [], path: [], above: [], copies: new Map(), room: MAX_VALUES }
  return { value: copy(value, walk), issues: walk.issues }
}

/**
 * Deep-freezes a value from `JSON.parse` in place; -0 becomes 0, because `JSON.stringify` drops its sign.
 *
 * Returns issues for what no event can contain: nesting beyond {@link MAX_DEPTH}, and numbers that overflow
 * to infinity. If there is an issue, the value is only partly frozen: discard it. Never throws, at any depth.
 * O(size).
 */
export function freezeJson(value: JsonValue): readonly Issue[] {
  // Finding the path of an issue is slower, so it is done only after a failure.
  return freezeItem([value], 0, MAX_DEPTH + 1) ? NO_ISSUES : copyJson(value).issues
}

/** Number of levels that an event may add around a value that {@link freezePart} has frozen. */
const AROUND = 16

/**
 * Deep-freezes a value from `JSON.parse` in place for use in events. Returns false if it is nested too deeply
 * or has a number that JSON cannot represent. Never throws, at any depth. O(size).
 */
export const freezePart = (value: JsonValue): boolean => freezeItem([value], 0, MAX_DEPTH - AROUND + 1)

/** Like {@link freezeJson}, but skips contained values that {@link freezePart} has frozen. */
export const freezeNew = (value: object): readonly Issue[] =>
  freezeBelow(value, MAX_DEPTH, true) ? NO_ISSUES : copyJson(value).issues

export function isFrozenJson(value: unknown, room: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value !== 'object' || room === 0 || !Object.isFrozen(value)) return false
  if (!Array.isArray(value) && !isPlain(value)) return false
  return Object.values(value).every((inner) => isFrozenJson(inner, room - 1))
}

/**
 * Whether an object has no prototype, or has a prototype that itself has no prototype, such as the
 * `Object.prototype` of any realm.
 */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

const NO_ISSUES: readonly Issue[] = Object.freeze([])

const { hasOwnProperty } = Object.prototype

/** Freezes a value deeply. If `passes` is true, skips frozen values, which are deep-frozen already. */
function freezeBelow(container: object, room: number, passes = false): boolean {
  if (room === 0) return false
  if (passes && Object.isFrozen(container)) return true
  if (Array.isArray(container)) {
    for (let i = 0; i < container.length; i++) if (!freezeItem(container, i, room, passes)) return false
  } else {
    // Allocates no list of keys, and skips properties that other code added to Object.prototype.
    for (const key in container) {
      if (hasOwnProperty.call(container, key) && !freezeItem(container, key, room, passes)) return false
    }
  }
  Object.freeze(container)
  return true
}

function freezeItem(container: object, key: string | number, room: number, passes = false): boolean {
  const record = container as Record<string | number, unknown>
  const item = record[key]
  if (typeof item === 'object') return item === null || freezeBelow(item, room - 1, passes)
  if (typeof item !== 'number') return true
  if (item === 0 && Object.is(item, -0)) record[key] = 0
  return Number.isFinite(item)
}

/** Maximum number of objects and lists to copy, because a value can contain itself. */
const MAX_PLAIN_VALUES = 100_000

/** Returns a copy of a value, or undefined if the value may have issues. Tracks no path, for speed. */
function copyPlain(value: unknown, depth: number, budget: { values: number }): JsonValue | undefined {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') return Number.isFinite(value) ? value || 0 : undefined
  budget.values -= 1
  if (typeof value !== 'object' || depth === 0 || budget.values < 0) return undefined
  try {
    if (!Array.isArray(value)) return copyPlainObject(value, depth, budget)
    const { length } = value
    if (Reflect.ownKeys(value).length !== length + 1) return undefined
    const out: JsonValue[] = []
    for (let i = 0; i < length; i++) {
      const item = copyPlain(Object.getOwnPropertyDescriptor(value, i)?.value, depth - 1, budget)
      if (item === undefined) return undefined
      out.push(item)
    }
    return Object.freeze(out)
  } catch {
    // A proxy's trap threw.
    return undefined
  }
}

function copyPlainObject(object: object, depth: number, budget: { values: number }): JsonValue | undefined {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null) return undefined
  if (Object.getOwnPropertySymbols(object).length > 0) return undefined
  const out: Record<string, JsonValue> = {}
  for (const key in object) {
    const property = Object.getOwnPropertyDescriptor(object, key)
    // The property is inherited, or is a getter, which must not be called.
    if (property === undefined || !('value' in property) || key === '__proto__') return undefined
    if (property.value === undefined) continue
    const item = copyPlain(property.value, depth - 1, budget)
    if (item === undefined) return undefined
    out[key] = item
  }
  return Object.freeze(out)
}

function copy(value: unknown, walk: FreezeWalk): JsonValue {
  if (walk.room === 0) return null
  if (--walk.room === 0)
    return addIssue(walk, 'too_long', `Contains more than ${MAX_VALUES} values. Split the event.`)
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value))
        return addIssue(
          walk,
          'finite_number',
          'JSON has no NaN and no infinity. Use a finite number, or null.',
        )
      return value || 0
    case 'object':
      return value === null ? null : copyContainer(value, walk)
    default:
      return addIssue(
        walk,
        'json_type',
        `JSON has no ${typeof value}. Use a string, number, boolean, null, list or plain object.`,
      )
  }
}

function copyContainer(value: object, walk: FreezeWalk): JsonValue {
  if (walk.above.includes(value)) {
    return addIssue(
      walk,
      'recursion_loop',
      'Contains itself, which JSON cannot represent. Remove the inner reference.',
    )
  }
  if (walk.above.length === MAX_DEPTH) {
    addIssue(walk, 'recursion_depth', `Nested deeper than ${MAX_DEPTH} levels. Flatten it.`)
    // Report this depth only once: siblings may be nested as deeply.
    walk.room = 0
    return null
  }
  const level = walk.above.length
  // Without these copies, lists that contain the same list twice need exponential time.
  const known = walk.copies.get(value)
  if (known !== undefined && known.size < walk.room && known.level >= level) {
    walk.room -= known.size
    return known.copy
  }
  const { room, issues } = walk
  const [depth, issueCount] = [walk.path.length, issues.length]
  walk.above.push(value)
  try {
    const result = Array.isArray(value) ? copyList(value, walk) : copyObject(value, walk)
    if (issues.length === issueCount) walk.copies.set(value, { copy: result, size: room - walk.room, level })
    return result
  } catch {
    // A proxy's trap threw, or a proxy was revoked.
    return addIssue(walk, 'unreadable', 'Reading this value threw an error. Use plain data.')
  } finally {
    walk.above.pop()
    walk.path.length = depth
  }
}

function copyList(list: readonly unknown[], walk: FreezeWalk): JsonValue {
  const out: JsonValue[] = []
  const length = list.length
  for (let i = 0; i < length && walk.room > 0; i++) {
    walk.path.push(i)
    const property = Object.getOwnPropertyDescriptor(list, i)
    if (property === undefined)
      out.push(addIssue(walk, 'missing', 'The list has a gap here. Use a value, or null.'))
    else out.push(copyProperty(property, walk))
    walk.path.pop()
  }
  // `length` is a key of every list; JSON text would lose any other named key.
  if (walk.room > 0 && Reflect.ownKeys(list).length > length + 1) {
    addIssue(
      walk,
      'json_type',
      'This list has named properties, which JSON cannot represent. Use a plain list.',
    )
  }
  return Object.freeze(out)
}

function copyObject(object: object, walk: FreezeWalk): JsonValue {
  if (!isPlain(object)) {
    return addIssue(
      walk,
      'json_type',
      'Must be plain data, not an instance of a class. Use its text or its fields.',
    )
  }
  const out: Record<string, JsonValue> = {}
  for (const key of Reflect.ownKeys(object)) {
    const property = Object.getOwnPropertyDescriptor(object, key)
    if (property === undefined || !property.enumerable) continue
    walk.path.push(String(key))
    if (typeof key === 'symbol') addIssue(walk, 'json_type', 'JSON has no symbol keys. Use a string key.')
    else if (!('value' in property) || property.value !== undefined)
      setOwn(out, key, copyProperty(property, walk))
    walk.path.pop()
  }
  return Object.freeze(out)
}

function copyProperty(property: PropertyDescriptor, walk: FreezeWalk): JsonValue {
  if ('value' in property) return copy(property.value, walk)
  return addIssue(walk, 'json_type', 'Must be data, not a getter. Use the value itself.')
}

function addIssue(walk: FreezeWalk, type: string, msg: string): null {
  // The full path of a value 512 levels down is of no use.
  walk.issues.push({ loc: walk.path.slice(0, 16), msg, type })
  if (walk.issues.length === MAX_ISSUES) walk.room = 0
  return null
}
