import { createReadStream } from 'node:fs'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { pipeline, Readable } from 'node:stream'
import zlib from 'node:zlib'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { basename as baseOf, dirname as folderOf } from 'node:path/posix'
import type { JsonValue } from '../../event/index.ts'
import { FileError, rejectRead } from '../failure.ts'
import { asObject } from './documents.ts'
import type { Io } from '../print/io.ts'
import type { FileTree } from './zip.ts'

type InputForm = 'lines' | 'array' | 'document' | 'directory' | 'zip'

export interface Opened {
  readonly form: InputForm
  readonly pieces: AsyncIterable<Piece[]>
  /** The files of a persisted conversation, except its events; null for a plain file. */
  readonly sidecarFiles: SidecarFiles | null
}

/** The JSON text of one event, and its position in the input. */
export interface Piece {
  /** Line number from 1, array index plus 1, or the number in the event file's name. */
  readonly line: number
  readonly bytes: Buffer
}

const ZIP = Buffer.from('PK\u0003\u0004')

/** First bytes of zstd data. Codex compresses rollouts that are older than seven days. */
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

const SQLITE = Buffer.from('SQLite format 3\0')

const OTHER_FORMS: readonly { readonly start: Buffer; readonly what: string }[] = [
  { start: SQLITE, what: 'a SQLite database; use --db' },
  { start: Buffer.from([0x1f, 0x8b]), what: 'compressed with gzip; unpack it first' },
  { start: ZIP, what: 'a zip; pass it as a file, not on standard input' },
  { start: Buffer.from([0xff, 0xfe]), what: 'UTF-16 text; save it as UTF-8' },
  { start: Buffer.from([0xfe, 0xff]), what: 'UTF-16 text; save it as UTF-8' },
]

/** Opens a file, a directory, or `-`. @throws FileError for an unsupported format; file system errors. */
export async function openInput(name: string, io: Pick<Io, 'stdin'>): Promise<Opened> {
  const isFile = name !== '-'
  if (isFile && (await stat(name)).isDirectory()) return openDirectory(name)
  const extension = extensionOf(name).toLowerCase()
  const stored = await begin(isFile ? fileChunks(name) : io.stdin)
  const begun = startsWith(stored, ZSTD) ? await begin(decompress(stored)) : stored
  const other = OTHER_FORMS.find(({ start }) => startsWith(begun, start))
  const isZip = isFile && (extension === '.zip' || other?.start === ZIP)
  if (other === undefined && !isZip) return openText(extension.replace('.zst', ''), begun)
  await begun.rest.return?.()
  if (!isZip) throw new FileError('not_json', `is ${other?.what}`)
  const { openZip } = await import('./zip.ts')
  return openTree('zip', await openZip(name, isNeeded), null)
}

/** Whether a file is all white space; false for an unreadable file, whose error is reported later. */
export async function isBlankFile(name: string): Promise<boolean> {
  return startOf(name).then(
    ({ read }) => trimmed(read).length === 0,
    () => false,
  )
}

export const isDatabaseFile = async (name: string): Promise<boolean> =>
  startsWith(await startOf(name), SQLITE)

async function startOf(name: string): Promise<Begun> {
  const begun = await begin(fileChunks(name))
  await begun.rest.return?.()
  return begun
}

/** The extension of a file, such as `.jsonl` or `.jsonl.zst`. */
export const extensionOf = (file: string): string => /(?:\.[^./\\]*)?\.zst$/i.exec(file)?.[0] ?? extname(file)

const startsWith = ({ read }: Begun, start: Buffer): boolean => read.subarray(0, start.length).equals(start)

function decompress({ read, rest }: Begun): AsyncIterable<Buffer> {
  // This function is missing before Node.js 22.15, but the types of Node.js have it.
  const create = zlib.createZstdDecompress as typeof zlib.createZstdDecompress | undefined
  if (create === undefined)
    throw new FileError('not_json', 'is compressed with zstd; unpack it, or use Node.js 22.15 or later')
  const source = Readable.from(follow([read], rest))
  return pipeline(source, create({ rejectGarbageAfterEnd: true }), () => undefined)
}

const fileChunks = (name: string) => createReadStream(name, { highWaterMark: 1 << 20 })

