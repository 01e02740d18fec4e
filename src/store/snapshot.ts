/** Parts of a snapshot as a caller gives them go in, checked parts come out. */

import { refuse } from './check.ts'

/** One part of a snapshot, opaque bytes; parts are numbered from 0. */
export interface SnapshotPart {
  readonly part: number
  readonly bytes: Uint8Array
}

/** How a snapshot is saved. */
export interface SaveSnapshotOptions {
  /** Removes the parts that are not named, so that these are the whole snapshot. Default: false. */
  readonly complete?: boolean
}

/** What every database can keep as a number. */
const MAX_PART = 2 ** 31 - 1

/**
 * Refuses parts that cannot be kept. O(parts).
 * @throws `invalid_query` for a number that is none or is named twice, and for bytes that are none.
 */
export function checkParts(parts: readonly SnapshotPart[]): void {
  const seen = new Set<number>()
  for (const { part, bytes } of parts) {
    const isNumber = Number.isInteger(part) && part >= 0 && part <= MAX_PART
    if (!isNumber) refuse('part', `must be an integer from 0 to ${MAX_PART}, not ${String(part)}`)
    if (seen.has(part)) refuse('part', `must be named once, and ${part} is named twice`)
    if (!(bytes instanceof Uint8Array))
      refuse('bytes', `must be a Uint8Array, and those of part ${part} are not`)
    seen.add(part)
  }
}
