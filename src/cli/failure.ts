/**
 * What keeps a command from being carried out: a wrong command line, a runtime that is too old, or a file that cannot
 * be read.
 */

import type { ErrorCode } from '../index.ts'

/** A command that makes no sense: one line on standard error and exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/**
 * A runtime that lacks what the command needs. The message goes on after the command's name: one line, and exit code 1.
 */
export class OldRuntime extends Error {
  override readonly name = 'OldRuntime'
  readonly code = 'old_runtime'
}

/** Why a file has no result; the names are part of the `--json` contract. */
export type FileErrorCode =
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
  /** What it is about; null for the file that the command was given. */
  readonly subject: string | null

  constructor(code: FileErrorCode | ErrorCode, message: string, subject: string | null = null) {
    super(message)
    this.code = code
    this.subject = subject
  }
}

/** The error of a file as the file system gives it, in words and without its path. */
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

/** The error of a file that was to be written; what has another cause stays as it is. */
export function fromWriting(error: unknown): unknown {
  const code = codeOf(error)
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new FileError('not_found', 'cannot be written: its folder is not there')
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new FileError('unwritable', `cannot be written: the disk is full (${code})`)
  if (code === 'EEXIST' || code === 'ENOTEMPTY') return new FileError('exists', 'exists already')
  return /^E[A-Z]+$/.test(code) ? new FileError('unwritable', `cannot be written (${code})`) : error
}

/** The error of a service that could not listen. */
export function notListening(error: Error): FileError {
  const inUse = codeOf(error.cause) === 'EADDRINUSE'
  return new FileError('unexpected', `${error.message}${inUse ? ': give --port PORT, or 0 for any' : ''}`)
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
