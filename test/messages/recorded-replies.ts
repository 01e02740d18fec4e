/** Finds the recorded replies of providers next to the repository, when present; they are not part of it. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const FOLDER = resolve(import.meta.dirname, '../../../shared/sessions')

/** One recorded reply. */
export interface RecordedReply {
  readonly file: string
  readonly reply: Readonly<Record<string, unknown>>
}

/** Whether the recorded sessions are there; a plain checkout has none. */
export const HAS_SESSIONS = existsSync(FOLDER)

/** The recorded replies of a provider by name; empty without the folder of sessions. */
export function recordedReplies(provider: string): readonly RecordedReply[] {
  if (!HAS_SESSIONS) return []
  const folder = join(FOLDER, provider)
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => ({
      file,
      reply: JSON.parse(readFileSync(join(folder, file), 'utf8')) as RecordedReply['reply'],
    }))
}
