/** Puts null in place of every `encrypted_content`, at any depth: whatever is shown or logged passes here. */

import { setOwn } from './json.ts'

const SECRET = 'encrypted_content'

/** The secret's name in JSON text, any letter of it as itself or as an escape. */
const NAME = [...SECRET]
  .map((letter) => {
    const code = letter.charCodeAt(0).toString(16).padStart(4, '0')
    const anyCase = code.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
    // Only from where the backslashes begin: from each of a million of them a search would read all that follow.
    return String.raw`(?:${letter}|(?<!\\)\\+u${anyCase})`
  })
  .join('')

const NAMED = new RegExp(NAME)

/** How every escape of a letter of the name begins. */
const ESCAPE = String.raw`\u00`

/** White space, also as an escape: more than that, but such letters stand before no value that is a text. */
const SPACE = String.raw`[\s\\nrt]*`

/**
 * A quote, also one that some writers escape by its number. Only from where the backslashes begin, as in the name.
 */
const QUOTE = String.raw`(?<!\\)(?:\\*["']|\\+u002[27])`

/**
 * The secret inside a text that holds JSON, as a completion's log, a call's arguments or a quarantined line do,
 * quoted once or many times over. A text that was cut off inside the secret is masked to its end, and so is one in
 * which the secret is a list or an object: where that ends, no pattern can tell.
 */
const SECRET_IN_TEXT = new RegExp(
  String.raw`(${NAME}${QUOTE}${SPACE}:${SPACE}?)(?:(${QUOTE})[^]*?(?:(?<!\\)\2|$)|[[{][^]*$)`,
  'g',
)

/**
 * The same JSON value with `encrypted_content` null at any depth, also inside strings that hold JSON text (design
 * section 5, law X).
 *
 * The very same object comes back when there is nothing to mask, a frozen copy otherwise; the input is never
 * changed. Works at any depth. O(size).
 *
 * @example
 * maskSecrets({ item: { id: 'r1', encrypted_content: 'gAAA' } }) // { item: { id: 'r1', encrypted_content: null } }
 */
export function maskSecrets<T>(value: T): T {
  return holdsSecret(value) ? (masked(value) as T) : value
}

/** Whether a text speaks of the secret at all: then it must not be quoted where it cannot be masked. */
export function mentionsSecret(text: string): boolean {
  return text.includes(SECRET) || (text.includes(ESCAPE) && NAMED.test(text))
}

const maskText = (text: string): string =>
  mentionsSecret(text) ? text.replace(SECRET_IN_TEXT, '$1null') : text

function holdsSecret(root: unknown): boolean {
  const seen = new Set<object>()
  const todo: unknown[] = [root]
  while (todo.length > 0) {
    const value = todo.pop()
    if (typeof value === 'string' && maskText(value) !== value) return true
    if (typeof value !== 'object' || value === null || seen.has(value)) continue
    seen.add(value)
    for (const [key, item] of Object.entries(value)) {
      if (key === SECRET && item !== null) return true
      if (typeof item === 'object' || typeof item === 'string') todo.push(item)
    }
  }
  return false
}

function masked(root: unknown): unknown {
  const copies = new Map<object, object>()
  const take = (value: unknown): unknown => {
    if (typeof value === 'string') return maskText(value)
    if (typeof value !== 'object' || value === null) return value
    const known = copies.get(value)
    if (known !== undefined) return known
    const copy = Array.isArray(value) ? [] : {}
    copies.set(value, copy)
    return copy
  }
  const result = take(root)
  // The map grows while it is walked, which walks it breadth first, without a stack.
  for (const [original, copy] of copies) {
    for (const [key, item] of Object.entries(original)) setOwn(copy, key, key === SECRET ? null : take(item))
  }
  for (const copy of copies.values()) Object.freeze(copy)
  return result
}
