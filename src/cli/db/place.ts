/**
 * Whether a SQLite file may be used where it is, asked of the file system before the driver fails in words of its own.
 */

import { access, constants, realpath, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { FileError, fromFileSystem } from '../failure.ts'

/** A file that may be read. */
export interface Readable {
  /** Without links: what SQLite keeps beside it stands there. */
  readonly path: string
  /** Whether the file or its folder may not be written. */
  readonly isShut: boolean
}

/** @throws FileError for what is not there, is no file, or may not be read. */
export async function checkToRead(file: string): Promise<Readable> {
  const found = await stat(file).catch((error: unknown) => Promise.reject(fromFileSystem(error)))
  refuseDirectory(found)
  refuseToRead(await refusal(file, constants.R_OK))
  const path = await realpath(file)
  const refused = (await refusal(path, constants.W_OK)) ?? (await refusal(dirname(path), constants.W_OK))
  return { path, isShut: refused !== null }
}

/** @throws FileError for what may not be written, or, where it is not there, may not be made. */
export async function checkToWrite(file: string): Promise<void> {
  const found = await stat(file).catch(noneThere)
  if (found === null) return checkFolder(file)
  refuseDirectory(found)
  refuseToRead(await refusal(file, constants.R_OK))
  const refused = (await refusal(file, constants.W_OK)) ?? (await refusalBeside(file))
  if (refused !== null)
    throw new FileError('unwritable', `cannot be written: permission is denied (${refused})`)
}

/** Bytes of the write-ahead log; null when there is none. */
export async function logSize(path: string): Promise<bigint | null> {
  const found = await stat(`${path}-wal`, { bigint: true }).catch(() => null)
  return found?.size ?? null
}

async function checkFolder(file: string): Promise<void> {
  const folder = dirname(resolve(file))
  const found = await stat(folder).catch(noneThere)
  if (found?.isDirectory() !== true)
    throw new FileError('not_found', 'cannot be made: its folder is not there')
  const refused = await refusal(folder, constants.W_OK | constants.X_OK)
  if (refused !== null)
    throw new FileError(
      'unwritable',
      `cannot be made: permission to write in its folder is denied (${refused})`,
    )
}

/** Why no files may be made beside a database; null where they may, or are there already. */
async function refusalBeside(file: string): Promise<string | null> {
  const path = await realpath(file)
  return (await logSize(path)) === null ? refusal(dirname(path), constants.W_OK) : null
}

/** Null, or the reason why not. */
async function refusal(path: string, mode: number): Promise<string | null> {
  return access(path, mode).then(
    () => null,
    (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown'),
  )
}

function refuseToRead(refused: string | null): void {
  if (refused !== null) throw new FileError('unreadable', `permission denied (${refused})`)
}

function refuseDirectory(found: { isDirectory(): boolean }): void {
  if (found.isDirectory()) throw new FileError('unreadable', 'is a directory, not a database')
}

function noneThere(error: unknown): null {
  const failure = fromFileSystem(error)
  if (failure.code === 'not_found') return null
  throw failure
}
