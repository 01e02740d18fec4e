/** Reads and writes zips. Input is hostile: sizes, counts, names and checksums are checked. */

import { readFile, stat, writeFile } from 'node:fs/promises'
import { crc32, deflateRawSync } from 'node:zlib'
import { inflateSync, Zip, ZipPassThrough } from 'fflate'
import { FileError, rejectRead } from '../failure.ts'

export interface FileTree {
  readonly paths: readonly string[]
  readonly read: (path: string) => Promise<Buffer>
}

const MAX_ARCHIVE_BYTES = 1 << 30

/** Maximum size of one unpacked file: half of the longest string of the engine. */
const MAX_FILE_BYTES = 1 << 28

/** Maximum unpacked size of an archive: this many bytes, or this many times its own size if that is more. */
const MAX_UNPACKED = { bytes: 1 << 30, ratio: 100 }

const SIGNATURES = { file: 0x04034b50, entry: 0x02014b50, end64: 0x06064b50, locator64: 0x07064b50 }
const METHODS = { stored: 0, deflated: 8 }
const MAX_16 = 0xffff
const MAX_32 = 0xffffffff
const FLUSH_BYTES = 2 ** 16

interface Entry {
  readonly path: string
  readonly isEncrypted: boolean
  readonly method: number
  readonly crc: number
  readonly packed: number
  readonly unpacked: number
  readonly offset: number
}

/**
 * Opens a zip. Nothing is ever written under the names in it.
 * @throws FileError when it is not a zip, is damaged, or would unpack to too much.
 */
export async function openZip(file: string): Promise<FileTree> {
  const { size } = await stat(file).catch(rejectRead())
  if (size > MAX_ARCHIVE_BYTES)
    throw new FileError(
      'not_a_zip',
      `the zip is larger than ${MAX_ARCHIVE_BYTES >> 20} MiB; unpack it, and pass the files`,
    )
  const zip = await readFile(file).catch(rejectRead())
  const entries = attempt('the zip', () => entriesOf(zip))
  const sum = (field: 'packed' | 'unpacked') =>
    [...entries.values()].reduce((all, entry) => all + entry[field], 0)
  // Small archives can fill a disk with files that share their bytes, or bytes that unpack to thousands.
  if (sum('packed') > size || sum('unpacked') > Math.max(MAX_UNPACKED.bytes, MAX_UNPACKED.ratio * size))
    throw new FileError(
      'not_a_zip',
      'the zip expands to too much data for its size; unpack it, and pass the files',
    )
  return {
    paths: [...entries.keys()],
    read: async (path) => {
      const entry = entries.get(path)
      if (entry === undefined) throw new FileError('not_found', `${path}: no such file in the zip`)
      if (entry.unpacked > MAX_FILE_BYTES)
        throw new FileError('unreadable', `${path}: larger than ${MAX_FILE_BYTES >> 20} MiB`)
      return attempt(`${path} in the zip`, () => unpack(zip, entry))
    },
  }
}

/** The directory of a zip. Sizes and offsets have 32 bits, because a larger zip is not read. */
function entriesOf(zip: Buffer): Map<string, Entry> {
  const end = zip.lastIndexOf('PK\u0005\u0006', zip.length - 22, 'latin1')
  if (end < 0) throw new Error('its end is missing')
  let count = zip.readUInt16LE(end + 10)
  let position = zip.readUInt32LE(end + 16)
  if (end >= 20 && zip.readUInt32LE(end - 20) === SIGNATURES.locator64) {
    const end64 = Number(zip.readBigUInt64LE(end - 12))
    count = Number(zip.readBigUInt64LE(end64 + 32))
    position = Number(zip.readBigUInt64LE(end64 + 48))
  }
  const entries = new Map<string, Entry>()
  for (; count > 0; count -= 1) {
    if (zip.readUInt32LE(position) !== SIGNATURES.entry) throw new Error('its directory is damaged')
    const nameEnd = position + 46 + zip.readUInt16LE(position + 28)
    const path = zip.toString('utf8', position + 46, nameEnd)
    if (path.startsWith('/') || /^[a-z]:/i.test(path)) throw new Error(`absolute path: ${path}`)
    if (path.split(/[\\/]/).includes('..')) throw new Error(`invalid relative path: ${path}`)
    if (entries.has(path)) throw new Error('it holds two files of one name')
    const [crc = 0, packed = 0, unpacked = 0, offset = 0] = [16, 20, 24, 42].map((field) =>
      zip.readUInt32LE(position + field),
    )
    if ([packed, unpacked, offset].includes(MAX_32))
      throw new Error('its sizes have 64 bits; unpack it, and pass the files')
    const isEncrypted = (zip.readUInt16LE(position + 8) & 1) === 1
    const method = zip.readUInt16LE(position + 10)
    if (!path.endsWith('/')) entries.set(path, { path, isEncrypted, method, crc, packed, unpacked, offset })
    position = nameEnd + zip.readUInt16LE(position + 30) + zip.readUInt16LE(position + 32)
  }
  return entries
}

