import { attempt } from '../../../event/json.ts'
import { parseInstant } from '../../../event/time.ts'

const OWN_ZONE = /(?:Z|[+-]\d\d:?\d\d)$/
const DAY = 86_400_000_000n

/**
 * Returns a timestamp's instant in microseconds since 1970; undefined if it is unreadable. A timestamp
 * without a zone is read in `timeZone` (design D10). A time that a clock change repeats means the first of
 * its two instants; a time that a clock change skips is moved later by the gap. O(1).
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
  const numeric = 'numeric'
  const format = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
    timeZone,
    hourCycle: 'h23',
    era: 'short',
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  })
  formats.set(timeZone, format)
  return format
}

/** Returns how many microseconds a zone is ahead of UTC at an instant (in microseconds since 1970). */
function offsetAt(timeZone: string, instant: bigint): bigint {
  const seconds = instant / 1_000_000n
  const parts: Record<string, string> = {}
  for (const { type, value } of formatOf(timeZone).formatToParts(Number(seconds) * 1000)) parts[type] = value
  const year = parts['era']?.startsWith('B') === true ? 1 - Number(parts['year']) : Number(parts['year'])
  const shown = new Date(0)
  shown.setUTCFullYear(year, Number(parts['month']) - 1, Number(parts['day']))
  shown.setUTCHours(Number(parts['hour']), Number(parts['minute']), Number(parts['second']))
  return (BigInt(shown.getTime()) / 1000n - seconds) * 1_000_000n
}
