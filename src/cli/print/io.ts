/** The world as the command line sees it, so that a test can stand in for a process. */

import { fit, safe } from './text.ts'

/** Where text goes. */
export interface Sink {
  /** Resolves once the text is taken; rejects with {@link ClosedPipe} or {@link FailedOutput}. */
  write(text: string): Promise<void>
  readonly isTTY: boolean
  /** Width in columns; undefined where there is no terminal. */
  readonly columns?: number | undefined
}

/** Everything that a command reads from and writes to besides files. */
export interface Io {
  readonly stdin: AsyncIterable<Uint8Array>
  readonly stdout: Sink
  readonly stderr: Sink
  readonly env: Readonly<Record<string, string | undefined>>
  /**
   * Calls back when the command is asked to end, as by Ctrl-C; at most once. Without it, it ends when its work does.
   */
  readonly onStop?: (stop: () => void) => void
}

/** The reader of a pipe went away, as `head` does: the end of the work, not a failure. */
export class ClosedPipe extends Error {
  override readonly name = 'ClosedPipe'
}

/** What a command prints could not be written, as on a full disk: no fault of what it was given. */
export class FailedOutput extends Error {
  override readonly name = 'FailedOutput'
}

/** Whether an error is about where results are printed, and so about none of the things that were named. */
export const isOfOutput = (error: unknown): boolean =>
  error instanceof ClosedPipe || error instanceof FailedOutput

/** A sink that takes everything. */
export interface LastingSink extends Sink {
  /** Why it first dropped something; null while it has not. */
  readonly failure: () => unknown
}

/** The sink for work that must not stop half way: what cannot be written is dropped. */
export function lasting(sink: Sink): LastingSink {
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

/** How much text is gathered before it is written. */
const BATCH = 1 << 16

/** Writes pieces of text in batches, waiting for a slow reader. */
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

/** Writes lines, each with its end. */
export async function writeLines(sink: Sink, lines: Iterable<string>): Promise<void> {
  await writeAll(sink, ended(lines))
}

function* ended(lines: Iterable<string>): IterableIterator<string> {
  for (const line of lines) yield `${line}\n`
}

/** Called with the work as it goes on. */
export interface Progress {
  /** So many events are read. */
  tick(events: number): void
  /** A step begins that cannot say how far it is. */
  step(name: string): void
  /** Takes the line off the screen. */
  done(): void
}

const FIRST_MS = 1000
const EVERY_MS = 200
const CLEAR = '\r\u001b[2K'

/** Progress of the work on one file. */
export function progressOn(file: string, { stderr }: Pick<Io, 'stderr'>): Progress {
  const start = Date.now()
  let last = start + FIRST_MS - EVERY_MS
  let shown = false
  const show = (text: string): void => {
    if (!stderr.isTTY || Date.now() - last < EVERY_MS) return
    last = Date.now()
    shown = true
    // Progress is worth nothing to a reader who is gone.
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
