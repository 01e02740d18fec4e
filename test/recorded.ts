/** Finds the recorded logs next to the repository, when present; they are not part of it. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const FOLDER = resolve(import.meta.dirname, '../../shared/logs')
const SESSIONS = resolve(import.meta.dirname, '../../shared/sessions')

export interface RecordedLog {
  readonly file: string
  readonly path: string
}

/**
 * The recorded logs by name; empty when the folder is missing, as in a plain checkout.
 * @throws Error if the folder contains none, because the tests of recorded logs would be skipped
 */
export function recordedLogs(): readonly RecordedLog[] {
  if (!existsSync(FOLDER)) return []
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.jsonl'))
  if (files.length === 0) throw new Error(`${FOLDER} contains no recorded log.`)
  return files.toSorted().map((file) => ({ file, path: join(FOLDER, file) }))
}

/** The lines of a recorded log, without the empty one at the end. */
export function linesOf(log: RecordedLog): readonly string[] {
  return readFileSync(log.path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}

/** The recorded session of another agent as text; null when the folder is missing. */
export function recordedSession(name: string): string | null {
  return existsSync(SESSIONS) ? readFileSync(join(SESSIONS, name), 'utf8') : null
}
