/** The files of process sandboxes: of each the folder that it works in, and nothing else of the machine. */

import { execFile } from 'node:child_process'
import { constants, realpathSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { HttpProblem } from '../http/problem.ts'
import type { FileEntry, SandboxFiles } from '../sandbox-files/contract.ts'
import type { SandboxCommands } from './sandbox/commands.ts'

/** Bytes of a path. */
const LONGEST = 4_000

const { O_CREAT, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants

const PROBLEMS: Readonly<Record<string, readonly [status: number, detail: string]>> = {
  ENOENT: [404, 'There is no such file or folder.'],
  ENOTDIR: [400, 'A file is in the way.'],
  EISDIR: [400, 'This is a folder.'],
  EEXIST: [400, 'A file is in the way.'],
  ENAMETOOLONG: [400, 'The path is too long.'],
  EINVAL: [400, 'Invalid path.'],
  ENXIO: [400, 'Not a file.'],
  ELOOP: [403, 'The path contains a loop of symbolic links.'],
  EACCES: [403, 'Permission denied.'],
  EPERM: [403, 'Permission denied.'],
  ENOSPC: [507, 'The disk is full.'],
}

/**
 * @param root the folder that has one of each sandbox's own
 * @param commands runs those that are asked for
 */
export function sandboxFiles(root: string, commands: SandboxCommands): SandboxFiles {
  const within = async (path: string): Promise<string> => {
    if (path.includes('\u0000') || !isAbsolute(path)) throw new HttpProblem(400, 'The path must be absolute.')
    if (path.split(sep).includes('..')) throw new HttpProblem(403, 'The path must not contain `..`.')
    if (Buffer.byteLength(path) > LONGEST) throw new HttpProblem(400, 'The path is too long.')
    // What is not there yet lies where the nearest folder above it does.
    const found = await nearest(path)
    let home
    try {
      home = realpathSync(root)
    } catch {
      throw outside()
    }
    const parts = relative(home, found.real).split(sep)
    // Not the folder of them all, which holds more than sandboxes' own.
    if (parts[0] === '' || parts[0] === '..') throw outside()
    return join(found.real, ...found.rest)
  }
  return {
    home: root,
    list: async (path) => {
      const folder = await within(path)
      return guarded(async () => {
        const entries = await readdir(folder, { withFileTypes: true })
        const told = await Promise.all(
          entries.map(async (entry): Promise<FileEntry | null> => {
            const full = join(folder, entry.name)
            // Of a link nothing is told of what it leads to.
            const facts = await lstat(full).catch(() => null)
            if (facts === null) return null
            const is_directory = facts.isDirectory()
            return { name: entry.name, path: full, is_directory, size: is_directory ? 0 : facts.size }
          }),
        )
        return told
          .filter((entry) => entry !== null)
          .toSorted((a, b) => Number(a.name > b.name) - Number(a.name < b.name))
      })
    },
    read: async (path, most) => {
      const file = await within(path)
      return guarded(async () => {
        return withFile(file, O_RDONLY, async (handle, size) => {
          if (size > most) throw new HttpProblem(413, `The file is larger than ${most} bytes.`)
          return new Uint8Array(await handle.readFile())
        })
      })
    },
    write: async (path, bytes) => {
      const file = await within(path)
      return guarded(async () => {
        await mkdir(dirname(file), { recursive: true })
        return withFile(file, O_WRONLY | O_CREAT | O_TRUNC, async (handle) => {
          await handle.writeFile(bytes)
          return bytes.length
        })
      })
    },
    run: async (command, folder, milliseconds) => {
      const cwd = await directory(await within(folder))
      const [id = ''] = relative(realpathSync(root), cwd).split(sep)
      return guarded(() => commands.run({ command, cwd, id, milliseconds }))
    },
    git: async (path, args) => {
      const real = await within(path)
      const folder = await directory(real).catch(async () => directory(dirname(real)))
      return gitIn(root, folder, args)
    },
  }
}

const outside = (): HttpProblem =>
  new HttpProblem(403, 'The path is outside of the folders of the sandboxes.')

/** The nearest that is there of a path, and the names below it. */
async function nearest(path: string): Promise<{ readonly real: string; readonly rest: readonly string[] }> {
  const rest: string[] = []
  for (let at = path; ; at = dirname(at)) {
    try {
      return { real: await realpath(at), rest }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ENOENT' || dirname(at) === at) throw problemOf(error)
      // A link to what is not there would be followed by who makes it.
      if (await isThere(at)) throw outside()
      rest.unshift(basename(at))
    }
  }
}

const isThere = (path: string): Promise<boolean> =>
  readdir(dirname(path)).then(
    (names) => names.includes(basename(path)),
    () => false,
  )

async function directory(path: string): Promise<string> {
  const facts = await guarded(() => stat(path))
  if (facts.isDirectory()) return path
  throw new HttpProblem(400, 'Not a directory.')
}

/**
 * Uses a file, and nothing else: a pipe without a process at its other end would hold a thread of the pool that all
 * requests share, until there is one.
 */
async function withFile<T>(
  path: string,
  flags: number,
  use: (handle: FileHandle, size: number) => Promise<T>,
): Promise<T> {
  const handle = await open(path, flags | O_NONBLOCK)
  try {
    const facts = await handle.stat()
    if (!facts.isFile()) throw new HttpProblem(400, 'Not a file.')
    return await use(handle, facts.size)
  } finally {
    await handle.close()
  }
}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw problemOf(error)
  }
}

