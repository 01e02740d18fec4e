import { describe, expect, it } from 'vitest'
import { secretFields } from '../../src/context/redaction/known-forms.ts'
import { MAX_ROUNDS } from '../../src/context/redaction/redact-text.ts'
import { BARE, MASK, output } from './redact-output.ts'

const masked = (text: string, ...patterns: RegExp[]): string => output(text, { ...BARE, patterns })

/** Patterns that each match only after the one before. */
const chain = (links: number): RegExp[] =>
  Array.from({ length: links }, (_, i) => new RegExp(i === 0 ? 'x0' : String.raw`(?<=\])x${i}`))
const links = (count: number): string => Array.from({ length: count }, (_, i) => `x${i}`).join('')

describe('custom patterns', () => {
  it('mask every match with any flags, or only the group named secret', () => {
    expect(masked('id-1 ID-2 id-', /id-\d/)).toBe(`${MASK} ID-2 id-`)
    expect(masked('id-1 ID-2', /id-\d/iy)).toBe(`${MASK} ${MASK}`)
    expect(masked('pin 1234, pin 99', /pin (?<secret>\d+)/g)).toBe(`pin ${MASK}, pin ${MASK}`)
    expect(masked('abc', /x*/, /(?=b)/)).toBe('abc')
    expect(masked('a😀b', /a./, /\ude00/)).toBe(`${MASK}b`)
  })

  it('are matched from the start of the text, and keep their lastIndex', () => {
    const pattern = /id-\d/g
    pattern.lastIndex = 3
    expect(masked('id-1', pattern)).toBe(MASK)
    expect(pattern.lastIndex).toBe(3)
  })

  it(`mask the whole text if round ${MAX_ROUNDS} still finds a match`, () => {
    expect(masked(`a${links(MAX_ROUNDS - 1)}b`, ...chain(MAX_ROUNDS - 1))).toBe(
      `a${MASK.repeat(MAX_ROUNDS - 1)}b`,
    )
    expect(masked(`a${links(MAX_ROUNDS)}b`, ...chain(MAX_ROUNDS))).toBe(MASK)
    expect(masked(`a${links(MAX_ROUNDS + 1)}b`, ...chain(MAX_ROUNDS + 1))).toBe(MASK)
  })

  it('match in the whole text, for a text and a match of any length', () => {
    const around = '-'.repeat(100_000)
    expect(masked(`${around}<${'s'.repeat(100_000)}>${around}`, /<s{1,}>/)).toBe(around + MASK + around)
    expect(masked(`${around}123456`, /\d{6}$/)).toBe(around + MASK)
    expect(masked(`${around}1234567`, /(?<!\d)\d{6}(?!\d)/)).toBe(`${around}1234567`)
    expect(masked(`123456${around}`, /^\d{6}/)).toBe(MASK + around)
  })

  it('mask the whole text if the stack of the regex engine overflows', () => {
    const long = `before ${'ab'.repeat(2 ** 23)} after`
    const match = expect(() => long.match(/(?:ab|a)+/))
    // The regex engine of Bun has no such limit.
    if ('Bun' in globalThis) match.not.toThrow()
    else match.toThrow(RangeError)
    expect(masked(long, /(?:ab|a)+/)).toBe('Bun' in globalThis ? `before ${MASK} ${MASK}fter` : MASK)
  })
})

describe('secret field names', () => {
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
  ])('%s becomes %s', (text, expected) => expect(output(text, { builtIn: false })).toBe(expected))

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
  ])('%j names a secret', (key) => expect(secretFields(['token', 'api_key'])(key)).toBe(true))
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
  ])('%j does not name a secret', (key) => expect(secretFields(['token', 'api_key'])(key)).toBe(false))

  it('have at most 100 characters, and more names than the cache holds are recognized', () => {
    const isSecret = secretFields(['token'])
    expect([93, 94, 95].map((length) => isSecret(`${'x'.repeat(length)}_token`))).toEqual([true, true, false])
    // Many keys evict the cached ones, which are then computed again.
    for (let i = 0; i < 20_001; i += 1) isSecret(`key${i}`)
    expect(isSecret('a_token')).toBe(true)
  })

  it('are the fields that the caller passes, or none', () => {
    expect(output('{"pageToken":"1"}', { fields: ['page_token'] })).toBe(`{"pageToken":"${MASK}"}`)
    expect(output('{"pin":"1","token":"2"}', { fields: ['PIN'] })).toBe(`{"pin":"${MASK}","token":"2"}`)
    expect(output('{"token":"2"}', { fields: [] })).toBe('{"token":"2"}')
  })
})
