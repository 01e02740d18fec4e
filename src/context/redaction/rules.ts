import { checkOptionNames } from '../../event/check-value.ts'
import { ColloquyError } from '../../event/errors.ts'
import { type Finder, literalFinder, MIN_SECRET } from './find-secrets.ts'
import {
  BUILT_IN,
  builtInFinder,
  fieldFinder,
  patternFinder,
  SECRET_FIELDS,
  secretFields,
} from './known-forms.ts'
import type { BuiltInPattern, IsSecretField } from './known-forms.ts'
import { isPartOfMasks, masker, type Masker } from './mask.ts'

/** Options of `redactionRules`: what is secret. */
export interface RedactionOptions {
  /** Literal secrets of 8 or more characters, trimmed. Escaped, percent-encoded and base64 forms are found, too. */
  readonly secrets?: readonly string[]
  /**
   * Patterns whose matches are masked. If a pattern has a group named `secret`, only this group is masked.
   * Use only patterns that take linear time.
   */
  readonly patterns?: readonly RegExp[]
  /** Well-known forms of secrets: all (default), none, or some by name. */
  readonly builtIn?: boolean | readonly BuiltInPattern[]
  /** Names of fields in which texts and lists of texts are masked. Ignores case. Default: `SECRET_FIELDS`. */
  readonly fields?: readonly string[]
  /** HMAC key, with which different secrets get different masks. Without a key, all masks are equal. */
  readonly key?: string | Uint8Array
}

/** Compiled rules, for any number of events. */
export interface RedactionRules {
  readonly mask: Masker
  /** @internal finders of all kinds of secrets */
  readonly finders: readonly Finder[]
  /** @internal finders of literal secrets only; used for the bytes of files and for encrypted texts */
  readonly literalFinders: readonly Finder[]
  /** @internal */
  readonly isSecretField: IsSecretField
}

const isText = (item: unknown): boolean => typeof item === 'string'

/** Whether a value is a RegExp, even one of another realm, as in a test that runs in a `vm` context. */
const isRegExp = (item: unknown): boolean => Object.prototype.toString.call(item) === '[object RegExp]'

/**
 * Compiles rules for `redact`. Without options, the rules mask the well-known forms and the texts of the
 * default fields. O(size of the options).
 * @throws ColloquyError `invalid_rules` for an empty key, an unknown built-in pattern, a pattern that is not
 *   a RegExp, and a secret that is part of a mask's text, or is not a string of at least 8 characters.
 * @example
 * const rules = redactionRules({ secrets: ['correct horse battery'] })
 * rules.mask('correct horse battery') // '[redacted]'
 */
export function redactionRules(options: RedactionOptions = {}): RedactionRules {
  checkOptionNames(options, 'secrets patterns builtIn fields key')
  const { secrets = [], patterns = [], builtIn = true, fields = SECRET_FIELDS, key } = options
  checkList('secrets', secrets, 'a string', isText)
  checkList('patterns', patterns, 'a regular expression', isRegExp)
  checkList('fields', fields, 'a string', isText)
  if (typeof builtIn !== 'boolean') checkList('builtIn', builtIn, 'a name', isText)
  const isSecretField = secretFields(fields)
  const literals = secrets.map(checkSecret)
  const literalFinders = [literalFinder(literals)].filter((finder) => finder !== null)
  const names = builtIn === true ? BUILT_IN : builtIn === false ? [] : builtIn
  const formFinders = [
    builtInFinder(names.map(checkName)),
    fields.length === 0 ? null : fieldFinder(isSecretField),
    patternFinder(patterns),
  ].filter((finder) => finder !== null)
  return Object.freeze({
    mask: masker(key === undefined ? null : checkKey(key), literals),
    finders: [...literalFinders, ...formFinders],
    literalFinders,
    isSecretField,
  })
}

/** Checks a list. An untyped caller may pass anything, such as an environment variable that is not set. */
function checkList(name: string, list: unknown, what: string, isItem: (item: unknown) => boolean): void {
  if (!Array.isArray(list)) throw invalid(`\`${name}\` must be a list.`)
  const index = list.findIndex((item) => !isItem(item))
  if (index !== -1) throw invalid(`\`${name}[${index}]\` must be ${what}.`)
}

/** Trims a secret. Throws if it is too short, or cannot be masked; the error message must not quote the secret. */
function checkSecret(text: string, index: number): string {
  const secret = text.trim()
  if (secret.length < MIN_SECRET)
    throw invalid(`\`secrets[${index}]\` is shorter than ${MIN_SECRET} characters. Use \`patterns\` instead.`)
  if (isPartOfMasks(secret))
    throw invalid(
      `The text of \`secrets[${index}]\` occurs in a mask such as \`[redacted]\`, so this secret cannot be masked. Change the secret.`,
    )
  return secret
}

function checkName(name: BuiltInPattern): BuiltInPattern {
  if (BUILT_IN.includes(name)) return name
  throw invalid(`Unknown built-in pattern ${JSON.stringify(name)}. Use one of ${BUILT_IN.join(', ')}.`)
}

function checkKey(key: string | Uint8Array): Uint8Array {
  if (typeof key !== 'string' && !ArrayBuffer.isView(key))
    throw invalid('`key` must be a string or a Uint8Array.')
  if (key.length === 0) throw invalid('`key` is empty. Pass at least 16 bytes, or omit it.')
  return typeof key === 'string' ? new TextEncoder().encode(key) : key.slice()
}

const invalid = (message: string): ColloquyError => new ColloquyError('invalid_rules', message)
