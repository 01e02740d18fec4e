/**
 * A folder of numbered files with one change each. A file is written under a temporary name, then linked
 * to its number, which fails when another process has claimed that number. So no file is ever half
 * written, and nothing else coordinates the writers.
 */

import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { ColloquyError } from 'colloquy'

/** What a store needs of a disk. All methods throw `store_full`, `store_read_only` or `store_unavailable`. */
export interface Folder {
  /** The text of a change; null when it does not exist yet. */
  read(number: number): string | null
  /** Writes a change durably; false when another process claimed its number. */
  add(number: number, text: string): boolean
  /** Replaces the text of a change; after a power loss one of the two is there. */
  replace(number: number, text: string): void
}

/** @param durable whether to wait for the disk */
export function openFolder(path: string, durable: boolean): Folder {
  // Names that sort, so that `cat *.json` prints the history in order.
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
  /** Keeps a temporary file while `position` runs. */
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
          // Also when another process won: its change is read next, and must be durable before we build on
          // it.
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

/** Returns null when a call fails with this code. */
function unless<T>(code: string, call: () => T): T | null {
  try {
    return call()
  } catch (error) {
    if (codeOf(error) === code) return null
    throw error
  }
}

/** Translates disk errors to the contract's codes. */
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
