/** Refuses parts of a snapshot that no database could keep. */

import type { SnapshotPart } from '../contract/snapshot.ts'
import { invalidArgument } from './query/check-value.ts'

/** What every database can keep as a number. */
const MAX_PART = 2 ** 31 - 1

/** What every driver can give back in one value, in bytes: as text of hexadecimal digits it takes twice as much. */
const MAX_BYTES = 2 ** 27

/**
 * Refuses parts that cannot be kept. O(parts).
 * @throws `invalid_argument` for a number that is none or is named twice, for bytes that are none, and for
 * a part of more than 128 MiB.
 */
export function checkParts(parts: readonly SnapshotPart[]): void {
  const seen = new Set<number>()
  for (const { part, bytes } of parts) {
    const isNumber = Number.isInteger(part) && part >= 0 && part <= MAX_PART
    if (!isNumber) invalidArgument('part', `must be an integer from 0 to ${MAX_PART}, not ${String(part)}`)
    if (seen.has(part)) invalidArgument('part', `must be named once, and ${part} is named twice`)
    if (!(bytes instanceof Uint8Array))
      invalidArgument('bytes', `must be a Uint8Array, and those of part ${part} are not`)
    if (bytes.length > MAX_BYTES)
      invalidArgument(
        'bytes',
        `must be at most ${MAX_BYTES} in one part, and part ${part} has ${bytes.length}`,
      )
    seen.add(part)
  }
}
