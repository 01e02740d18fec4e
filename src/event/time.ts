/** Times of events. Times without a zone are UTC here; stores read them in the conversation's zone (design D10). */

const DATE_TIME =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[T ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?(?:Z|([+-])([01]\d|2[0-3]):?([0-5]\d))?$/

/**
 * Returns an ISO 8601 date and time as microseconds since 1970-01-01T00:00:00Z; undefined if invalid. O(1).
 *
 * The separator is `T` or a space. Up to nine fractional digits are accepted, and cut to microseconds. The
 * zone is `Z`, `±hh:mm` or `±hhmm`; the default is UTC (design D10). Dates that do not exist are invalid, and
 * so are 24:00 and leap seconds.
 * @example
 * parseInstant('1970-01-01T00:00:01.5Z') // 1500000n
 * parseInstant('2026-02-30T00:00:00') // undefined
 */
export function parseInstant(text: string): bigint | undefined {
  const parts = DATE_TIME.exec(text)
  if (parts === null) return undefined
  const [, year, month, day, hour, minute, second, fraction = '', sign, zoneHour = 0, zoneMinute = 0] = parts
  // The calendar repeats after 400 years of 146,097 days. Date.UTC would read the year 26 as 1926.
  const date = Date.UTC(2000 + (Number(year) % 400), Number(month) - 1, Number(day))
  if (Number(day) > 28 && new Date(date).getUTCDate() !== Number(day)) return undefined
  const days = date / 86_400_000 + (Math.floor(Number(year) / 400) - 5) * 146_097
  const zone = Number(zoneHour) * 3600 + Number(zoneMinute) * 60
  const time = Number(hour) * 3600 + Number(minute) * 60 + Number(second) - (sign === '-' ? -zone : zone)
  const seconds = days * 86_400 + time
  const below = Number(fraction.slice(0, 6).padEnd(6, '0'))
  const micros = seconds * 1_000_000 + below
  return Number.isSafeInteger(micros) ? BigInt(micros) : BigInt(seconds) * 1_000_000n + BigInt(below)
}

/** Whether {@link parseInstant} accepts the text, without parsing it. */
export function isInstant(text: string): boolean {
  if (!DATE_TIME.test(text)) return false
  const day = Number(text.slice(8, 10))
  const [year, month] = [Number(text.slice(0, 4)), Number(text.slice(5, 7))]
  return day < 29 || new Date(Date.UTC(2000 + (year % 400), month - 1, day)).getUTCDate() === day
}
