import type { Event } from './types.ts'

/**
 * Returns an event as JSON text. Fields keep their order. Decoding returns an equal event (law E). O(size).
 * @example
 * encodeEvent({ kind: 'PauseEvent', id: 'p1' }) // '{"kind":"PauseEvent","id":"p1"}'
 */
export function encodeEvent(event: Event): string {
  return JSON.stringify(event)
}

type Encoded = string | { readonly value: unknown }

/**
 * Returns JSON without spaces, with sorted keys, so that equal values have equal texts. A value of a type
 * that JSON lacks is omitted from an object, and becomes null elsewhere. O(size · log keys). Accepts any
 * depth.
 * @example
 * canonicalJson({ b: 1, a: [true, null] }) // '{"a":[true,null],"b":1}'
 */
export function canonicalJson(value: unknown): string {
  let text = ''
  const parts: Encoded[] = [{ value }]
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (typeof part === 'string') text += part
    else if (typeof part.value !== 'object' || part.value === null)
      text += isJson(part.value) ? JSON.stringify(part.value) : 'null'
    else if (Array.isArray(part.value)) pushList(part.value, parts)
    else pushObject(part.value as Readonly<Record<string, unknown>>, parts)
  }
  return text
}

function pushList(list: readonly unknown[], parts: Encoded[]): void {
  parts.push(']')
  for (let i = list.length - 1; i >= 0; i--) {
    parts.push({ value: list[i] })
    if (i > 0) parts.push(',')
  }
  parts.push('[')
}

function pushObject(object: Readonly<Record<string, unknown>>, parts: Encoded[]): void {
  const keys = Object.keys(object)
    .filter((key) => isJson(object[key]))
    .toSorted()
  parts.push('}')
  for (let i = keys.length - 1; i >= 0; i--) {
    const key = keys[i] as string
    parts.push({ value: object[key] }, `${i > 0 ? ',' : ''}${JSON.stringify(key)}:`)
  }
  parts.push('{')
}

const isJson = (value: unknown): boolean => ['object', 'string', 'number', 'boolean'].includes(typeof value)
