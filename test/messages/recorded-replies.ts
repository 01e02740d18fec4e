/** Finds the recorded replies of providers that lie beside the repository, where they are at hand; they are no part of it. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const FOLDER = resolve(import.meta.dirname, '../../../shared/sessions')

/** One recorded reply. */
export interface RecordedReply {
  readonly file: string
  readonly reply: Readonly<Record<string, unknown>>
}

/** The recorded replies of a provider in order of name; none where the folder is missing, as in a plain checkout. */
export function recordedReplies(provider: string): readonly RecordedReply[] {
  const folder = join(FOLDER, provider)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => ({
      file,
      reply: JSON.parse(readFileSync(join(folder, file), 'utf8')) as RecordedReply['reply'],
    }))
}
