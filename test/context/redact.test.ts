/** How literal secrets are found, in every way in which they may be written, and what stands for them. */

import { describe, expect, it } from 'vitest'
import { redact } from '../../src/context/redaction/redact.ts'
import { redactionRules } from '../../src/context/redaction/rules.ts'
import { MAX_DECODINGS, MAX_VIEWS, viewsOf } from '../../src/context/redaction/views.ts'
import { hasCode } from '../../src/event/errors.ts'
import { BARE, MASK, said } from './redact-said.ts'

const SECRET = 'it\'s "my" s3cret/\\\n+päß?'
const inBase64 = (text: string): string => Buffer.from(text).toString('base64')
const codesOf = (text: string): string[] =>
  Array.from({ length: text.length }, (_, i) => text.charCodeAt(i).toString(16).padStart(4, '0'))

/** Text that holds the secret, JSON-escaped so many times over. */
function escaped(times: number): string {
  let text = 'a\n'.repeat(4) + SECRET
  for (let i = 0; i < times; i += 1) text = JSON.stringify(text).slice(1, -1)
  return `x ${text} y`
}

/** The secret as JSON, in base64 so many times over. */
function inBase64Times(times: number): string {
  let text = JSON.stringify(SECRET)
  for (let i = 0; i < times; i += 1) text = inBase64(text)
  return text
}

/** A letter that is escaped and percent-encoded in this order, the innermost first. */
function encodedIn(order: string): string {
  let text = 'x'
  for (const way of order) {
    const code = text.charCodeAt(0).toString(16)
    text = `${way === '0' ? '\\u00' : '%'}${code}${text.slice(1)}`
  }
  return text
}

const encoder = new TextEncoder()

async function hash(secret: string, key = 'k'): Promise<string> {
  const hmac = { name: 'HMAC', hash: 'SHA-256' }
  const made = await crypto.subtle.importKey('raw', encoder.encode(key), hmac, false, ['sign'])
  const digest = new Uint8Array(await crypto.subtle.sign('HMAC', made, encoder.encode(secret)))
  return `[redacted:${Buffer.from(digest).toString('hex').slice(0, 16)}]`
}

