/** encodeEvent and canonicalJson: round trips lose nothing (law E), and equal values have the same text. */

import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeEvent, decodeLine } from '../../src/event/decode.ts'
import { canonicalJson, encodeEvent } from '../../src/event/encode.ts'
import { anyEvent, anyJson } from './arbitrary.ts'

/** Reverses the order of keys. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toReversed()
  return Object.fromEntries(entries.map(([key, item]) => [key, reversed(item)]))
}

describe('encodeEvent', () => {
  it('writes text that decodes to the same event, including nulls', () => {
    let nulls = 0
    fc.assert(
      fc.property(anyEvent, (value) => {
        const decoded = decodeEvent(value)
        if (!decoded.ok) return expect.fail(JSON.stringify(decoded.issues))
        const text = encodeEvent(decoded.event)
        if (text.includes(':null')) nulls += 1
        expect(text).not.toMatch(/[\n\r]/)
        const again = decodeLine(text)
        expect(isDeepStrictEqual(again, decoded)).toBe(true)
        expect(again.ok && encodeEvent(again.event)).toBe(text)
      }),
      { numRuns: 500 },
    )
    expect(nulls).toBeGreaterThan(25)
  })

  it('keeps the order of the fields', () => {
    const line = '{"id":"a","kind":"PauseEvent","source":"user","parent_id":null}'
    const decoded = decodeLine(line)
    expect(decoded.ok && encodeEvent(decoded.event)).toBe(line)
  })
})

describe('canonicalJson', () => {
  it.each<[unknown, string]>([
    [null, 'null'],
    ['a"\n\ud800', '"a\\"\\n\\ud800"'],
    [-0, '0'],
    [1e21, '1e+21'],
    [[], '[]'],
    [{}, '{}'],
    [[1, [2], {}], '[1,[2],{}]'],
    [{ b: 1, a: { d: [], c: null } }, '{"a":{"c":null,"d":[]},"b":1}'],
    [{ 10: 1, 9: 2, a: 3 }, '{"10":1,"9":2,"a":3}'],
    [{ '😀': 1, '\uffff': 2 }, '{"😀":1,"\uffff":2}'],
    [JSON.parse('{"b":1,"__proto__":{"a":1}}'), '{"__proto__":{"a":1},"b":1}'],
    [{ a: undefined, b: () => 1, c: [undefined] }, '{"c":[null]}'],
    [Number.NaN, 'null'],
  ])('serializes %j as %s', (value, text) => expect(canonicalJson(value)).toBe(text))

  it('equals JSON.stringify except for the order of keys', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = canonicalJson(value)
        expect(isDeepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))).toBe(true)
        expect(canonicalJson(reversed(value))).toBe(text)
        expect(canonicalJson(JSON.parse(text))).toBe(text)
      }),
    )
  })

  it('handles 200,000 levels of nesting', () => {
    let deep: unknown = 1
    for (let i = 0; i < 200_000; i++) deep = i % 2 === 0 ? [deep] : { a: deep }
    expect(canonicalJson(deep)).toHaveLength(1 + 100_000 * 2 + 100_000 * 6)
  })
})
