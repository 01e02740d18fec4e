import { describe, expect, it } from 'vitest'
import { fit, pad, plain, toJson, width } from '../../src/cli/print/text.ts'
import { glimpse, hideSecrets, safe } from '../../src/inspector/glimpse.ts'
import { overgrowth } from '../growth.ts'

describe('terminal text', () => {
  it('has symbols in place of control characters', () => {
    expect(safe('\u001b[31mred\u0007\u007f\u009b2J\r\n')).toBe('␛[31mred␇␡�2J␍␊')
    expect(safe('left\u202eright\u2066\u200bhidden\u{e0041}\ud800')).toBe('left�right��hidden��')
    expect(plain(' a\n\t b\u2028c\u0085')).toBe('a b c')
  })

  it('keeps printable Unicode characters', () => {
    for (const text of ['naïve', '日本語', '👩‍🔬', 'e\u0301', '→ ✓ …']) expect(safe(text)).toBe(text)
  })

  it('has a width in columns and is padded to it', () => {
    expect([width('abc'), width('日本'), width('e\u0301'), width('👍'), width('')]).toEqual([3, 4, 1, 2, 0])
    expect(pad('日本', 6)).toBe('日本  ')
  })

  it('is truncated to a width with …', () => {
    expect(fit('abcdef', 6)).toBe('abcdef')
    expect(fit('abcdef', 5)).toBe('abcd…')
    expect(fit('abc def', 5)).toBe('abc…')
    expect(fit('日本語', 5)).toBe('日本…')
    expect(fit('日本語', 4)).toBe('日…')
    expect(fit('abc', 0)).toBe('')
    for (const text of ['a'.repeat(99), '日'.repeat(99), '👍'.repeat(99), `x${'\u0301'.repeat(9999)}`]) {
      expect(width(fit(text, 10))).toBeLessThanOrEqual(10)
      expect(fit(text, 10).length).toBeLessThan(60)
    }
  })

  it('is shortened by `glimpse` in constant time for any length', () => {
    expect(glimpse(`a  b${'\n'.repeat(20_000_000)}`)).toBe('a b…')
    expect(overgrowth(glimpse, (length) => `a  b${'\n'.repeat(length)}`)).toBe(null)
  })
})

describe('encrypted content', () => {
  it('is hidden where text quotes it', () => {
    for (const quoted of [
      '{"encrypted_content":"gAAA"}',
      'see: {"encrypted_content" : "gAAA", "x": 1}',
      '"{\\"encrypted_content\\":\\"gAAA\\"}"',
      "{'encrypted_content': 'gAAA'}",
      'cut off: "encrypted_content":"gAAA',
    ]) {
      expect(hideSecrets(quoted)).not.toContain('gAAA')
      expect(hideSecrets(quoted)).toContain('null')
      expect(glimpse(quoted)).not.toContain('gAAA')
      const json = toJson({ quoted, more: '"' })
      expect(json).not.toContain('gAAA')
      expect(JSON.parse(json)).toMatchObject({ more: '"' })
    }
  })

  it('is the only text that is hidden', () => {
    const text = 'the field encrypted_content is null: {"encrypted_content":null}'
    expect(hideSecrets(text)).toBe(text)
    expect(toJson({ text, encrypted_content: null })).toBe(JSON.stringify({ text, encrypted_content: null }))
  })
})
