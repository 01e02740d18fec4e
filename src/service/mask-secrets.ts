/**
 * Finds and masks secrets in JSON. A secret is recognised by its name (field, command option, URL parameter),
 * its position (environment and header values), or its form (known tokens, user parts of URLs).
 */

import { BUILT_IN, builtInFinder } from '../context/redaction/known-forms.ts'
import { isObject, mapDeep } from '../event/json.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import { decoded } from './http/parameters.ts'

export const MASK = '**********'

const NAMES =
  /api[-_]?key|access[-_]?key|secret|token(?!s)|passw|passphrase|credential|private[-_]?key|authorization|cookie/i
const MAPS = /(?:env|environment|env_?vars?|headers)$/i
const COMMANDS = /(?:command|cmd|args|arguments|argv|script)$/i

const PARAMETER = /key|token|secret|sig|passw|auth|cred/i
const OPTION = /^--?[\w.-]+$/
const SECRET_OPTION = /key|token|secret|passw|passphrase|auth|cred/i
const ENVIRONMENT_OPTION = /^(?:-e|--env|-H|--headers?)$/

const USER = /^(\s*[a-z][\w+.-]*:\/\/)[^/?#]*@/i
const URL_LIKE = /^\s*[a-z][\w+.-]*:\/\//i
const URLS = /(?<![\w+.-])[a-z][\w+.-]{0,30}:\/\/[^\s"'<>]*/gi

/** Whether a field is a secret, by its name. A number or a boolean is never a secret (`max_token: 4096`). */
export const isSecret = (name: string, value: JsonValue | undefined): boolean =>
  NAMES.test(name) &&
  value !== null &&
  value !== undefined &&
  typeof value !== 'number' &&
  typeof value !== 'boolean' &&
  value !== ''

export const isSecretMap = (name: string, value: JsonValue | undefined): boolean =>
  MAPS.test(name) && typeof value === 'object' && value !== null

const findKnownForms = builtInFinder(BUILT_IN)

function knownForms(text: string): readonly (readonly [start: number, end: number])[] {
  const hits: (readonly [number, number])[] = []
  findKnownForms?.(text, (start, end) => void hits.push([start, end]))
  return hits.toSorted(([a], [b]) => a - b)
}

export function shownText(text: string): string {
  const shown = URL_LIKE.test(text) ? shownUrl(text) : text.replace(URLS, shownUrl)
  return maskParts(shown, knownForms(shown))
}

const shownUrl = (url: string): string => maskParts(url, secretParameters(url)).replace(USER, '$1')

function maskParts(text: string, parts: Iterable<readonly [start: number, end: number]>): string {
  let shown = ''
  let position = 0
  for (const [start, end] of parts) {
    if (end <= position) continue
    shown += text.slice(position, Math.max(start, position)) + (start < position ? '' : MASK)
    position = end
  }
  return shown + text.slice(position)
}

/** Yields the positions of secrets in the query of a URL, and in URLs that the query contains. */
function* secretParameters(url: string): Generator<readonly [start: number, end: number]> {
  for (const { 0: part, index } of url.matchAll(/[&;#]?[^&;#]*/g)) {
    let name = /^[&;]/.test(part) ? 0 : part.indexOf('?')
    while (name >= 0) {
      const equals = part.indexOf('=', name)
      if (equals < 0) break
      if (PARAMETER.test(part.slice(name, equals))) {
        if (equals + 1 < part.length) yield [index + equals + 1, index + part.length]
        break
      }
      name = part.indexOf('?', equals)
    }
  }
}

export const hasSecret = (value: JsonValue): boolean => secretsIn(value, 1).length > 0

export function masked(value: JsonValue): JsonValue {
  if (typeof value === 'string') return shownText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return shownArguments(value)
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([name, inner]) => [name, maskedField(name, inner ?? null)]),
  )
}

export function maskedField(name: string, value: JsonValue): JsonValue {
  if (isSecret(name, value)) return MASK
  if (isSecretMap(name, value)) return allMasked(value)
  if (typeof value === 'string' && COMMANDS.test(name)) return shownArguments(wordsOf(value)).join('')
  return masked(value)
}

const allMasked = (value: JsonValue): JsonValue =>
  mapDeep(value, (one) =>
    (typeof one === 'string' && one !== '') || typeof one === 'number' ? MASK : one,
  ) as JsonValue

/** Splits a shell command into words, which keep their quotes, and the white space between the words. */
function wordsOf(command: string): string[] {
  const words: string[] = []
  let isInWord = false
  for (const [part] of command.matchAll(/\s+|[^\s"']+|"[^"]*"?|'[^']*'?/g)) {
    const isSpace = part.trim() === ''
    if (isInWord && !isSpace) words.push(`${words.pop()}${part}`)
    else words.push(part)
    isInWord = !isSpace
  }
  return words
}

/** Masks the values of options whose names indicate secrets, such as `--token`. */
function shownArguments(list: readonly JsonValue[]): JsonValue[] {
  let option = ''
  return list.map((item) => {
    if (typeof item !== 'string') return masked(item)
    if (item.trim() === '') return item
    const before = option
    option = item.startsWith('-') && !item.includes('=') ? item : ''
    if (OPTION.test(before) && SECRET_OPTION.test(before) && option === '') return MASK
    const [, name = '', sign = '', value = ''] = /^([^\s:=]{1,100})(=|:\s*)([^]+)$/.exec(item) ?? []
    const isNamed = sign === '=' && (ENVIRONMENT_OPTION.test(before) || PARAMETER.test(name))
    if (value !== '' && (isNamed || (sign !== '=' && ENVIRONMENT_OPTION.test(before))))
      return `${name}${sign}${MASK}`
    return shownText(item)
  })
}

/**
 * Returns a value without secrets. Removes each text, list, environment map and header map that contains a
 * secret. From all other objects, removes only the secret fields.
 */
export function withoutSecrets(value: JsonObject): JsonObject {
  const open = Object.entries(value as Readonly<Record<string, JsonValue>>).flatMap(
    ([name, inner]): [string, JsonValue][] => {
      if (isSecret(name, inner)) return []
      if (isObject(inner) && !isSecretMap(name, inner)) return [[name, withoutSecrets(inner)]]
      return hasSecret({ [name]: inner }) ? [] : [[name, inner]]
    },
  )
  return Object.fromEntries(open)
}

/** Returns the secrets in a value, except environment and header values shorter than `minLength`. */
export function secretsIn(value: JsonValue, minLength = 5): string[] {
  if (typeof value === 'string') return secretsOfText(value)
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return secretsOfArguments(value as readonly JsonValue[], minLength)
  return Object.entries(value as Readonly<Record<string, JsonValue>>).flatMap(([name, inner]) => {
    if (isSecret(name, inner)) return textsIn(inner)
    if (isSecretMap(name, inner)) return textsIn(inner).filter(({ length }) => length >= minLength)
    const isCommand = typeof inner === 'string' && COMMANDS.test(name)
    return isCommand ? secretsOfArguments(wordsOf(inner), minLength) : secretsIn(inner, minLength)
  })
}

function secretsOfArguments(list: readonly JsonValue[], minLength: number): string[] {
  const shown = shownArguments(list)
  return list.flatMap((item, index) => {
    if (typeof item !== 'string') return secretsIn(item, minLength)
    const text = shown[index]
    if (text === item || typeof text !== 'string') return []
    // The secret of `NAME=VALUE` is the value.
    const secrets = secretsOfText(item)
    return secrets.length > 0 || !text.endsWith(MASK) ? secrets : [item.slice(text.length - MASK.length)]
  })
}

function secretsOfText(text: string): string[] {
  const urls = URL_LIKE.test(text) ? [text] : (text.match(URLS) ?? [])
  return [...urls.flatMap(secretsOfUrl), ...knownForms(text).map(([start, end]) => text.slice(start, end))]
}

function secretsOfUrl(text: string): string[] {
  const user = /^[^/]*\/\/([^/?#]*)@/.exec(text)?.[1] ?? ''
  const values = Array.from(secretParameters(text), ([start, end]) => text.slice(start, end))
  return [...user.split(':'), ...values]
    .filter((part) => part !== '' && part !== MASK)
    .flatMap((part) => [part, decoded(part)])
}

export function textsIn(value: JsonValue): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value]
  if (typeof value === 'number') return [String(value)]
  return typeof value === 'object' && value !== null
    ? Object.values(value).flatMap((inner) => textsIn(inner as JsonValue))
    : []
}
