import { attempt } from '../../../event/json.ts'
import { parseInstant } from '../../../event/time.ts'

const OWN_ZONE = /(?:Z|[+-]\d\d:?\d\d)$/
const DAY = 86_400_000_000n

/**
 * Returns a timestamp's instant in microseconds since 1970; undefined if it is unreadable. A timestamp
 * without a zone is read in `timeZone` (design D10). If a clock change repeats a time, the time means the
 * first of its two instants. If a clock change skips a time, the time is moved later by the gap. O(1).
 * @param timeZone an IANA name
 */
export function instantIn(text: string, timeZone: string): bigint | undefined {
  const local = parseInstant(text)
  if (local === undefined || OWN_ZONE.test(text)) return local
  const before = offsetAt(timeZone, local - DAY)
  if (offsetAt(timeZone, local - before) === before) return local - before
  const after = offsetAt(timeZone, local + DAY)
  return offsetAt(timeZone, local - after) === after ? local - after : local - before
}

export const isTimeZone = (text: string): boolean => attempt(() => formatOf(text), null) !== null

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  formats.set(timeZone, format)
  return format
}

/** Returns how many microseconds a zone is ahead of UTC at an instant (in microseconds since 1970). */
function offsetAt(timeZone: string, instant: bigint): bigint {
  const parts = formatOf(timeZone).formatToParts(Number(instant / 1_000_000n) * 1000)
  // Such as GMT-05:00, or GMT-04:56:02 before time zones were introduced.
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [hours = 0, minutes = 0, seconds = 0] = (name.match(/\d\d/g) ?? []).map(Number)
  const offset = BigInt(hours * 3600 + minutes * 60 + seconds) * 1_000_000n
  return name.includes('-') ? -offset : offset
}
