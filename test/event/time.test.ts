/** parseInstant and isInstant, for valid times and for texts that only resemble one (design D10). */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isInstant, parseInstant } from '../../src/event/time.ts'

const SECOND = 1_000_000n

describe('parseInstant', () => {
  it.each<[string, bigint]>([
    ['1970-01-01T00:00:00Z', 0n],
    ['1970-01-01T00:00:00', 0n],
    ['1970-01-01 00:00:00', 0n],
    ['1970-01-01T00:00:00.1Z', 100_000n],
    ['1970-01-01T00:00:00.123456Z', 123_456n],
    ['1970-01-01T00:00:00.123456789Z', 123_456n],
    ['1970-01-01T00:00:00.000000999', 0n],
    ['1969-12-31T23:59:59.999999Z', -1n],
    ['1970-01-01T01:00:00+01:00', 0n],
    ['1970-01-01T01:00:00+0100', 0n],
    ['1969-12-31T18:30:00-05:30', 0n],
    ['1970-01-01T00:00:00-00:00', 0n],
    ['2000-02-29T00:00:00Z', 951_782_400n * SECOND],
    ['2026-11-21T10:11:12.131415Z', 1_795_255_872n * SECOND + 131_415n],
    ['0000-01-01T00:00:00Z', -62_167_219_200n * SECOND],
    ['0000-02-29T00:00:00Z', -62_162_121_600n * SECOND],
    ['9999-12-31T23:59:59.999999Z', 253_402_300_799n * SECOND + 999_999n],
  ])('parses %s', (text, instant) => {
    expect(parseInstant(text)).toBe(instant)
    expect(isInstant(text)).toBe(true)
  })

  it.each([
    '',
    'now',
    '2026-11-21',
    '10:11:12',
    '2026-11-21T10:11',
    '2026-11-21T10:11:12z',
    '2026-11-21t10:11:12',
    '2026-11-21  10:11:12',
    '2026-11-21T10:11:12 Z',
    ' 2026-11-21T10:11:12',
    '2026-11-21T10:11:12\n',
    '2026-11-21T10:11:12.',
    '2026-11-21T10:11:12,5',
    '2026-11-21T10:11:12.1234567890',
    '2026-11-21T10:11:12+1',
    '2026-11-21T10:11:12+01',
    '2026-11-21T10:11:12+24:00',
    '2026-11-21T10:11:12+01:60',
    '2026-11-21T24:00:00',
    '2026-11-21T23:60:00',
    '2016-12-31T23:59:60Z',
    '2026-00-01T00:00:00',
    '2026-13-01T00:00:00',
    '2026-01-00T00:00:00',
    '2026-01-32T00:00:00',
    '2026-02-29T00:00:00',
    '1900-02-29T00:00:00',
    '2026-04-31T00:00:00',
    '+2026-01-01T00:00:00',
    '-0001-01-01T00:00:00',
    '20261121T101112Z',
    '２０２６-01-01T00:00:00',
    '1795255872',
  ])('rejects %j', (text) => {
    expect(parseInstant(text)).toBeUndefined()
    expect(isInstant(text)).toBe(false)
  })

  it('agrees with Date, for any time and offset', () => {
    const years = {
      min: new Date('0000-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59Z'),
      noInvalidDate: true,
    }
    fc.assert(
      fc.property(fc.date(years), fc.integer({ min: -1439, max: 1439 }), (date, minutes) => {
        const instant = BigInt(date.getTime()) * 1000n
        expect(parseInstant(date.toISOString())).toBe(instant)
        const size = Math.abs(minutes)
        const zone = `${minutes < 0 ? '-' : '+'}${String(Math.floor(size / 60)).padStart(2, '0')}:${String(size % 60).padStart(2, '0')}`
        expect(parseInstant(date.toISOString().replace('Z', zone))).toBe(
          instant - BigInt(minutes) * 60n * SECOND,
        )
      }),
      { numRuns: 1000 },
    )
  })

  it('rejects the days that a month does not have', () => {
    for (let month = 1; month <= 12; month++) {
      for (let day = 28; day <= 31; day++) {
        const text = `2026-${String(month).padStart(2, '0')}-${day}T00:00:00`
        expect(isInstant(text)).toBe(new Date(Date.UTC(2026, month - 1, day)).getUTCDate() === day)
      }
    }
  })
})
