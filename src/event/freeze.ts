/**
 * Makes values safe to share: events are frozen to the bottom, so that no caller can change the past. Refuses what
 * JSON cannot say before it is stored.
 */

import type { Issue } from './issues.ts'
import { setOwn } from './json.ts'
import type { JsonValue } from './shapes.ts'

/** How many objects and lists may stand inside each other (design D17). */
export const MAX_DEPTH = 512

/**
 * How many values one event may hold: an endless proxy, or a few lists that share their items, would otherwise
 * unfold for ever.
 */
const MAX_VALUES = 5_000_000

/** How many issues are worth reading. */
const MAX_ISSUES = 100

/** A deep-frozen JSON copy, and what could not be copied: null stands in its place. */
export interface JsonCopy {
  readonly value: JsonValue
  readonly issues: readonly Issue[]
}

interface Walk {
  readonly issues: Issue[]
  readonly path: (string | number)[]
  /** The objects that are being copied, outermost first: a cycle is one that is met again below itself. */
  readonly above: object[]
  /** How many more values may be copied; nothing is, once it is used up. */
  room: number
}

/**
 * Copies a value as deep-frozen JSON. The input is only read, never changed. A property that is undefined counts as
 * absent, and `__proto__` is a key like any other.
 *
 * Never throws. Issues tell of getters, functions, symbols, bigints, NaN and infinities, class instances, cycles,
 * nesting beyond {@link MAX_DEPTH}, gaps in lists, and proxies that throw. O(size · depth).
 *
 * @example
 * copyJson({ a: [1, undefined] }).issues[0].loc // ['a', 1]
 */
export function copyJson(value: unknown): JsonCopy {
  const walk: Walk = { issues: [], path: [], above: [], room: MAX_VALUES }
  return { value: copy(value, walk), issues: walk.issues }
}

/**
 * Freezes a value that came from `JSON.parse` and belongs to the caller, in place and to the bottom; -0 becomes 0,
 * since JSON text drops its sign.
 *
 * Returns what a JSON text can say and an event cannot hold: nesting beyond {@link MAX_DEPTH}, and numbers that
 * overflow to infinity. The value is then half frozen, and of no use. Never throws, at any depth. O(size).
 *
 * @example
 * freezeJson(JSON.parse('{"a":[1]}')) // []
 */
export function freezeJson(value: JsonValue): readonly Issue[] {
  const whole =
    typeof value === 'object' && value !== null ? freezeBelow(value, MAX_DEPTH) : isWritable(value)
  // Only the failing path pays for knowing where it failed.
  return whole ? [] : copyJson(value).issues
}

/** How many levels an event may put around a value that it holds. */
const AROUND = 16

/**
 * Freezes a value that came from `JSON.parse` and is to stand in events, in place and to the bottom. False where no
 * event could hold it: nested too deep for what is around it, or with a number that JSON cannot write back. Never
 * throws, at any depth. O(size).
 *
 * @example
 * freezePart(JSON.parse('[1e999]')) // false
 */
export const freezePart = (value: JsonValue): boolean =>
  typeof value === 'object' && value !== null ? freezeBelow(value, MAX_DEPTH - AROUND) : isWritable(value)

/**
 * {@link freezeJson} of a value that was built around others which {@link freezePart} has frozen: these are passed
 * over. O(what is new).
 *
 * @example
 * const text = JSON.parse('{"type":"text","text":"hi"}')
 * freezePart(text) // true
 * freezeNew({ content: [text] }) // []
 */
export const freezeNew = (value: object): readonly Issue[] =>
  freezeBelow(value, MAX_DEPTH, true) ? NO_ISSUES : copyJson(value).issues

const NO_ISSUES: readonly Issue[] = Object.freeze([])

/** A number that JSON can write back. */
const isWritable = (value: unknown): boolean => typeof value !== 'number' || Number.isFinite(value)

const { hasOwnProperty } = Object.prototype

/** `passes`: whether what is frozen is known to be so to the bottom. */
function freezeBelow(container: object, room: number, passes = false): boolean {
  if (room === 0) return false
  if (passes && Object.isFrozen(container)) return true
  const record = container as Record<string | number, unknown>
  if (Array.isArray(container)) {
    for (let i = 0; i < container.length; i++) if (!freezeItem(record, i, room, passes)) return false
  } else {
    // Makes no list of keys; and what other code put on Object.prototype is passed over.
    for (const key in container) {
      if (hasOwnProperty.call(container, key) && !freezeItem(record, key, room, passes)) return false
    }
  }
  Object.freeze(container)
  return true
}

