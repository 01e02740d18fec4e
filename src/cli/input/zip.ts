/**
 * Reads a zip of a conversation one file at a time, in the order of the events' numbers; the input is taken as
 * hostile.
 */

import { basename, dirname } from 'node:path/posix'
import type { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { Entry, openPromise, type ZipFile } from 'yauzl'
import { FileError, fromFileSystem } from '../failure.ts'
import type { Piece } from './piece.ts'
import { type DocumentName, eventNumber, isDocument, isKnown, type SidecarFiles } from './sidecar-files.ts'

/** A zip about to be read. Its file is closed once the pieces were read, or not wanted any more. */
export interface Archive {
  readonly pieces: AsyncIterable<Piece[]>
  readonly sidecarFiles: SidecarFiles
}

/** The most bytes that one file may unpack to: half of what the longest text of the engine takes. */
const MOST_BYTES = 1 << 28

/** What a whole archive may unpack to: so many bytes in any case, and beyond them so many times its own size. */
const FREE_BYTES = 1 << 30
const MOST_RATIO = 100

/** Bytes between pieces, so that work goes on before all is read. */
const BATCH_BYTES = 1 << 20

interface Member {
  readonly folder: string
  readonly name: string
  readonly line: number
  readonly entry: Entry
}

/**
 * Opens a zip: with `event_000000_<id>.json` at its root, or with a conversation's folder. Nothing is ever written
 * under the names in it.
 * @throws FileError when it is none, is damaged, would unpack to too much, or holds several conversations.
 */
export async function openZip(file: string): Promise<Archive> {
  const zip = await openPromise(file, { autoClose: false }).catch((error: unknown) => {
    throw zipError(error)
  })
  try {
    const entries = await entriesOf(zip)
    const events = entries.flatMap((entry) => memberOf(entry))
    const folder = oneFolder(events, entries)
    const sidecarFiles = await surroundingsIn(zip, folder, entries)
    if (events.length === 0 && Object.keys(sidecarFiles.documents).length === 0)
      throw new FileError('no_events', `the zip holds no event-NNNNN-<id>.json${sessionsIn(entries)}`)
    const sorted = events.toSorted((a, b) => a.line - b.line || (a.name < b.name ? -1 : 1))
    return { pieces: read(zip, sorted), sidecarFiles }
  } catch (error) {
    zip.close()
    throw error
  }
}

/** What to say of the files in it that may be sessions. */
function sessionsIn(entries: readonly Entry[]): string {
  const some = entries.some(({ fileName }) => /\.jsonl?$/i.test(fileName))
  return some ? '; zips of sessions are not read: unpack it, and give the files' : ''
}

/** The entries that are files, each with no more than is needed later: an archive may have very many. */
async function entriesOf(zip: ZipFile): Promise<Entry[]> {
  const entries: Entry[] = []
  let packed = 0
  let unpacked = 0
  try {
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName.endsWith('/')) continue
      const { fileName, compressedSize, uncompressedSize, compressionMethod } = entry
      const { crc32, generalPurposeBitFlag, relativeOffsetOfLocalHeader } = entry
      packed += compressedSize
      unpacked += uncompressedSize
      const needed = { compressionMethod, crc32, generalPurposeBitFlag, relativeOffsetOfLocalHeader }
      entries.push(Object.assign(new Entry(), { fileName, compressedSize, uncompressedSize, ...needed }))
    }
  } catch (error) {
    throw zipError(error)
  }
  // Files that share their bytes, and bytes that stand for thousands, are how a small archive fills a disk.
  if (packed > zip.fileSize || unpacked > Math.max(FREE_BYTES, MOST_RATIO * zip.fileSize))
    throw new FileError('not_a_zip', 'the zip would unpack to far more than it holds; unpack it yourself')
  return entries
}

function memberOf(entry: Entry): Member[] {
  const name = basename(entry.fileName)
  const line = eventNumber(name)
  if (line === null) return []
  const folder = dirname(entry.fileName)
  return [{ folder: basename(folder) === 'events' ? dirname(folder) : folder, name, line, entry }]
}

/** The folder of the conversation: `.` for the root. */
function oneFolder(events: readonly Member[], entries: readonly Entry[]): string {
  const found = new Set(events.map(({ folder }) => folder))
  if (found.size === 0) {
    // A conversation without events still has its documents.
    for (const { fileName } of entries) if (isDocument(basename(fileName))) found.add(dirname(fileName))
  }
  if (found.size > 1)
    throw new FileError(
      'several_conversations',
      `the zip holds ${found.size} folders with conversations: unpack it and import them one by one`,
    )
  return [...found][0] ?? '.'
}

async function surroundingsIn(
  zip: ZipFile,
  folder: string,
  entries: readonly Entry[],
): Promise<SidecarFiles> {
  const documents: Partial<Record<DocumentName, Buffer>> = {}
  const ignored: string[] = []
  for (const entry of entries) {
    const name = basename(entry.fileName)
    if (dirname(entry.fileName) === folder && isDocument(name)) documents[name] = await bytesOf(zip, entry)
    else if (!isKnown(name)) ignored.push(entry.fileName)
  }
  return { folder: folder === '.' ? null : basename(folder), documents, ignored }
}

async function* read(zip: ZipFile, events: readonly Member[]): AsyncIterableIterator<Piece[]> {
  try {
    let batch: Piece[] = []
    let size = 0
    for (const { line, entry } of events) {
      const bytes = await bytesOf(zip, entry)
      batch.push({ line, bytes })
      size += bytes.length
      if (size < BATCH_BYTES) continue
      yield batch
      batch = []
      size = 0
    }
    if (batch.length > 0) yield batch
  } finally {
    zip.close()
  }
}

async function bytesOf(zip: ZipFile, entry: Entry): Promise<Buffer> {
  const { fileName, uncompressedSize } = entry
  if (uncompressedSize > MOST_BYTES)
    throw new FileError('unreadable', `${fileName}: is larger than ${MOST_BYTES >> 20} MiB`)
  try {
    const parts: Buffer[] = []
    const stream: Readable = await zip.openReadStreamPromise(entry)
    for await (const part of stream) parts.push(part as Buffer)
    const bytes = Buffer.concat(parts)
    if (crc32(bytes) !== entry.crc32) throw new Error('its checksum is wrong')
    return bytes
  } catch (error) {
    throw zipError(error, fileName)
  }
}

/** The error of an archive, in words and without its path. */
function zipError(error: unknown, name?: string): FileError {
  if (error instanceof FileError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/^E[A-Z]+$/.test(code)) return fromFileSystem(error, name)
  const what = name === undefined ? 'the zip' : `${name} in the zip`
  const why = error instanceof Error ? error.message.split('\n', 1)[0] : 'unknown'
  return new FileError('not_a_zip', `${what} cannot be read: ${why}`)
}