const BOM = Buffer.from([0xef, 0xbb, 0xbf])

const [QUOTE, BACKSLASH, COMMA, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] =
  Buffer.from('"\\,[]{}')

const SPACES: readonly number[] = [...Buffer.from(' \t\n\r')]

const isSpace = (byte: number): boolean => SPACES.includes(byte)

export function valueOf(bytes: Buffer | string): JsonValue | undefined {
  try {
    return JSON.parse(bytes.toString('utf8')) as JsonValue
  } catch {
    return undefined
  }
}

/** Returns the position of the first error in invalid JSON, without the text, which may be secret. */
export function errorPosition(text: string): string {
  try {
    JSON.parse(text)
    return ''
  } catch (error) {
    return / \(line \d+ column \d+\)/.exec(String(error))?.[0] ?? ''
  }
}

/** Opens a text. Reads a `.json` file, an array, or an object of several lines as a whole; else streams the lines. */
async function openText(extension: string, begun: Begun): Promise<Opened> {
  const isJsonFile = extension === '.json'
  const [opening] = trimmed(begun.read)
  const first = opening === OPEN_BRACE ? valueOf(firstLine(begun)) : null
  const mayBeDocument = opening === OPEN_BRACKET || first === undefined || isPage(first)
  if (!isJsonFile && !mayBeDocument) return openLines(begun)
  const all = await readOn(begun, () => false)
  const value = all.isWhole ? valueOf(all.read) : undefined
  if (value === undefined) {
    if (!isJsonFile) return openLines(all)
    throw new FileError(
      'not_json',
      all.isWhole
        ? `the file is not JSON${errorPosition(all.read.toString('utf8'))}; if it has one event per line, name it .jsonl`
        : 'the file is larger than 256 MiB: write one event per line, to a .jsonl file',
    )
  }
  const bytes = trimmed(all.read)
  const line = all.read.subarray(0, -bytes.length).toString('latin1').split('\n').length
  const [form, pieces] =
    Array.isArray(value) || isPage(value)
      ? (['array', elementsOf(all.read)] as const)
      : ([isJsonFile ? 'document' : 'lines', [{ line, bytes }]] as const)
  return { form, pieces: Readable.from([pieces]), sidecarFiles: null }
}

const MORE_PAGES = 'is one of several pages of events; write the items of all pages into one array'

/** Whether a value is the only or last page of a server's events. @throws FileError for any other page. */
function isPage(value: JsonValue): boolean {
  const { items, next_page_id: next, ...others } = asObject(value) ?? {}
  if (!Array.isArray(items) || next === undefined || Object.keys(others).length > 0) return false
  if (next === null) return true
  throw new FileError('not_an_array', MORE_PAGES)
}

const openLines = ({ read, rest }: Begun): Opened => {
  return { form: 'lines', pieces: splitLines(follow([read], rest)), sidecarFiles: null }
}

/** The start of a text, already read, and its remaining chunks. */
interface Begun {
  readonly read: Buffer
  readonly rest: AsyncIterator<Buffer>
  readonly isWhole: boolean
}

/** Reads chunks until they contain the first line that is not blank. */
async function begin(source: AsyncIterable<Buffer>): Promise<Begun> {
  let isBlank = true
  const nothing = { read: Buffer.alloc(0), rest: source[Symbol.asyncIterator](), isWhole: false }
  const begun = await readOn(nothing, (chunk) => {
    const from = isBlank ? chunk.findIndex((byte) => !isSpace(byte) && !BOM.includes(byte)) : 0
    isBlank = from < 0
    return !isBlank && chunk.includes('\n', from)
  })
  const hasBom = begun.read.subarray(0, BOM.length).equals(BOM)
  return hasBom ? { ...begun, read: begun.read.subarray(BOM.length) } : begun
}

const firstLine = ({ read }: Begun): string => trimmed(read).toString('latin1').split('\n', 1)[0] ?? ''

/** Maximum bytes of a text that is read at once. A longer `.json` file is rejected; a longer text is read as lines. */
const MAX_DOCUMENT_BYTES = 1 << 28