function freezeItem(
  container: Record<string | number, unknown>,
  key: string | number,
  room: number,
  passes: boolean,
): boolean {
  const item = container[key]
  if (typeof item === 'object') return item === null || freezeBelow(item, room - 1, passes)
  if (typeof item !== 'number') return true
  if (item === 0 && Object.is(item, -0)) container[key] = 0
  return Number.isFinite(item)
}

function copy(value: unknown, walk: Walk): JsonValue {
  if (walk.room === 0) return null
  if (--walk.room === 0)
    return refuse(walk, 'too_long', `Holds more than ${MAX_VALUES} values; give an event of a sensible size.`)
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value))
        return refuse(
          walk,
          'finite_number',
          'JSON has no NaN and no infinity; give a finite number, or null.',
        )
      return value === 0 ? 0 : value
    case 'object':
      return value === null ? null : copyContainer(value, walk)
    default:
      return refuse(
        walk,
        'json_type',
        `JSON has no ${typeof value}; give a string, number, boolean, null, list or plain object.`,
      )
  }
}

function copyContainer(value: object, walk: Walk): JsonValue {
  if (walk.above.includes(value)) {
    return refuse(
      walk,
      'recursion_loop',
      'Contains itself; JSON cannot say that, so leave the inner reference out.',
    )
  }
  if (walk.above.length === MAX_DEPTH) {
    refuse(walk, 'recursion_depth', `Nested deeper than ${MAX_DEPTH} levels; flatten it.`)
    // One branch is enough: its siblings may go as deep, and there may be any number of them.
    walk.room = 0
    return null
  }
  const depth = walk.path.length
  walk.above.push(value)
  try {
    return Array.isArray(value) ? copyList(value, walk) : copyObject(value, walk)
  } catch {
    // A proxy's trap threw, or a revoked proxy was touched. The path still says where.
    return refuse(walk, 'unreadable', 'Reading this value threw an error; give plain data.')
  } finally {
    walk.above.pop()
    walk.path.length = depth
  }
}

function copyList(list: readonly unknown[], walk: Walk): JsonValue {
  const out: JsonValue[] = []
  const length = list.length
  for (let i = 0; i < length && walk.room > 0; i++) {
    walk.path.push(i)
    const property = Object.getOwnPropertyDescriptor(list, i)
    if (property === undefined)
      out.push(refuse(walk, 'missing', 'The list has a gap here; give a value, or null.'))
    else out.push(copyProperty(property, walk))
    walk.path.pop()
  }
  // `length` itself is one of the keys; more than that would be lost in JSON text.
  if (walk.room > 0 && Reflect.ownKeys(list).length > length + 1) {
    refuse(walk, 'json_type', 'This list has named properties, which JSON cannot write; give a plain list.')
  }
  return Object.freeze(out)
}

function copyObject(object: object, walk: Walk): JsonValue {
  const prototype: unknown = Object.getPrototypeOf(object)
  // The prototype of plain objects of any realm has no prototype of its own.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    return refuse(
      walk,
      'json_type',
      'Must be plain data, not an instance of a class; give its text or its fields.',
    )
  }
  const out: Record<string, JsonValue> = {}
  for (const key of Reflect.ownKeys(object)) {
    const property = Object.getOwnPropertyDescriptor(object, key)
    if (property === undefined || !property.enumerable) continue
    walk.path.push(String(key))
    if (typeof key === 'symbol') refuse(walk, 'json_type', 'JSON has no symbol keys; use a string key.')
    else if (!('value' in property) || property.value !== undefined)
      setOwn(out, key, copyProperty(property, walk))
    walk.path.pop()
  }
  return Object.freeze(out)
}

function copyProperty(property: PropertyDescriptor, walk: Walk): JsonValue {
  if ('value' in property) return copy(property.value, walk)
  return refuse(walk, 'json_type', 'Must be data, not a getter; give the value itself.')
}

/** Notes an issue here, and gives what stands for the value in the copy. */
function refuse(walk: Walk, type: string, msg: string): null {
  // The whole path of something 512 levels down is of no use.
  walk.issues.push({ loc: walk.path.slice(0, 16), msg, type })
  if (walk.issues.length === MAX_ISSUES) walk.room = 0
  return null
}
