/** Compares the columns of an evicted log with plain lists, and tests the seal around them. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type KeyColumn,
  KeyIndex,
  keyAt,
  readKeys,
  writeKeys,
  Texts,
  writeTexts,
  Times,
  writeTimes,
} from '../../src/log/columnar/columns.ts'
import { aligned, seal, sealOf, unseal } from '../../src/log/columnar/sealed.ts'
import { character } from '../../src/testing/text.ts'

/** Any text, with lone surrogates, pairs split between texts, and byte order marks. */
const text = fc.oneof(
  fc.string({ unit: character, maxLength: 12 }),
  fc.constantFrom('', '\uFEFF', '\uD83D', '\uDE00', '\uD83D\uDE00', 'é\u0000'),
  fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    maxLength: 6,
  }),
)

describe('a column of texts', () => {
  it('returns each text as written', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 40 }), (texts) => {
        const column = new Texts(...writeTexts(texts))
        expect(column.count).toBe(texts.length)
        expect(texts.map((_, index) => column.at(index))).toEqual(texts)
      }),
    )
  })

  it('returns texts of 100,000 characters', () => {
    const texts = ['\uD800'.repeat(100_000), 'x'.repeat(100_000)]
    const column = new Texts(...writeTexts(texts))
    expect(texts.map((_, index) => column.at(index)).every((each, index) => each === texts[index])).toBe(true)
  })
})

describe('a column of times', () => {
  it('returns each time as written', () => {
    const time = fc.oneof(
      fc.constant(null),
      fc.integer({ min: 0, max: 200_000 }).map((s) => new Date(s * 1_000).toISOString()),
      fc.constantFrom('2026-01-01 00:00:00.123456789+01:00', '2026-01-01T00:00:00'),
    )
    fc.assert(
      fc.property(fc.array(time, { maxLength: 70 }), (times) => {
        const column = new Times(times.length, ...writeTimes(times))
        expect(times.map((_, index) => column.at(index))).toEqual(times)
      }),
    )
  })

  it('needs fewer than 11 bytes per time for times of a log', () => {
    const times = Array.from({ length: 1_000 }, (_, n) => new Date(n * 1_000).toISOString())
    const bytes = writeTimes(times).reduce((sum, section) => sum + section.length, 0)
    expect(bytes / times.length).toBeLessThan(11)
  })
})

describe('an index of keys', () => {
  const log = fc.array(fc.option(fc.constantFrom('a', 'b', 'c0', 'c1', ''), { nil: null }), { maxLength: 60 })

  it('finds the latest accepted position of a key at or after a minimum', () => {
    fc.assert(
      fc.property(log, fc.integer({ min: 1, max: 9 }), fc.nat(70), fc.nat(), (texts, size, from, mask) => {
        const columns: KeyColumn[] = []
        for (let first = 0; first < texts.length; first += size) {
          const keys = texts
            .slice(first, first + size)
            .flatMap((each, index) => (each === null ? [] : [{ seq: first + index, text: each }]))
          columns.push(readKeys(writeKeys(keys)))
        }
        const accept = (seq: number) => ((mask >>> (seq % 31)) & 1) === 0
        const index = new KeyIndex(columns, texts.length)
        for (const key of ['a', 'b', 'c0', 'c1', '', 'nowhere']) {
          const expected = texts.findLastIndex((each, seq) => each === key && seq >= from && accept(seq))
          expect(index.find(key, accept, from)).toBe(expected)
        }
        const position = texts.map((_, seq) => keyAt(columns[Math.floor(seq / size)] as KeyColumn, seq))
        expect(position).toEqual(texts)
      }),
    )
  })

  it('handles 200,000 equal keys', () => {
    const count = 200_000
    const keys = Array.from({ length: count }, (_, seq) => ({ seq, text: 'call_0' }))
    const index = new KeyIndex([readKeys(writeKeys(keys))], count)
    // With probing instead of chains this takes minutes.
    expect(index.find('call_0', () => true)).toBe(count - 1)
    expect(index.find('call_1', () => true)).toBe(-1)
  })
})

describe('a sealed block', () => {
  const label = { kind: 3, version: 7 }
  const sections = [
    Uint8Array.of(1, 2, 3),
    new Uint8Array(0),
    Uint8Array.from({ length: 41 }, (_, n) => n * 7),
  ]
  const block = seal(label, sections)

  it('opens with equal content at any offset of any buffer', () => {
    expect(unseal(label, block)).toEqual(sections)
    for (const shift of [0, 1, 2, 3, 4]) {
      const buffer = new Uint8Array(block.length + 200)
      buffer.set(block, shift)
      const part = buffer.subarray(shift, shift + block.length)
      expect(unseal(label, aligned(part))).toEqual(sections)
      expect(sealOf(aligned(part))).toEqual(sealOf(block))
    }
    const shared = new Uint8Array(new SharedArrayBuffer(block.length))
    shared.set(block)
    expect(unseal(label, aligned(shared))).toEqual(sections)
  })

  it('does not open after any changed bit, missing or added byte, or other label', () => {
    for (let bit = 0; bit < block.length * 8; bit += 1) {
      const damaged = block.slice()
      damaged[bit >>> 3] = (damaged[bit >>> 3] as number) ^ (1 << (bit & 7))
      expect(unseal(label, damaged)).toBeNull()
    }
    for (let length = 0; length < block.length; length += 1) {
      expect(unseal(label, aligned(block.slice(0, length)))).toBeNull()
    }
    expect(unseal(label, new Uint8Array([...block, 0, 0, 0, 0]))).toBeNull()
    expect(unseal({ ...label, kind: 2 }, block)).toBeNull()
    expect(unseal({ ...label, version: 8 }, block)).toBeNull()
  })

  it('returns null for random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, begin) => {
        const input = begin ? new Uint8Array([...block.slice(0, 16), ...bytes]) : bytes
        expect(unseal(label, aligned(input))).toBeNull()
      }),
    )
  })
})
