import { getSystemErrorMessage } from 'node:util'

/** An invalid command line. It is reported as one line on standard error, with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export function fail(message: string): never {
  throw new UsageError(message)
}

/** An input that cannot be used. The exit code is 1, and the other inputs are still processed. */
export class FileError extends Error {
  override readonly name = 'FileError'
  /** Code of the error in the output of `--json`. Scripts depend on it, so it must not change. */
  readonly code: string
  /** The file or database that cannot be used; null for the input that the command is processing. */
  readonly subject: string | null

  constructor(code: string, message: string, subject: string | null = null) {
    super(message)
    this.code = code
    this.subject = subject
  }
}

const DENIED = ['unreadable', 'permission denied; change the permissions, or use another path'] as const
const FULL = ['unwritable', 'the disk is full; free space, and repeat the command'] as const

const SYSTEM_ERRORS: Readonly<Record<string, readonly [code: string, message: string]>> = {
  ENOENT: ['not_found', 'no such file or directory'],
  ENOTDIR: ['not_found', 'not a directory'],
  EEXIST: ['exists', 'already exists; use another path'],
  EISDIR: ['unreadable', 'is a directory, not a file'],
  EACCES: DENIED,
  EPERM: DENIED,
  ENOSPC: FULL,
  EDQUOT: FULL,
}

const DAMAGED = 'is a zstd file that is damaged or has several frames; unpack it with `zstd -d`'
const TOO_LONG = 'a line, or a single JSON document, has more than 536,870,888 characters; split it'

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

/** Converts a file-system error, a decompression error or `ERR_STRING_TOO_LONG` to a `FileError`. */
export function fromSystem(error: unknown, subject?: string): unknown {
  if (error instanceof FileError && subject !== undefined)
    return new FileError(error.code, error.message, subject)
  if (codeOf(error) === 'ERR_STRING_TOO_LONG') return new FileError('unreadable', TOO_LONG, subject)
  if (/^Z(?:STD)?_|^ERR_TRAILING_JUNK/.test(codeOf(error))) return new FileError('not_json', DAMAGED, subject)
  if (!(error instanceof Error) || !('errno' in error) || typeof error.errno !== 'number') return error
  const [code, message] = SYSTEM_ERRORS[codeOf(error)] ?? ['unreadable', getSystemErrorMessage(error.errno)]
  return new FileError(code, message, subject)
}

export const rejectRead =
  (subject: string) =>
  (error: unknown): never => {
    throw fromSystem(error, subject)
  }
