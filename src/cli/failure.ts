/** Errors that end a command: a wrong command line, or a file or database that cannot be used. */

/** An invalid command line: one line on standard error and exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** An input that cannot be used: exit code 1. Other inputs are still processed. */
export class FileError extends Error {
  override readonly name = 'FileError'
  /** Part of the `--json` contract. */
  readonly code: string
  /** The file or database that is wrong; null for the input of the command. */
  readonly subject: string | null

  constructor(code: string, message: string, subject: string | null = null) {
    super(message)
    this.code = code
    this.subject = subject
  }
}

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown'

export function fromFileSystem(error: unknown, subject?: string): FileError {
  const code = codeOf(error)
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new FileError('not_found', 'no such file or directory', subject)
  if (code === 'EACCES' || code === 'EPERM')
    return new FileError('unreadable', `permission denied (${code})`, subject)
  if (code === 'EISDIR') return new FileError('unreadable', 'is a directory, not a file', subject)
  return new FileError('unreadable', `cannot be read (${code})`, subject)
}

export const rejectRead =
  (subject?: string) =>
  (error: unknown): never => {
    throw fromFileSystem(error, subject)
  }

export function fromWriting(error: unknown): unknown {
  const code = codeOf(error)
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new FileError('not_found', 'cannot be written: its folder does not exist')
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new FileError('unwritable', `cannot be written: the disk is full (${code})`)
  if (code === 'EEXIST' || code === 'ENOTEMPTY')
    return new FileError('exists', 'already exists; use another path')
  return /^E[A-Z]+$/.test(code) ? new FileError('unwritable', `cannot be written (${code})`) : error
}

export function fromListening(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const hint = codeOf(error.cause) === 'EADDRINUSE' ? ': use --port PORT, or --port 0 for any free port' : ''
  return new FileError('unexpected', error.message + hint)
}
