/** Access to the folders of process sandboxes, and to nothing else on the machine. */

import { execFile } from 'node:child_process'
import { constants, realpathSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { HttpProblem } from '../http/problem.ts'
import type { FileEntry, SandboxFiles } from '../sandbox-files/contract.ts'
import type { SandboxCommands } from './sandbox/commands.ts'

/** Maximum bytes of a path. A longer path could be created one folder at a time, but not opened or deleted. */
export const MAX_PATH_BYTES = 4_000

const { O_CREAT, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants

export type Problems = Readonly<Record<string, readonly [status: number, detail: string]>>

export const PROBLEMS: Problems = {
  ENOENT: [404, 'File or folder not found.'],
  ENOTDIR: [400, 'A part of the path is a file, not a folder.'],
  EISDIR: [400, 'The path is not a file.'],
  EEXIST: [400, 'A part of the path is a file, not a folder.'],
  ENAMETOOLONG: [400, 'The path is too long.'],
  EINVAL: [400, 'The operating system rejects this path. Use another one.'],
  ENXIO: [400, 'The path is not a file.'],
  ELOOP: [403, 'The path contains a loop of symbolic links.'],
  EACCES: [403, 'Permission denied.'],
  EPERM: [403, 'Permission denied.'],
  ENOSPC: [507, 'The disk is full.'],
}

export function sandboxFiles(
  root: string,
  commands: SandboxCommands,
  isPaused: (id: string) => boolean,
): SandboxFiles {
  /** Resolves a path. @param isNew whether the sandbox's folder, the first one below the root, may be missing */
  const within = async (path: string, isNew = false): Promise<string> => {
    if (path.includes('\u0000')) throw new HttpProblem(400, 'The path must not contain a NUL character.')
    if (!isAbsolute(path)) throw new HttpProblem(400, 'The path must be absolute.')
    if (path.split(sep).includes('..')) throw new HttpProblem(403, 'The path must not contain `..`.')
    if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw new HttpProblem(400, 'The path is too long.')
    // A path that does not exist is checked by its nearest existing parent.
    const existing = await nearest(path)
    let home
    try {
      home = realpathSync(root)
    } catch {
      throw outside()
    }
    const target = join(existing.real, ...existing.rest)
    const parts = relative(home, isNew ? target : existing.real).split(sep)
    // The root itself also contains files of other sandboxes.
    if (parts[0] === '' || parts[0] === '..') throw outside()
    return target
  }
  const inUse = (path: string): string => {
    const [id = ''] = relative(realpathSync(root), path).split(sep)
    if (isPaused(id)) throw new HttpProblem(409, 'The sandbox is paused. Resume it first.')
    return id
  }
  return {
    home: root,
    list: async (path) => {
      const folder = await within(path)
      return guarded(async () => {
        const entries = await readdir(folder, { withFileTypes: true })
        const files = await Promise.all(
          entries.map(async (entry): Promise<FileEntry | null> => {
            const full = join(folder, entry.name)
            const facts = await lstat(full).catch(() => null)
            if (facts === null) return null
            const is_directory = facts.isDirectory()
            return { name: entry.name, path: full, is_directory, size: is_directory ? 0 : facts.size }
          }),
        )
        return files
          .filter((entry) => entry !== null)
          .toSorted((a, b) => Number(a.name > b.name) - Number(a.name < b.name))
      })
    },
    read: async (path, limit) => {
      const file = await within(path)
      inUse(file)
      return guarded(() => readBytesOf(file, limit))
    },
    write: async (path, bytes) => {
      const file = await within(path)
      inUse(file)
      return guarded(async () => {
        await mkdir(dirname(file), { recursive: true })
        return withFile(file, O_WRONLY | O_CREAT | O_TRUNC, async (handle) => {
          await handle.writeFile(bytes)
          return bytes.length
        })
      })
    },
    makeFolder: async (path) => {
      // The root may not exist before the first sandbox.
      await guarded(() => mkdir(root, { recursive: true }))
      const folder = await within(path, true)
      await guarded(() => mkdir(folder, { recursive: true }))
    },
    resolve: (path) => within(path),
    run: async (command, folder, milliseconds, signal) => {
      const cwd = await directory(await within(folder))
      const id = inUse(cwd)
      return guarded(() => commands.run({ command, cwd, id, milliseconds, ...(signal && { signal }) }))
    },
    git: async (path, args) => {
      const real = await within(path)
      return gitIn(root, await directory(real).catch(async () => directory(dirname(real))), args)
    },
  }
}

const outside = (): HttpProblem => new HttpProblem(403, 'The path is outside the sandbox folders.')

async function nearest(path: string): Promise<{ readonly real: string; readonly rest: readonly string[] }> {
  const rest: string[] = []
  for (let parent = path; ; parent = dirname(parent)) {
    try {
      return { real: await realpath(parent), rest }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ENOENT' || dirname(parent) === parent) throw problemOf(error)
      // `parent` is a dangling link, which creating the file would follow.
      if (await isThere(parent)) throw outside()
      rest.unshift(basename(parent))
    }
  }
}

const isThere = async (path: string): Promise<boolean> =>
  (await readdir(dirname(path)).catch((): string[] => [])).includes(basename(path))

async function directory(path: string): Promise<string> {
  if ((await guarded(() => stat(path))).isDirectory()) return path
  throw new HttpProblem(400, 'The path is not a directory.')
}

/** Opens a regular file for `use`. Rejects pipes, because a pipe without a peer blocks a thread of the shared pool. */
export async function withFile<T>(
  path: string,
  flags: number,
  use: (handle: FileHandle, size: number) => Promise<T>,
): Promise<T> {
  const handle = await open(path, flags | O_NONBLOCK)
  try {
    const facts = await handle.stat()
    if (!facts.isFile()) throw new HttpProblem(400, 'The path is not a file.')
    return await use(handle, facts.size)
  } finally {
    await handle.close()
  }
}

/** @throws HttpProblem 413 for more than `limit` bytes. */
export const readBytesOf = (path: string, limit: number): Promise<Uint8Array<ArrayBuffer>> =>
  withFile(path, O_RDONLY, async (handle, size) => {
    if (size > limit) throw new HttpProblem(413, `The file is larger than ${limit} bytes.`)
    return new Uint8Array(await handle.readFile())
  })

export async function guarded<T>(work: () => Promise<T>, problems = PROBLEMS): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw problemOf(error, problems)
  }
}

