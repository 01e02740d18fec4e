/** Errors that end a command: a wrong command line, or a file or database that cannot be used. */

import { getSystemErrorMessage } from 'node:util'

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

const FILE_CODES: Readonly<Record<string, string>> = {
  ENOENT: 'not_found',
  ENOTDIR: 'not_found',
  EEXIST: 'exists',
}

/** An error of the file system in the words of the system; any other error unchanged. */
export function fromSystem(error: unknown, subject?: string): unknown {
  if (!(error instanceof Error) || !('errno' in error) || typeof error.errno !== 'number') return error
  const code = FILE_CODES['code' in error ? String(error.code) : ''] ?? 'unreadable'
  return new FileError(code, getSystemErrorMessage(error.errno), subject)
}

export const rejectRead =
  (subject: string) =>
  (error: unknown): never => {
    throw fromSystem(error, subject)
  }
