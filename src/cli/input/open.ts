/** Opens what the user named, whatever it is: a file, a directory, a zip or standard input. */

import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { FileError, fromFileSystem } from '../failure.ts'
import type { Io } from '../print/io.ts'
import { splitArray } from './array.ts'
import { openDirectory } from './directory.ts'
import { splitLines } from './lines.ts'
import { otherForm, TELLING } from './other-form.ts'
import { asBuffer, type Chunks, isSpace, type Piece } from './piece.ts'
import type { SidecarFiles } from './sidecar-files.ts'
import { lookForDocument, OPEN_BRACE } from './whole.ts'

/** How a file is divided: known by its extension, else by its first characters. */
export type Form = 'lines' | 'array' | 'document' | 'directory' | 'zip'

/** A file about to be read. */
export interface Opened {
  readonly form: Form
  readonly pieces: AsyncIterable<Piece[]>
  /** What stands beside the events of a persisted conversation; null for a plain file. */
  readonly sidecarFiles: SidecarFiles | null
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf])
const OPEN_BRACKET = 0x5b

/** How a zip begins: with its first file, or when it is empty with its end. */
const ZIP = [Buffer.from('PK\u0003\u0004'), Buffer.from('PK\u0005\u0006')]

/** How many bytes are read at a time. */
const CHUNK = 1 << 20

/**
 * Opens a file, a directory, a zip or, for `-`, standard input.
 * @throws FileError when it is not there, cannot be read, is of another form, or is no array where it should be one.
 */
export async function openInput(name: string, io: Pick<Io, 'stdin'>): Promise<Opened> {
  if (name === '-') return openText('', io.stdin)
  const isDirectory = await stat(name).then(
    (found) => found.isDirectory(),
    (error: unknown) => Promise.reject(fromFileSystem(error)),
  )
  if (isDirectory) return { form: 'directory', ...(await openDirectory(name)) }
  if (await isZip(name)) return { form: 'zip', ...(await (await import('./zip.ts')).openZip(name)) }
  return openText(extname(name).toLowerCase(), fileChunks(name))
}

async function openText(extension: string, source: Chunks): Promise<Opened> {
  const { iterator, head, first } = await begin(source)
  const other = otherForm(head)
  if (other !== null) {
    await iterator.return?.()
    throw new FileError('not_json', `is ${other}`)
  }
  if (extension === '.json' && first !== OPEN_BRACKET)
    return { form: 'document', pieces: wholeOf(follow([head], iterator)), sidecarFiles: null }
  if (extension !== '.jsonl' && first === OPEN_BRACKET)
    return { form: 'array', pieces: splitArray(follow([head], iterator)), sidecarFiles: null }
  const mayBeOne = first === OPEN_BRACKET || first === OPEN_BRACE
  const { read, document } = mayBeOne
    ? await lookForDocument(head, iterator)
    : { read: [head], document: null }
  const chunks = follow(read, iterator)
  if (document === null) return { form: 'lines', pieces: splitLines(chunks), sidecarFiles: null }
  return first === OPEN_BRACKET
    ? { form: 'array', pieces: splitArray(chunks), sidecarFiles: null }
    : { form: 'lines', pieces: only(document), sidecarFiles: null }
}

async function* only(piece: Piece): AsyncIterableIterator<Piece[]> {
  yield [piece]
}

/** Whether a file is all white space; one that cannot be read is not: opening it for its events says why. */
export async function isBlank(name: string): Promise<boolean> {
  try {
    const { iterator, first } = await begin(fileChunks(name))
    await iterator.return?.()
    return first === null
  } catch {
    return false
  }
}

/** All of it as one piece. */
async function* wholeOf(chunks: Chunks): AsyncIterableIterator<Piece[]> {
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(chunk)
  yield [{ line: 1, bytes: Buffer.concat(parts) }]
}

async function isZip(name: string): Promise<boolean> {
  if (extname(name).toLowerCase() === '.zip') return true
  // What is no plain file, as a pipe, is read once only.
  if (!(await stat(name)).isFile()) return false
  const file = await open(name).catch((error: unknown) => Promise.reject(fromFileSystem(error)))
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0)
    return bytesRead === 4 && ZIP.some((start) => start.equals(buffer))
  } catch (error) {
    throw fromFileSystem(error)
  } finally {
    await file.close()
  }
}

async function* fileChunks(name: string): AsyncIterableIterator<Uint8Array> {
  try {
    yield* createReadStream(name, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>
  } catch (error) {
    throw fromFileSystem(error)
  }
}

/** A stream of which the first bytes were read. */
interface Begun {
  readonly iterator: AsyncIterator<Uint8Array>
  /** What was read, without a byte order mark. */
  readonly head: Buffer
  /** The first byte that is no white space; null when there is none. */
  readonly first: number | null
}

async function begin(source: Chunks): Promise<Begun> {
  const iterator = source[Symbol.asyncIterator]()
  let head: Buffer = Buffer.alloc(0)
  let first: number | undefined
  for (let done = false; !done && first === undefined;) {
    const next = await iterator.next()
    done = next.done === true
    if (next.done !== true)
      head = head.length === 0 ? asBuffer(next.value) : Buffer.concat([head, asBuffer(next.value)])
    // What tells its form may come in pieces.
    if (!done && head.length < TELLING) continue
    const text = head.subarray(0, BOM.length).equals(BOM) ? head.subarray(BOM.length) : head
    first = text.find((byte) => !isSpace(byte))
    if (done || first !== undefined) head = text
  }
  return { iterator, head, first: first ?? null }
}

async function* follow(
  read: readonly Buffer[],
  iterator: AsyncIterator<Uint8Array>,
): AsyncIterableIterator<Uint8Array> {
  try {
    for (const chunk of read) if (chunk.length > 0) yield chunk
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
  } finally {
    // A reader that stops early must not leave the source open, or the process would wait for it.
    await iterator.return?.()
  }
}
