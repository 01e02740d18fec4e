/** A directory of event files goes in, their contents come out in the order of their numbers. */

import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { FileError, fromFileSystem } from '../failure.ts'
import type { Piece } from './piece.ts'

const EVENT_FILE = /^event-(\d{5,})-.+\.json$/

/** How many files are read before the work goes on. */
const BATCH = 64

interface EventFile {
  readonly line: number
  readonly path: string
}

/**
 * The files `event-NNNNN-<id>.json` of a directory, or of its subfolder `events` when it has none itself.
 * @throws FileError `no_events` when neither has one.
 */
export async function eventFiles(directory: string): Promise<AsyncIterable<Piece[]>> {
  const own = await list(directory)
  const files = own.length > 0 ? own : await list(join(directory, 'events')).catch(() => [])
  if (files.length === 0) {
    throw new FileError(
      'no_events',
      'the directory holds no event-NNNNN-<id>.json, nor does its subfolder events',
    )
  }
  return read(files)
}

async function list(directory: string): Promise<EventFile[]> {
  const names = await readdir(directory).catch((error: unknown) => Promise.reject(fromFileSystem(error)))
  const files = names.flatMap((name) => {
    const number = EVENT_FILE.exec(name)?.[1]
    return number === undefined ? [] : [{ line: Number(number), path: join(directory, name) }]
  })
  // Names are unique, so the order is too.
  return files.toSorted((a, b) => a.line - b.line || (a.path < b.path ? -1 : 1))
}

async function* read(files: readonly EventFile[]): AsyncIterableIterator<Piece[]> {
  for (let from = 0; from < files.length; from += BATCH) {
    const batch = files.slice(from, from + BATCH)
    yield await Promise.all(batch.map(async ({ line, path }) => ({ line, bytes: await bytesOf(path) })))
  }
}

async function bytesOf(path: string): Promise<Buffer> {
  return await readFile(path).catch((error: unknown) => Promise.reject(fromFileSystem(error, basename(path))))
}
