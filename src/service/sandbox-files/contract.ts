/** Access to the files of sandboxes, and to commands in them. */

import { HttpProblem } from '../http/problem.ts'

/** Maximum bytes of a downloaded or uploaded file. */
export const MAX_BYTES = 2 ** 26

/** Their error responses. */
export const REFUSED = {
  400: { description: 'Invalid path, or another kind of file' },
  403: { description: 'The path is outside of the sandboxes, or their files are not served' },
  409: { description: 'The sandbox is paused' },
  404: { description: 'File or folder not found' },
} as const

/** @throws HttpProblem 403 if files are not served. */
export function requireFiles(files: SandboxFiles | null): SandboxFiles {
  if (files !== null) return files
  throw new HttpProblem(403, 'This service does not serve files of sandboxes.')
}

/** An entry of a folder. */
export interface FileEntry {
  readonly name: string
  /** Absolute. */
  readonly path: string
  readonly is_directory: boolean
  /** Bytes; 0 for a folder. */
  readonly size: number
}

/** The result of a command. */
export interface CommandOutput {
  /** -1 for a command that was ended by its timeout. */
  readonly exit_code: number
  /** Only the end of long output. */
  readonly stdout: string
  readonly stderr: string
}

/**
 * Every path is absolute, and inside the folder of a sandbox after symbolic links are resolved.
 * @throws HttpProblem 400 for a relative path, 403 for a path outside, 404 for an unknown one.
 */
export interface SandboxFiles {
  /** The parent of all sandbox folders. */
  readonly home: string
  /** In order of their names. */
  readonly list: (path: string) => Promise<readonly FileEntry[]>
  /** @throws HttpProblem 413 beyond the maximum bytes. */
  readonly read: (path: string, most: number) => Promise<Uint8Array<ArrayBuffer>>
  /** Creates or replaces a file, and creates its parent folders. Returns its size. */
  readonly write: (path: string, bytes: Uint8Array) => Promise<number>
  /** Creates a folder and its parents. */
  readonly makeFolder: (path: string) => Promise<void>
  /** The path without symbolic links; a path that does not exist is resolved from its nearest existing parent. */
  readonly resolve: (path: string) => Promise<string>
  /** Runs a command with a shell in a folder. Processes that it leaves behind are ended. */
  readonly run: (
    command: string,
    folder: string,
    milliseconds: number,
    signal?: AbortSignal,
  ) => Promise<CommandOutput>
  /**
   * Runs git in the folder of a path, without starting other programs. Null if git fails, for example without
   * a repository.
   */
  readonly git: (path: string, args: readonly string[]) => Promise<string | null>
}
