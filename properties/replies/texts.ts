/** Texts that a provider may send, and how one comes in pieces. */

import * as fc from 'fast-check'
import { isWhitespace } from '../../src/messages/text.ts'
import { jsonObject } from '../../src/testing/json.ts'

/** A text of whole characters, often with space at its end, and now and then blank. */
export const words = (): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }) },
    { weight: 3, arbitrary: fc.constantFrom('Let me see. ', 'a\n\nb', 'done\n', 'x') },
    { weight: 1, arbitrary: fc.constantFrom('', ' ', '\n') },
  )

/** A text that says something. */
export const messages = (): fc.Arbitrary<string> => words().filter((text) => !isWhitespace(text))

/** A tool's name, of tools that there are and that there are not. */
export const toolNames = (): fc.Arbitrary<string> => fc.constantFrom('ls', 'file_editor', 'unknown-tool')

/** Arguments as an object of JSON that is the same when it is written and read again. */
export const inputs = () => jsonObject().map((value) => JSON.parse(JSON.stringify(value)) as object)

/** A text in pieces of the lengths given, at code units, as no provider promises more. */
export function pieces(text: string, cut: () => number): string[] {
  const out: string[] = []
  for (let index = 0; index < text.length;) {
    const length = cut()
    out.push(text.slice(index, index + length))
    index += length
  }
  return out
}
