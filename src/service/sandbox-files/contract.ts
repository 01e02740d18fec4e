import { HttpProblem } from '../http/problem.ts'

export const MAX_BYTES = 2 ** 26

export const REFUSED = {
  400: 'Invalid path, a file instead of a folder, or a folder instead of a file',
  403: 'The path is outside of the sandboxes, or the service does not serve their files',
  409: 'The sandbox is paused',
  404: 'File or folder not found',
} as const

export function requireFiles(files: SandboxFiles | null): SandboxFiles {
  if (files !== null) return files
  throw new HttpProblem(
    403,
    'Clients have no access to sandbox files. Set `sandbox_workspaces` in serve.json, or pass `givesFiles: true` to `processSandboxes`.',
  )
}

export interface FileEntry {
  readonly name: string
  /** Absolute path. */
  readonly path: string
  readonly is_directory: boolean
  readonly size: number
}

export interface CommandOutput {
  /** The command's exit code; -1 if its timeout, the caller or a signal ended the command. */
  readonly exit_code: number
  /** The output; of a long output, only the end. */
  readonly stdout: string
  readonly stderr: string
}

/**
 * Files and commands of a sandbox. Paths must be absolute and in the sandbox's folder, even after links are
 * resolved.
 * @throws HttpProblem 400 for a relative path, 403 for a path outside, 404 for an unknown path, 409 for a
 *   paused sandbox, 507 if the disk is full.
 */
export interface SandboxFiles {
  readonly home: string
  readonly list: (path: string) => Promise<readonly FileEntry[]>
  /** Reads a file. @throws HttpProblem 413 for more than `limit` bytes. */
  readonly read: (path: string, limit: number) => Promise<Uint8Array<ArrayBuffer>>
  readonly write: (path: string, bytes: Uint8Array) => Promise<number>
  readonly makeFolder: (path: string) => Promise<void>
  /** Resolves the symbolic links of a path. If the path does not exist, resolves its nearest existing parent. */
  readonly resolve: (path: string) => Promise<string>
  /** Runs a command with a shell in a folder. Processes that the command leaves behind are ended. */
  readonly run: (
    command: string,
    folder: string,
    milliseconds: number,
    signal?: AbortSignal,
  ) => Promise<CommandOutput>
  /** Runs git in the path's folder. Git starts no other programs. Returns null if git fails. */
  readonly git: (path: string, args: readonly string[]) => Promise<string | null>
}
