import { quoteEnd } from '../../event/json.ts'
import { type Finder, type ReportHit, unescapeJson } from './find-secrets.ts'
import { unmasked } from './mask.ts'

interface SecretForm {
  readonly name: string
  /**
   * Matches each text that may contain this form, ignoring case. The triggers of all forms are checked first,
   * as one expression.
   */
  readonly trigger: RegExp
  /** If the pattern has a group named `secret`, only this group is masked. Otherwise the whole match is masked. */
  readonly pattern: RegExp | Finder
}

/**
 * Patterns of known secrets. Each takes at most a few hundred steps from any position. An unbounded
 * repetition is at the end of the pattern, or after a lookbehind that excludes the repetition's characters.
 * Such a repetition is written `xx*` or `x{8}x*`, not `x+` or `x{8,}`, because engines keep counted steps on
 * the stack.
 */
const FORMS = [
  {
    // OpenAI, Anthropic and others; a digit distinguishes a key from a name such as sk-folding-cube-wrapper.
    name: 'sk',
    trigger: /sk-/,
    pattern: /(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]{0,64}\d)[\w-]{16}[\w-]*/g,
  },
  {
    name: 'github',
    trigger: /gh[pousr]_|github_pat_/,
    // Since 2026 an app's token is its id and a JWT.
    pattern:
      /(?<![A-Za-z0-9])(?:gh[pousr]_(?:[A-Za-z0-9]{36}[A-Za-z0-9]*|\d{1,20}_eyJ[\w-]*(?:\.[\w-][\w-]*){0,4})|github_pat_\w{22}\w*)/g,
  },
  { name: 'aws', trigger: /A[KS]IA/, pattern: /(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/g },
  {
    name: 'slack',
    trigger: /xox/,
    pattern: /(?<![A-Za-z0-9])xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10}[A-Za-z0-9-]*/g,
  },
  {
    name: 'google',
    trigger: /AIza|AQ\.Ab|ya29\.|GOCSPX-/,
    pattern: /(?<![A-Za-z0-9])(?:AIza[\w-]{35}|(?:AQ\.Ab|ya29\.|GOCSPX-)[\w-]{20}[\w-]*)/g,
  },
  {
    // Hugging Face, npm, Groq, Replicate, xAI, Perplexity, Fireworks, Cerebras, Supabase, Notion, Stripe, Shopify,
    // Linear, DigitalOcean, LangSmith, Vercel, Grafana, Pulumi; Databricks, SendGrid, Azure Storage; GitLab, Slack,
    // NVIDIA, Vault, Figma, Tavily, PyPI, Bedrock.
    name: 'prefix',
    trigger:
      /(?:hf|npm|gsk|r8|fw|fpk|sbp|ntn|whsec|shpat|lin_api|dop_v1|lsv2_[ps][tk]|vc[pk]|glsa|figd)_|xai-|pplx-|fw-|csk-|pul-|tvly-|dapi[\da-f]{8}|SG\.[\w-]{22}\.|AccountKey=|gl(?:pat|dt|rt|cbt|ptt|soat)-|[rs]k_(?:live|test)_|xapp-|nvapi-|hvs\.|pypi-Ag|ABSKQm/,
    pattern:
      /(?<![A-Za-z0-9])(?:(?:(?:hf|npm|gsk|r8|fw|fpk|sbp|ntn|whsec|shpat|lin_api|dop_v1|lsv2_[ps][tk]|vc[pk]|glsa)_|xai-|pplx-|fw-|csk-|pul-)[A-Za-z0-9]{30}[A-Za-z0-9]*|dapi[\da-f]{32}|SG\.[\w-]{22}\.[\w-]{43}|AccountKey=[A-Za-z0-9+/]{86}==|[rs]k_(?:live|test)_[A-Za-z0-9]{20}[A-Za-z0-9]*|(?:gl(?:pat|dt|rt|cbt|ptt|soat)-|xapp-(?=\d)|(?:nvapi-|hvs\.|figd_|tvly-)(?=[A-Za-z_-]{0,64}\d)|pypi-Ag)[\w-]{20}[\w-]*(?:\.[\w-][\w-]*){0,2}|ABSKQm[\w+/]{20}[\w+/]*={0,2})/g,
  },
  {
    name: 'jwt',
    trigger: /eyJ/,
    pattern: /(?<![\w-])eyJ[\w-]{8}[\w-]*\.(?:[\w-]{8}[\w-]*(?:\.[\w-]*){0,3}|\.[\w-][\w-]*(?:\.[\w-]*){2})/g,
  },
  {
    name: 'bearer',
    trigger: /bearer/,
    pattern:
      /(?<![A-Za-z0-9])bearer[ \t]{1,8}(?<secret>(?=[A-Za-z._~+/-]{0,64}\d)[\w.~+/-]{16}[\w.~+/-]*={0,2})/dgi,
  },
  {
    name: 'authorization',
    trigger: /authorization/,
    pattern:
      /(?<![A-Za-z0-9])authorization\\?["']?[ \t]{0,8}[:=][ \t]{0,8}\\?["']?(?:bearer|basic|token)[ \t]{1,8}(?<secret>[^\s"'\\<>(){}$[\],;]{4}[^\s"'\\<>(){}$[\],;]*)/dgi,
  },
  {
    // Up to the last @ of the authority: a password may contain an unencoded @.
    name: 'url_password',
    trigger: /:\/\//,
    pattern: /:\/\/[^\s:@/?#"'<>\\]{0,256}:(?<secret>[^\s/?#"'<>\\]{1,256})@/dg,
  },
  { name: 'private_key', trigger: /PRIVATE KEY/, pattern: findPrivateKeys },
] as const satisfies readonly SecretForm[]

/** Name of a built-in pattern that finds secrets. */
export type BuiltInPattern = (typeof FORMS)[number]['name']

export const BUILT_IN: readonly BuiltInPattern[] = Object.freeze(FORMS.map(({ name }) => name))

export function builtInFinder(names: readonly BuiltInPattern[]): Finder | null {
  const forms: readonly SecretForm[] = FORMS.filter(({ name }) => names.includes(name))
  if (forms.length === 0) return null
  const trigger = new RegExp(forms.map((form) => form.trigger.source).join('|'), 'i')
  return (text, report) => {
    if (!trigger.test(text)) return
    for (const { pattern } of forms) {
      if (typeof pattern === 'function') pattern(text, report)
      else reportMatches(pattern, text, report)
    }
  }
}

export function patternFinder(patterns: readonly RegExp[]): Finder | null {
  if (patterns.length === 0) return null
  const compiled = patterns.map(({ source, flags }) => {
    const extra = source.includes('(?<secret>') ? 'dg' : 'g'
    return new RegExp(source, [...new Set(flags.replace('y', '') + extra)].join(''))
  })
  return (text, report) => {
    for (const pattern of compiled) reportMatches(pattern, text, report)
  }
}

/** Reports the matches. If the regex engine's stack overflows on a long text, the whole text is a hit. */
function reportMatches(pattern: RegExp, text: string, report: ReportHit): void {
  try {
    for (const { index, 0: match, indices } of text.matchAll(pattern)) {
      const [start, end] = indices?.groups?.['secret'] ?? [index, index + match.length]
      if (end > start) report(start, end, text.slice(start, end), 'pattern')
    }
  } catch {
    report(0, text.length, text, 'pattern')
  }
}

const BOUNDARY =
  /-----(?:(BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----)|BEGIN |END [A-Z0-9 ]{0,99}-----)/g
/**
 * Matches a line of a private key whose END line is missing. `CUT_LINE` matches the key's last line, which
 * may be cut.
 */
const KEY_LINE = /\s{0,4}(?:[A-Za-z0-9+/=]{16,100}|[A-Za-z-]{1,40}: [^\r\n]{0,200})/y
const CUT_LINE = /\s{0,4}[A-Za-z0-9+/=]{1,100}/y

/** Finds private keys by their BEGIN and END lines: one pattern for a whole key would take quadratic time. */
function findPrivateKeys(text: string, report: ReportHit): void {
  const boundaries = [...text.matchAll(BOUNDARY)]
  for (const [i, { 0: line, 1: header, index: start }] of boundaries.entries()) {
    if (header === undefined) continue
    const next = boundaries[i + 1]
    const isWhole = next?.[0].startsWith('-----END') === true
    const end = isWhole ? next.index + next[0].length : endOfKeyLines(text, start + line.length)
    report(start, end, text.slice(start, end), 'pattern')
  }
}

/** Returns the end of a key that has no END line. One pattern for all lines would overflow a regex engine's stack. */
function endOfKeyLines(text: string, from: number): number {
  let end = from
  for (const pattern of [KEY_LINE, CUT_LINE]) {
    for (pattern.lastIndex = end; pattern.test(text);) {
      end = pattern.lastIndex
      if (pattern === CUT_LINE) break
    }
  }
  return end
}

/** The fields whose texts are masked by default. */
export const SECRET_FIELDS: readonly string[] = Object.freeze([
  'password',
  'passwd',
  'passphrase',
  'secret',
  'token',
  'api_key',
  'access_key',
  'private_key',
  'authorization',
  'cookie',
])

const MAX_NAME_LENGTH = 100
const MAX_REMEMBERED_KEYS = 10_000

export type IsSecretField = (key: string) => boolean

/**
 * Returns a function that checks whether adjacent parts of a property name are one of `names`. For example,
 * the name `api_key` is in `apiKey`, `APIKEY` and `X-Api-Key-2`, and `token` is in `access_token`. But
 * `token` is neither in `tokens` nor in `nextPageToken`, which is a cursor. Ignores case. O(length), and O(1)
 * for a remembered name.
 */
export function secretFields(names: readonly string[]): IsSecretField {
  const secretNames = new Set(names.map((name) => nameParts(name).join('')))
  const remembered = new Map<string, boolean>()
  return (key) => {
    if (key.length > MAX_NAME_LENGTH) return false
    let isSecret = remembered.get(key)
    if (isSecret === undefined) {
      isSecret = containsName(nameParts(key), secretNames)
      if (remembered.size === MAX_REMEMBERED_KEYS) remembered.clear()
      remembered.set(key, isSecret)
    }
    return isSecret
  }
}

/** Divides a property name into parts. A mask in it becomes the part `0`, which no secret field's name has. */
const nameParts = (key: string): string[] =>
  (unmasked(key).match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|[\p{Lo}\p{Lm}]+|\d+/gu) ?? []).map((word) =>
    word.toLowerCase(),
  )

