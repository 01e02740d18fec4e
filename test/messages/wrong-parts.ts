/** Content parts with one field whose value has a wrong type. */

import * as fc from 'fast-check'
import type { JsonValue, OpenPart } from '../../src/event/shapes.ts'
import { damaged, KNOWN_PARTS } from '../../src/testing/content.ts'

/** One part of each kind that providers and MCP servers send. */
export const OPEN_PARTS: readonly OpenPart[] = [
  ...KNOWN_PARTS,
  { type: 'file', mediaType: 'text/csv', filename: 'a.csv', data: 'data:text/csv;base64,YSxiCg==' },
  { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
  { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'Words.' } },
  { type: 'resource', resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: 'JVBERi0xLjcK' } },
  { type: 'resource_link', uri: 'https://example.com/a', name: 'a', title: 'A', description: 'About a.' },
]

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
