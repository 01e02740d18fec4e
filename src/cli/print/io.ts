/** The command line's view of the process, so that a test can replace it: streams, progress and failures. */

import { hideLogins } from '../db/address.ts'
import { hideSecrets, plain } from './text.ts'

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
  let failure: unknown = null
  return {
    ...sink,
    failure: () => failure,
    write: (text) => sink.write(text).catch((error: unknown) => void (failure ??= error)),
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

export function failureText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return plain(hideLogins(hideSecrets(text))) || 'something went wrong'
}
