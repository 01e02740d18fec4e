/** Reads a directory of event files in the order of their numbers, with the sidecar files beside them. */

import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { FileError, fromFileSystem } from '../failure.ts'
import type { Piece } from './piece.ts'
import { sessionFilesIn } from './session-files.ts'
import { type DocumentName, DOCUMENTS, eventNumber, isKnown, type SidecarFiles } from './sidecar-files.ts'

/** How many files are read before the work goes on. */
const BATCH = 64

interface EventFile {
  readonly line: number
  readonly path: string
}

/** A directory about to be read. */
export interface Directory {
  readonly pieces: AsyncIterable<Piece[]>
  readonly sidecarFiles: SidecarFiles
}

/**
 * The event files of a directory, or of its subfolder `events` when it has none itself.
 * @throws FileError `no_events` when neither has one, and nothing else says that a conversation is there.
 */
export async function openDirectory(directory: string): Promise<Directory> {
  const names = await namesIn(directory)
  const own = eventFiles(directory, names)
  const inner = own.length === 0 && names.includes('events') ? join(directory, 'events') : null
  const innerNames = inner === null ? [] : await namesIn(inner).catch(noneOfFile)
  const files = inner === null ? own : eventFiles(inner, innerNames)
  const documents = await documentsIn(directory, names)
  if (files.length === 0 && Object.keys(documents).length === 0) throw await noEvents(directory)
  const ignored = [...names, ...innerNames].filter((name) => !isKnown(name))
  return { pieces: read(files), sidecarFiles: { folder: folderOf(directory), documents, ignored } }
}

async function noEvents(directory: string): Promise<FileError> {
  const sessions = (await sessionFilesIn(directory)) ?? []
  const why =
    sessions.length === 0
      ? 'the directory holds no event-NNNNN-<id>.json, nor does its subfolder events, nor a session (.jsonl or .json) to import'
      : sessions.length === 1
        ? 'the directory holds a session file; give the file, or `colloquy import` the directory'
        : `the directory holds ${sessions.length} session files; give the files, or \`colloquy import\` them`
  return new FileError('no_events', why)
}

/** The name of the conversation's folder: the one above for a bare `events`. */
function folderOf(directory: string): string {
  const path = resolve(directory)
  return basename(path) === 'events' ? basename(dirname(path)) : basename(path)
}

async function namesIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((error: unknown) => Promise.reject(fromFileSystem(error)))
  return names.toSorted()
}

/** A file that is called as the folder should be holds no events. */
function noneOfFile(error: unknown): string[] {
  if (error instanceof FileError && error.code === 'not_found') return []
  throw error
}

function eventFiles(directory: string, names: readonly string[]): EventFile[] {
  const files = names.flatMap((name) => {
    const line = eventNumber(name)
    return line === null ? [] : [{ line, path: join(directory, name) }]
  })
  // Names are unique, so the order is too.
  return files.toSorted((a, b) => a.line - b.line || (a.path < b.path ? -1 : 1))
}

async function documentsIn(
  directory: string,
  names: readonly string[],
): Promise<Partial<Record<DocumentName, Buffer>>> {
  const documents: Partial<Record<DocumentName, Buffer>> = {}
  for (const name of DOCUMENTS)
    if (names.includes(name)) documents[name] = await bytesOf(join(directory, name))
  return documents
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
