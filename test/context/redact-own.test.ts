import { describe, expect, it } from 'vitest'
import { secretFields } from '../../src/context/redaction/known-forms.ts'
import { MAX_ROUNDS } from '../../src/context/redaction/redact-text.ts'
import { BARE, MASK, output } from './redact-said.ts'

const ownValue = (text: string, ...patterns: RegExp[]): string => output(text, { ...BARE, patterns })

/** Patterns that each match only after the one before. */
const chain = (links: number): RegExp[] =>
  Array.from({ length: links }, (_, i) => new RegExp(i === 0 ? 'x0' : String.raw`(?<=\])x${i}`))
const links = (count: number): string => Array.from({ length: count }, (_, i) => `x${i}`).join('')

describe('own patterns', () => {
  it('mask every match, whatever their flags, or their group named secret', () => {
    expect(ownValue('id-1 ID-2 id-', /id-\d/)).toBe(`${MASK} ID-2 id-`)
    expect(ownValue('id-1 ID-2', /id-\d/iy)).toBe(`${MASK} ${MASK}`)
    expect(ownValue('pin 1234, pin 99', /pin (?<secret>\d+)/g)).toBe(`pin ${MASK}, pin ${MASK}`)
    expect(ownValue('abc', /x*/, /(?=b)/)).toBe('abc')
    expect(ownValue('a😀b', /a./, /\ude00/)).toBe(`${MASK}b`)
  })

  it('keep their own state, and are not changed', () => {
    const pattern = /id-\d/g
    pattern.lastIndex = 3
    expect(ownValue('id-1', pattern)).toBe(MASK)
    expect(pattern.lastIndex).toBe(3)
  })

  it(`never leave a text that they would change again: what does not settle in ${MAX_ROUNDS} rounds is masked as a whole`, () => {
    expect(ownValue(`a${links(MAX_ROUNDS - 1)}b`, ...chain(MAX_ROUNDS - 1))).toBe(
      `a${MASK.repeat(MAX_ROUNDS - 1)}b`,
    )
    expect(ownValue(`a${links(MAX_ROUNDS)}b`, ...chain(MAX_ROUNDS))).toBe(MASK)
    expect(ownValue(`a${links(MAX_ROUNDS + 1)}b`, ...chain(MAX_ROUNDS + 1))).toBe(MASK)
  })

  it('see the whole text, however long it and the match are', () => {
    const around = '-'.repeat(100_000)
    expect(ownValue(`${around}<${'s'.repeat(100_000)}>${around}`, /<s{1,}>/)).toBe(around + MASK + around)
    expect(ownValue(`${around}123456`, /\d{6}$/)).toBe(around + MASK)
    expect(ownValue(`${around}1234567`, /(?<!\d)\d{6}(?!\d)/)).toBe(`${around}1234567`)
    expect(ownValue(`123456${around}`, /^\d{6}/)).toBe(MASK + around)
  })

  it('mask the whole text if the stack of the regex engine overflows', () => {
    const long = `before ${'ab'.repeat(2 ** 23)} after`
    expect(() => long.match(/(?:ab|a)+/)).toThrow(RangeError)
    expect(ownValue(long, /(?:ab|a)+/)).toBe(MASK)
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
  ])('%s', (text, expected) => expect(output(text, { builtIn: false })).toBe(expected))

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
    // Many keys evict the cached ones, which are then computed again.
    for (let i = 0; i < 20_001; i += 1) is(`key${i}`)
    expect(is('a_token')).toBe(true)
  })

  it('are those that the caller names, or none', () => {
    expect(output('{"pageToken":"1"}', { fields: ['page_token'] })).toBe(`{"pageToken":"${MASK}"}`)
    expect(output('{"pin":"1","token":"2"}', { fields: ['PIN'] })).toBe(`{"pin":"${MASK}","token":"2"}`)
    expect(output('{"token":"2"}', { fields: [] })).toBe('{"token":"2"}')
  })
})
