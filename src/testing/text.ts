/** Arbitrary texts: from what people write to what breaks things. */

import * as fc from 'fast-check'

const WORDS = ['list the files', 'done', 'why?', 'fix the test\nand run it', 'ok', 'let me think', '42']

const TRAPS = [
  '',
  ' ',
  '\n\t',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udfff',
  '\ud83d\ude00 ok',
  'e\u0301',
  '\u202eright to left',
  '__proto__',
  'constructor',
  '{"encrypted_content"',
  '</tool>',
  '```',
]

/** A few words that say something. */
export const words = (): fc.Arbitrary<string> => fc.constantFrom(...WORDS)

/**
 * Any text: words, blanks, NUL, lone surrogates, names of object internals, any code points.
 * @example
 * fc.assert(fc.property(anyText(), text => typeof text === 'string'))
 */
export function anyText(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 6, arbitrary: words() },
    { weight: 3, arbitrary: fc.constantFrom(...TRAPS) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  )
}
