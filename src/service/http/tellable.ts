/**
 * Bounds what a refusal or a line of the log quotes of a request: a client's mistake may hold its secrets, and
 * megabytes of them.
 */

import { ellipsize } from '../../context/text.ts'
import { redactionRules } from '../../context/redaction/rules.ts'
import { redactText } from '../../context/redaction/redact-text.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { ValidationError } from './problem.ts'

/** Most errors that are sent of one request, parts of one place, and characters of one part, a value and a sentence. */
const MOST_ERRORS = 20
const MOST_PARTS = 12
const MOST_PART = 64
const MOST_VALUE = 100
const MOST_SENTENCE = 1_000

const RULES = redactionRules()

/**
 * A text with masks for what looks like a secret, of so many characters at most. O(1): no more is read than could be
 * sent.
 */
export const tellable = (text: string, most = MOST_SENTENCE): string =>
  ellipsize(redactText(text.slice(0, 8 * most), RULES), most)

/**
 * What is wrong with a request, fit to be sent. Lists and objects that were given are left out, and so is what stands
 * under the name of a secret. O(1).
 */
export function tellableErrors(errors: readonly ValidationError[]): ValidationError[] {
  return errors.slice(0, MOST_ERRORS).map(({ loc, msg, type, input, ctx }) => ({
    loc: tellablePlace(loc),
    msg: tellable(msg),
    type,
    ...(mayTell(loc, input) && { input: typeof input === 'string' ? tellable(input, MOST_VALUE) : input }),
    ...(ctx !== undefined && { ctx }),
  }))
}

function tellablePlace(loc: ValidationError['loc']): ValidationError['loc'] {
  const parts = loc.length > MOST_PARTS ? [...loc.slice(0, MOST_PARTS - 1), '…'] : loc
  return parts.map((part) => (typeof part === 'string' ? tellable(part, MOST_PART) : part))
}

const mayTell = (
  loc: ValidationError['loc'],
  input: JsonValue | undefined,
): input is string | number | boolean | null =>
  input !== undefined &&
  (typeof input !== 'object' || input === null) &&
  !loc.some((part) => typeof part === 'string' && RULES.isSecretField(part))
