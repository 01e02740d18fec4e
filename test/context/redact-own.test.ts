/** What a caller names beside secrets themselves: patterns, in texts of any length, and the fields that hold secrets. */

import { describe, expect, it } from 'vitest'
import { secretFields } from '../../src/context/redaction/field-names.ts'
import { CONTEXT, OVERLAP, PIECE } from '../../src/context/redaction/own-patterns.ts'
import { MAX_ROUNDS } from '../../src/context/redaction/redact-text.ts'
import { BARE, MASK, said } from './redact-said.ts'

const own = (text: string, ...patterns: RegExp[]): string => said(text, { ...BARE, patterns })

/** Patterns of which each matches once the one before has. */
const chain = (links: number): RegExp[] =>
  Array.from({ length: links }, (_, i) => new RegExp(i === 0 ? 'x0' : String.raw`(?<=\])x${i}`))
const links = (count: number): string => Array.from({ length: count }, (_, i) => `x${i}`).join('')

/** A long text that holds this one. */
const among = (before: number, text: string): string => `${'x'.repeat(before)}${text}${'x'.repeat(PIECE)}`

describe('own patterns', () => {
  it('mask every match, whatever their flags, or their group named secret', () => {
    expect(own('id-1 ID-2 id-', /id-\d/)).toBe(`${MASK} ID-2 id-`)
    expect(own('id-1 ID-2', /id-\d/iy)).toBe(`${MASK} ${MASK}`)
    expect(own('pin 1234, pin 99', /pin (?<secret>\d+)/g)).toBe(`pin ${MASK}, pin ${MASK}`)
    expect(own('abc', /x*/, /(?=b)/)).toBe('abc')
    expect(own('a😀b', /a./, /\ude00/)).toBe(`${MASK}b`)
  })

  it('keep their own state, and are not changed', () => {
    const pattern = /id-\d/g
    pattern.lastIndex = 3
    expect(own('id-1', pattern)).toBe(MASK)
    expect(pattern.lastIndex).toBe(3)
  })

  it(`never leave a text that they would change again: what does not settle in ${MAX_ROUNDS} rounds is masked as a whole`, () => {
    expect(own(`a${links(MAX_ROUNDS - 1)}b`, ...chain(MAX_ROUNDS - 1))).toBe(
      `a${MASK.repeat(MAX_ROUNDS - 1)}b`,
    )
    expect(own(`a${links(MAX_ROUNDS)}b`, ...chain(MAX_ROUNDS))).toBe(MASK)
    expect(own(`a${links(MAX_ROUNDS + 1)}b`, ...chain(MAX_ROUNDS + 1))).toBe(MASK)
  })

  it('see long texts in pieces, in which what is short enough is found wherever it stands', () => {
    const short = /<[^<>]{0,9000}>/
    for (const length of [OVERLAP - 1, OVERLAP]) {
      for (const at of [PIECE - OVERLAP - 1, PIECE - OVERLAP, PIECE - length, PIECE - 1, PIECE, PIECE + 1]) {
        const secret = `<${'s'.repeat(length - 2)}>`
        const text = `${'-'.repeat(at)}${secret}${'-'.repeat(PIECE)}`
        expect(own(text, short)).toBe(text.replace(secret, MASK))
      }
    }
    const long = `${'-'.repeat(PIECE - OVERLAP - 1)}<${'s'.repeat(OVERLAP + 2)}>${'-'.repeat(PIECE)}`
    expect(own(long, short)).toBe(long)
    // In a text of one piece its length is no matter.
    const whole = `<${'s'.repeat(8990)}>${'-'.repeat(PIECE - 8992)}`
    expect(whole.length).toBe(PIECE)
    expect(own(whole, short)).toBe(whole.replace(/<.*>/, MASK))
  })

  it('see no border where a piece ends', () => {
    const borders = [PIECE, PIECE - OVERLAP, 2 * PIECE - 2 * OVERLAP - CONTEXT]
    for (const before of borders.flatMap((border) => [-11, -6, -1, 0, 1].map((by) => border + by))) {
      for (const pattern of [
        /(?<!\d)\d{6}(?!\d)/,
        /(?<=[ \d])\d{6}$/m,
        /\b[01]\d{5}\b/,
        /^\d{6}/,
        /\d{6}$/,
        /(?<=^x{9})\d{6}/,
      ]) {
        const text = among(before, ' 1234567890 ')
        expect(own(text, pattern)).toBe(text)
      }
      expect(own(among(before, ' 123456 '), /(?<!\d)\d{6}(?!\d)/)).toBe(among(before, ` ${MASK} `))
      // Matches do not overlap, wherever pieces do.
      expect(own(among(before, ' 12345678 '), /\d{6}/)).toBe(among(before, ` ${MASK}78 `))
    }
    const end = `${'x'.repeat(2 * PIECE)} 123456`
    expect(own(end, /\d{6}$/)).toBe(end.replace('123456', MASK))
    expect(own(end, /^x+/)).toBe(`${MASK} 123456`)
    expect(own(`- ${'x'.repeat(PIECE - 2)}ITEM${'x'.repeat(PIECE)}`, /^x+ITEM/)).toContain('ITEM')
  })

  it('find a match that a piece cuts off, however long it is', () => {
    const text = `${'-'.repeat(PIECE - 5_000)}${'s'.repeat(100_000)}-`
    expect(own(text, /s{50,}/)).toMatch(/^-+(?:\[redacted\])+-$/)
  })
})

