/** Finds the recorded logs that lie beside the repository, where they are at hand; they are no part of it. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const FOLDER = resolve(import.meta.dirname, '../../shared/logs')

/** One recorded log: its name, and where it lies. */
export interface RecordedLog {
  readonly file: string
  readonly path: string
}

/** The recorded logs in order of name; none where the folder is missing, as in a plain checkout. */
export function recordedLogs(): readonly RecordedLog[] {
  if (!existsSync(FOLDER)) return []
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.jsonl'))
    .toSorted()
    .map((file) => ({ file, path: join(FOLDER, file) }))
}

/** The lines of a recorded log, without the empty one at the end. */
export function linesOf(log: RecordedLog): readonly string[] {
  return readFileSync(log.path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}

/** A recorded session of another agent as text; null where the folder is missing. */
export function recordedSession(name: string): string | null {
  const path = resolve(FOLDER, '../sessions', name)
  return existsSync(path) ? readFileSync(path, 'utf8') : null
}
