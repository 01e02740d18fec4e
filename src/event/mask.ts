import { setOwn } from './json.ts'

const SECRET = 'encrypted_content'

const NAME = [...SECRET]
  .map((letter) => {
    const code = letter.charCodeAt(0).toString(16).padStart(4, '0')
    const anyCase = code.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
    // Match only where backslashes begin: otherwise a search in a million adjacent backslashes is quadratic.
    return String.raw`(?:${letter}|(?<!\\)\\+u${anyCase})`
  })
  .join('')

const NAMED = new RegExp(NAME)

const ESCAPE = String.raw`\u00`

/** White space, escaped or not. Also matches n, r and t alone, which never precede a string value. */
const SPACE = String.raw`[\s\\nrt]*`

/** A quote or its numeric escape, with all backslashes before it. */
const QUOTE = String.raw`(?<!\\)(?:\\*["']|\\+u002[27])`

/**
 * Matches an `encrypted_content` inside a text with JSON (a call's arguments, `log_data`, a quarantined
 * line), at any quoting level. If the text ends inside the secret, or if the secret is a list or object, the
 * rest of the text is masked: a pattern cannot find the end of a list.
 */
const SECRET_IN_TEXT = new RegExp(
  String.raw`(${NAME}${QUOTE}${SPACE}:${SPACE}?)(?:(${QUOTE})[^]*?(?:(?<!\\)\2|$)|[[{][^]*$)`,
  'g',
)

/**
 * Sets each `encrypted_content` in a value to null, also inside strings of JSON text (law X). Returns the
 * same object when there is nothing to mask, and otherwise a frozen copy. O(size). Accepts any depth.
 * @example
 * maskSecrets({ item: { id: 'r1', encrypted_content: 'gAAA' } }) // { item: { id: 'r1', encrypted_content: null } }
 */
export function maskSecrets<T>(value: T): T {
  return holdsSecret(value) ? (masked(value) as T) : value
}

export function mentionsSecret(text: string): boolean {
  return text.includes(SECRET) || (text.includes(ESCAPE) && NAMED.test(text))
}

const maskText = (text: string): string => text.replace(SECRET_IN_TEXT, '$1null')

function holdsSecret(root: unknown): boolean {
  const seen = new Set<object>()
  const todo: unknown[] = [root]
  while (todo.length > 0) {
    const value = todo.pop()
    if (typeof value === 'string' && mentionsSecret(value) && maskText(value) !== value) return true
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
  const copyOf = (value: unknown): unknown => {
    if (typeof value === 'string') return mentionsSecret(value) ? maskText(value) : value
    if (typeof value !== 'object' || value === null) return value
    const known = copies.get(value)
    if (known !== undefined) return known
    const copy = Array.isArray(value) ? [] : {}
    copies.set(value, copy)
    return copy
  }
  const result = copyOf(root)
  // The map grows during the loop, which walks breadth first without a stack.
  for (const [original, copy] of copies) {
    for (const [key, item] of Object.entries(original))
      setOwn(copy, key, key === SECRET ? null : copyOf(item))
  }
  for (const copy of copies.values()) Object.freeze(copy)
  return result
}
