/** Opens any input: a file, a directory, a zip or standard input. */

import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { basename as baseOf, dirname as folderOf } from 'node:path/posix'
import type { JsonValue } from '../../event/index.ts'
import { FileError, fromFileSystem, rejectRead } from '../failure.ts'
import type { Io } from '../print/io.ts'
import type { FileTree } from './zip.ts'

/** How a file is divided, by its extension, else by its first characters. */
type InputForm = 'lines' | 'array' | 'document' | 'directory' | 'zip'

export interface Opened {
  readonly form: InputForm
  readonly pieces: AsyncIterable<Piece[]>
  /** The files of a persisted conversation besides its events; null for a plain file. */
  readonly sidecarFiles: SidecarFiles | null
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf])

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
  if (name === '-') return openText('', await readStart(io.stdin))
  if ((await stat(name).catch(rejectRead())).isDirectory()) return openDirectory(name)
  const extension = extname(name).toLowerCase()
  const begun = await readStart(fileChunks(name))
  const isZip = extension === '.zip' || ZIP.some((start) => begun.head.subarray(0, 4).equals(start))
  if (!isZip) return openText(extension, begun)
  await begun.iterator.return?.()
  const tree = await (await import('./zip.ts')).openZip(name)
  const hasSessions = tree.paths.some((path) => /\.jsonl?$/i.test(path))
  const hint = hasSessions ? '; zips of sessions are not read: unpack it, and pass the files' : ''
  const empty = new FileError('no_events', `the zip contains no event-NNNNN-<id>.json${hint}`)
  return openTree('zip', tree, null, () => empty)
}

const opened = (form: InputForm, pieces: AsyncIterable<Piece[]>): Opened => {
  return { form, pieces, sidecarFiles: null }
}

async function openText(extension: string, { iterator, head, first }: Begun): Promise<Opened> {
  const other = OTHER_FORMS.find(({ start }) => head.subarray(0, start.length).equals(start))
  if (other !== undefined) {
    await iterator.return?.()
    throw new FileError('not_json', `is ${other.what}`)
  }
  const isArray = first === OPEN_BRACKET
  if (extension === '.json' && !isArray) return opened('document', wholeOf(follow([head], iterator)))
  const isDocument = isArray ? extension === '.jsonl' : first === OPEN_BRACE
  const { read, document } = isDocument
    ? await findDocument(head, iterator)
    : { read: [head], document: null }
  if (isArray && (!isDocument || document !== null))
    return opened('array', splitArray(follow(read, iterator)))
  return opened('lines', document === null ? splitLines(follow(read, iterator)) : Readable.from([[document]]))
}

async function* wholeOf(chunks: Chunks): AsyncIterableIterator<Piece[]> {
  const parts: Buffer[] = []
  for await (const chunk of chunks) parts.push(chunk)
  yield [{ line: 1, bytes: Buffer.concat(parts) }]
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

async function* fileChunks(name: string): AsyncIterableIterator<Buffer> {
  try {
    yield* createReadStream(name, { highWaterMark: CHUNK }) as AsyncIterable<Buffer>
  } catch (error) {
    throw fromFileSystem(error)
  }
}

interface Begun {
  readonly iterator: AsyncIterator<Buffer>
  readonly head: Buffer
  readonly first: number | null
}

async function readStart(source: AsyncIterable<Uint8Array>): Promise<Begun> {
  const iterator = buffersOf(source)
  let head: Buffer = Buffer.alloc(0)
  let first: number | undefined
  for (let done = false; !done && first === undefined;) {
    const next = await iterator.next()
    done = next.done === true
    if (next.done !== true) head = head.length === 0 ? next.value : Buffer.concat([head, next.value])
    // The first bytes may arrive in pieces.
    if (!done && head.length < DETECTION_BYTES) continue
    const text = head.subarray(0, BOM.length).equals(BOM) ? head.subarray(BOM.length) : head
    first = text.find((byte) => !isSpace(byte))
    if (done || first !== undefined) head = text
  }
  return { iterator, head, first: first ?? null }
}

async function* buffersOf(source: AsyncIterable<Uint8Array>): AsyncIterableIterator<Buffer> {
  for await (const bytes of source)
    yield Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
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

/** JSON text of an event in its source. */
export interface Piece {
  /** Line from 1; array index plus 1; or the number in a file's name. */
  readonly line: number
  readonly bytes: Buffer
}

type Chunks = AsyncIterable<Buffer>

const SPACES: readonly number[] = Array.from(' \t\n\r', (char) => char.charCodeAt(0))

const isSpace = (byte: number): boolean => SPACES.includes(byte)

export function valueOf(bytes: Buffer | string): JsonValue | undefined {
  try {
    return JSON.parse(bytes.toString('utf8')) as JsonValue
  } catch {
    return undefined
  }
}

/** A piece that may span chunks; its earlier parts are copied once. */
const joined = (parts: Buffer[], last: Buffer): Buffer =>
  parts.length === 0 ? last : Buffer.concat([...parts.splice(0), last])

/**
 * Splits a stream into lines (LF or CRLF), one chunk at a time; blank lines are counted and skipped. Memory
 * for one chunk and one line.
 */
async function* splitLines(chunks: Chunks): AsyncIterableIterator<Piece[]> {
  const parts: Buffer[] = []
  let line = 0
  for await (const chunk of chunks) {
    const pieces: Piece[] = []
    let from = 0
    for (let index = chunk.indexOf('\n'); index >= 0; index = chunk.indexOf('\n', from)) {
      const bytes = joined(parts, chunk.subarray(from, index))
      from = index + 1
      line += 1
      if (!bytes.every(isSpace)) pieces.push({ line, bytes })
    }
    parts.push(chunk.subarray(from))
    if (pieces.length > 0) yield pieces
  }
  const last = joined(parts, Buffer.alloc(0))
  if (!last.every(isSpace)) yield [{ line: line + 1, bytes: last }]
}

const [QUOTE, BACKSLASH, COMMA, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] =
  Buffer.from('"\\,[]{}')

/**
 * Splits an array into elements, one chunk at a time. It follows only brackets and strings (the reader checks
 * elements), so a large array is never one text in memory.
 * @throws FileError `not_an_array` or `not_json`.
 */
async function* splitArray(chunks: Chunks): AsyncIterableIterator<Piece[]> {
  const parts: Buffer[] = []
  // Nesting: 0 before the array, 1 between its elements, -1 after it.
  let depth = 0
  let inString = false
  let escaped = false
  let count = 0
  for await (const chunk of chunks) {
    const pieces: Piece[] = []
    let from = 0
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index] as number
      if (inString) {
        if (escaped) escaped = false
        else if (byte === BACKSLASH) escaped = true
        else if (byte === QUOTE) inString = false
      } else if (depth <= 0) {
        if (isSpace(byte)) continue
        if (depth < 0) throw new FileError('not_json', 'the file has content after the end of the array')
        depth = 1
        from = index + 1
      } else if (byte === QUOTE) inString = true
      else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth += 1
      else if (depth === 1 && (byte === COMMA || byte === CLOSE_BRACKET)) {
        const bytes = joined(parts, chunk.subarray(from, index))
        from = index + 1
        if (byte === CLOSE_BRACKET) depth = -1
        if (byte === CLOSE_BRACKET && count === 0 && bytes.every(isSpace)) continue
        count += 1
        pieces.push({ line: count, bytes })
      } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
        depth -= 1
        if (depth === 0)
          throw new FileError('not_json', `element ${count + 1} of the array has an unmatched bracket`)
      }
    }
    if (depth > 0) parts.push(chunk.subarray(from))
    if (pieces.length > 0) yield pieces
  }
  if (depth > 0)
    throw new FileError('not_json', `the array is incomplete: the file ends in element ${count + 1}`)
}

