/**
 * Reads a zip of a conversation one file at a time, in the order of the events' numbers; the input is taken as
 * hostile.
 */

import { type FileHandle, open } from 'node:fs/promises'
import { basename, dirname } from 'node:path/posix'
import type { Readable } from 'node:stream'
import { crc32, deflateRawSync } from 'node:zlib'
import { Entry, openPromise, type ZipFile } from 'yauzl'
import type { ConversationFile } from '../export.ts'
import { FileError, fromFileSystem } from '../failure.ts'
import { type DocumentName, eventNumber, isDocument, isKnown, type SidecarFiles } from './sidecar-files.ts'
import type { Piece } from './split.ts'

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

const STORED = 0
const DEFLATED = 8

/** Names are UTF-8. */
const FLAGS = 0x0800

/** What it takes to read the archive: 2.0 for deflate, 4.5 where numbers need 64 bits. */
const VERSION = { plain: 20, zip64: 45 }

/** In the place of a number that does not fit, and stands elsewhere. */
const FULL_16 = 0xffff
const FULL_32 = 0xffffffff

/** Bytes that are gathered before they are written. */
const WRITE_BATCH = 1 << 20

/** Writes the files under a folder of the zip. No file may have 4 GiB. */
export async function writeZip(
  path: string,
  folder: string,
  files: AsyncIterable<ConversationFile>,
): Promise<void> {
  const file = await open(path, 'wx')
  try {
    const out = new Output(file)
    const directory = new Headers()
    for await (const { path: name, text, time } of files) {
      const data = Buffer.from(text)
      const packed = deflateRawSync(data)
      const method = packed.length < data.length ? DEFLATED : STORED
      const entry = { name: Buffer.from(`${folder}/${name}`), method, time, crc: crc32(data) }
      const body = method === DEFLATED ? packed : data
      const sizes = { packed: body.length, unpacked: data.length }
      directory.add(directoryHeader(entry, sizes, out.length))
      await out.write(Buffer.concat([localHeader(entry, sizes), body]))
    }
    const start = out.length
    for (const headers of directory.all()) await out.write(headers)
    await out.write(ending(directory.count, start, out.length))
    await out.flush()
  } finally {
    await file.close()
  }
}

/** Writes to a file in larger pieces, and counts. */
class Output {
  length = 0
  #parts: Buffer[] = []
  #size = 0
  readonly #file: FileHandle

  constructor(file: FileHandle) {
    this.#file = file
  }

  async write(bytes: Buffer): Promise<void> {
    this.#parts.push(bytes)
    this.#size += bytes.length
    this.length += bytes.length
    if (this.#size >= WRITE_BATCH) await this.flush()
  }

  async flush(): Promise<void> {
    const bytes = Buffer.concat(this.#parts)
    this.#parts = []
    this.#size = 0
    await this.#file.appendFile(bytes)
  }
}

/** Gathers small buffers into larger ones: each by itself would keep the whole slab alive that it was cut from. */
class Headers {
  count = 0
  #recent: Buffer[] = []
  readonly #gathered: Buffer[] = []

  add(header: Buffer): void {
    this.count += 1
    this.#recent.push(header)
    if (this.#recent.length >= 1000) this.#gather()
  }

  all(): readonly Buffer[] {
    this.#gather()
    return this.#gathered
  }

  #gather(): void {
    this.#gathered.push(Buffer.concat(this.#recent))
    this.#recent = []
  }
}

interface ZipEntry {
  readonly name: Buffer
  readonly method: number
  /** Milliseconds since 1970. */
  readonly time: number
  readonly crc: number
}

interface Sizes {
  readonly packed: number
  readonly unpacked: number
}

/** What local and directory headers share: from the version needed on, up to the length of the name. */
function common({ name, method, time, crc }: ZipEntry, { packed, unpacked }: Sizes, zip64: boolean): Buffer {
  const bytes = Buffer.alloc(24)
  bytes.writeUInt16LE(zip64 ? VERSION.zip64 : VERSION.plain, 0)
  bytes.writeUInt16LE(FLAGS, 2)
  bytes.writeUInt16LE(method, 4)
  bytes.writeUInt32LE(dosTime(time), 6)
  bytes.writeUInt32LE(crc, 10)
  bytes.writeUInt32LE(packed, 14)
  bytes.writeUInt32LE(unpacked, 18)
  bytes.writeUInt16LE(name.length, 22)
  return bytes
}

function localHeader(entry: ZipEntry, sizes: Sizes): Buffer {
  return Buffer.concat([
    Buffer.from('PK\u0003\u0004'),
    common(entry, sizes, false),
    Buffer.alloc(2),
    entry.name,
  ])
}

function directoryHeader(entry: ZipEntry, sizes: Sizes, offset: number): Buffer {
  const far = offset >= FULL_32
  const start = Buffer.from('PK\u0001\u0002\u0000\u0003', 'latin1')
  start.writeUInt8(far ? VERSION.zip64 : VERSION.plain, 4)
  const end = Buffer.alloc(16)
  // A plain file that its owner may change and all may read, as Unix has it.
  end.writeUInt32LE(0o100644 * 0x10000, 8)
  end.writeUInt32LE(far ? FULL_32 : offset, 12)
  const extra = Buffer.alloc(far ? 12 : 0)
  if (far) {
    extra.writeUInt16LE(1, 0)
    extra.writeUInt16LE(8, 2)
    extra.writeBigUInt64LE(BigInt(offset), 4)
  }
  end.writeUInt16LE(extra.length, 0)
  return Buffer.concat([start, common(entry, sizes, far), end, entry.name, extra])
}

/** The end of the archive, in the larger form too where the plain one has no room. */
function ending(count: number, start: number, end: number): Buffer {
  const plain = Buffer.alloc(22)
  plain.write('PK\u0005\u0006', 'latin1')
  plain.writeUInt16LE(Math.min(count, FULL_16), 8)
  plain.writeUInt16LE(Math.min(count, FULL_16), 10)
  plain.writeUInt32LE(Math.min(end - start, FULL_32), 12)
  plain.writeUInt32LE(Math.min(start, FULL_32), 16)
  if (count < FULL_16 && end < FULL_32) return plain
  const large = Buffer.alloc(56)
  large.write('PK\u0006\u0006', 'latin1')
  large.writeBigUInt64LE(44n, 4)
  large.writeUInt16LE(VERSION.zip64, 12)
  large.writeUInt16LE(VERSION.zip64, 14)
  large.writeBigUInt64LE(BigInt(count), 24)
  large.writeBigUInt64LE(BigInt(count), 32)
  large.writeBigUInt64LE(BigInt(end - start), 40)
  large.writeBigUInt64LE(BigInt(start), 48)
  const locator = Buffer.alloc(20)
  locator.write('PK\u0006\u0007', 'latin1')
  locator.writeBigUInt64LE(BigInt(end), 8)
  locator.writeUInt32LE(1, 16)
  return Buffer.concat([large, locator, plain])
}

/**
 * A time as zips have it: two seconds long, from 1980 to 2107; in UTC, so that it is the same wherever it is written.
 */
function dosTime(time: number): number {
  const date = new Date(Math.min(Math.max(time, Date.UTC(1980)), Date.UTC(2107, 11, 31)))
  const days = ((date.getUTCFullYear() - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate()
  const seconds = (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1)
  return days * 0x10000 + seconds
}
