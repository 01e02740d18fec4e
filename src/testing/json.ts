/** Arbitraries of JSON values. The values can have `__proto__` as an ordinary key, as after `JSON.parse`. */

import * as fc from 'fast-check'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import { weighed } from './shape.ts'

const TRAPS = [
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":null}}',
  '{"toString":null}',
  '[[]]',
]

const parsed = (text: string): JsonValue => JSON.parse(text) as JsonValue

export const jsonValue: fc.Arbitrary<JsonValue> = weighed(
  [3, fc.constantFrom('null', 'true', '0', '-1.5', '"text"', '{}', '[]', '{"a":[1,null]}')],
  [1, fc.json({ maxDepth: 2, depthSize: 'small' })],
  [1, fc.constantFrom(...TRAPS)],
).map(parsed)

const parsedObject = (text: string): JsonObject => parsed(text) as JsonObject

export const jsonObject: fc.Arbitrary<JsonObject> = fc
  .oneof(
    fc.constantFrom('{}', '{"a":1}', '{"nested":{"list":[null,{"b":"c"}]}}', ...TRAPS.slice(0, 3)),
    fc
      .dictionary(fc.string({ maxLength: 5 }), fc.constantFrom(null, true, 7, 'v'), { maxKeys: 3 })
      .map((object) => JSON.stringify(object)),
  )
  .map(parsedObject)

/** Generates fields that no type defines, so that they never override a known field. */
export const openFields: fc.Arbitrary<JsonObject> = weighed(
  [4, fc.constant('{}')],
  [
    1,
    fc.constantFrom('{"x_note":"kept"}', '{"x_deep":{"list":[1,null]}}', '{"__proto__":{"polluted":true}}'),
  ],
).map(parsedObject)

export const withOpenFields = <T extends object>(known: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.tuple(openFields, known).map(([open, fields]) => ({ ...open, ...fields }))
