/** Writes beside the target first, so that an export that fails leaves what was there before. */

import { randomBytes } from 'node:crypto'
import { link, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { FileError, fromWriting } from '../failure.ts'

/** What an export writes into its directory; a directory with anything else in it is not the export's own. */
const WRITTEN: readonly string[] = ['meta.json', 'base_state.json', 'colloquy.json', 'events']

/** Where to write. */
export interface Target {
  readonly output: string
  /** Whether what is there may be replaced. */
  readonly force: boolean
}

/**
 * Writes a file or a directory under another name beside its own, and moves it into its place when all went well; else
 * nothing is left.
 * @throws FileError `exists` for what would be overwritten, and what the file system says in words.
 */
export async function writeTo(
  target: Target,
  kind: 'file' | 'directory',
  write: (path: string) => Promise<void>,
): Promise<void> {
  await refuseToOverwrite(target, kind)
  const output = resolve(target.output)
  const temporary = join(
    dirname(output),
    `.${basename(output).slice(0, 100)}.${randomBytes(6).toString('hex')}.tmp`,
  )
  try {
    await write(temporary)
    await (kind === 'file' ? placeFile(temporary, output, target.force) : placeDirectory(temporary, output))
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    throw fromWriting(error)
  }
}

async function refuseToOverwrite({ output, force }: Target, kind: 'file' | 'directory'): Promise<void> {
  const found = await stat(output).catch(() => null)
  if (found === null) return
  if (found.isDirectory() !== (kind === 'directory'))
    throw new FileError(
      'exists',
      `is a ${found.isDirectory() ? 'directory' : 'file'} already; give another name`,
    )
  const names = found.isDirectory() ? await readdir(output) : [basename(output)]
  if (names.length === 0) return
  if (!force) throw new FileError('exists', 'exists already; give another name, or say --force')
  const foreign = found.isDirectory() ? names.find((name) => !WRITTEN.includes(name)) : undefined
  if (foreign !== undefined)
    throw new FileError('exists', `holds ${foreign}, which no export wrote; give another name`)
}

async function placeFile(temporary: string, output: string, force: boolean): Promise<void> {
  const file = await open(temporary, 'r+')
  await file.sync().finally(() => file.close())
  if (force) return rename(temporary, output)
  // Unlike a rename, a link does not replace what another process wrote there meanwhile.
  try {
    await link(temporary, output)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') throw error
    // Not every file system has links.
    return rename(temporary, output)
  }
  await unlink(temporary)
}

async function placeDirectory(temporary: string, output: string): Promise<void> {
  const old = `${temporary}.old`
  const replaced = await rename(output, old).then(
    () => true,
    () => false,
  )
  try {
    await rename(temporary, output)
  } catch (error) {
    if (replaced) await rename(old, output)
    throw error
  }
  await rm(old, { recursive: true, force: true })
}
