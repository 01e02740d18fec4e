/** Copies of what cannot be frozen, so that a fold that changes it in place spoils one case and not those behind it. */

import { isPlain } from './text-of.ts'

/**
 * The same value with copies of its maps and sets, and of the plain objects and lists around them; one without any is
 * itself. What has a class of its own is left to itself. O(size).
 */
export function withOwnMaps<T>(value: T): T {
  const copies = new Map<object, object>()
  const copy = copyInto(copies)(value) as T
  return [...copies.keys()].some(isMapOrSet) ? copy : value
}

const isMapOrSet = (value: object): boolean => value instanceof Map || value instanceof Set

/** What stands in several places, or in itself, is copied once. */
function copyInto(copies: Map<object, object>): (value: unknown) => unknown {
  const begin = <T extends object>(value: object, copy: T): T => {
    copies.set(value, copy)
    return copy
  }
  return function copyOf(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    const known = copies.get(value)
    if (known !== undefined) return known
    const prototype = Object.getPrototypeOf(value) as object | null
    if (value instanceof Map && prototype === Map.prototype) {
      const copy = begin(value, new Map())
      for (const [key, inner] of value) copy.set(copyOf(key), copyOf(inner))
      return copy
    }
    if (value instanceof Set && prototype === Set.prototype) {
      const copy = begin(value, new Set())
      for (const inner of value) copy.add(copyOf(inner))
      return copy
    }
    if (!isPlain(value)) return value
    const copy = begin(value, Array.isArray(value) ? [] : (Object.create(prototype) as object))
    for (const [key, inner] of Object.entries(value)) {
      // A plain assignment would take `__proto__` for the prototype.
      const field = { value: copyOf(inner), configurable: true, enumerable: true, writable: true }
      Object.defineProperty(copy, key, field)
    }
    return copy
  }
}