async function readOn({ read, rest }: Begun, isEnough: (chunk: Buffer) => boolean): Promise<Begun> {
  const chunks = [read]
  for (let size = read.length; size <= MAX_DOCUMENT_BYTES;) {
    const next = await rest.next()
    if (next.done === true) return { read: Buffer.concat(chunks), rest, isWhole: true }
    chunks.push(next.value)
    size += next.value.length
    if (isEnough(next.value)) break
  }
  return { read: Buffer.concat(chunks), rest, isWhole: false }
}

function trimmed(text: Buffer): Buffer {
  const start = text.findIndex((byte) => !isSpace(byte))
  return start < 0 ? text.subarray(text.length) : text.subarray(start)
}

export async function* follow<T>(read: readonly T[], iterator: AsyncIterator<T>): AsyncIterableIterator<T> {
  try {
    yield* read
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
  } finally {
    // A reader that stops early must not leave the source open, or the process would wait for it.
    await iterator.return?.()
  }
}

/** Joins the parts of a piece, which may span several chunks. Copies each part once. */
const joined = (parts: Buffer[], last: Buffer): Buffer =>
  parts.length === 0 ? last : Buffer.concat([...parts.splice(0), last])

/** Yields the lines of a text. Skips blank lines, but counts them. Holds one chunk and one line in memory. */
async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncIterableIterator<Piece[]> {
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

/**
 * Returns the elements of the first array in valid JSON, as text: parsing would lose digits and repeated keys.
 * O(length).
 */
function elementsOf(text: Buffer): Piece[] {
  const pieces: Piece[] = []
  let from = text.indexOf('[') + 1
  let depth = 0
  let inString = false
  for (let index = from; depth >= 0; index += 1) {
    const byte = text[index]
    if (inString) {
      if (byte === BACKSLASH) index += 1
      else inString = byte !== QUOTE
      continue
    }
    if (byte === QUOTE) inString = true
    if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth += 1
    if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth -= 1
    if (depth >= 0 && !(depth === 0 && byte === COMMA)) continue
    const bytes = text.subarray(from, index)
    from = index + 1
    if (!bytes.every(isSpace)) pieces.push({ line: pieces.length + 1, bytes })
  }
  return pieces
}

/** Documents of a conversation: two that agent servers write, and one for fields that those two lack. */
const DOCUMENTS = ['meta.json', 'base_state.json', 'colloquy.json'] as const

export type DocumentName = (typeof DOCUMENTS)[number]

export interface SidecarFiles {
  /** Name of the conversation's folder, or null. Agent servers name this folder by the conversation's id. */
  readonly folder: string | null
  readonly documents: Readonly<Partial<Record<DocumentName, Buffer>>>
  readonly ignored: readonly string[]
}

/** Matches `event-00000-<id>.json` of agent servers, and `event_000000_<id>.json` of the hosted service. */
const EVENT_FILE = /^event([-_])(\d{5}\d*)\1.+\.json$/

const SERVER_FILES = new Set(['events', 'owner_lease.json', '.owner_lease.lock', '.eventlog.lock'])

function eventNumber(name: string): number | null {
  const number = EVENT_FILE.exec(name)?.[2]
  return number === undefined ? null : Number(number)
}

const isDocument = (name: string): name is DocumentName => (DOCUMENTS as readonly string[]).includes(name)

const isNeeded = (path: string): boolean => isDocument(baseOf(path)) || eventNumber(baseOf(path)) !== null

const BATCH = 64

async function openDirectory(directory: string): Promise<Opened> {
  const names = await readdir(directory)
  const inner = names.includes('events') ? await readdir(join(directory, 'events')) : []
  const tree = {
    paths: [...names.toSorted(), ...inner.toSorted().map((name) => `events/${name}`)],
    read: (path: string) => readFile(join(directory, path)).catch(rejectRead(path)),
  }
  const path = resolve(directory)
  const folder = basename(path) === 'events' ? basename(dirname(path)) : basename(path)
  return openTree('directory', tree, folder)
}

const conversationFolderOf = (path: string): string => folderOf(path).replace(/(^|\/)events$/, '') || '.'

/** Opens the conversation in a tree of files. @throws FileError unless it contains exactly one. */
async function openTree(form: 'directory' | 'zip', tree: FileTree, name: string | null): Promise<Opened> {
  const all = tree.paths.filter((path) => eventNumber(baseOf(path)) !== null)
  // A conversation without events still has its documents.
  const described = tree.paths.filter((path) => isDocument(baseOf(path)))
  const folders = new Set(all.length > 0 ? all.map(conversationFolderOf) : described.map(folderOf))
  if (folders.size > 1)
    throw new FileError(
      'several_conversations',
      `the zip contains ${folders.size} folders with conversations: unpack it, and pass the folders one by one`,
    )
  const [folder = '.'] = folders
  const documents: Partial<Record<DocumentName, Buffer>> = {}
  for (const path of tree.paths) {
    const document = baseOf(path)
    if (folderOf(path) === folder && isDocument(document)) documents[document] = await tree.read(path)
  }
  if (all.length === 0 && Object.keys(documents).length === 0)
    throw new FileError(
      'no_events',
      `the ${form} contains no files event-NNNNN-<id>.json; to read a session, pass its file (only colloquy import accepts a directory of sessions)`,
    )
  const isDirect = all.some((path) => folderOf(path) === folder)
  const events = all
    .filter((path) => !isDirect || folderOf(path) === folder)
    .map((path) => ({ path, line: eventNumber(baseOf(path)) ?? 0 }))
    .toSorted((a, b) => a.line - b.line || (a.path < b.path ? -1 : 1))
  const ignored = tree.paths.filter((path) => !isNeeded(path) && !SERVER_FILES.has(baseOf(path)))
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

/**
 * Lists the files below a folder, and its unreadable subfolders, each with a slash at the end. Reads each folder
 * once, even if links lead to it again. Rejects if the folder itself cannot be read.
 */
async function filesBelow(root: string, path = '', known = new Set<string>()): Promise<string[]> {
  const folder = await realpath(join(root, path))
  if (known.has(folder)) return []
  known.add(folder)
  const entries = await readdir(folder, { withFileTypes: true })
  const listed = entries.map(async (entry): Promise<string[]> => {
    const inner = join(path, entry.name)
    const target = entry.isSymbolicLink() ? await stat(join(root, inner)).catch(() => null) : entry
    if (target?.isDirectory()) return filesBelow(root, inner, known).catch(() => [`${inner}/`])
    // Opening a pipe would wait for a writer. Importing a broken link reports it.
    return target === null || target.isFile() ? [inner] : []
  })
  return (await Promise.all(listed)).flat()
}

/** Returns a folder's possible session files, sorted by path; null if it has none, or is a conversation's folder. */
export async function sessionFilesIn(name: string) {
  const entries = await filesBelow(name).catch((): string[] => [])
  const isConversation = entries.some(
    (file) => /^(?:events[\\/])?[^\\/]+$/.test(file) && isNeeded(file.replaceAll('\\', '/')),
  )
  if (isConversation) return null
  // Importing an unreadable subfolder reports why it cannot be read.
  const files = entries.filter(
    (file) => /^\.jsonl?(?:\.zst)?$/i.test(extensionOf(file)) || file.endsWith('/'),
  )
  if (files.length === 0) return null
  const groups = Map.groupBy(files, nameOf)
  return files.toSorted().map((file) => {
    const isAlone = groups.get(nameOf(file))?.length === 1
    const path = file.slice(0, file.length - extensionOf(file).length).replaceAll(/[\\/]/g, '-')
    return { file: join(name, file), name: isAlone ? nameOf(file) : path }
  })
}

/** Finds a Codex rollout by id: in `sessions` and `archived_sessions` if `other` is in either, else next to `other`. */
export async function findRollout(other: string, id: string): Promise<string | null> {
  const folder = dirname(resolve(other))
  const home = /^(.*[\\/])(?:archived_)?sessions(?=[\\/]|$)/.exec(folder)?.[1]
  const folders = home === undefined ? [folder] : [join(home, 'sessions'), join(home, 'archived_sessions')]
  for (const root of folders) {
    // The folder of a copied file can have any number of subfolders, so they are not searched.
    const files = await (home === undefined ? readdir(root) : filesBelow(root)).catch((): string[] => [])
    const found = files.find((file) => ['-', '_'].some((mark) => nameOf(file).endsWith(mark + id)))
    if (found !== undefined) return join(root, found)
  }
  return null
}

const nameOf = (file: string): string => basename(file.replaceAll('\\', '/'), extensionOf(file))
