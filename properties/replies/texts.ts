import * as fc from 'fast-check'
import { isWhitespace } from '../../src/messages/text.ts'
import { jsonObject } from '../../src/testing/json.ts'

/** Complete characters, often with trailing whitespace. */
export const replyTexts = (): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }) },
    { weight: 3, arbitrary: fc.constantFrom('Let me see. ', 'a\n\nb', 'done\n', 'x') },
    { weight: 1, arbitrary: fc.constantFrom('', ' ', '\n') },
  )

export const messages = (): fc.Arbitrary<string> => replyTexts().filter((text) => !isWhitespace(text))

export const toolNames = (): fc.Arbitrary<string> => fc.constantFrom('ls', 'file_editor', 'unknown-tool')

/** Survive a JSON round trip. */
export const inputs = () => jsonObject.map((value) => JSON.parse(JSON.stringify(value)) as object)

/** Splits at code units, because no provider promises more. */
export function pieces(text: string, cut: () => number): string[] {
  const out: string[] = []
  for (let index = 0; index < text.length;) {
    const length = cut()
    out.push(text.slice(index, index + length))
    index += length
  }
  return out
}
