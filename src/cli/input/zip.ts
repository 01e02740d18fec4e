/** Reads and writes zips. The names in a zip are never used as paths of files to write. */

import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { crc32, deflateRawSync } from 'node:zlib'
import { unzipSync, Zip, ZipPassThrough } from 'fflate'
import { FileError } from '../failure.ts'

export interface FileTree {
  readonly paths: readonly string[]
  readonly read: (path: string) => Promise<Buffer>
}

/** Maximum number of files in a new zip. More files would need the ZIP64 format. */
const MAX_FILES = 65_535

/** Maximum unpacked bytes of a zip, because all its files are in memory together. */
const MAX_BYTES = 1 << 30

/** Bytes counted for each file in addition to its size, because even an empty file needs memory. */
const BYTES_PER_FILE = 64

/** Unpacks the needed files into memory. @throws FileError for a damaged zip, or one that is too large. */
export async function openZip(file: string, isNeeded: (path: string) => boolean): Promise<FileTree> {
  const zip = await readFile(file)
  const checksums = new Map<string, number>()
  let bytes = 0
  let entry = 0
  const filter = ({ name, originalSize }: { readonly name: string; readonly originalSize: number }) => {
    checksums.set(name, zip.readUInt32LE(entry + 16))
    entry += 46 + [28, 30, 32].reduce((sum, field) => sum + zip.readUInt16LE(entry + field), 0)
    bytes += BYTES_PER_FILE + (isNeeded(name) ? originalSize : 0)
    if (bytes > MAX_BYTES) throw new Error('it unpacks to more than 1 GiB; unpack it, and pass the directory')
    return isNeeded(name)
  }
  try {
    entry = directoryIn(zip)
    const files = new Map(Object.entries(unzipSync(zip, { filter })))
    for (const [path, content] of files)
      if (crc32(content) !== checksums.get(path)) throw new Error(`${path} is damaged`)
    const paths = [...checksums.keys()].filter((name) => !name.endsWith('/'))
    return { paths, read: async (path) => Buffer.from(files.get(path) ?? []) }
  } catch (error) {
    throw new FileError('not_a_zip', `the zip cannot be read: ${(error as Error).message}`)
  }
}

/** Returns the position of the list of files. The list has the checksums, which the zip library ignores. */
function directoryIn(zip: Buffer): number {
  const end = zip.lastIndexOf('PK\u0005\u0006', zip.length - 22, 'latin1')
  if (end < 0) throw new Error('its end is missing')
  const isLarge = zip.toString('latin1', Math.max(end - 20, 0), end - 16) === 'PK\u0006\u0007'
  if (!isLarge) return zip.readUInt32LE(end + 16)
  return Number(zip.readBigUInt64LE(Number(zip.readBigUInt64LE(end - 12)) + 48))
}

export interface NewFile {
  readonly path: string
  readonly text: string
}

/** Settings for files of less than 2 KiB, because zlib's defaults reserve 300 KB per call. */
const SMALL = { windowBits: 12, memLevel: 5, chunkSize: 2_048 }

/** Compresses a file in one call: the zip library's stream allocates half a megabyte per file. */
class DeflatedFile extends ZipPassThrough {
  override readonly compression = 8

  override process(bytes: Uint8Array, isLast: boolean): void {
    this.ondata(null, deflateRawSync(bytes, bytes.length < 2_048 ? SMALL : {}), isLast)
  }
}

/** Writes a zip. Only one file, and the names of all files, are in memory. */
export const writeZip = (path: string, folder: string, files: AsyncIterable<NewFile>): Promise<void> =>
  pipeline(zipped(folder, files), createWriteStream(path, { flags: 'wx' }))

async function* zipped(folder: string, files: AsyncIterable<NewFile>): AsyncIterableIterator<Uint8Array> {
  const chunks: Uint8Array[] = []
  const zip = new Zip((error, chunk) => {
    if (error !== null) throw error
    chunks.push(chunk)
  })
  // The earliest date of a zip, so that zips of the same log are equal. The events contain their own times.
  const mtime = new Date(1980, 0, 1)
  let [count, bytes] = [0, 0]
  for await (const { path, text } of files) {
    const content = Buffer.from(text)
    count += 1
    bytes += BYTES_PER_FILE + content.length
    if (count > MAX_FILES || bytes > MAX_BYTES)
      throw new FileError('unwritable', 'the log is too long for a zip; use --format directory')
    const entry = Object.assign(new DeflatedFile(`${folder}/${path}`), { mtime })
    zip.add(entry)
    entry.push(content, true)
    yield Buffer.concat(chunks.splice(0))
  }
  zip.end()
  yield Buffer.concat(chunks.splice(0))
}