function unpack(zip: Buffer, { isEncrypted, method, crc, packed, unpacked, offset }: Entry): Buffer {
  if (isEncrypted) throw new Error('it is encrypted')
  if (method !== METHODS.stored && method !== METHODS.deflated)
    throw new Error(`unsupported compression method ${method}`)
  if (zip.readUInt32LE(offset) !== SIGNATURES.file) throw new Error('its header is damaged')
  const start = offset + 30 + zip.readUInt16LE(offset + 26) + zip.readUInt16LE(offset + 28)
  const body = zip.subarray(start, start + packed)
  // Never more than the directory specifies: the rest does not fit into the output.
  const bytes = method === METHODS.stored ? body : inflateSync(body, { out: new Uint8Array(unpacked) })
  if (bytes.length !== unpacked) throw new Error('not enough bytes')
  if (crc32(bytes) !== crc) throw new Error('its checksum is wrong')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

function attempt<T>(what: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n', 1)[0] : 'unknown'
    throw new FileError('not_a_zip', `${what} cannot be read: ${why}`)
  }
}

export interface NewFile {
  readonly path: string
  readonly text: string
  /** Milliseconds since 1970. */
  readonly time: number
}

/** Writes files into a folder of a new zip; memory holds one file and all names. */
export const writeZip = (path: string, folder: string, files: AsyncIterable<NewFile>): Promise<void> =>
  writeFile(path, zipped(folder, files), { flag: 'wx' })

/** Compresses a file at once: the library's stream allocates half a megabyte for each file. */
class DeflatedFile extends ZipPassThrough {
  override readonly compression = METHODS.deflated

  override process(bytes: Uint8Array, isLast: boolean): void {
    this.ondata(null, deflateRawSync(bytes), isLast)
  }
}

async function* zipped(folder: string, files: AsyncIterable<NewFile>): AsyncIterableIterator<Buffer> {
  const chunks: Uint8Array[] = []
  let [size, written, count] = [0, 0, 0]
  const zip = new Zip((error, chunk) => {
    if (error !== null) throw error
    chunks.push(chunk)
    size += chunk.length
  })
  const flush = (): Buffer => {
    written = size
    if (size > MAX_32)
      throw new FileError('unwritable', 'a zip cannot be larger than 4 GiB; use --format jsonl')
    return Buffer.concat(chunks.splice(0))
  }
  for await (const { path: name, text, time } of files) {
    const about = { mtime: zipTime(time), os: 3, attrs: 0o100644 * 0x10000 }
    const entry = Object.assign(new DeflatedFile(`${folder}/${name}`), about)
    zip.add(entry)
    entry.push(Buffer.from(text), true)
    count += 1
    if (size - written >= FLUSH_BYTES) yield flush()
  }
  yield flush()
  const start = size
  zip.end()
  const directory = flush()
  yield count < MAX_16 ? directory : withLargeCount(directory, count, start)
}

/** The library counts files with 16 bits: puts the end with 64 bits before its own. */
function withLargeCount(directory: Buffer, count: number, start: number): Buffer {
  const length = directory.length - 22
  const plain = directory.subarray(length)
  plain.fill(0xff, 8, 12)
  const large = Buffer.alloc(56 + 20)
  large.writeUInt32LE(SIGNATURES.end64, 0)
  large.writeBigUInt64LE(44n, 4)
  large.writeUInt16LE(45, 12)
  large.writeUInt16LE(45, 14)
  for (const [index, value] of [count, count, length, start].entries())
    large.writeBigUInt64LE(BigInt(value), 24 + index * 8)
  large.writeUInt32LE(SIGNATURES.locator64, 56)
  large.writeBigUInt64LE(BigInt(start + length), 64)
  large.writeUInt32LE(1, 72)
  return Buffer.concat([directory.subarray(0, length), large, plain])
}

/** The library writes local time, from 1980 to 2099: shifted, archives are the same in every time zone. */
function zipTime(time: number): number {
  const date = new Date(Math.min(Math.max(time, Date.UTC(1980)), Date.UTC(2099, 11, 31)))
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  return new Date(year, month, day, date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()).getTime()
}
