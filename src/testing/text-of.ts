import { canonicalJson } from '../event/encode.ts'
import { isPlain } from '../event/freeze.ts'
import type { JsonValue } from '../event/shapes.ts'

/**
 * Returns a value as JSON with sorted keys, for comparison. Returns a string unchanged. Maps, sets,
 * errors, bytes and bigints become objects. O(size · log keys).
 */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : canonicalJson(plain(value))

/** Returns a value as JSON. Throws for objects without readable fields: all of them would be equal. */
export const plain = (value: unknown): JsonValue =>
  JSON.parse(JSON.stringify(value, (_, inner: unknown) => jsonForm(inner)) ?? 'null') as JsonValue

function jsonForm(value: unknown): unknown {
  if (typeof value === 'bigint') return { bigint: String(value) }
  if (typeof value === 'number' && !Number.isFinite(value)) return { number: String(value) }
  if (value instanceof Map) return { map: [...value] }
  if (value instanceof Set) return { set: [...value] }
  if (value instanceof Error) return { error: String(value) }
  if (value instanceof Uint8Array) return { bytes: Array.from(value).join(' ') }
  if (typeof value !== 'object' || value === null || isData(value)) return value
  if (Object.keys(value).length === 0 && !ArrayBuffer.isView(value))
    throw new TypeError(
      `Cannot compare a ${value.constructor.name}, because its fields cannot be read. Pass \`project\`, which returns plain data.`,
    )
  return value
}

/** Whether a value is a list or a plain object, not a class instance. */
export const isData = (value: object): boolean => Array.isArray(value) || isPlain(value)

export const frozenCopy = <T>(value: T): T => frozenInPlace(JSON.parse(JSON.stringify(value)) as T)

/**
 * Freezes plain objects and lists in place, not class instances. Skips frozen values, so the time for a state
 * depends only on its new parts.
 */
export function frozenInPlace<T>(value: T): T {
  const remaining: unknown[] = [value]
  while (remaining.length > 0) {
    const next = remaining.pop()
    if (typeof next !== 'object' || next === null || Object.isFrozen(next) || !isData(next)) continue
    Object.freeze(next)
    for (const inner of Object.values(next)) remaining.push(inner)
  }
  return value
}
