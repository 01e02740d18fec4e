/** Helpers that the grammars share: call ids, tool names, arguments, images, texts. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { argumentObject, argumentText, clip, isWhitespace, toolName } from '../../src/messages/text.ts'
import { callIds } from '../../src/messages/turns.ts'
import { readImage, urlOf } from '../../src/messages/files.ts'
import { overgrowth } from '../growth.ts'
import { character } from '../../src/testing/text.ts'

/** The JSON text of an object with this many nested arrays. */
const nested = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`

const makeIds = (length: number, id: (n: number) => string): string[] =>
  Array.from({ length }, (_, n) => id(n))

describe('call ids', () => {
  const form = { illegal: /[^a-zA-Z0-9_-]/gu, maxLength: 12 }
  const inputs = (...ids: string[]): string[] => ids.map(callIds(form))

  it('stay unchanged when legal and new', () => {
    expect(inputs('call_1', 'c-2', 'X')).toEqual(['call_1', 'c-2', 'X'])
  })

  it('get the next free number when repeated', () => {
    expect(inputs('c', 'c_2', 'c', 'c', 'c_2')).toEqual(['c', 'c_2', 'c_3', 'c_4', 'c_2_2'])
  })

  it('are made legal, truncated, and replaced by `call` when empty', () => {
    expect(inputs('a b', 'functions.ls:0', '', 'é😀', '')).toEqual([
      'a_b',
      'functions_ls',
      'call',
      '__',
      'call_2',
    ])
  })

  it('are unique and legal, and depend only on earlier ids', () => {
    const id = fc.oneof(
      fc.constantFrom(
        'c',
        'c_2',
        'c_3',
        'c_2_2',
        '',
        'call',
        'call_2',
        'abcdefghijklmnop',
        'abcdefghijklXXXX',
        'abcd_2',
        'a b',
      ),
      fc.string({ maxLength: 20 }),
    )
    fc.assert(
      fc.property(fc.array(id, { maxLength: 60 }), fc.nat(60), (ids, cut) => {
        const out = inputs(...ids)
        expect(new Set(out).size).toBe(out.length)
        for (const each of out) expect(each).toMatch(/^[a-zA-Z0-9_-]{1,12}$/)
        expect(inputs(...ids.slice(0, cut))).toEqual(out.slice(0, cut))
      }),
    )
  })

  it('cost linear time, even with many repeated or colliding ids', () => {
    const cost = overgrowth(
      ({ length }) => {
        const repeated = makeIds(length, () => 'c')
        const numbered = makeIds(length, (n) => `c_${n}`)
        const long = makeIds(length, (n) => `${'x'.repeat(12)}${n}`)
        const ids = [...numbered, ...repeated, ...long].map(callIds(form))
        expect(new Set(ids).size).toBe(3 * length)
      },
      (length) => 'c'.repeat(length),
      { from: 2 ** 11, to: 2 ** 15 },
    )
    expect(cost).toBe(null)
  })
})

describe('tool names', () => {
  it('keep only letters, digits, underscores and dashes', () => {
    expect(toolName('file_editor-2', 64)).toBe('file_editor-2')
    expect(toolName('mcp.server/tool name', 64)).toBe('mcp_server_tool_name')
    expect(toolName('😀', 64)).toBe('_')
    expect(toolName('', 64)).toBe('tool')
    expect(toolName('x'.repeat(70), 64)).toHaveLength(64)
  })
})

describe('arguments', () => {
  it('stay byte for byte when they are an object', () => {
    for (const text of [
      '{}',
      ' {"b" : 1, "a":[1e3]} ',
      '{"__proto__":1}',
      '{"a":1,"a":2}',
      String.raw`{"a":"\ud83d"}`,
    ]) {
      expect(argumentText(text)).toBe(text)
    }
  })

  it('are wrapped in an object when they are not one', () => {
    for (const text of ['nullnull', '"null"', '[null]', '[]', '"ls"', '7', '{', '{"a":1}{', 'ls -la']) {
      expect(JSON.parse(argumentText(text))).toEqual({ _raw: text })
      expect(argumentObject(text)).toEqual({ _raw: text })
    }
  })

  it('become an empty object when blank or null', () => {
    for (const text of ['', ' ', '\u0085', '\ufeff', 'null', ' null\n']) {
      expect(argumentText(text)).toBe('{}')
      expect(argumentObject(text)).toEqual({})
    }
  })

  it('keep `__proto__` and `constructor` as plain keys', () => {
    const object = argumentObject('{"__proto__":{"x":1},"constructor":2}')
    expect(Object.keys(object)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype)
  })

  it('are wrapped by `argumentObject` when nested deeper than 512 levels', () => {
    expect(argumentObject(nested(511))).toHaveProperty('a')
    expect(argumentObject(nested(512))).toEqual({ _raw: nested(512) })
    expect(argumentObject(nested(200_000))).toHaveProperty('_raw')
    expect(argumentText(nested(200_000))).toBe(nested(200_000))
    expect(argumentObject(JSON.stringify({ a: '['.repeat(9999), b: '\\"[' }))).toHaveProperty('b')
  })

  it('contain no lone surrogate, raw or escaped', () => {
    expect(argumentText('{"a":"x\ud800"}')).toBe('{"a":"x\ufffd"}')
    expect(argumentObject(String.raw`{"a\udc00":"\ud83d\ude00 \ud83d"}`)).toEqual({ 'a\ufffd': '😀 \ufffd' })
    expect(argumentObject(String.raw`{"a":"\\ud800","b":"\u001f\uD800"}`)).toEqual({
      a: '\\ud800',
      b: '\u001f\ufffd',
    })
    expect(argumentObject('\ud800')).toEqual({ _raw: '\ufffd' })
  })

  it('have the same object before and after `argumentText`', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string({ unit: character })), (text) => {
        const written = argumentText(text)
        expect(written.isWellFormed()).toBe(true)
        expect(argumentObject(text)).toEqual(argumentObject(written))
      }),
    )
  })
})

describe('images', () => {
  it.each([
    ['https://x.org/a.png?sig=%2F&b=1#c', 'https://x.org/a.png?sig=%2F&b=1#c'],
    [' https://x.org/a.png\n', 'https://x.org/a.png'],
    ['http://localhost:8080/a', 'http://localhost:8080/a'],
    ['HTTPS://X.org', 'HTTPS://X.org'],
    ['https://1.2.3.4/a', 'https://1.2.3.4/a'],
    ['https://x.org/ü b.png', 'https://x.org/%C3%BC%20b.png'],
    ['https://x.org/\ud800', 'https://x.org/%EF%BF%BD'],
    ['data:image/png;base64,iVBORw0KGgo=', 'data:image/png;base64,iVBORw0KGgo='],
    ['DATA:Image/PNG;charset=x;base64,iVBO\nRw0KGgo=', 'data:image/png;base64,iVBORw0KGgo='],
    ['data:image/jpg;base64,AAAA', 'data:image/jpeg;base64,AAAA'],
    ['data:image/png;base64,/9j/AAAA', 'data:image/jpeg;base64,/9j/AAAA'],
    ['data:application/octet-stream;base64,R0lGODlh', 'data:image/gif;base64,R0lGODlh'],
  ])('%j is accepted as %j', (input, url) => {
    const read = readImage(input)
    expect(read && urlOf(read)).toBe(url)
    expect(URL.canParse(url)).toBe(true)
  })

  it.each([
    '',
    'a.png',
    'file:///etc/passwd',
    'ftp://x.org/a',
    'https://',
    'https://user:password@x.org/a',
    'https://x.org:99999/a',
    'https://1.2.3.999/a',
    'https://1.2.3/a',
    'https://é.org/a',
    'javascript:alert(1)',
    'data:',
    'data:image/png',
    'data:image/png,abc',
    'data:image/png;base64,',
    'data:image/png;base64,abc',
    'data:image/png;base64,ab=c',
    'data:image/png;base64,ab-_',
    'data:image/svg+xml;base64,AAAA',
    'data:text/plain;base64,aGk=',
  ])('%j is rejected', (input) => {
    expect(readImage(input)).toBeNull()
  })

  it('an accepted image has a URL that `URL.canParse` accepts', () => {
    const part = fc.constantFrom(
      'https://',
      'http://',
      'x',
      '.',
      'org',
      ':',
      '80',
      '/',
      '?',
      '#',
      '@',
      '[',
      '%',
      '\\',
      'é',
      ' ',
      '-',
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 9 }), (parts) => {
        const read = readImage(`https://${parts.join('')}`)
        return read === null || URL.canParse(urlOf(read))
      }),
      { numRuns: 500 },
    )
  })

  it('a host has at most 260 characters', () => {
    expect(readImage(`https://${'a.'.repeat(126)}b/${'p'.repeat(999)}`)).toMatchObject({ from: 'web' })
    expect(readImage(`https://${'a'.repeat(260)}`)).toMatchObject({ from: 'web' })
    expect(readImage(`https://${'a'.repeat(261)}`)).toBe(null)
  })

  it('long URLs and data are read in linear time', () => {
    for (const make of [
      (length: number) => `https://${'a'.repeat(length)}`,
      (length: number) => `https://${'a.'.repeat(length / 2)}!`,
      (length: number) => `data:image/png;base64,${'A'.repeat(length)}`,
    ])
      expect(overgrowth(readImage, make)).toBe(null)
  })
})

describe('texts', () => {
  it('are blank if they contain only white space of JavaScript or Python', () => {
    for (const blank of ['', ' \t\n', '\u0085', '\u001c\u001f', '\u3000\ufeff'])
      expect(isWhitespace(blank)).toBe(true)
    for (const text of ['a', '\u0000', '\ud800', '\u200b']) expect(isWhitespace(text)).toBe(false)
  })

  it('are clipped to exactly the limit', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 400 }), fc.nat(400), (text, limit) => {
        const cut = clip(text, limit)
        if (text.length <= limit) expect(cut).toBe(text)
        else expect(cut).toHaveLength(limit)
      }),
    )
    const cut = clip(`${'a'.repeat(300)}${'b'.repeat(300)}`, 200)
    expect(cut).toMatch(/^a+\n<response clipped>[^]*b+$/)
  })
})
