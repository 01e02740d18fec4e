/** One thing that the user named, and the work on it, go in; the exit code comes out, and an error where it failed as one line. */

import { ColloquyError } from '../index.ts'
import { hideLogins } from './db/address.ts'
import { FileError, OldRuntime } from './failure.ts'
import { ClosedPipe, type Io, writeAll } from './io.ts'
import { jsonLine } from './json.ts'
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
    await tell(error, about, io)
    return 1
  }
}

/** One that is about something else than what the answer is about says so. */
async function tell(error: unknown, { name, fields, json }: About, io: Io): Promise<void> {
  const told = error instanceof FileError || error instanceof ColloquyError || error instanceof OldRuntime
  const code = told ? error.code : 'unexpected'
  const subject = error instanceof FileError ? error.subject : null
  const isOther = subject !== null && subject !== fields['file']
  const message = isOther ? `${safe(subject)}: ${explain(error)}` : explain(error)
  if (json) await writeAll(io.stdout, jsonLine({ ...fields, error: { code, message } }))
  if (error instanceof OldRuntime) await complainOf(error, io)
  else await complain(io, `${safe(isOther ? name : (subject ?? name))}: ${message}`)
}

/** Tells of an error on standard error, after the name of what it is about, where it says that. */
export async function complainOf(error: unknown, io: Io): Promise<void> {
  if (error instanceof OldRuntime) await io.stderr.write(`colloquy ${explain(error)}\n`)
  else if (error instanceof FileError && error.subject !== null)
    await complain(io, `${safe(error.subject)}: ${explain(error)}`)
  else await complain(io, explain(error))
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
