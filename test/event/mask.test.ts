/** maskSecrets removes encrypted content at any depth, and changes nothing else (law X). */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadLine } from '../../src/event/load.ts'
import { maskSecrets } from '../../src/event/mask.ts'
import { anyJson } from './arbitrary.ts'

const SECRET = 'gAAA-secret+/='

describe('maskSecrets', () => {
  it.each<[unknown, unknown]>([
    [{ encrypted_content: SECRET }, { encrypted_content: null }],
    [{ encrypted_content: { deep: SECRET } }, { encrypted_content: null }],
    [[{ a: [{ encrypted_content: SECRET, b: 1 }] }], [{ a: [{ encrypted_content: null, b: 1 }] }]],
    [
      { a: 1, encrypted_content: 5 },
      { a: 1, encrypted_content: null },
    ],
  ])('masks the encrypted content in %j', (value, masked) => expect(maskSecrets(value)).toEqual(masked))

  it('returns the same object if there is nothing to mask', () => {
    for (const value of [
      { a: [1, { b: 'encrypted_content' }] },
      { encrypted_content: null },
      [],
      'text',
      null,
      5,
    ]) {
      expect(maskSecrets(value)).toBe(value)
    }
  })

  it('does not change its input, keeps the order of keys, and freezes its copy', () => {
    const value = { z: 1, item: { encrypted_content: SECRET }, a: [2] }
    const masked = maskSecrets(value)
    expect(value.item.encrypted_content).toBe(SECRET)
    expect(JSON.stringify(masked)).toBe('{"z":1,"item":{"encrypted_content":null},"a":[2]}')
    expect(Object.isFrozen(masked.item)).toBe(true)
  })

  it('masks JSON text in strings, quoted any number of times', () => {
    let text: unknown = { response: { encrypted_content: SECRET, id: 'r1' } }
    for (let i = 0; i < 4; i++) {
      text = JSON.stringify(text)
      const masked = maskSecrets({ log_data: `[${text as string}]` })
      expect(JSON.stringify(masked)).not.toContain('gAAA')
      expect(JSON.stringify(masked)).toContain('r1')
    }
    expect(maskSecrets({ log_data: '{"encrypted_content": "gAAA", "id": "r1"}' })).toEqual({
      log_data: '{"encrypted_content": null, "id": "r1"}',
    })
  })

  it('masks truncated JSON text to its end', () => {
    expect(maskSecrets(['{"encrypted_content":"gAAA'])).toEqual(['{"encrypted_content":null'])
  })

  it.each([
    ['log: {"encrypted_content": "gAAA"} end', 'log: {"encrypted_content": null} end'],
    ["{'encrypted_content': 'gAAA', 'id': 1}", "{'encrypted_content': null, 'id': 1}"],
    ['{"encrypted_content":"gA\\"AA","id":1}', '{"encrypted_content":null,"id":1}'],
    [
      '{"encrypted_content":"gAAA","b":{"encrypted_content":"gAAA"}}',
      '{"encrypted_content":null,"b":{"encrypted_content":null}}',
    ],
    ['Set "encrypted_content" in the request.', 'Set "encrypted_content" in the request.'],
    ['{"encrypted_content":null,"id":"r1"}', '{"encrypted_content":null,"id":"r1"}'],
  ])('masks encrypted content, but nothing else, in the text %s', (text, masked) => {
    expect(maskSecrets(text)).toBe(masked)
    expect(maskSecrets({ deep: [text] })).toEqual({ deep: [masked] })
  })

  it('masks the line of a quarantined fact', () => {
    const { fact } = loadLine('{"kind":"ActionEvent","x":{"encrypted_content":"gAAA"}}')
    expect(JSON.stringify(fact)).toContain('gAAA')
    expect(JSON.stringify(maskSecrets(fact))).not.toContain('gAAA')
  })

  it('keeps __proto__ as data', () => {
    const masked = maskSecrets(JSON.parse(`{"__proto__":{"encrypted_content":"${SECRET}"}}`) as object)
    expect(JSON.stringify(masked)).toBe('{"__proto__":{"encrypted_content":null}}')
  })

  it('handles 200,000 levels of nesting, and cycles', () => {
    let deep: unknown = { encrypted_content: SECRET }
    for (let i = 0; i < 200_000; i++) deep = [deep]
    let masked = maskSecrets(deep) as unknown[]
    for (let i = 0; i < 200_000; i++) masked = masked[0] as unknown[]
    expect(masked).toEqual({ encrypted_content: null })
    const circle: Record<string, unknown> = { encrypted_content: SECRET }
    circle['self'] = circle
    const copy = maskSecrets(circle)
    expect(copy['self']).toBe(copy)
    expect(copy['encrypted_content']).toBe(null)
  })

  it('leaves no secret in arbitrary JSON', () => {
    let masked = 0
    fc.assert(
      fc.property(anyJson, anyJson, (before, after) => {
        const value = { before, item: [{ encrypted_content: SECRET, after }] }
        const text = JSON.stringify(maskSecrets(value))
        expect(text).not.toContain(SECRET)
        expect(JSON.stringify(maskSecrets(JSON.parse(text) as unknown))).toBe(text)
        masked += 1
      }),
    )
    expect(masked).toBeGreaterThan(50)
  })
})

describe('encrypted content in text', () => {
  it.each([
    ['a list', '{"id":"x","encrypted_content":["gAAA","gBBB"]}'],
    ['an object', 'log: {"encrypted_content": {"v":"gAAA"}, "more": 1}'],
    ['an escaped name', String.raw`{"encrypted\u005fcontent":"gAAA"}`],
    ['an escaped name in escaped text', String.raw`{\"\\u0065ncrypted_content\":\"gAAA\"}`],
    ['truncated text', '{"encrypted_content":"gAA'],
    [
      'quotes as Unicode escapes',
      String.raw`{"a":"{\u0022encrypted_content\u0022:\u0022gAAA\\\u0022gBBB\u0022}"}`,
    ],
    [
      'quotes as doubly escaped Unicode escapes',
      String.raw`{\\u0027encrypted_content\\u0027: \\u0027gAAA\\u0027}`,
    ],
    ['an escaped line break before the value', String.raw`{\"encrypted_content\":\n  \"gAAA\"}`],
    ['escaped white space around the colon', String.raw`{\\\"encrypted_content\\\"\\t:\\r\\n\\\"gAAA\\\"}`],
    ['an escaped line break before a list', String.raw`{\"encrypted_content\":\n[\"gAAA\"]}`],
  ])('is masked in text with %s', (_, text) => {
    expect(JSON.stringify(maskSecrets({ text }))).not.toMatch(/gAA|gBBB/)
  })

  it('is masked without changing the text after it', () => {
    const text = String.raw`{\u0022encrypted_content\u0022:\u0022gAAA\u0022,\u0022b\u0022:\u0022x\u0022}`
    expect(maskSecrets(text)).toBe(
      String.raw`{\u0022encrypted_content\u0022:null,\u0022b\u0022:\u0022x\u0022}`,
    )
    const lines = String.raw`{\"encrypted_content\":\n\"gAAA\",\n\"b\":\"x\"}`
    expect(maskSecrets(lines)).toBe(String.raw`{\"encrypted_content\":\nnull,\n\"b\":\"x\"}`)
    const none = String.raw`{\"encrypted_content\":\n null,\n\"b\":\"x\"}`
    expect(maskSecrets(none)).toBe(none)
  })

  it('is not confused with null or with other escapes', () => {
    const value = { a: '{"encrypted_content":null}', b: String.raw`{"x":"\u005f\u0065"}` }
    expect(maskSecrets(value)).toBe(value)
  })
})