/** A longer text is read as lines, because a document is one string, whose length is limited. */
const MAX_DOCUMENT_BYTES = 1 << 28

/**
 * Finds one document in a text that begins as an object or array: all of it, unless its first line is JSON by
 * itself. An object on the first line is a line; an array there is a document if nothing follows. Stops after
 * a first line that is an object; O(length read).
 */
async function findDocument(
  head: Buffer,
  iterator: AsyncIterator<Buffer>,
): Promise<{ readonly read: readonly Buffer[]; readonly document: Piece | null }> {
  const from = head.findIndex((byte) => !isSpace(byte))
  const read = [head]
  let size = head.length
  const readOn = async (isEnough: (chunk: Buffer) => boolean): Promise<boolean> => {
    while (size <= MAX_DOCUMENT_BYTES) {
      const next = await iterator.next()
      if (next.done === true) return true
      read.push(next.value)
      size += next.value.length
      if (isEnough(next.value)) return size <= MAX_DOCUMENT_BYTES
    }
    return false
  }
  const none = { read, document: null }
  if (!head.includes('\n', from) && !(await readOn((chunk) => chunk.includes('\n')))) return none
  const known = Buffer.concat(read).subarray(from)
  const end = known.indexOf('\n')
  const isObject = known[0] === OPEN_BRACE
  if (isObject && valueOf(end < 0 ? known : known.subarray(0, end)) !== undefined) return none
  if (end >= 0 && !(await readOn(() => false))) return none
  const bytes = Buffer.concat(read).subarray(from)
  if (valueOf(bytes) === undefined) return none
  return { read, document: { line: head.subarray(0, from).toString('latin1').split('\n').length, bytes } }
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

/** Number of event files that are read at a time. */
const BATCH = 64

async function openDirectory(directory: string): Promise<Opened> {
  const names = await namesIn(directory)
  const inner = names.includes('events') ? await namesIn(join(directory, 'events')) : []
  const tree = {
    paths: [...names, ...inner.map((name) => `events/${name}`)],
    read: async (path: string) => await readFile(join(directory, path)).catch(rejectRead(baseOf(path))),
  }
  const path = resolve(directory)
  const folder = basename(path) === 'events' ? basename(dirname(path)) : basename(path)
  return openTree('directory', tree, folder, () => noEventsIn(directory))
}

const namesIn = async (directory: string): Promise<string[]> =>
  (await readdir(directory).catch(rejectRead())).toSorted()

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

const conversationFolderOf = (path: string): string => folderOf(path).replace(/(^|\/)events$/, '') || '.'

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

async function* readEvents(
  tree: FileTree,
  events: readonly { readonly line: number; readonly path: string }[],
): AsyncIterableIterator<Piece[]> {
  const read = async ({ line, path }: (typeof events)[number]) => ({ line, bytes: await tree.read(path) })
  for (let from = 0; from < events.length; from += BATCH)
    yield await Promise.all(events.slice(from, from + BATCH).map(read))
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
