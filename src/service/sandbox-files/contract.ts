/** The files of sandboxes, and commands in them, where a provider gives them out. */

import { HttpProblem } from '../http/problem.ts'

/** Most bytes of a file that is sent or taken. */
export const MOST_BYTES = 2 ** 26

/** What they may refuse. */
export const REFUSED = {
  400: { description: 'Invalid path, or another kind of file' },
  403: { description: 'The path is outside of the sandboxes, or their files are not served' },
  404: { description: 'File or folder not found' },
} as const

/** @throws HttpProblem 403 where none are given out. */
export function required(files: SandboxFiles | null): SandboxFiles {
  if (files !== null) return files
  throw new HttpProblem(403, 'This service does not serve files of sandboxes.')
}

/** What stands in a folder. */
export interface FileEntry {
  readonly name: string
  /** Absolute. */
  readonly path: string
  readonly is_directory: boolean
  /** Bytes; 0 for a folder. */
  readonly size: number
}

/** What has come of a command. */
export interface CommandOutput {
  /** -1 for one that took too long, and was ended. */
  readonly exit_code: number
  /** The end of it where there was much. */
  readonly stdout: string
  readonly stderr: string
}

/**
 * Every path is absolute and lies within the folder of a sandbox, over whatever symbolic links it goes. @throws
 * HttpProblem 400 for another kind of path, 403 for one that lies elsewhere, 404 for what is not there.
 */
export interface SandboxFiles {
  /** The folder that has those of all sandboxes. */
  readonly home: string
  /** By name. */
  readonly list: (path: string) => Promise<readonly FileEntry[]>
  /** @throws HttpProblem 413 beyond so many bytes. */
  readonly read: (path: string, most: number) => Promise<Uint8Array<ArrayBuffer>>
  /** Makes a file, or writes it anew, and makes the folders above it. Gives its size. */
  readonly write: (path: string, bytes: Uint8Array) => Promise<number>
  /** Runs a command with a shell in a folder. What it leaves running when it ends is ended too. */
  readonly run: (command: string, folder: string, milliseconds: number) => Promise<CommandOutput>
  /**
   * Runs git in the folder of a path, with nothing of it that runs other programs. Null where git refuses, as where
   * there is no repository.
   */
  readonly git: (path: string, args: readonly string[]) => Promise<string | null>
}
