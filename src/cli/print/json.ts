/** JSON that is fit to be printed: without secrets, and without bytes that drive a terminal. */

import { hideSecrets } from './text.ts'

// What a terminal or a line reader may act upon, and JSON.stringify leaves as it is.
const ACTIVE = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** JSON of a value that holds no secret under its own name; secrets that its texts quote are hidden here. */
export function toJson(value: unknown, indent = 0): string {
  const json = JSON.stringify(value, null, indent) ?? 'null'
  const hidden = hideSecrets(json) === json ? json : JSON.stringify(value, hide, indent)
  return escapeActive(hidden)
}

/** JSON with escapes for what a terminal may act upon: it stands inside strings only, where an escape says the same. */
export const escapeActive = (json: string): string =>
  json.replace(ACTIVE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

const hide = (_key: string, value: unknown): unknown =>
  typeof value === 'string' ? hideSecrets(value) : value

/** A result as JSON without line ends, piece by piece: it can be longer than the longest string. */
function* jsonPieces(value: unknown): IterableIterator<string> {
  if (Array.isArray(value)) {
    let before = '['
    for (const item of value) {
      yield before + toJson(item)
      before = ','
    }
    yield before === '[' ? '[]' : ']'
  } else if (isPlain(value)) {
    let before = '{'
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue
      yield `${before}${toJson(key)}:`
      yield* jsonPieces(item)
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  } else yield toJson(value)
}

/** The same as a line. */
export function* jsonLine(value: unknown): IterableIterator<string> {
  yield* jsonPieces(value)
  yield '\n'
}

/** Whether a value has fields to write one by one. */
const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
