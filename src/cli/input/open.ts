/** Opens any input: a file, a directory, a zip or standard input. */

import { createReadStream } from 'node:fs'
import { open, readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { basename as baseOf, dirname as folderOf } from 'node:path/posix'
import { FileError, fromFileSystem, rejectRead } from '../failure.ts'
import type { Io } from '../print/io.ts'
import {
  asBuffer,
  type Chunks,
  findDocument,
  isSpace,
  OPEN_BRACE,
  type Piece,
  splitArray,
  splitLines,
} from './split.ts'
import type { FileTree } from './zip.ts'

/** How a file is divided, by its extension, else by its first characters. */
export type InputForm = 'lines' | 'array' | 'document' | 'directory' | 'zip'

interface Opened {
  readonly form: InputForm
  readonly pieces: AsyncIterable<Piece[]>
  /** The files of a persisted conversation besides its events; null for a plain file. */
  readonly sidecarFiles: SidecarFiles | null
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf])
const OPEN_BRACKET = 0x5b

/** The first bytes of a zip: its first file, or the end of an empty one. */
const ZIP = [Buffer.from('PK\u0003\u0004'), Buffer.from('PK\u0005\u0006')]

const CHUNK = 1 << 20

const OTHER_FORMS: readonly { readonly start: Buffer; readonly what: string }[] = [
  { start: Buffer.from('SQLite format 3\0'), what: 'a SQLite database: use --db' },
  { start: Buffer.from([0x1f, 0x8b]), what: 'compressed with gzip: unpack it first' },
  { start: Buffer.from('PK\u0003\u0004'), what: 'a zip: pass it as a file, not on standard input' },
  { start: Buffer.from([0xff, 0xfe]), what: 'UTF-16 text: save it as UTF-8' },
  { start: Buffer.from([0xfe, 0xff]), what: 'UTF-16 text: save it as UTF-8' },
]

const DETECTION_BYTES = 16

/**
 * Opens a file, a directory, a zip or, for `-`, standard input.
 * @throws FileError when it does not exist, cannot be read, or has another format.
 */
export async function openInput(name: string, io: Pick<Io, 'stdin'>): Promise<Opened> {
  if (name === '-') return openText('', io.stdin)
  const isDirectory = await stat(name).then((result) => result.isDirectory(), rejectRead())
  if (isDirectory) return openDirectory(name)
  if (!(await isZip(name))) return openText(extname(name).toLowerCase(), fileChunks(name))
  const tree = await (await import('./zip.ts')).openZip(name)
  const hasSessions = tree.paths.some((path) => /\.jsonl?$/i.test(path))
  const hint = hasSessions ? '; zips of sessions are not read: unpack it, and pass the files' : ''
  const empty = new FileError('no_events', `the zip contains no event-NNNNN-<id>.json${hint}`)
  return openTree('zip', tree, null, () => empty)
}

