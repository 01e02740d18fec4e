/** Names for the files of events: safe on every file system, and different for different ids. */

import { createHash } from 'node:crypto'
import { undashed } from '../db/uuid.ts'

/** How long an id may be in a name, so that the name fits everywhere. */
const LONGEST = 200

/**
 * `event-00007-<id>.json`. What a name may not have stands as `%` and its bytes; an id that is too long, or that an
 * event lacks, is one that no other can be written as. Import reads the id from the event itself.
 */
export function eventFileName(seq: number, id: string | null): string {
  return `event-${String(seq).padStart(5, '0')}-${id === null ? '~' : nameOf(id)}.json`
}

/**
 * The name of a conversation's folder in a zip: its UUID without dashes, as agent servers have it, or its id as in a
 * file's name.
 */
export const folderName = (id: string): string => nameOf(undashed(id))

function nameOf(id: string): string {
  const name = encodeURIComponent(id).replaceAll(
    /[!'()*~]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return name.length <= LONGEST ? name : `~${createHash('sha256').update(id).digest('hex')}`
}
