import { describe, expect, it } from 'vitest'
import { redact } from '../../src/context/redaction/redact.ts'
import { redactionRules } from '../../src/context/redaction/rules.ts'
import { hasCode } from '../../src/event/errors.ts'
import { BARE, MASK, output } from './redact-output.ts'

const SECRET = 'it\'s "my" s3cret/\\\n+päß?'
const inBase64 = (text: string): string => Buffer.from(text).toString('base64')
const codesOf = (text: string): string[] =>
  Array.from({ length: text.length }, (_, i) => text.charCodeAt(i).toString(16).padStart(4, '0'))

const encoder = new TextEncoder()

async function hash(secret: string, key = 'k'): Promise<string> {
  const hmac = { name: 'HMAC', hash: 'SHA-256' }
  const cryptoKey = await crypto.subtle.importKey('raw', encoder.encode(key), hmac, false, ['sign'])
  const digest = new Uint8Array(await crypto.subtle.sign('HMAC', cryptoKey, encoder.encode(secret)))
  return `[redacted:${Buffer.from(digest).toString('hex').slice(0, 16)}]`
}

describe('a literal secret', () => {
  const find = (text: string): string => output(text, { ...BARE, secrets: [SECRET] })
  const bytes = (by: (byte: string) => string): string =>
    Array.from(Buffer.from(SECRET), (byte) => by(byte.toString(16).padStart(2, '0'))).join('')

  it.each([
    ['in plain text', SECRET, MASK],
    ['inside a word', `x${SECRET}y`, `x${MASK}y`],
    ['twice', `${SECRET}${SECRET}`, MASK + MASK],
    ['in JSON', JSON.stringify({ a: SECRET }), `{"a":"${MASK}"}`],
    ['in a key of JSON', JSON.stringify({ [SECRET]: 1 }), `{"${MASK}":1}`],
    ['in JSON in JSON', JSON.stringify([JSON.stringify([SECRET])]), JSON.stringify([JSON.stringify([MASK])])],
    ['in a JSON string in prose', `see ${JSON.stringify(SECRET)} there`, `see "${MASK}" there`],
    ['in truncated JSON', `{"a":${JSON.stringify(SECRET)}`, `{"a":"${MASK}"`],
    [
      'with every letter escaped',
      codesOf(SECRET)
        .map((code) => `\\u${code}`)
        .join(''),
      MASK,
    ],
    ['percent-encoded', `?p=${encodeURIComponent(SECRET)}&x`, `?p=${MASK}&x`],
    ['with every byte percent-encoded', bytes((byte) => `%${byte}`), MASK],
    ['form-encoded', encodeURIComponent(SECRET).replaceAll('%20', '+'), MASK],
    ['percent-encoded in JSON', JSON.stringify([encodeURIComponent(SECRET)]), `["${MASK}"]`],
    ['percent-encoded in upper case', bytes((byte) => `%${byte.toUpperCase()}`), MASK],
    ['in percent-encoded base64', encodeURIComponent(inBase64(`??>${SECRET}`)), MASK],
    ['in base64', `Basic ${inBase64(SECRET)}`, `Basic ${MASK}`],
    ['in base64 after one byte', inBase64(`:${SECRET}`), MASK],
    ['in base64 after two bytes', inBase64(`me${SECRET}!`), MASK],
    ['in base64url', `${Buffer.from(`??>${SECRET}`).toString('base64url')}.`, `${MASK}.`],
    ['in base64 without padding', inBase64(`abcd${SECRET}`).replace(/=+$/, ''), MASK],
    ['in base64 with line breaks', inBase64('long '.repeat(20) + SECRET).replace(/.{76}/g, '$&\r\n'), MASK],
    ['in base64 with escaped slashes', inBase64(`???${SECRET}`).replaceAll('/', '\\/'), MASK],
    ['in a data URL', `data:text/plain;base64,${inBase64(SECRET)}`, `data:text/plain;base64,${MASK}`],
  ])('is masked %s', (_, text, expected) => expect(find(text)).toBe(expected))

  it.each(['\n', '\r\n'])('is masked with either line ending: %j', (lineEnd) => {
    const secrets = [`first line${lineEnd}second line`]
    for (const text of ['first line\nsecond line', 'first line\r\nsecond line'])
      for (const form of [text, JSON.stringify(text), encodeURIComponent(text)])
        expect(output(form, { ...BARE, secrets })).not.toContain('second')
  })

  it('is masked completely if it overlaps another one or itself', () => {
    const secrets = ['abcdefgh', 'efghijkl', 'ababababab']
    expect(output('-abcdefghijkl-', { ...BARE, secrets })).toBe(`-${MASK}-`)
    expect(output('-abababababab-', { ...BARE, secrets })).toBe(`-${MASK}-`)
    expect(output('abcdefgijkl', { ...BARE, secrets })).toBe('abcdefgijkl')
  })

  it('has at least 8 characters, without surrounding white space', () => {
    for (const short of ['', '1234567', ' 1234567\n']) {
      expect(() => redactionRules({ secrets: ['long enough', short] })).toThrow(
        '`secrets[1]` is shorter than 8',
      )
    }
    expect(output('12345678', { ...BARE, secrets: [' 12345678\n'] })).toBe(MASK)
    expect(output('123456789', { ...BARE, secrets: ['123456789'] })).toBe(MASK)
    expect(output('12345678', { ...BARE, secrets: ['123456789'] })).toBe('12345678')
  })

  it('is rejected if the mask would contain it', () => {
    expect(() => redactionRules({ secrets: ['redacted'] })).toThrow('occurs in a mask such as `[redacted]`')
    expect(() => redactionRules({ secrets: ['[redacted:'] })).toThrow('`secrets[0]`')
    expect(output('unredacted', { ...BARE, secrets: ['unredacted'] })).toBe(MASK)
  })

  it('is the only kind of secret that is searched in base64', () => {
    const token = 'sk-ant-api03-0123456789abcdef'
    for (const text of [inBase64(`{"a":"${inBase64('other words')}"}`), inBase64(JSON.stringify({ token }))])
      expect(output(text, { secrets: [SECRET] })).toBe(text)
  })

  it('is not found if it is base64-encoded twice', () => {
    const text = `x ${inBase64(inBase64(SECRET))} y`
    expect(find(text)).toBe(text)
  })

  it('a search for a literal secret does not change backslashes and percent signs', () => {
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
  it('are equal without a key, and contain the keyed hash of the secret with one', async () => {
    const secrets = ['first secret', 'second secret']
    expect(output('first secret, second secret', { secrets })).toBe(`${MASK}, ${MASK}`)
    const text = `first secret, ${JSON.stringify('second secret')}, ${inBase64('xx first secret')}`
    const [first, second] = [await hash('first secret'), await hash('second secret')]
    expect(output(text, { secrets, key: 'k' })).toBe(`${first}, "${second}", ${first}`)
    expect(output('first secret', { secrets, key: encoder.encode('k') })).toBe(first)
    expect(output('first secret', { secrets, key: 'l' })).not.toBe(first)
  })

  it('are equal for the same secret, in every field and by every rule', () => {
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

  it('require a key that is not empty', () => {
    expect(() => redactionRules({ key: '' })).toThrow('empty')
    expect(() => redactionRules({ key: new Uint8Array() })).toThrow('empty')
    try {
      redactionRules({ key: '' })
    } catch (error) {
      expect(hasCode(error, 'invalid_rules')).toBe(true)
    }
  })

  it('contain an HMAC-SHA-256', async () => {
    for (const length of [1, 31, 55, 56, 63, 64, 65, 119, 120, 1000]) {
      const [key, text] = ['k'.repeat(length), 'ä€😀'.repeat(length).slice(0, length)]
      expect(redactionRules({ key }).mask(text)).toBe(await hash(text, key))
    }
  })
})