async function openText(extension: string, source: Chunks): Promise<Opened> {
  const { iterator, head, first } = await readStart(source)
  const other = OTHER_FORMS.find(({ start }) => head.subarray(0, start.length).equals(start))
  if (other !== undefined) {
    await iterator.return?.()
    throw new FileError('not_json', `is ${other.what}`)
  }
  if (extension === '.json' && first !== OPEN_BRACKET)
    return { form: 'document', pieces: wholeOf(follow([head], iterator)), sidecarFiles: null }
  if (extension !== '.jsonl' && first === OPEN_BRACKET)
    return { form: 'array', pieces: splitArray(follow([head], iterator)), sidecarFiles: null }
  const mayBeDocument = first === OPEN_BRACKET || first === OPEN_BRACE
  const { read, document } = mayBeDocument
    ? await findDocument(head, iterator)
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

/** Whether a file is all white space; false for an unreadable one, whose error is reported later. */
export async function isBlankFile(name: string): Promise<boolean> {
  try {
    const { iterator, first } = await readStart(fileChunks(name))
    await iterator.return?.()
    return first === null
  } catch {
    return false
  }
}

async function* wholeOf(chunks: Chunks): AsyncIterableIterator<Piece[]> {
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(chunk)
  yield [{ line: 1, bytes: Buffer.concat(parts) }]
}

async function isZip(name: string): Promise<boolean> {
  if (extname(name).toLowerCase() === '.zip') return true
  // A pipe can be read only once.
  if (!(await stat(name)).isFile()) return false
  const file = await open(name).catch(rejectRead())
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

interface Begun {
  readonly iterator: AsyncIterator<Uint8Array>
  readonly head: Buffer
  readonly first: number | null
}

async function readStart(source: Chunks): Promise<Begun> {
  const iterator = source[Symbol.asyncIterator]()
  let head: Buffer = Buffer.alloc(0)
  let first: number | undefined
  for (let done = false; !done && first === undefined;) {
    const next = await iterator.next()
    done = next.done === true
    if (next.done !== true)
      head = head.length === 0 ? asBuffer(next.value) : Buffer.concat([head, asBuffer(next.value)])
    // The first bytes may arrive in pieces.
    if (!done && head.length < DETECTION_BYTES) continue
    const text = head.subarray(0, BOM.length).equals(BOM) ? head.subarray(BOM.length) : head
    first = text.find((byte) => !isSpace(byte))
    if (done || first !== undefined) head = text
  }
  return { iterator, head, first: first ?? null }
}

/** Yields the items already read from an iterator, then its remaining ones. */
export async function* follow<T>(read: readonly T[], iterator: AsyncIterator<T>): AsyncIterableIterator<T> {
  try {
    yield* read
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
  } finally {
    // A reader that stops early must not leave the source open, or the process would wait for it.
    await iterator.return?.()
  }
}

/** The documents of a conversation: two of agent servers, and one for the fields that they lack. */
const DOCUMENTS = ['meta.json', 'base_state.json', 'colloquy.json'] as const

export type DocumentName = (typeof DOCUMENTS)[number]

export interface SidecarFiles {
  /** Name of its folder, which agent servers name by the conversation's id; null for none. */
  readonly folder: string | null
  readonly documents: Readonly<Partial<Record<DocumentName, Buffer>>>
  readonly ignored: readonly string[]
}

/** Agent servers write `event-00000-<id>.json`, the hosted service `event_000000_<id>.json`. */
const EVENT_FILE = /^event([-_])(\d{5}\d*)\1.+\.json$/

const SERVER_FILES = new Set(['events', 'owner_lease.json', '.owner_lease.lock', '.eventlog.lock'])

function eventNumber(name: string): number | null {
  const number = EVENT_FILE.exec(name)?.[2]
  return number === undefined ? null : Number(number)
}

const isDocument = (name: string): name is DocumentName => (DOCUMENTS as readonly string[]).includes(name)

const isKnown = (name: string): boolean =>
  isDocument(name) || SERVER_FILES.has(name) || eventNumber(name) !== null

const BATCH = { files: 64, bytes: 1 << 20 }

interface EventFile {
  readonly line: number
  readonly path: string
}

async function openDirectory(directory: string): Promise<Opened> {
  const names = await namesIn(directory)
  const inner = names.includes('events') ? await namesIn(join(directory, 'events')).catch(noneOfFile) : []
  const tree = {
    paths: [...names, ...inner.map((name) => `events/${name}`)],
    read: async (path: string) => await readFile(join(directory, path)).catch(rejectRead(baseOf(path))),
  }
  const path = resolve(directory)
  const folder = basename(path) === 'events' ? basename(dirname(path)) : basename(path)
  return openTree('directory', tree, folder, () => noEventsIn(directory))
}

async function namesIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(rejectRead())
  return names.toSorted()
}

function noneOfFile(error: unknown): string[] {
  if (error instanceof FileError && error.code === 'not_found') return []
  throw error
}

async function noEventsIn(directory: string): Promise<FileError> {
  const sessions = (await sessionFilesIn(directory)) ?? []
  const why =
    sessions.length === 0
      ? 'the directory contains no event-NNNNN-<id>.json, nor does its subfolder events, nor a session (.jsonl or .json) to import'
      : sessions.length === 1
        ? 'the directory contains a session file; pass the file, or `colloquy import` the directory'
        : `the directory contains ${sessions.length} session files; pass the files, or \`colloquy import\` them`
  return new FileError('no_events', why)
}

function conversationFolderOf(path: string): string {
  const folder = folderOf(path)
  return baseOf(folder) === 'events' ? folderOf(folder) : folder
}

/**
 * Opens the conversation in a tree of files: event files, possibly in a subfolder `events`, and the documents
 * next to them.
 * @throws FileError when it contains none, or several.
 */
async function openTree(
  form: 'directory' | 'zip',
  tree: FileTree,
  name: string | null,
  noEvents: () => FileError | Promise<FileError>,
): Promise<Opened> {
  const all = tree.paths.filter((path) => eventNumber(baseOf(path)) !== null)
  // A conversation without events still has its documents.
  const folders = new Set(
    all.length > 0
      ? all.map(conversationFolderOf)
      : tree.paths.filter((path) => isDocument(baseOf(path))).map(folderOf),
  )
  if (folders.size > 1)
    throw new FileError(
      'several_conversations',
      `the zip contains ${folders.size} folders with conversations: unpack it and import them one by one`,
    )
  const [folder = '.'] = folders
  const documents: Partial<Record<DocumentName, Buffer>> = {}
  for (const path of tree.paths) {
    const document = baseOf(path)
    if (folderOf(path) === folder && isDocument(document)) documents[document] = await tree.read(path)
  }
  if (all.length === 0 && Object.keys(documents).length === 0) throw await noEvents()
  const isDirect = all.some((path) => folderOf(path) === folder)
  const events = all
    .filter((path) => !isDirect || folderOf(path) === folder)
    .map((path) => ({ path, line: eventNumber(baseOf(path)) ?? 0 }))
    .toSorted((a, b) => a.line - b.line || (a.path < b.path ? -1 : 1))
  const ignored = tree.paths.filter((path) => !isKnown(baseOf(path)))
  const sidecarFiles = { folder: name ?? (folder === '.' ? null : baseOf(folder)), documents, ignored }
  return { form, pieces: readEvents(tree, events), sidecarFiles }
}

async function* readEvents(tree: FileTree, events: readonly EventFile[]): AsyncIterableIterator<Piece[]> {
  let batch: Piece[] = []
  let size = 0
  for (let from = 0; from < events.length; from += BATCH.files) {
    const some = events.slice(from, from + BATCH.files)
    const read = await Promise.all(
      some.map(async ({ line, path }) => ({ line, bytes: await tree.read(path) })),
    )
    batch.push(...read)
    for (const { bytes } of read) size += bytes.length
    if (size < BATCH.bytes) continue
    yield batch
    batch = []
    size = 0
  }
  if (batch.length > 0) yield batch
}

export interface SessionFile {
  readonly file: string
  readonly name: string
}

/**
 * Possible session files of a folder and its subfolders, sorted by name; null for a file, or a folder with
 * events directly or in `events`.
 */
export async function sessionFilesIn(name: string): Promise<SessionFile[] | null> {
  const isFolder = await stat(name).then(
    (result) => result.isDirectory(),
    () => false,
  )
  if (!isFolder) return null
  const entries = await readdir(name, { recursive: true }).catch((): string[] => [])
  const direct = entries.filter((file) => !/[\\/]/.test(file))
  const isConversation =
    direct.some((file) => eventNumber(file) !== null || isDocument(file)) ||
    (direct.includes('events') &&
      entries.some((file) => eventNumber(file.split(/[\\/]/).at(-1) ?? '') !== null))
  if (isConversation) return null
  const files = entries.filter((file) => ['.jsonl', '.json'].includes(extname(file).toLowerCase()))
  if (files.length === 0) return null
  const groups = Map.groupBy(files, nameOf)
  return files.toSorted().map((file) => {
    const isAlone = groups.get(nameOf(file))?.length === 1
    const path = file.slice(0, -extname(file).length).replaceAll(/[\\/]/g, '-')
    return { file: join(name, file), name: isAlone ? nameOf(file) : path }
  })
}

/** Only files with equal names are named by their paths. */
const nameOf = (file: string): string => basename(file.replaceAll('\\', '/'), extname(file))
