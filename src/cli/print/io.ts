/** The command line's view of the process, so that a test can replace it: output, progress and failures. */

import { isColloquyError } from '../../index.ts'
import { type Address, hideLogins } from '../db/address.ts'
import { FileError } from '../failure.ts'
import { fit, hideSecrets, jsonLine, plain, safe } from './text.ts'

export interface Sink {
  /** Resolves once the text is written; rejects with {@link ClosedPipe} or {@link FailedOutput}. */
  write(text: string): Promise<void>
  readonly isTTY: boolean
  readonly columns?: number | undefined
}

/** Everything that a command reads from and writes to besides files. */
export interface Io {
  readonly stdin: AsyncIterable<Uint8Array>
  readonly stdout: Sink
  readonly stderr: Sink
  readonly env: Readonly<Record<string, string | undefined>>
  /** Calls back at most once, such as on Ctrl-C. Default: the command ends with its work. */
  readonly onStop?: (stop: () => void) => void
}

/** The reader of a pipe has gone, such as `head`: the end of the work, not a failure. */
export class ClosedPipe extends Error {
  override readonly name = 'ClosedPipe'
}

export class FailedOutput extends Error {
  override readonly name = 'FailedOutput'
}

/** Wraps the sink for work that must not stop half way: unwritable output is dropped. */
export function lasting(sink: Sink): Sink & { readonly failure: () => unknown } {
  let failed: { readonly error: unknown } | null = null
  return {
    isTTY: sink.isTTY,
    columns: sink.columns,
    failure: () => failed?.error ?? null,
    write: async (text) => {
      await sink.write(text).catch((error: unknown) => void (failed ??= { error }))
    },
  }
}

const BATCH = 1 << 16

export async function writeAll(sink: Sink, pieces: Iterable<string>): Promise<void> {
  let batch = ''
  for (const piece of pieces) {
    batch += piece
    if (batch.length < BATCH) continue
    await sink.write(batch)
    batch = ''
  }
  if (batch !== '') await sink.write(batch)
}

function* ended(lines: Iterable<string>): IterableIterator<string> {
  for (const line of lines) yield `${line}\n`
}

export const writeLines = (sink: Sink, lines: Iterable<string>): Promise<void> => writeAll(sink, ended(lines))

/** Writes a result: as JSON on one line, or as lines for people. */
export const answer = (
  { stdout }: Pick<Io, 'stdout'>,
  json: boolean | undefined,
  value: unknown,
  lines: Iterable<string>,
): Promise<void> => writeAll(stdout, json === true ? jsonLine(value) : ended(lines))

export interface Progress {
  tick(events: number): void
  step(name: string): void
  done(): void
}

const FIRST_MS = 1000
const EVERY_MS = 200
const CLEAR = '\r\u001b[2K'

export function progressOn(file: string, { stderr }: Pick<Io, 'stderr'>): Progress {
  let last = Date.now() + FIRST_MS - EVERY_MS
  let shown = false
  const show = (text: string): void => {
    if (!stderr.isTTY || Date.now() - last < EVERY_MS) return
    last = Date.now()
    shown = true
    // Nobody reads progress that cannot be written.
    stderr.write(CLEAR + fit(`${safe(file)}: ${text}`, (stderr.columns || 80) - 1)).catch(() => {})
  }
  return {
    tick: (events) => show(`${events.toLocaleString('en')} events read …`),
    step: (name) => show(`${name} …`),
    done: () => {
      if (shown) stderr.write(CLEAR).catch(() => {})
    },
  }
}

/** An input of a command: its name for people, and its fields in JSON. */
interface About {
  readonly name: string
  readonly fields: { readonly file: string; readonly conversation?: string }
  readonly json?: boolean | undefined
}

export const aboutFile = (file: string, json?: boolean): About => ({ name: file, fields: { file }, json })

export function aboutStored(
  { label }: Pick<Address, 'label'>,
  conversation: string | undefined,
  json?: boolean,
): About {
  if (conversation === undefined) return aboutFile(label, json)
  return { name: `${conversation} in ${label}`, fields: { file: label, conversation }, json }
}

/**
 * Processes one input, with progress on a terminal. An error is one line on standard error, a JSON object
 * where results are JSON, and exit code 1.
 * @throws ClosedPipe, FailedOutput when its output cannot be written.
 */
export async function attempt(
  { name, fields, json }: About,
  io: Io,
  work: (progress: Progress) => Promise<number>,
): Promise<number> {
  const progress = progressOn(name, io)
  try {
    return await work(progress)
  } catch (error) {
    progress.done()
    if (error instanceof ClosedPipe || error instanceof FailedOutput) throw error
    const code = error instanceof FileError || isColloquyError(error) ? error.code : 'unexpected'
    const subject = error instanceof FileError ? error.subject : null
    const isOther = subject !== null && subject !== fields.file
    const message = isOther ? `${safe(subject)}: ${failureText(error)}` : failureText(error)
    if (json === true) await writeAll(io.stdout, jsonLine({ ...fields, error: { code, message } }))
    await complain(io, `${safe(isOther ? name : (subject ?? name))}: ${message}`)
    return 1
  }
}

/** Writes a line to standard error. */
export async function complain({ stderr }: Pick<Io, 'stderr'>, message: string): Promise<void> {
  await stderr.write(`colloquy: ${message}\n`)
}

export function failureText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return plain(hideLogins(hideSecrets(text))) || 'something went wrong'
}
