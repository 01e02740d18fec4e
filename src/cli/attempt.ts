/** Isolates inputs: a failure is one line and an exit code. */

import { isColloquyError } from '../index.ts'
import { type Address, hideLogins } from './db/address.ts'
import { FileError, OldRuntime } from './failure.ts'
import { ClosedPipe, FailedOutput, type Io, type Progress, progressOn, writeAll } from './print/io.ts'
import { hideSecrets, jsonLine, plain, safe } from './print/text.ts'

interface About {
  readonly name: string
  readonly fields: Readonly<Record<string, string>>
  readonly json?: boolean | undefined
}

export const aboutFile = (file: string, json?: boolean): About => ({ name: file, fields: { file }, json })

export function aboutStored(
  db: Pick<Address, 'label'>,
  conversation: string | undefined,
  json?: boolean,
): About {
  if (conversation === undefined) return aboutFile(db.label, json)
  return { name: `${conversation} in ${db.label}`, fields: { file: db.label, conversation }, json }
}

/**
 * Processes one input, with progress on a terminal. An error is one line on standard error, a JSON object
 * where results are JSON, and exit code 1.
 * @throws ClosedPipe, FailedOutput when its output cannot be written.
 */
export async function attempt(
  about: About,
  io: Io,
  work: (progress: Progress) => Promise<number>,
): Promise<number> {
  const progress = progressOn(about.name, io)
  try {
    return await work(progress)
  } catch (error) {
    progress.done()
    if (error instanceof ClosedPipe || error instanceof FailedOutput) throw error
    await report(error, about, io)
    return 1
  }
}

async function report(error: unknown, { name, fields, json }: About, io: Io): Promise<void> {
  const isKnown = error instanceof FileError || isColloquyError(error) || error instanceof OldRuntime
  const code = isKnown ? error.code : 'unexpected'
  const subject = error instanceof FileError ? error.subject : null
  const isOther = subject !== null && subject !== fields['file']
  const message = isOther ? `${safe(subject)}: ${failureText(error)}` : failureText(error)
  if (json === true) await writeAll(io.stdout, jsonLine({ ...fields, error: { code, message } }))
  if (error instanceof OldRuntime) await complainOf(error, io)
  else await complain(io, `${safe(isOther ? name : (subject ?? name))}: ${message}`)
}

/** Writes an error to standard error, after the name of its subject where it has one. */
export async function complainOf(error: unknown, io: Io): Promise<void> {
  if (error instanceof OldRuntime) await io.stderr.write(`colloquy ${failureText(error)}\n`)
  else if (error instanceof FileError && error.subject !== null)
    await complain(io, `${safe(error.subject)}: ${failureText(error)}`)
  else await complain(io, failureText(error))
}

/** Writes a line to standard error. */
export async function complain(io: Io, message: string): Promise<void> {
  await io.stderr.write(`colloquy: ${message}\n`)
}

export function failureText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return plain(hideLogins(hideSecrets(text))) || 'something went wrong'
}
