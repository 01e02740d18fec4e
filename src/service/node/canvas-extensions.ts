import { constants, realpathSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { serialQueue } from '../../conversation/async.ts'
import { parseJson } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { HttpProblem, invalidValue } from '../http/problem.ts'
import { canvasManifest, EXTENSION_NAME } from '../request-schema.ts'
import { MAX_BYTES } from '../sandbox-files/contract.ts'
import type { CanvasExtensions, Extension, ExtensionSource } from '../workspace/canvas-extensions.ts'
import { isInside, readBytesOf, withFile } from './sandbox-files.ts'

const MAX_FILES = 10_000

type Stored = Pick<Extension, 'enabled' | 'source' | 'repo_path' | 'installed_at'>

interface Manifest extends JsonObject, Pick<Extension, 'name' | 'version' | 'description'> {
  readonly entrypoint: string
}

/**
 * Returns the Canvas extensions of a folder. Clients can install only subfolders of the folder. An installed
 * extension is copied to `.installed/<name>`, and its state is written to `.installed/<name>.json`. Backend
 * programs of extensions are not started. @throws Error if the folder does not exist.
 * @example
 * const extensions = directoryExtensions('.')
 * await extensions.list() // []
 */
export function directoryExtensions(folder: string): CanvasExtensions {
  const root = realpathSync(folder)
  const installed = join(root, '.installed')
  const staging = join(installed, '.staging')
  const inTurn = serialQueue()
  const recordOf = (name: string): string => join(installed, `${name}.json`)

  const store = async (name: string, stored: Stored): Promise<void> => {
    const file = join(staging, `${name}.json`)
    await mkdir(staging, { recursive: true })
    await writeFile(file, JSON.stringify(stored))
    await rename(file, recordOf(name))
  }
  const find = async (name: string): Promise<Extension | null> => {
    const install_path = join(installed, name)
    const text = await readFile(recordOf(name), 'utf8').catch(() => null)
    if (text === null || (await pathIn(installed, install_path, 'isDirectory')) === null) return null
    const stored = JSON.parse(text) as Stored
    const manifest = await manifestOf(install_path).catch(() => null)
    const { version = '', description = '' } = manifest ?? {}
    return { name, version, description, ...stored, install_path, manifest }
  }
  const sourceOf = async ({ source, repo_path: path }: ExtensionSource): Promise<string> => {
    const top = await pathIn(root, resolve(root, source), 'isDirectory')
    const folder = top === null ? null : await pathIn(top, resolve(top, path ?? ''), 'isDirectory')
    if (folder !== null && folder !== root && !isInside(installed, folder)) return folder
    throw new HttpProblem(
      400,
      'The source is not in the folder for Canvas extensions. Check `source` and `repo_path`.',
    )
  }
  const stage = async (from: string, name: string): Promise<string> => {
    const to = join(staging, name)
    await rm(to, { recursive: true, force: true })
    let count = 0
    await cp(from, to, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => {
        if (path === installed || basename(path) === '.git') return false
        if (++count > MAX_FILES) throw refused(`An extension can have at most ${MAX_FILES} files.`)
        return true
      },
    })
    return to
  }
  /** Replaces an installed folder. If the replacement fails, restores the previous folder. */
  const swap = async (from: string, name: string): Promise<void> => {
    const to = join(installed, name)
    const previous = join(staging, `${name}.previous`)
    await rm(previous, { recursive: true, force: true })
    const hadOne = await rename(to, previous).then(
      () => true,
      () => false,
    )
    try {
      await rename(from, to)
    } catch (error) {
      if (hadOne) await rename(previous, to)
      throw error
    }
    await rm(previous, { recursive: true, force: true })
  }
  const change = <T>(name: string, work: (one: Extension) => Promise<T>): Promise<T | null> =>
    inTurn(async () => {
      const one = await find(name)
      return one === null ? null : work(one)
    })
  return {
    list: async () => {
      const names = await readdir(installed).catch(() => [])
      const all = await Promise.all(names.filter((name) => EXTENSION_NAME.test(name)).map(find))
      return all.filter((one) => one !== null)
    },
    find,
    install: (source, force) =>
      inTurn(async () => {
        const staged = await stage(await sourceOf(source), `.${crypto.randomUUID()}`)
        try {
          const { name } = await manifestOf(staged)
          const before = await find(name)
          if (before !== null && !force)
            throw new HttpProblem(
              409,
              'The Canvas extension is already installed. Pass `force` to replace it.',
            )
          await swap(staged, name)
          await store(name, {
            enabled: before?.enabled ?? false,
            source: source.source,
            repo_path: source.repo_path ?? null,
            installed_at: new Date().toISOString(),
          })
          return (await find(name)) as Extension
        } finally {
          await rm(staged, { recursive: true, force: true })
        }
      }),
    setEnabled: async (name, enabled) =>
      (await change(name, async (one) => {
        await store(name, storedOf(one, { enabled }))
        return true
      })) ?? false,
    uninstall: async (name) =>
      (await change(name, async () => {
        await rm(recordOf(name))
        for (const path of [join(installed, name), join(staging, name)])
          await rm(path, { recursive: true, force: true })
        return true
      })) ?? false,
    check: (name) =>
      change(name, async (one) => {
        const staged = await stage(await sourceOf(one), name)
        if ((await manifestOf(staged).catch(() => null))?.name === name) return 'valid'
        await rm(staged, { recursive: true, force: true })
        return 'invalid'
      }),
    apply: (name, enabled) =>
      change(name, async (one) => {
        const staged = join(staging, name)
        if ((await pathIn(staging, staged, 'isDirectory')) === null)
          throw new HttpProblem(409, 'No update is ready to install. Check the extension for updates first.')
        await swap(staged, name)
        await store(name, storedOf(one, { enabled, installed_at: new Date().toISOString() }))
        return find(name)
      }),
    read: async (name, file) => {
      const one = await find(name)
      const path = one?.manifest?.[file]
      if (one === null || typeof path !== 'string') return null
      const document = await fileIn(one.install_path, path)
      return document === null ? null : readBytesOf(document, MAX_BYTES)
    },
  }
}

