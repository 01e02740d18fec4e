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
  read(number: number): string | null
  /** Writes a change, so that it survives a loss of power; false when another process took its number. */
  add(number: number, text: string): boolean
  /** Puts another text in place of a change; after a loss of power one of the two is there. */
  replace(number: number, text: string): void
}

/** @param durable whether to wait for the disk */
export function openFolder(path: string, durable: boolean): Folder {
  // Names that sort, so that `cat *.json` is the whole story.
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
  /** Writes a file under a name of its own, and has it for as long as it takes to place it. */
  const withFile = <T>(text: string, position: (name: string) => T): T => {
    const name = join(path, `${randomUUID()}.tmp`)
    try {
      fs.writeFileSync(name, text, { flag: 'wx' })
      return position(name)
    } finally {
      fs.rmSync(name, { force: true })
    }
  }
  report(() => fs.mkdirSync(path, { recursive: true }))

  return {
    read: (number) => report(() => unless('ENOENT', () => fs.readFileSync(nameOf(number), 'utf8'))),

    add: (number, text) =>
      report(() =>
        withFile(text, (name) => {
          sync(name)
          const added = unless('EEXIST', () => (fs.linkSync(name, nameOf(number)), true)) ?? false
          // Also where another process won: what it wrote is read next, and must last before we build on it.
          sync(path)
          return added
        }),
      ),

    replace: (number, text) =>
      report(() =>
        withFile(text, (name) => {
          sync(name)
          fs.renameSync(name, nameOf(number))
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
function report<T>(call: () => T): T {
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
