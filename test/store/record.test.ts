/** Conversation records, their times, leases, the order of ids, and lists of items. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasCode } from '../../src/event/errors.ts'
import { parseInstant } from '../../src/event/time.ts'
import { checkItemQuery, pageOfItems } from '../../src/store/kit/items.ts'
import {
  checkLease,
  compareIds,
  formatInstant,
  laterOf,
  microsNow,
  newRecord,
  nextLease,
  patchRecord,
} from '../../src/store/kit/record.ts'

describe('a record', () => {
  it('is a frozen copy of the input', () => {
    const tags = { a: '1' }
    const metadata = { deep: { list: [1] } }
    const record = newRecord({ id: 'c', tags, metadata }, 0n)
    tags.a = '2'
    metadata.deep.list.push(2)
    expect([record.tags, record.metadata]).toEqual([{ a: '1' }, { deep: { list: [1] } }])
    expect(Object.isFrozen(record) && Object.isFrozen(record.metadata['deep'])).toBe(true)
  })

  it('accepts a title of up to 200 code points', () => {
    expect(newRecord({ id: 'c', title: '😀'.repeat(200) }, 0n).title).toHaveLength(400)
    expect(() => newRecord({ id: 'c', title: '😀'.repeat(201) }, 0n)).toThrow('title')
    expect(() => newRecord({ id: 'c', title: 'a\ud83d' }, 0n)).toThrow('title')
  })

  it('keeps `__proto__` in its metadata, and rejects it as a tag', () => {
    const metadata = JSON.parse('{"__proto__":{"a":1}}')
    expect(JSON.stringify(newRecord({ id: 'c', metadata }, 0n).metadata)).toBe('{"__proto__":{"a":1}}')
    expect(() => newRecord({ id: 'c', tags: JSON.parse('{"__proto__":"a"}') }, 0n)).toThrow('tags')
  })

  it('is changed by a patch only in the fields of the patch', () => {
    const record = newRecord({ id: 'c', title: 'T', public: true }, 5n)
    expect(patchRecord(record, {}, 7n)).toEqual({ ...record, updatedAt: formatInstant(7n) })
    expect(patchRecord(record, { title: null }, 3n)).toEqual({ ...record, title: null })
  })
})

describe('times of a record', () => {
  it('round-trip through their text', () => {
    const micros = fc.bigInt({ min: -62_167_219_200_000_000n, max: 253_402_300_799_999_999n })
    fc.assert(
      fc.property(micros, (instant) => {
        expect(formatInstant(instant)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
        expect(parseInstant(formatInstant(instant))).toBe(instant)
      }),
    )
  })

  it('have a sign and six digits for years outside 0 to 9999', () => {
    for (const [text, expected] of [
      ['9999-12-31T23:59:59.5-01:00', '+010000-01-01T00:59:59.500000Z'],
      ['0000-01-01T00:00:00+01:00', '-000001-12-31T23:00:00.000000Z'],
    ] as const)
      expect(formatInstant(parseInstant(text) ?? 0n)).toBe(expected)
  })

  it('never decrease', () => {
    expect(laterOf(formatInstant(5n), 4n)).toBe(formatInstant(5n))
    expect(laterOf(formatInstant(5n), 6n)).toBe(formatInstant(6n))
  })

  it('are within a second of the system clock', () => {
    expect(Math.abs(Number(microsNow() / 1000n) - Date.now())).toBeLessThan(1000)
  })

  it('are unique, so a recreated conversation differs from the deleted one', () => {
    const times = Array.from({ length: 100 }, () => microsNow())
    expect(new Set(times).size).toBe(100)
  })
})

/** Ids that UTF-16 and UTF-8 sort differently. */
const id = (): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\ue000', '\uffff', '😀', '😁', '𐀀'), maxLength: 4 })

describe('`compareIds`', () => {
  it('sorts ids by their UTF-8 bytes', () => {
    fc.assert(
      fc.property(id(), id(), (a, b) => {
        expect(Math.sign(compareIds(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)))
      }),
    )
  })
})

const leaseRequest = (owner: string, now: number) => ({ conversationId: 'c', owner, ttl: 10, now })

/** The code of the error, or null. */
const codeOf = (owner: string, ttl: number): string | null => {
  try {
    checkLease(owner, ttl)
  } catch (error) {
    return hasCode(error, 'invalid_id')
      ? 'invalid_id'
      : hasCode(error, 'invalid_argument')
        ? 'invalid_argument'
        : 'other'
  }
  return null
}

describe('a lease', () => {
  it('keeps its generation if renewed, increases it for a new owner, and expires at `expiresAt`', () => {
    const first = nextLease(null, 4, leaseRequest('a', 0))
    expect(first).toEqual({ conversationId: 'c', owner: 'a', generation: 5, expiresAt: 10 })
    expect(nextLease(first, 5, leaseRequest('b', 9))).toBeNull()
    expect(nextLease(first, 5, leaseRequest('a', 9))).toEqual({ ...first, expiresAt: 19 })
    expect(nextLease(first, 5, leaseRequest('b', 10))).toEqual({
      ...first,
      owner: 'b',
      generation: 6,
      expiresAt: 20,
    })
    expect(nextLease(first, 5, leaseRequest('a', 10))?.generation).toBe(6)
    expect(nextLease(null, 5, leaseRequest('a', 3))?.generation).toBe(6)
  })

  it('requires a valid owner id and a positive integer of milliseconds', () => {
    expect([codeOf('me', 1), codeOf('', 1), codeOf('a\n', 1), codeOf('me', 0), codeOf('me', 1.5)]).toEqual([
      null,
      'invalid_id',
      'invalid_id',
      'invalid_argument',
      'invalid_argument',
    ])
  })
})

describe('lists of items in memory', () => {
  it('ignore inherited properties of the keys of an item', () => {
    const item = { collection: 'k', id: 'a', version: 1, body: {}, keys: { other: 'x' }, dueAt: null }
    expect(pageOfItems([item], checkItemQuery('k', { by: 'constructor' })).items).toEqual([])
    expect(pageOfItems([item], checkItemQuery('k', { by: 'other' })).items).toEqual([item])
  })
})
