/** The folders that a service works in. */

import { stat } from 'node:fs/promises'
import { join, parse, resolve } from 'node:path'
import { FileError, fromFileSystem } from '../failure.ts'
import type { ServeRequest } from '../args/request.ts'

/**
 * Where sandboxes get their folders: beside the database file; for a database that is no file, in the workspace, or
 * here.
 * @returns an absolute path; nothing need be there yet.
 */
export function sandboxFolder({ db, workspace }: Pick<ServeRequest, 'db' | 'workspace'>): string {
  if (db.kind === 'postgres') return resolve(workspace ?? '', 'colloquy-sandboxes')
  const { dir, name } = parse(resolve(db.target))
  return join(dir, `${name}-sandboxes`)
}

/** @throws FileError for what is no folder. */
export async function checkWorkspace(folder: string): Promise<void> {
  const what = `--workspace ${folder}`
  const found = await stat(folder).catch((error: unknown) => Promise.reject(fromFileSystem(error, what)))
  if (!found.isDirectory()) throw new FileError('unreadable', `${what}: is no directory`)
}
