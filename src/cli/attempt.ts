/** One thing that the user named, and the work on it, go in; the exit code comes out, and an error where it failed as one line. */

import { ColloquyError } from '../index.ts'
import { hideLogins } from './db/address.ts'
import { FileError } from './failure.ts'
import { ClosedPipe, type Io, writeAll } from './io.ts'
import { jsonPieces } from './json.ts'
import type { Progress } from './progress.ts'
import { hideSecrets, plain, safe } from './show/text.ts'

/** What an answer is about. */
export interface About {
  /** The name that people are told. */
  readonly name: string
  /** How a JSON answer names it. */
  readonly fields: Readonly<Record<string, string>>
  readonly json: boolean
}

/**
 * Does the work on one thing. An error is one line on standard error, one JSON object where answers are JSON, and exit code 1.
 * @throws ClosedPipe when nobody reads on.
 */
export async function attempt(
  about: About,
  io: Io,
  progress: Progress,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work()
  } catch (error) {
    progress.done()
    if (error instanceof ClosedPipe) throw error
    const code = error instanceof FileError || error instanceof ColloquyError ? error.code : 'unexpected'
    const message = explain(error)
    if (about.json)
      await writeAll(io.stdout, [...jsonPieces({ ...about.fields, error: { code, message } }), '\n'])
    await complain(io, `${safe(about.name)}: ${message}`)
    return 1
  }
}

/** Tells of something on standard error. */
export async function complain(io: Io, message: string): Promise<void> {
  await io.stderr.write(`colloquy: ${message}\n`)
}

/** What went wrong, on one line, without a stack and without secrets. */
export function explain(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return plain(hideLogins(hideSecrets(text))) || 'something went wrong'
}
