/**
 * Writes events as JSON: as given, or in the canonical form that equal values share, which ids and comparisons are
 * made of.
 */

import type { Event } from './types.ts'

/**
 * The event as JSON text, its fields in the order they were given. Decoding the text gives an equal event, every
 * null included (law E). O(size).
 *
 * @example
 * encodeEvent({ kind: 'PauseEvent', id: 'p1' }) // '{"kind":"PauseEvent","id":"p1"}'
 */
export function encodeEvent(event: Event): string {
  return JSON.stringify(event)
}

/** What is still to be written: text as it stands, or a value. */
type Part = string | { readonly value: unknown }

/**
 * A JSON value as text with the keys of every object sorted by UTF-16 code units and no space, so that equal values
 * give equal texts.
 *
 * What JSON cannot write is left out of objects and written as null elsewhere. Works at any depth. O(size · log
 * keys).
 *
 * @example
 * canonicalJson({ b: 1, a: [true, null] }) // '{"a":[true,null],"b":1}'
 */
export function canonicalJson(value: unknown): string {
  let text = ''
  const parts: Part[] = [{ value }]
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (typeof part === 'string') text += part
    else if (typeof part.value !== 'object' || part.value === null) text += scalar(part.value)
    else if (Array.isArray(part.value)) pushList(part.value, parts)
    else pushObject(part.value as Readonly<Record<string, unknown>>, parts)
  }
  return text
}

function pushList(list: readonly unknown[], parts: Part[]): void {
  parts.push(']')
  for (let i = list.length - 1; i >= 0; i--) {
    parts.push({ value: list[i] })
    if (i > 0) parts.push(',')
  }
  parts.push('[')
}

function pushObject(object: Readonly<Record<string, unknown>>, parts: Part[]): void {
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

const isJson = (value: unknown): boolean =>
  typeof value === 'object' ||
  typeof value === 'string' ||
  typeof value === 'number' ||
  typeof value === 'boolean'

const scalar = (value: unknown): string => (isJson(value) ? JSON.stringify(value) : 'null')