describe('a literal secret', () => {
  const find = (text: string): string => said(text, { ...BARE, secrets: [SECRET] })
  const bytes = (by: (byte: string) => string): string =>
    Array.from(Buffer.from(SECRET), (byte) => by(byte.toString(16).padStart(2, '0'))).join('')

  it.each([
    ['as it is', SECRET, MASK],
    ['inside a word', `x${SECRET}y`, `x${MASK}y`],
    ['twice', `${SECRET}${SECRET}`, MASK + MASK],
    ['as JSON text', JSON.stringify({ a: SECRET }), `{"a":"${MASK}"}`],
    ['as a key of JSON text', JSON.stringify({ [SECRET]: 1 }), `{"${MASK}":1}`],
    ['as JSON in JSON', JSON.stringify([JSON.stringify([SECRET])]), JSON.stringify([JSON.stringify([MASK])])],
    ['as JSON in prose', `see ${JSON.stringify(SECRET)} there`, `see "${MASK}" there`],
    ['as JSON that is cut off', `{"a":${JSON.stringify(SECRET)}`, `{"a":"${MASK}"`],
    [
      'with every letter escaped',
      codesOf(SECRET)
        .map((code) => `\\u${code}`)
        .join(''),
      MASK,
    ],
    [
      'with every letter escaped twice',
      codesOf(SECRET)
        .map((code) => `\\\\u${code.toUpperCase()}`)
        .join(''),
      MASK,
    ],
    ['percent-encoded', `?p=${encodeURIComponent(SECRET)}&x`, `?p=${MASK}&x`],
    ['percent-encoded throughout', bytes((byte) => `%${byte}`), MASK],
    ['percent-encoded in capitals, twice', bytes((byte) => `%25${byte.toUpperCase()}`), MASK],
    ['as a form writes it', encodeURIComponent(SECRET).replaceAll('%20', '+'), MASK],
    ['percent-encoded in JSON', JSON.stringify([encodeURIComponent(SECRET)]), `["${MASK}"]`],
    ['as base64', `Basic ${inBase64(SECRET)}`, `Basic ${MASK}`],
    ['as base64 behind one byte', inBase64(`:${SECRET}`), MASK],
    ['as base64 behind two bytes', inBase64(`me${SECRET}!`), MASK],
    ['as base64 for URLs', `${Buffer.from(`??>${SECRET}`).toString('base64url')}.`, `${MASK}.`],
    ['as base64 without padding', inBase64(`abcd${SECRET}`).replace(/=+$/, ''), MASK],
    ['as base64 in lines', inBase64('long '.repeat(20) + SECRET).replace(/.{76}/g, '$&\r\n'), MASK],
    ['as base64 with escaped slashes', inBase64(`???${SECRET}`).replaceAll('/', '\\/'), MASK],
    ['as base64 of base64', inBase64(inBase64(SECRET)), MASK],
    [
      'as base64 of base64 for URLs, behind a path',
      `/a/b/${inBase64(Buffer.from(SECRET).toString('base64url'))}`,
      MASK,
    ],
    [
      'as base64 of what is percent-encoded',
      `x ${inBase64(`p=${encodeURIComponent(SECRET)}&`)} y`,
      `x ${MASK} y`,
    ],
    ['as base64 of JSON', inBase64(JSON.stringify({ a: SECRET })), MASK],
    [
      'as base64 of JSON in bytes',
      Buffer.from(`\u0000${JSON.stringify(SECRET)}\u0001`).toString('base64'),
      MASK,
    ],
    [
      'as base64 of JSON with base64 in it',
      `auths: ${inBase64(JSON.stringify({ auth: inBase64(`bot:${SECRET}`) }))}`,
      `auths: ${MASK}`,
    ],
    [
      'as base64 of JSON in lines',
      inBase64(JSON.stringify(['long '.repeat(20), SECRET])).replace(/.{76}/g, '$&\n'),
      MASK,
    ],
    [
      'in a data URL of JSON',
      `data:application/json;base64,${inBase64(JSON.stringify([SECRET]))}`,
      `data:application/json;base64,${MASK}`,
    ],
    ['in a data URL', `data:text/plain;base64,${inBase64(SECRET)}`, `data:text/plain;base64,${MASK}`],
  ])('%s', (_, text, expected) => expect(find(text)).toBe(expected))

  it('leaves no part of one where two overlap, or one overlaps itself', () => {
    const secrets = ['abcdefgh', 'efghijkl', 'ababababab']
    expect(said('-abcdefghijkl-', { ...BARE, secrets })).toBe(`-${MASK}-`)
    expect(said('-abababababab-', { ...BARE, secrets })).toBe(`-${MASK}-`)
    expect(said('abcdefgijkl', { ...BARE, secrets })).toBe('abcdefgijkl')
  })

  it('of 8 characters, as base64 of base64', () => {
    const secrets = ['hunter22']
    const found = [inBase64, (text: string) => inBase64(text).replace(/=+$/, '')].map((encode) =>
      said(`-${encode(encode('hunter22'))}.`, { ...BARE, secrets }),
    )
    expect(found.map((text) => text.replace(/^.*\[/, '['))).toEqual([`${MASK}.`, `${MASK}.`])
  })

  it('of 8 characters or more, white space around it left aside', () => {
    for (const short of ['', '1234567', ' 1234567\n']) {
      expect(() => redactionRules({ secrets: ['long enough', short] })).toThrow('Secret 1 is shorter than 8')
    }
    expect(said('12345678', { ...BARE, secrets: [' 12345678\n'] })).toBe(MASK)
    expect(said('123456789', { ...BARE, secrets: ['123456789'] })).toBe(MASK)
    expect(said('12345678', { ...BARE, secrets: ['123456789'] })).toBe('12345678')
  })

  it('is refused, and not quoted, when every mask would hold it', () => {
    expect(() => redactionRules({ secrets: ['redacted'] })).toThrow('part of what masks look like')
    expect(() => redactionRules({ secrets: ['[redacted:'] })).toThrow('Secret 0')
    expect(said('unredacted', { ...BARE, secrets: ['unredacted'] })).toBe(MASK)
  })

  it(`is found in up to ${MAX_DECODINGS} decodings, and what is encoded more often is masked as a whole`, () => {
    const lines = (times: number): string => escaped(times).slice(2, escaped(times).indexOf('it'))
    for (const times of [MAX_DECODINGS - 1, MAX_DECODINGS])
      expect(find(escaped(times))).toBe(`x ${lines(times)}${MASK} y`)
    expect(find(escaped(MAX_DECODINGS + 1))).toBe(MASK)
  })

  it('leaves base64 alone that holds none, and looks for nothing else in it', () => {
    const token = 'sk-ant-api03-0123456789abcdef'
    for (const text of [inBase64(`{"a":"${inBase64('other words')}"}`), inBase64(JSON.stringify({ token }))])
      expect(said(text, { secrets: [SECRET] })).toBe(text)
  })

  it('is found in base64 up to as many times, and text that may be encoded more often is left', () => {
    for (const count of [1, MAX_DECODINGS - 1])
      expect(find(`x ${inBase64Times(count)} y`)).toMatch(/redacted/)
    expect(find(`x ${inBase64Times(MAX_DECODINGS - 1)} y`)).toBe(`x ${MASK} y`)
    // A picture or the map of a source is base64 too, and may stand in escaped text several times over.
    const map = inBase64(
      `{"a":"data:image/svg+xml;base64,${inBase64('<svg viewBox="0 0 9 9"/> and more of it')}"}`,
    )
    for (let text = map, times = 0; times < 7; times += 1, text = JSON.stringify({ text }))
      expect(said(text, { secrets: [SECRET] })).toBe(text)
    const slashes = `${'\\'.repeat(80)}${inBase64('An English sentence that holds no secret at all.')}`
    expect(said(slashes, { secrets: [SECRET] })).toBe(slashes)
  })

  it('is masked with all of a text that can be read in more ways than anybody writes', () => {
    // Of each order in which two encodings are undone, the text says something else.
    const orders = Array.from({ length: 256 }, (_, order) => order.toString(2).padStart(8, '0'))
    const text = `${orders.map(encodedIn).join(' ')} end`
    expect([...viewsOf(text, true)].length).toBeLessThanOrEqual(MAX_VIEWS + 1)
    expect(find(text)).toBe(MASK)
  })

  it('leaves long runs of backslashes and percent signs alone', () => {
    for (const text of [
      '\\'.repeat(5000),
      `|${'\\'.repeat(999)}\n`,
      `%${'25'.repeat(99)}`,
      '100 %',
      '%zz%f',
      'C:\\new\\temp',
    ]) {
      expect(find(text)).toBe(text)
    }
  })
})

describe('masks', () => {
  it('are alike without a key, and with one the keyed hash of the secret', async () => {
    const secrets = ['first secret', 'second secret']
    expect(said('first secret, second secret', { secrets })).toBe(`${MASK}, ${MASK}`)
    const text = `first secret, ${JSON.stringify('second secret')}, ${inBase64('xx first secret')}`
    const [first, second] = [await hash('first secret'), await hash('second secret')]
    expect(said(text, { secrets, key: 'k' })).toBe(`${first}, "${second}", ${first}`)
    expect(said('first secret', { secrets, key: encoder.encode('k') })).toBe(first)
    expect(said('first secret', { secrets, key: 'l' })).not.toBe(first)
  })

  it('are the same for the same secret, whatever rule found it and wherever it stands', () => {
    const token = 'sk-ant-api03-0123456789abcdef'
    const rules = redactionRules({ key: 'k' })
    const mask = rules.mask(token)
    const event = redact(
      {
        kind: 'ActionEvent',
        thought: [{ text: `use ${token}` }],
        action: { kind: 'Custom', password: token, headers: { Authorization: `Bearer ${token}` } },
        tool_name: 't',
        tool_call_id: 'c',
        tool_call: {
          id: 'c',
          name: 't',
          origin: 'completion',
          arguments: JSON.stringify({ token, deep: JSON.stringify([token]) }),
        },
        llm_response_id: 'r',
      },
      rules,
    )
    expect(event.thought).toEqual([{ text: `use ${mask}` }])
    expect(event.action).toEqual({ kind: 'Custom', password: mask, headers: { Authorization: mask } })
    expect(event.tool_call.arguments).toBe(JSON.stringify({ token: mask, deep: JSON.stringify([mask]) }))
    expect(rules.mask('a').length).toBe(rules.mask('a'.repeat(999)).length)
  })

  it('need a key that is not empty', () => {
    expect(() => redactionRules({ key: '' })).toThrow('empty')
    expect(() => redactionRules({ key: new Uint8Array() })).toThrow('empty')
    try {
      redactionRules({ key: '' })
    } catch (error) {
      expect(hasCode(error, 'invalid_rules')).toBe(true)
    }
  })

  it('hash as HMAC-SHA-256 does', async () => {
    for (const length of [1, 31, 55, 56, 63, 64, 65, 119, 120, 1000]) {
      const [key, text] = ['k'.repeat(length), 'ä€😀'.repeat(length).slice(0, length)]
      expect(redactionRules({ key }).mask(text)).toBe(await hash(text, key))
    }
  })
})
