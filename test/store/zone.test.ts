/** Timestamps without a zone use the zone of their conversation (design D10). */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseInstant } from '../../src/event/time.ts'
import { instantIn, isTimeZone } from '../../src/store/kit/query/time-zone.ts'

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'America/St_Johns',
  'Pacific/Apia',
]

/** Local time in a zone. */
function localTime(zone: string, instant: bigint): string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  const micros = ((instant % 1_000_000n) + 1_000_000n) % 1_000_000n
  return `${format.format(Number((instant - micros) / 1000n))}.${String(micros).padStart(6, '0')}`
}

describe('a timestamp without an offset', () => {
  it('is the first instant with that local time in the zone', () => {
    const seconds = fc.integer({ min: 0, max: 2_000_000_000 })
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), seconds, fc.nat(999_999), (zone, second, micros) => {
        const instant = BigInt(second) * 1_000_000n + BigInt(micros)
        const text = localTime(zone, instant)
        const read = instantIn(text, zone) as bigint
        expect(localTime(zone, read)).toBe(text)
        expect(read <= instant).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    ['2026-03-29T01:59:59.999999', '2026-03-29T00:59:59.999999Z'],
    ['2026-03-29T02:30:00', '2026-03-29T01:30:00Z'],
    ['2026-03-29T03:00:00', '2026-03-29T01:00:00Z'],
    ['2026-10-25T01:59:59', '2026-10-24T23:59:59Z'],
    ['2026-10-25T02:30:00', '2026-10-25T00:30:00Z'],
    ['2026-10-25T03:00:00', '2026-10-25T02:00:00Z'],
    ['1893-03-31T23:00:00', '1893-03-31T22:06:32Z'],
  ])('%s in Europe/Berlin is %s', (local, utc) => {
    expect(instantIn(local, 'Europe/Berlin')).toBe(parseInstant(utc))
  })
})

describe('`instantIn`', () => {
  it('ignores the zone for timestamps with an offset', () => {
    for (const text of ['2026-07-01T00:00:00Z', '2026-07-01 00:00:00.5+0530', '2026-07-01T00:00:00-08:00']) {
      expect(instantIn(text, 'Europe/Berlin')).toBe(parseInstant(text))
    }
  })

  it('returns undefined for an invalid timestamp', () => {
    for (const text of ['', 'yesterday', '2026-02-30T00:00:00', '2026-01-01'])
      expect(instantIn(text, 'Europe/Berlin')).toBeUndefined()
  })

  it('accepts the years 0 and 9999', () => {
    for (const text of ['0001-01-01T00:00:00', '9999-12-31T23:59:59.999999', '0000-01-01T00:00:00']) {
      const difference = (instantIn(text, 'Asia/Tokyo') as bigint) - (parseInstant(text) as bigint)
      expect(Math.abs(Number(difference / 1_000_000n))).toBeLessThan(10 * 3600)
    }
  })
})

describe('`isTimeZone`', () => {
  it('accepts only zones that the runtime knows', () => {
    for (const zone of ZONES) expect(isTimeZone(zone)).toBe(true)
    for (const text of ['', 'Mars/Olympus', 'x\u0000', '__proto__']) expect(isTimeZone(text)).toBe(false)
  })
})
