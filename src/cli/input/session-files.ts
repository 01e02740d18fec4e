/** Finds the sessions below a folder, where agents keep one file for each. */

import { readdir, stat } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { eventNumber, isDocument } from './sidecar-files.ts'

/** A file, and what the conversation is called that it becomes where the file itself does not say. */
export interface SessionFile {
  readonly file: string
  readonly name: string
}

/**
 * The files of a folder and its subfolders that may hold sessions, in the order of their names; null for what is no
 * folder, and for one that holds the events of a conversation, in itself or in `events`.
 */
export async function sessionFilesIn(name: string): Promise<SessionFile[] | null> {
  const isFolder = await stat(name).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) return null
  const entries = await readdir(name, { recursive: true }).catch((): string[] => [])
  const own = entries.filter((file) => !/[\\/]/.test(file))
  const isConversation =
    own.some((file) => eventNumber(file) !== null || isDocument(file)) ||
    (own.includes('events') && entries.some((file) => eventNumber(file.split(/[\\/]/).at(-1) ?? '') !== null))
  if (isConversation) return null
  const files = entries.filter((file) => ['.jsonl', '.json'].includes(extname(file).toLowerCase()))
  if (files.length === 0) return null
  const alike = Map.groupBy(files, ownName)
  return files.toSorted().map((file) => {
    const own = ownName(file)
    return { file: join(name, file), name: alike.get(own)?.length === 1 ? own : pathName(file) }
  })
}

/** A file is called the same whether it is named itself or a folder that it is in. */
const ownName = (file: string): string => basename(file.replaceAll('\\', '/'), extname(file))

/** Files of one name may stand in several subfolders. */
const pathName = (file: string): string => file.slice(0, -extname(file).length).replaceAll(/[\\/]/g, '-')
