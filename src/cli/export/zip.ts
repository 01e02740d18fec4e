/**
 * Writes a zip one file at a time; memory holds one file and the names of all.
 *
 * Written here because the libraries at hand do not scale with the number of files: yazl looks at all of them for
 * each, and zip-stream and zip.js hold ten kilobytes for each at the end. Reading, where the input is hostile, is left
 * to a library.
 */

import { type FileHandle, open } from 'node:fs/promises'
import { crc32, deflateRawSync } from 'node:zlib'
import type { ConversationFile } from './files.ts'

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
const BATCH = 1 << 20

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
    if (this.#size >= BATCH) await this.flush()
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
