/** Errors that prevent a command: a wrong command line, an old runtime, or a file that cannot be read. */

import type { ErrorCode } from '../index.ts'

/** An invalid command line: one line on standard error and exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A runtime without a required feature. One line follows the command's name; the exit code is 1. */
export class OldRuntime extends Error {
  override readonly name = 'OldRuntime'
  readonly code = 'old_runtime'
}

/** Why a file has no result; the names are part of the `--json` contract. */
type FileErrorCode =
  | 'not_found'
  | 'unreadable'
  | 'not_json'
  | 'not_an_array'
  | 'not_a_zip'
  | 'no_events'
  | 'several_conversations'
  | 'no_conversations'
  | 'unknown_conversation'
  | 'unknown_event'
  | 'other_log'
  | 'other_time_zone'
  | 'empty_view'
  | 'over_budget'
  | 'exists'
  | 'not_built'
  | 'unwritable'
  | 'unexpected'

/** A file without a result: exit code 1, and the other files still have theirs. */
export class FileError extends Error {
  override readonly name = 'FileError'
  readonly code: FileErrorCode | ErrorCode
  /** Its subject; null for the file of the command. */
  readonly subject: string | null

  constructor(code: FileErrorCode | ErrorCode, message: string, subject: string | null = null) {
    super(message)
    this.code = code
    this.subject = subject
  }
}

export function fromFileSystem(error: unknown, file?: string): FileError {
  const what = file === undefined ? '' : `${file}: `
  const code = codeOf(error)
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new FileError('not_found', `${what}no such file or directory`)
  if (code === 'EACCES' || code === 'EPERM')
    return new FileError('unreadable', `${what}permission denied (${code})`)
  if (code === 'EISDIR') return new FileError('unreadable', `${what}is a directory, not a file`)
  return new FileError('unreadable', `${what}cannot be read (${code})`)
}

export const rejectRead =
  (file?: string) =>
  (error: unknown): never => {
    throw fromFileSystem(error, file)
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

export function notListening(error: Error): FileError {
  const inUse = codeOf(error.cause) === 'EADDRINUSE'
  return new FileError(
    'unexpected',
    `${error.message}${inUse ? ': use --port PORT, or --port 0 for any free port' : ''}`,
  )
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
