/** Opens what the user named, whatever it is: a file, a directory, a zip or standard input. */

import { createReadStream } from 'node:fs'
import { open, readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { FileError, fromFileSystem } from '../failure.ts'
import type { Io } from '../print/io.ts'
import {
  type DocumentName,
  DOCUMENTS,
  eventNumber,
  isDocument,
  isKnown,
  type SidecarFiles,
} from './sidecar-files.ts'
import {
  asBuffer,
  type Chunks,
  isSpace,
  lookForDocument,
  OPEN_BRACE,
  type Piece,
  splitArray,
  splitLines,
} from './split.ts'

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

/** How many bytes tell it. */
export const TELLING = 16

const OTHERS: readonly { readonly start: Buffer; readonly what: string }[] = [
  { start: Buffer.from('SQLite format 3\0'), what: 'a SQLite database: use --db' },
  { start: Buffer.from([0x1f, 0x8b]), what: 'compressed with gzip: unpack it first' },
  { start: Buffer.from('PK\u0003\u0004'), what: 'a zip: give it as a file, not on standard input' },
  { start: Buffer.from([0xff, 0xfe]), what: 'UTF-16 text: save it as UTF-8' },
  { start: Buffer.from([0xfe, 0xff]), what: 'UTF-16 text: save it as UTF-8' },
]

/** What a file is that begins so, and what to do about it; null for what may be text. */
export const otherForm = (head: Buffer): string | null =>
  OTHERS.find(({ start }) => head.subarray(0, start.length).equals(start))?.what ?? null

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

/** A file, and what the conversation is called that it becomes where the file itself does not say. */
export interface SessionFile {
  readonly file: string
  readonly name: string
}

/**
 * The files of a folder and its subfolders that may hold sessions, in the order of their names; null for what is no
 * folder, and for one that holds the events of a conversation, in itself or in `events`.
 */
export async function sessionFilesIn(name: string): Promise<SessionFile[] | null> {
  const isFolder = await stat(name).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) return null
  const entries = await readdir(name, { recursive: true }).catch((): string[] => [])
  const own = entries.filter((file) => !/[\\/]/.test(file))
  const isConversation =
    own.some((file) => eventNumber(file) !== null || isDocument(file)) ||
    (own.includes('events') && entries.some((file) => eventNumber(file.split(/[\\/]/).at(-1) ?? '') !== null))
  if (isConversation) return null
  const files = entries.filter((file) => ['.jsonl', '.json'].includes(extname(file).toLowerCase()))
  if (files.length === 0) return null
  const alike = Map.groupBy(files, ownName)
  return files.toSorted().map((file) => {
    const own = ownName(file)
    return { file: join(name, file), name: alike.get(own)?.length === 1 ? own : pathName(file) }
  })
}

/** A file is called the same whether it is named itself or a folder that it is in. */
const ownName = (file: string): string => basename(file.replaceAll('\\', '/'), extname(file))

/** Files of one name may stand in several subfolders. */
const pathName = (file: string): string => file.slice(0, -extname(file).length).replaceAll(/[\\/]/g, '-')