const storedOf = (
  { enabled, source, repo_path, installed_at }: Extension,
  more: Partial<Stored>,
): Stored => ({ enabled, source, repo_path, installed_at, ...more })

/** Location of manifest errors: the field `source`, because the request does not contain the manifest itself. */
const AT = ['body', 'source'] as const

const refused = (why: string): HttpProblem => invalidValue(AT, why)

async function pathIn(folder: string, path: string, kind: 'isFile' | 'isDirectory'): Promise<string | null> {
  const real = await realpath(path).catch(() => null)
  if (real === null || !isInside(folder, real)) return null
  return (await stat(real).catch(() => null))?.[kind]() === true ? real : null
}

const fileIn = async (folder: string, path: string): Promise<string | null> =>
  pathIn(await realpath(folder), join(folder, path), 'isFile')

async function manifestOf(folder: string): Promise<Manifest> {
  const file = await fileIn(folder, 'canvas-extension.json')
  if (file === null) throw refused('The folder has no canvas-extension.json.')
  const text = await withFile(file, constants.O_RDONLY, (handle) => handle.readFile('utf8'))
  const value = parseJson(text.replace(/^\ufeff/, ''))
  if (value === undefined) throw refused('canvas-extension.json is not JSON.')
  const read = canvasManifest.read(value)
  if ('errors' in read)
    throw new HttpProblem(
      422,
      read.errors.map((one) => ({ ...one, loc: [...AT, ...one.loc.slice(1)] })),
    )
  const { contributes, icon, ...rest } = read.value
  if ((await fileIn(folder, rest.entrypoint)) === null)
    throw refused('The entrypoint is not a file of the extension.')
  return {
    description: '',
    ...rest,
    contributes: { pages: [], ...contributes },
    ...(typeof icon === 'string' && icon.endsWith('.svg') && { icon }),
  } as JsonObject as Manifest
}