function problemOf(error: unknown): unknown {
  const problem = PROBLEMS[(error as NodeJS.ErrnoException).code ?? '']
  return problem === undefined ? error : new HttpProblem(...problem)
}

/** Characters of what it says. */
const MOST = 2 ** 26
const LONGEST_MILLISECONDS = 30_000

/** What a folder's own settings may make git run, turned off. */
const HARMLESS = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.pager=cat',
  'protocol.allow=never',
].flatMap((one) => ['-c', one])

/**
 * Null where git refuses. A diff passes files through no filter of the folder: a file that one would have changed
 * counts as it is.
 *
 * @param root no repository is looked for in it or above it
 */
async function gitIn(root: string, folder: string, args: readonly string[]): Promise<string | null> {
  const run = (some: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Said> => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      // Precedes `protocol.<name>.allow` of the folder: a missing object is not fetched.
      GIT_ALLOW_PROTOCOL: 'none',
      GIT_NO_LAZY_FETCH: '1',
      GIT_OPTIONAL_LOCKS: '0',
      GIT_CEILING_DIRECTORIES: root,
      ...more,
    }
    return new Promise((done) => {
      const options = { cwd: folder, env, maxBuffer: MOST, timeout: LONGEST_MILLISECONDS }
      execFile('git', [...HARMLESS, ...some], options, (error, out) =>
        done({ out, code: error === null ? 0 : (error.code ?? null) }),
      )
    })
  }
  const paths = await run(['rev-parse', '--absolute-git-dir', '--git-common-dir', '--show-toplevel'])
  if (paths.code !== 0) return null
  // A folder's `.git` file or `core.worktree` may name any repository, also another sandbox's.
  const real = realpathSync(root)
  const [id = ''] = relative(real, folder).split(sep)
  for (const path of paths.out.trimEnd().split('\n'))
    if (!isBelow(join(real, id), await realpath(resolve(folder, path)).catch(() => '/'))) return null
  let off = {}
  if (args[0] === 'diff') {
    const { out, code } = await run(['config', '-z', '--name-only', '--get-regexp', '^filter\\.'])
    // 1: there are none.
    if (code !== 0 && code !== 1) return null
    off = withoutFilters(out.split('\u0000'))
  }
  const { out, code } = await run(args, off)
  return code === 0 ? out : null
}

const isBelow = (folder: string, path: string): boolean => path === folder || path.startsWith(folder + sep)

interface Said {
  readonly out: string
  /** What it ended with; something else where it was ended. */
  readonly code: string | number | null
}

/** Settings by the environment, which come before those of files. */
function withoutFilters(names: readonly string[]): Readonly<Record<string, string>> {
  const drivers = new Set(names.flatMap((name) => /^(filter\.[^]+)\.\w+$/.exec(name)?.[1] ?? []))
  const settings = [...drivers].flatMap((driver) => [
    [`${driver}.clean`, ''],
    [`${driver}.process`, ''],
    [`${driver}.required`, 'false'],
  ])
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(settings.length)],
    ...settings.flatMap(([key = '', value = ''], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ])
}
