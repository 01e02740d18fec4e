import * as fc from 'fast-check'
import { weighed } from './shape.ts'

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

export const words = fc.constantFrom(...WORDS)

const SURROGATES = 0x800

function characterAt(index: number): string {
  return String.fromCodePoint(index < 0xd800 ? index : index + SURROGATES)
}

/** The inverse of `characterAt`. With it, fast-check can shrink characters that it did not generate. */
function indexOf(value: unknown): number {
  const code = typeof value === 'string' ? (value.codePointAt(0) ?? 0xd800) : 0xd800
  const index = code < 0xd800 ? code : code - SURROGATES
  if (index < 0 || characterAt(index) !== value) throw new Error('not one character')
  return index
}

/**
 * Any code point except lone surrogates, for `fc.string({ unit: character })`. `unit: 'binary'` is
 * equivalent, but its first use is slow.
 */
export const character: fc.Arbitrary<string> = fc
  .nat({ max: 0x10_ffff - SURROGATES })
  .map(characterAt, indexOf)

export const anyText: fc.Arbitrary<string> = weighed(
  [6, words],
  [3, fc.constantFrom(...TRAPS)],
  [1, fc.string({ unit: character, maxLength: 12 })],
)
