/** Cursors round-trip for the same query. Other cursors are rejected with a reason. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasCode } from '../../src/event/errors.ts'
import {
  decodeCursor,
  encodeCursor,
  fromBase64Url,
  scopeOf,
  toBase64Url,
  type CursorFault,
} from '../../src/store/kit/query/page.ts'
import { hashText } from '../../src/event/text.ts'
import { character } from '../../src/testing/text.ts'

const wellFormed = (): fc.Arbitrary<string> => fc.string({ unit: 'grapheme', maxLength: 20 })
const ascii = (): fc.Arbitrary<string> => fc.string({ unit: 'binary-ascii' })

/** The reason for a rejection, or null. */
function faultOf(scope: string, cursor: string): CursorFault | null {
  try {
    decodeCursor(scope, cursor)
    return null
  } catch (error) {
    if (hasCode(error, 'invalid_cursor')) return error.data['reason'] as CursorFault
    throw error
  }
}

/** A cursor with a valid checksum, as an attacker who knows the format could make. */
function withChecksum(body: string): string {
  const text = `${body} ${hashText(body)}`
  return toBase64Url(`${text.length} ${text}`)
}

describe('a cursor', () => {
  it('is altered if its checksum is valid but its key is malformed percent-encoding', () => {
    for (const part of ['%E0%A4', '%', '%zz', 'a%FFb'])
      expect(faultOf('scope', withChecksum(`1 ${hashText('scope')} ${part} 1`))).toBe('altered')
  })

  it('decodes to its key in the same scope', () => {
    fc.assert(
      fc.property(fc.string({ unit: character }), fc.array(wellFormed(), { maxLength: 4 }), (scope, key) => {
        const cursor = encodeCursor(scope, key)
        expect(cursor).toMatch(/^[\w-]+$/)
        expect(decodeCursor(scope, cursor)).toEqual(key)
      }),
    )
  })

  it('is foreign in any other scope', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.array(wellFormed(), { maxLength: 3 }), (scope, other, key) => {
        fc.pre(scope !== other)
        expect(faultOf(other, encodeCursor(scope, key))).toBe('foreign')
      }),
    )
  })

  it('is invalid after one character is changed, inserted or removed', () => {
    const cursor = encodeCursor('scope', ['1767225600000000', '41'])
    const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (let index = 0; index < cursor.length; index += 1) {
      for (const digit of digits) {
        if (digit !== cursor[index]) {
          expect(faultOf('scope', cursor.slice(0, index) + digit + cursor.slice(index + 1))).not.toBeNull()
        }
        expect(faultOf('scope', cursor.slice(0, index) + digit + cursor.slice(index))).not.toBeNull()
      }
      expect(faultOf('scope', cursor.slice(0, index) + cursor.slice(index + 1))).not.toBeNull()
    }
  })

  it('is truncated if its end is missing', () => {
    const cursor = encodeCursor('scope', ['1767225600000000', '41'])
    for (let length = 6; length < cursor.length; length += 1) {
      expect(faultOf('scope', cursor.slice(0, length)), cursor.slice(0, length)).toBe('truncated')
    }
  })

  it('is altered, outdated or malformed, depending on the fault', () => {
    const cursor = encodeCursor('scope', ['1', '2'])
    const middle = cursor.length >> 1
    const changed = `${cursor.slice(0, middle)}${cursor[middle] === 'A' ? 'B' : 'A'}${cursor.slice(middle + 1)}`
    expect(faultOf('scope', changed)).toBe('altered')
    expect(faultOf('scope', `${cursor}AAAA`)).toBe('altered')
    expect(faultOf('scope', withChecksum(`0 ${hashText('scope')} 1 2`))).toBe('outdated')
    for (const text of ['', 'event-17', '41', '{"a":1}', 'é', '\ud800', 'AAAA', '=']) {
      expect(faultOf('scope', text), text).toBe('malformed')
    }
  })

  it('fails only with invalid_cursor for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: character }), ascii().map(toBase64Url)), (text) => {
        expect(faultOf('scope', text)).not.toBeNull()
      }),
    )
  })
})

describe('the scope of a cursor', () => {
  it('is equal for equal filters, and differs by list, order and filter', () => {
    const filter = { conversationId: 'c', kinds: new Set(['PauseEvent']), from: 1n, text: null }
    const scope = scopeOf('events', 'timestamp', filter)
    expect(
      scopeOf('events', 'timestamp', {
        text: null,
        from: 1n,
        kinds: new Set(['PauseEvent']),
        conversationId: 'c',
      }),
    ).toBe(scope)
    const others = [
      scopeOf('events', 'timestamp_desc', filter),
      scopeOf('conversations', 'timestamp', filter),
      scopeOf('events', 'timestamp', { ...filter, conversationId: 'd' }),
      scopeOf('events', 'timestamp', { ...filter, kinds: null }),
      scopeOf('events', 'timestamp', { ...filter, from: 2n }),
      scopeOf('events', 'timestamp', { ...filter, text: 'null' }),
    ]
    expect(new Set([scope, ...others]).size).toBe(others.length + 1)
  })
})

describe('base64url', () => {
  it('encodes like Node and round-trips', () => {
    fc.assert(
      fc.property(ascii(), (text) => {
        expect(toBase64Url(text)).toBe(Buffer.from(text, 'latin1').toString('base64url'))
        expect(fromBase64Url(toBase64Url(text))).toBe(text)
      }),
    )
  })

  it('rejects text that is not in canonical form', () => {
    for (const text of ['A', 'YWJ', 'YWI', 'YW==', 'YW=', 'Y W', 'YW\n', 'YWé', '+/']) {
      const read = fromBase64Url(text)
      if (read !== undefined) expect(toBase64Url(read)).toBe(text)
    }
    expect(fromBase64Url('A')).toBeUndefined()
    expect(fromBase64Url('YWJ')).toBeUndefined()
    expect(fromBase64Url('+/')).toBeUndefined()
  })
})

const bits = (hash: string): bigint => BigInt(`0x${hash}`)

describe('`hashText`', () => {
  it('has no collisions in 200,000 similar texts', () => {
    const texts = Array.from({ length: 200_000 }, (_, i) => `{"conversationId":"c${i % 7}","from":"${i}"}`)
    expect(new Set(texts.map(hashText)).size).toBe(texts.length)
  })

  it('changes 40 % to 60 % of its bits if a character is added', () => {
    let changed = 0
    const runs = 500
    for (let i = 0; i < runs; i += 1) {
      const difference = bits(hashText(`scope ${i}`)) ^ bits(hashText(`scope ${i} `))
      changed += difference.toString(2).replaceAll('0', '').length
    }
    expect(changed / runs / 64).toBeGreaterThan(0.4)
    expect(changed / runs / 64).toBeLessThan(0.6)
  })
})