describe('names of fields', () => {
  it.each([
    ['{"password":"x"}', `{"password":"${MASK}"}`],
    ['{ "apiKey" : "x\\"y" , "b":"c"}', `{ "apiKey" : "${MASK}" , "b":"c"}`],
    ['{"X-API-KEY":["a","b",1,["c"]]}', `{"X-API-KEY":["${MASK}","${MASK}",1,["${MASK}"]]}`],
    ['{"token":{"type":"string"}}', '{"token":{"type":"string"}}'],
    ['{"token":17,"secret":"","cookie":" "}', '{"token":17,"secret":"","cookie":" "}'],
    ['{"pass\\u0077ord":"a\\"b","n":1.50}', `{"pass\\u0077ord":"${MASK}","n":1.50}`],
    ['"{\\"secret\\":\\"a\\\\\\"b\\"}"', `"{\\"secret\\":\\"${MASK}\\"}"`],
    [`got {'password': 'it\\'s'} back`, `got {'password': '${MASK}'} back`],
    ['cut {"client_secret": "abc', `cut {"client_secret": "${MASK}`],
    ['cut {"pass\\u0077ord": "ab\\"c', `cut {"pass\\u0077ord": "${MASK}`],
    ['{"tokens":"x","tokenizer":"y","secretary":"z"}', '{"tokens":"x","tokenizer":"y","secretary":"z"}'],
    ['the "password": none', 'the "password": none'],
  ])('%s', (text, expected) => expect(said(text, { builtIn: false })).toBe(expected))

  it.each([
    'token',
    'Token',
    'access_token',
    'accessToken',
    'TOKEN_2',
    'x-token',
    'api_key',
    'apikey',
    'APIKey',
    'myApiKey',
    'API-KEY',
  ])('%s is a secret', (key) => expect(secretFields(['token', 'api_key'])(key)).toBe(true))
  it.each([
    'tokens',
    'tokenize',
    'mytoken',
    'api',
    'key',
    'key_api',
    'api_x_key',
    '',
    '🔑',
    'nextPageToken',
    'NextToken',
    'page_token',
  ])('%s is none', (key) => expect(secretFields(['token', 'api_key'])(key)).toBe(false))

  it('of up to 100 characters', () => {
    const is = secretFields(['token'])
    expect([93, 94, 95].map((length) => is(`${'x'.repeat(length)}_token`))).toEqual([true, true, false])
    // Many keys are forgotten again, and known anew.
    for (let i = 0; i < 20_001; i += 1) is(`key${i}`)
    expect(is('a_token')).toBe(true)
  })

  it('are those that the caller names, or none', () => {
    expect(said('{"pageToken":"1"}', { fields: ['page_token'] })).toBe(`{"pageToken":"${MASK}"}`)
    expect(said('{"pin":"1","token":"2"}', { fields: ['PIN'] })).toBe(`{"pin":"${MASK}","token":"2"}`)
    expect(said('{"token":"2"}', { fields: [] })).toBe('{"token":"2"}')
  })
})
