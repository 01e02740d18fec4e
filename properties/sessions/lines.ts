import type { JsonValue } from '../../src/event/index.ts'
import type { SessionRecord } from '../../src/sessions/index.ts'

export const recordsOf = (values: readonly unknown[]): SessionRecord[] =>
  values.map((value, index) => {
    const raw = JSON.stringify(value)
    return { line: index + 1, raw, value: JSON.parse(raw) as JsonValue }
  })

export function counter(prefix: string): () => string {
  let number = 0
  return () => `${prefix}${(number += 1)}`
}

/** One second per number. */
export const time = (number: number): string => new Date(1_770_000_000_000 + number * 1000).toISOString()