function problemOf(error: unknown, problems = PROBLEMS): unknown {
  const problem = problems[(error as NodeJS.ErrnoException).code ?? '']
  return problem === undefined ? error : new HttpProblem(...problem)
}

const MAX_OUTPUT = 2 ** 26
const GIT_TIMEOUT = 30_000

/** Options of git. They disable settings of a repository that could run programs, such as hooks. */
const SAFE_SETTINGS = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.pager=cat',
  'protocol.allow=never',
].flatMap((one) => ['-c', one])

/**
 * Runs git in a folder and returns its output, or null if git fails. Diffs run no filters of the repository: they
 * compare the files as they are on disk.
 * @param root the folder that contains all sandboxes; git does not search this folder or its parents for a repository
 */
async function gitIn(root: string, folder: string, args: readonly string[]): Promise<string | null> {
  const run = (some: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<GitResult> => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      // Overrides `protocol.<name>.allow` of the folder, so that missing objects are not fetched.
      GIT_ALLOW_PROTOCOL: 'none',
      GIT_NO_LAZY_FETCH: '1',
      GIT_OPTIONAL_LOCKS: '0',
      GIT_CEILING_DIRECTORIES: root,
      ...more,
    }
    return new Promise((done) => {
      const options = { cwd: folder, env, maxBuffer: MAX_OUTPUT, timeout: GIT_TIMEOUT }
      execFile('git', [...SAFE_SETTINGS, ...some], options, (error, out) =>
        done({ out, code: error === null ? 0 : (error.code ?? null) }),
      )
    })
  }
  const paths = await run(['rev-parse', '--absolute-git-dir', '--git-common-dir', '--show-toplevel'])
  if (paths.code !== 0) return null
  // A `.git` file or `core.worktree` may refer to any repository, even another sandbox's.
  const real = realpathSync(root)
  const [id = ''] = relative(real, folder).split(sep)
  for (const path of paths.out.trimEnd().split('\n'))
    if (!isInside(join(real, id), await realpath(resolve(folder, path)).catch(() => '/'))) return null
  let overrides = {}
  if (args[0] === 'diff') {
    const { out, code } = await run(['config', '-z', '--name-only', '--get-regexp', '^filter\\.'])
    // Code 1 means that there are no such settings.
    if (code !== 0 && code !== 1) return null
    overrides = withoutFilters(out.split('\u0000'))
  }
  const { out, code } = await run(args, overrides)
  return code === 0 ? out : null
}

/** Whether a path is a folder or inside it. Both must be absolute; symbolic links are not resolved. */
export function isInside(folder: string, path: string): boolean {
  const inside = relative(folder, path)
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)
}

interface GitResult {
  readonly out: string
  /** Exit code of git. If git could not be started or was killed: an error code such as `ENOENT`, or null. */
  readonly code: string | number | null
}

/** Returns environment variables that disable git's filters, whatever its configuration files contain. */
function withoutFilters(names: readonly string[]): Readonly<Record<string, string>> {
  const drivers = new Set(names.flatMap((name) => /^(filter\.[^]+)\.\w+$/.exec(name)?.[1] ?? []))
  const settings = [...drivers].flatMap((driver) => [
    [`${driver}.clean`, ''],
    [`${driver}.process`, ''],
    [`${driver}.required`, 'false'],
  ])
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(settings.length)],
    ...settings.flatMap(([key = '', value = ''], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ])
}
