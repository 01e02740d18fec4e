/** Streams and failures of the process, as the command line uses them. A test can replace the streams. */

import { hideLogins } from '../db/address.ts'
import { fromSystem } from '../failure.ts'
import { hideSecrets, plain } from './text.ts'

export interface Sink {
  /** Resolves once the text is written; rejects with {@link OutputError}. */
  write(text: string): Promise<void>
  readonly isTTY: boolean
  readonly columns?: number | undefined
}

/** Everything, besides files, that a command reads or writes. */
export interface Io {
  readonly stdin: AsyncIterable<Buffer>
  readonly stdout: Sink
  readonly stderr: Sink
  readonly env: Readonly<Record<string, string | undefined>>
  /** Calls `stop` at most once, for example on Ctrl-C. Without this function, commands do not wait to be stopped. */
  readonly onStop?: (stop: () => void) => void
}

export class OutputError extends Error {
  override readonly name = 'OutputError'
  /** Whether the reader of a pipe, such as `head`, has ended. This is not a failure. */
  readonly isClosed: boolean

  constructor(cause: NodeJS.ErrnoException) {
    super(`standard output: ${failureText(fromSystem(cause))}`, { cause })
    this.isClosed = cause.code === 'EPIPE'
  }
}

/** Returns a sink for work that must not stop halfway. If output cannot be written, the sink drops it. */
export function lasting(sink: Sink): Sink & { readonly failure: () => OutputError | null } {
  let failure: OutputError | null = null
  return {
    ...sink,
    failure: () => failure,
    write: (text) => sink.write(text).catch((error: OutputError) => void (failure ??= error)),
  }
}

export function failureText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return plain(hideLogins(hideSecrets(text))) || 'something went wrong'
}
