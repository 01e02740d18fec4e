/** What a writer says of the conversation it believes to write to, as every appending function takes it. */

import type { AppendOptions } from '../contract/append.ts'
import { versionOf } from '../kit/append/deduplicate.ts'

/** The values of the columns `WRITER`; null where nothing is asked. */
export function writerValues(options: AppendOptions, zoneless: boolean, now: bigint | null): unknown[] {
  const { expected = 'any', lease } = options
  return [
    expected === 'any' ? null : versionOf(expected),
    lease?.owner ?? null,
    lease?.generation ?? null,
    zoneless,
    now === null ? null : String(now),
  ]
}
