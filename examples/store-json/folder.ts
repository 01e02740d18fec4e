/**
 * A folder of numbered files with one change each. A file is written under a temporary name, then linked
 * to its number. The link fails if another process has claimed that number. So each file is complete, and
 * the writers need no other coordination.
 */

import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { ColloquyError } from 'colloquy'

/** The disk operations of a store. All methods throw `store_full`, `store_read_only` or `store_unavailable`. */
export interface Folder {
  /** The text of a change; null when it does not exist yet. */
  read(number: number): string | null
  /** Writes a change durably; false when another process claimed its number. */
  add(number: number, text: string): boolean
  /** Replaces the text of a change. After a power loss, the file contains one of the two texts. */
  replace(number: number, text: string): void
}

/** @param durable whether to wait for the disk */
export function openFolder(path: string, durable: boolean): Folder {
  // The names are sortable, so that `cat *.json` prints the history in order.
  const nameOf = (number: number): string => join(path, `${String(number).padStart(12, '0')}.json`)
  const sync = (name: string): void => {
    if (!durable) return
    const file = fs.openSync(name, 'r')
    try {
      fs.fsyncSync(file)
    } finally {
      fs.closeSync(file)
    }
  }
  /** Keeps a temporary file while `use` runs. */
  const withFile = <T>(text: string, use: (name: string) => T): T => {
    const name = join(path, `${randomUUID()}.tmp`)
    try {
      fs.writeFileSync(name, text, { flag: 'wx' })
      return use(name)
    } finally {
      fs.rmSync(name, { force: true })
    }
  }
  withStoreErrors(() => fs.mkdirSync(path, { recursive: true }))

  return {
    read: (number) =>
      withStoreErrors(() => nullOnError('ENOENT', () => fs.readFileSync(nameOf(number), 'utf8'))),

    add: (number, text) =>
      withStoreErrors(() =>
        withFile(text, (name) => {
          sync(name)
          const added = nullOnError('EEXIST', () => (fs.linkSync(name, nameOf(number)), true)) ?? false
          // Needed also if another process was first: our next change builds on the change of that process,
          // which must be durable by then.
          sync(path)
          return added
        }),
      ),

    replace: (number, text) =>
      withStoreErrors(() =>
        withFile(text, (name) => {
          sync(name)
          fs.renameSync(name, nameOf(number))
        }),
      ),
  }
}

const codeOf = (error: unknown): string =>
  String((error as { readonly code?: unknown } | null | undefined)?.code ?? '')

/** Returns null when a call fails with this code. */
function nullOnError<T>(code: string, call: () => T): T | null {
  try {
    return call()
  } catch (error) {
    if (codeOf(error) === code) return null
    throw error
  }
}

/** Translates disk errors to the contract's codes. */
function withStoreErrors<T>(call: () => T): T {
  try {
    return call()
  } catch (cause) {
    const diskCode = codeOf(cause)
    const isFull = diskCode === 'ENOSPC' || diskCode === 'EDQUOT'
    const isReadOnly = diskCode === 'EROFS' || diskCode === 'EACCES' || diskCode === 'EPERM'
    const code = isFull ? 'store_full' : isReadOnly ? 'store_read_only' : 'store_unavailable'
    throw new ColloquyError(code, `The folder cannot be used: ${String(cause)}.`, {}, { cause })
  }
}
