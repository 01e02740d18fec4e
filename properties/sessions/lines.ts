/** What every file of a talk is made of: names, times and records. */

import type { JsonValue } from '../../src/event/index.ts'
import type { SessionRecord } from '../../src/sessions/index.ts'

/** Values as the records of a file. */
export const recordsOf = (values: readonly unknown[]): SessionRecord[] =>
  values.map((value, index) => {
    const raw = JSON.stringify(value)
    return { line: index + 1, raw, value: JSON.parse(raw) as JsonValue }
  })

/** Numbers that give each thing in a file a name of its own. */
export function counter(prefix: string): () => string {
  let number = 0
  return () => `${prefix}${(number += 1)}`
}

/** A time for each number, a second apart. */
export const time = (number: number): string => new Date(1_770_000_000_000 + number * 1000).toISOString()
