import { constants, realpathSync } from 'node:fs'
import { lstat, mkdir, open } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { HttpProblem } from '../http/problem.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { isInside, MAX_PATH_BYTES, guarded, PROBLEMS, type Problems } from './sandbox-files.ts'

const CHANGED = [409, 'The path changed during the request. Retry.'] as const

const WORKSPACE_PROBLEMS: Problems = {
  ...PROBLEMS,
  ELOOP: [403, 'The path contains a symbolic link.'],
  EROFS: [403, 'The workspace is read-only.'],
  ENOENT: CHANGED,
}

/**
 * Returns a workspace in an existing folder. Paths must be absolute and inside the folder, without `..` or
 * symbolic links. On Linux, even links created during the operation are not followed.
 * @example
 * const workspace = directoryWorkspace('.')
 * const refused = await workspace.createDirectory('/elsewhere').catch((error) => error.status)
 * refused // 403
 */
export function directoryWorkspace(folder: string): Workspace {
  const absolute = resolve(folder)
  const root = realpathSync(absolute)
  return {
    async createDirectory(path) {
      if (path.includes('\u0000')) throw new HttpProblem(400, 'The path must not contain a NUL character.')
      if (!isAbsolute(path)) throw new HttpProblem(400, 'The path must be absolute.')
      if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw new HttpProblem(400, 'The path is too long.')
      const parts = partsBelow([absolute, root], path)
      await guarded(() => make(root, parts), WORKSPACE_PROBLEMS)
    },
  }
}

function partsBelow(roots: readonly string[], path: string): string[] {
  if (path.split(/[/\\]/).includes('..')) throw new HttpProblem(403, 'The path must not contain `..`.')
  const root = roots.find((one) => isInside(one, path))
  if (root === undefined) throw new HttpProblem(403, 'The path is outside the workspace.')
  return relative(root, path)
    .split(sep)
    .filter((part) => part !== '')
}

/** Creates the missing directories of a path. On Linux, no parent can be replaced by a link meanwhile. */
async function make(root: string, parts: readonly string[]): Promise<void> {
  let path = root
  let holder = await openDirectory(root)
  try {
    for (const part of parts) {
      path = join(path, part)
      const target = process.platform === 'linux' ? `/proc/self/fd/${holder.fd}/${part}` : path
      await mkdir(target).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
      const next = await openDirectory(target).catch(async (error: NodeJS.ErrnoException) => {
        const stats = await lstat(target)
        if (stats.isSymbolicLink()) throw new HttpProblem(403, 'The path contains a symbolic link.')
        // The path was a file or a link when it was opened, and is a directory now.
        if (error.code === 'ENOTDIR' && stats.isDirectory()) throw new HttpProblem(...CHANGED)
        throw error
      })
      await holder.close()
      holder = next
    }
  } finally {
    await holder.close()
  }
}

const openDirectory = (path: string) =>
  open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