/**
 * If one of these words precedes `token` in a name, as in `pageToken`, the value is a cursor. It is not masked,
 * because agents must send cursors back.
 */
const POSITIONS: ReadonlySet<string> = new Set(['page', 'next', 'continuation', 'pagination', 'sync'])

const containsName = (words: readonly string[], names: ReadonlySet<string>): boolean =>
  words.some((_, start) => {
    let joined = ''
    return words.slice(start).some((word) => {
      joined += word
      return names.has(joined) && !(joined === 'token' && POSITIONS.has(words[start - 1] ?? ''))
    })
  })

/** Returns a pattern for a quoted name and a colon before a string or list. `escape` matches escaped letters. */
const keyPattern = (escape: string): string =>
  String.raw`(?:"((?:[^"\\\n]${escape}){1,${MAX_NAME_LENGTH}})"|'((?:[^'\\\n]${escape}){1,${MAX_NAME_LENGTH}})')\s{0,32}:\s{0,32}(?=["'[])`

const PLAIN_KEY = keyPattern('')
const ESCAPED_KEY = keyPattern(String.raw`|\\u00[0-7][0-9a-fA-F]`)

/** Returns a finder of secret fields' values in JSON, in truncated JSON, and in similar text with single quotes. */
export function fieldFinder(isSecretField: IsSecretField): Finder {
  return (text, report) => {
    const keys = new RegExp(text.includes(String.raw`\u00`) ? ESCAPED_KEY : PLAIN_KEY, 'g')
    for (let match = keys.exec(text); match !== null; match = keys.exec(text)) {
      if (isSecretField(unescapeJson(match[1] ?? match[2] ?? '')))
        keys.lastIndex = reportValues(text, keys.lastIndex, report)
    }
  }
}

/** Reports the string at `from`, or each string of the list at `from`. Returns the end index. */
function reportValues(text: string, from: number, report: ReportHit): number {
  const isList = text[from] === '['
  const separator = /[\s,[\]]{0,64}/y
  let index = from
  for (;;) {
    if (isList) {
      separator.lastIndex = index
      index += separator.exec(text)?.[0].length ?? 0
    }
    if (text[index] !== '"' && text[index] !== "'") return index
    const end = quoteEnd(text, index)
    const value = text.slice(index + 1, end)
    if (value.trim() !== '') report(index + 1, end, unescapeJson(value), 'field')
    index = end + 1
    if (!isList) return index
  }
}
