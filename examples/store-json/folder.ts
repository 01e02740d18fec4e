/**
 * A folder of numbered files, each of which is one change and is never written half: it is made under another name, and
 * then linked to its number, which fails when another process has taken that. This is all that keeps writers apart.
 */

import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { ColloquyError } from 'colloquy'

/** What a store needs of a disk. All of it throws `store_full`, `store_read_only` or `store_unavailable`. */
export interface Folder {
  /** The text of a change; null where there is none yet. */
  read(no: number): string | null
  /** Writes a change, so that it survives a loss of power; false when another process took its number. */
  add(no: number, text: string): boolean
  /** Puts another text in place of a change; after a loss of power one of the two is there. */
  replace(no: number, text: string): void
}

/** @param durable whether to wait for the disk */
export function openFolder(path: string, durable: boolean): Folder {
  // Names that sort, so that `cat *.json` is the whole story.
  const nameOf = (no: number): string => join(path, `${String(no).padStart(12, '0')}.json`)
  const sync = (name: string): void => {
    if (!durable) return
    const file = fs.openSync(name, 'r')
    try {
      fs.fsyncSync(file)
    } finally {
      fs.closeSync(file)
    }
  }
  /** Writes a file under a name of its own, and has it for as long as it takes to place it. */
  const withFile = <T>(text: string, place: (name: string) => T): T => {
    const name = join(path, `${randomUUID()}.tmp`)
    try {
      fs.writeFileSync(name, text, { flag: 'wx' })
      return place(name)
    } finally {
      fs.rmSync(name, { force: true })
    }
  }
  told(() => fs.mkdirSync(path, { recursive: true }))

  return {
    read: (no) => told(() => unless('ENOENT', () => fs.readFileSync(nameOf(no), 'utf8'))),

    add: (no, text) =>
      told(() =>
        withFile(text, (name) => {
          sync(name)
          const added = unless('EEXIST', () => (fs.linkSync(name, nameOf(no)), true)) ?? false
          // Also where another process won: what it wrote is read next, and must last before we build on it.
          sync(path)
          return added
        }),
      ),

    replace: (no, text) =>
      told(() =>
        withFile(text, (name) => {
          sync(name)
          fs.renameSync(name, nameOf(no))
        }),
      ),
  }
}

const codeOf = (error: unknown): string =>
  String((error as { readonly code?: unknown } | null | undefined)?.code ?? '')

/** Null where a call fails with this code. */
function unless<T>(code: string, call: () => T): T | null {
  try {
    return call()
  } catch (error) {
    if (codeOf(error) === code) return null
    throw error
  }
}

/** Failures of the disk, by the contract's codes. */
function told<T>(call: () => T): T {
  try {
    return call()
  } catch (cause) {
    const disk = codeOf(cause)
    const isFull = disk === 'ENOSPC' || disk === 'EDQUOT'
    const isReadOnly = disk === 'EROFS' || disk === 'EACCES' || disk === 'EPERM'
    const code = isFull ? 'store_full' : isReadOnly ? 'store_read_only' : 'store_unavailable'
    throw new ColloquyError(code, `The folder cannot be used: ${String(cause)}.`, {}, { cause })
  }
}
