import { hasText } from '../../event/text.ts'
import { eachJsonToken, parseJson } from '../../event/json.ts'
import { findSecrets, type Hit, maskHits } from './find-secrets.ts'
import { isMask, keyNumbers, maskObject } from './mask.ts'
import type { RedactionRules } from './rules.ts'

/**
 * Maximum number of times that a text is searched for secrets. Each search may find a match that an earlier
 * mask created. If the last search still finds one, the whole text is masked.
 */
export const MAX_ROUNDS = 4

/** Name of a field, at any depth, whose value only the model's provider can read. */
export const ENCRYPTED_FIELD = 'encrypted_content'

/** Maximum characters of a secret. A longer base64 text counts as a file. */
const MAX_SECRET = 256

const isBase64 = (text: string): boolean => text.length > MAX_SECRET && text.search(/[^A-Za-z0-9+/=]/) < 0

interface TextOptions {
  /** Whether any JSON is redacted as JSON, even a number. Default: only text that begins with `[`, `{` or `"`. */
  readonly json?: boolean
  readonly bytes?: boolean
}

/** Redacts a text. If masks keep creating new matches, masks the whole text, so that redaction is idempotent. */
export function redactText(text: string, rules: RedactionRules, options: TextOptions = {}): string {
  if (!hasText(text) || isMask(text)) return text
  // In bytes of a file, patterns would match by chance. Literal secrets do not.
  const isFile = /^data:[^,]{0,100};base64,/i.test(text) || (options.bytes === true && isBase64(text))
  const finders = isFile ? rules.literalFinders : rules.finders
  let redacted = text
  let json: boolean | null = null
  const isJson = (): boolean => (json ??= (options.json === true || /^\s*[[{"]/.test(text)) && parses(text))
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const hits = findSecrets(redacted, finders)
    // Inside JSON a text may have its own encoding, visible once the JSON escapes are decoded.
    if (hits.length === 0 && !(redacted.includes('\\') && isJson())) return redacted
    const edited = isJson() ? redactJsonText(redacted, rules) : { text: redacted, sealed: [] }
    if (edited.text !== redacted) {
      redacted = edited.text
      continue
    }
    const unsealed = outside(hits, edited.sealed)
    if (unsealed.length === 0) return redacted
    const masked = maskHits(redacted, unsealed, rules.mask)
    // A hit across the borders of JSON strings would destroy the JSON.
    if (isJson() && !parses(masked)) break
    redacted = masked
  }
  const mask = rules.mask(text)
  return isJson() ? maskObject(mask) : mask
}

/** Returns the encrypted `text` itself; null if it contains a literal secret, because a mask would make it useless. */
export const redactSealed = (text: string, { literalFinders }: RedactionRules): string | null =>
  findSecrets(text, literalFinders).length === 0 ? text : null

export function redactField(text: string, rules: RedactionRules): string {
  if (!hasText(text) || isMask(text)) return text
  // If the rules find exactly one secret in the value, use its mask: a secret has the same mask everywhere.
  const [hit, ...others] = findSecrets(text, rules.finders)
  return rules.mask(hit !== undefined && others.length === 0 ? hit.secret : text)
}

export function redactNumber(digits: string, rules: RedactionRules): string | null {
  const [hit] = findSecrets(digits, rules.finders)
  return hit === undefined ? null : rules.mask(hit.secret)
}

function outside(hits: readonly Hit[], ranges: readonly TextRange[]): readonly Hit[] {
  let i = 0
  return hits.filter(({ start, end }) => {
    while ((ranges[i]?.[1] ?? Infinity) < end) i += 1
    return (ranges[i]?.[0] ?? end) > start
  })
}

const parses = (text: string): boolean => parseJson(text) !== undefined

type TextRange = readonly [start: number, end: number]

interface Level {
  readonly isList: boolean
  /** The current property's original and redacted name; empty before each name. A list has its parent's names. */
  keys: readonly string[]
  readonly uniqueKey: (masked: string) => string
}

/** Redacts JSON text token by token. Adds numbers to equal masked property names, so that no value is lost. */
function redactJsonText(text: string, rules: RedactionRules): { text: string; sealed: readonly TextRange[] } {
  const levels: Level[] = []
  const sealed: TextRange[] = []
  // The property names of the whole text, because a masked name must not equal a later name.
  let allKeys: ReadonlySet<string> | null = null
  const wasKey = (key: string): boolean => (allKeys ??= jsonKeys(text)).has(key)
  let out = ''
  let last = 0
  eachJsonToken(text, (token, index) => {
    const level = levels.at(-1)
    if (token === '{') levels.push({ isList: false, keys: [], uniqueKey: keyNumbers(wasKey) })
    else if (token === '[')
      levels.push({ isList: true, keys: level?.keys ?? [], uniqueKey: (masked) => masked })
    else if (token === '}' || token === ']') levels.pop()
    else if (token === ',') {
      if (level?.isList === false) level.keys = []
    } else if (token !== ':') {
      const redacted = redactToken(token, level, rules)
      out += text.slice(last, index)
      if (redacted === null) sealed.push([out.length, out.length + token.length])
      out += redacted ?? token
      last = index + token.length
    }
  })
  return { text: out + text.slice(last), sealed }
}

function jsonKeys(text: string): ReadonlySet<string> {
  const keys = new Set<string>()
  let previous = ''
  eachJsonToken(text, (token) => {
    if (token === ':') keys.add(JSON.parse(previous) as string)
    previous = token
  })
  return keys
}

/** Redacts a token of JSON. Returns null for an encrypted token, which stays unchanged. */
function redactToken(token: string, level: Level | undefined, rules: RedactionRules): string | null {
  if (!token.startsWith('"')) {
    const mask = redactNumber(token, rules)
    return mask === null ? token : JSON.stringify(mask)
  }
  const text = JSON.parse(token) as string
  const keys = level?.keys ?? []
  let redacted
  if (level?.isList === false && keys.length === 0) {
    const key = text === ENCRYPTED_FIELD ? text : redactText(text, rules)
    level.keys = [text, key]
    redacted = key === text ? text : level.uniqueKey(key)
  } else if (keys.includes(ENCRYPTED_FIELD)) return redactSealed(text, rules) === null ? 'null' : null
  else redacted = keys.some(rules.isSecretField) ? redactField(text, rules) : redactText(text, rules)
  return redacted === text ? token : JSON.stringify(redacted)
}
