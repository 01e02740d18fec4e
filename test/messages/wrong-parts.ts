/** Content parts with one field whose value has a wrong type. */

import * as fc from 'fast-check'
import type { JsonValue, OpenPart } from '../../src/event/shapes.ts'
import { damaged, OPEN_PARTS } from '../../src/testing/content.ts'

export const WRONG_VALUES: readonly JsonValue[] = [
  null,
  true,
  5,
  '',
  'text',
  [],
  [null],
  [5, { text: 5 }],
  {},
  // Converting this to a string throws.
  { toString: null },
]

export function wrongPart(): fc.Arbitrary<OpenPart> {
  const withLists = OPEN_PARTS.filter((part) => JSON.stringify(part).includes('"content":['))
  const part = fc.oneof(fc.constantFrom(...OPEN_PARTS), fc.constantFrom(...withLists))
  return fc.tuple(part, fc.nat(), fc.constantFrom(...WRONG_VALUES)).map(damaged)
}
