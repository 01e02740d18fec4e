/** The command line's view of the process, so that a test can replace it: streams, progress and failures. */

import { hideLogins } from '../db/address.ts'
import { fit, hideSecrets, plain, safe } from './text.ts'

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

export function* ended(lines: Iterable<string>): IterableIterator<string> {
  for (const line of lines) yield `${line}\n`
}

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

export function failureText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return plain(hideLogins(hideSecrets(text))) || 'something went wrong'
}
