/** Compiles what the caller calls secret into rules. */

import { ColloquyError } from '../../event/errors.ts'
import { BUILT_IN, type BuiltInPattern, builtInFinder } from './built-in.ts'
import { fieldFinder, type IsSecretField, SECRET_FIELDS, secretFields } from './field-names.ts'
import type { Finder } from './hit.ts'
import { literalFinder, MIN_SECRET } from './literals.ts'
import { isPartOfMasks, masker, type Masker } from './mask.ts'
import { ownFinder } from './own-patterns.ts'

/** What is secret. */
export interface RedactionOptions {
  /**
   * Secrets as they are, of at least 8 characters without the white space around them. They are also found
   * percent-encoded, as base64 and JSON-escaped, in any mixture up to 8 times over.
   */
  readonly secrets?: readonly string[]
  /**
   * Forms of secrets. The whole match is masked, or what a group named `secret` matched. In texts of more than 16,384
   * characters a match of more than 4,096 may be found in part only, and a pattern sees 1,024 characters around one;
   * but a pattern with `^` or `$` and without the flag `m` sees the whole text, and costs what it costs there.
   */
  readonly patterns?: readonly RegExp[]
  /** Well-known forms: all (default), none, or some by name. */
  readonly builtIn?: boolean | readonly BuiltInPattern[]
  /**
   * Names of fields whose texts are masked, as words of the key in any case. Default: `SECRET_FIELDS`; none with an
   * empty list.
   */
  readonly fields?: readonly string[]
  /**
   * Tells masks of different secrets apart by a keyed hash; without the key guesses cannot be tried. Default: all masks
   * are alike.
   */
  readonly key?: string | Uint8Array
}

/** Rules, made once and used for many events. */
export interface RedactionRules {
  /** What stands for a secret. */
  readonly mask: Masker
  /** @internal finds everything */
  readonly finders: readonly Finder[]
  /** @internal finds literal secrets only, for what must stay whole or go */
  readonly literalFinders: readonly Finder[]
  /** @internal */
  readonly isSecretField: IsSecretField
}

/**
 * Rules for `redact`. Without options the well-known forms and the default field names. O(size of the options).
 * @throws ColloquyError `invalid_rules` for a secret that is too short or part of every mask, an empty key, an unknown
 * name.
 *
 * @example
 * const rules = redactionRules({ secrets: ['correct horse battery'] })
 * rules.mask('correct horse battery') // '[redacted]'
 */
export function redactionRules(options: RedactionOptions = {}): RedactionRules {
  const { secrets = [], patterns = [], builtIn = true, fields = SECRET_FIELDS, key } = options
  const isSecretField = secretFields(fields)
  const known = secrets.map(checkSecret)
  const literals = literalFinder(known)
  const named = builtIn === true ? BUILT_IN : builtIn === false ? [] : builtIn
  const found = [
    literals,
    builtInFinder(named.map(checkName)),
    fields.length === 0 ? null : fieldFinder(isSecretField),
    ownFinder(patterns),
  ]
  return Object.freeze({
    mask: masker(key === undefined ? null : checkKey(key), known),
    finders: found.filter((finder) => finder !== null),
    literalFinders: literals === null ? [] : [literals],
    isSecretField,
  })
}

/** The message must not quote the secret. */
function checkSecret(given: string, at: number): string {
  const secret = given.trim()
  if (secret.length < MIN_SECRET) {
    throw invalid(
      `Secret ${at} is shorter than ${MIN_SECRET} characters; use a pattern that says where it stands.`,
    )
  }
  if (isPartOfMasks(secret)) throw invalid(`Secret ${at} is a part of what masks look like; choose another.`)
  return secret
}

function checkName(name: BuiltInPattern): BuiltInPattern {
  if (BUILT_IN.includes(name)) return name
  throw invalid(`There is no built-in pattern ${JSON.stringify(name)}; choose among ${BUILT_IN.join(', ')}.`)
}

function checkKey(key: string | Uint8Array): Uint8Array {
  if (key.length === 0) throw invalid('The key of the masks is empty; give one of 16 bytes or more, or none.')
  return typeof key === 'string' ? new TextEncoder().encode(key) : key.slice()
}

const invalid = (message: string): ColloquyError => new ColloquyError('invalid_rules', message)
