/** Finds the recorded replies of providers next to the repository, when present; they are not part of it. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe } from 'vitest'

const FOLDER = resolve(import.meta.dirname, '../../../shared/sessions')

/** One recorded reply. */
export interface RecordedReply {
  readonly file: string
  readonly reply: Readonly<Record<string, unknown>>
}

/**
 * Describes tests of a provider's recorded replies. Without the folder of sessions, they are skipped, and the
 * title contains the reason.
 * @throws Error if the folder has no reply of the provider
 */
export function describeRecorded(
  title: string,
  provider: string,
  tests: (replies: readonly RecordedReply[]) => void,
): void {
  const hasSessions = existsSync(FOLDER)
  const replies = hasSessions ? repliesIn(join(FOLDER, provider)) : []
  const name = hasSessions ? title : `${title} (skipped: the folder shared/sessions is missing)`
  describe.skipIf(!hasSessions)(name, () => tests(replies))
}

function repliesIn(folder: string): readonly RecordedReply[] {
  const replies = readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => ({
      file,
      reply: JSON.parse(readFileSync(join(folder, file), 'utf8')) as RecordedReply['reply'],
    }))
  if (replies.length === 0) throw new Error(`${folder} contains no recorded reply.`)
  return replies
}
