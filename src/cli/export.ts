/**
 * Writes a stored conversation to standard output, a file, a directory or a zip, in the form that import reads back.
 */

import { createHash, randomBytes } from 'node:crypto'
import { link, mkdir, open, readdir, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { redactionRules, redactRecord, redactStored } from '../context/redaction/index.ts'
import type { Quarantined } from '../event/index.ts'
import { type ConversationRecord, isQuarantined, type Store, type StoredEvent } from '../index.ts'
import type { ExportRequest } from './args/request.ts'
import { attempt } from './attempt.ts'
import { getConversation, readLog, undashed, withStore } from './db/store.ts'
import { FileError, fromWriting } from './failure.ts'
import { decodePiece, wrap } from './input/decode.ts'
import { documentsOf, ownDocument } from './input/documents.ts'
import { type Io, type Progress, progressOn, writeLines } from './print/io.ts'
import { counted, escapeActive, safe } from './print/text.ts'
import { heading, type Page } from './show/page.ts'

/** Where the log is read from. */
type Source = Pick<Store, 'read'>

/** Writes the conversation. Resolves to the exit code. */
export async function exportConversation(request: ExportRequest, io: Io, page: Page): Promise<number> {
  const { db, conversation, output } = request
  const name = output ?? `${conversation} in ${db.label}`
  const progress = progressOn(name, io)
  const about = { name, fields: { file: db.label, conversation }, json: false }
  return attempt(about, io, progress, async () => {
    const record = await withStore(db, { write: false }, async (store) => {
      const rules = request.redact ? redactionRules() : null
      const stored = await getConversation(store, conversation)
      const found = rules === null ? stored : redactRecord(stored, rules)
      const source: Source =
        rules === null
          ? store
          : {
              read: async (...given) =>
                (await store.read(...given)).map((event) => redactStored(event, rules)),
            }
      if (output === null) await printLines(source, found, io)
      else await writeOutput(source, found, { ...request, output }, progress)
      return found
    })
    progress.done()
    if (output === null) return 0
    const remark = `${counted(record.version, 'event')} of ${safe(record.id)}`
    await writeLines(io.stdout, [heading(page, safe(output), remark)])
    return 0
  })
}

/** One entry on each line; a terminal gets nothing that would drive it. */
async function printLines(store: Source, record: ConversationRecord, { stdout }: Io): Promise<void> {
  for await (const events of readLog(store, record)) {
    const lines = events.map((event) => (stdout.isTTY ? shownTextOf(event) : textOf(event, 'line')))
    await writeLines(stdout, lines)
  }
}

async function writeOutput(
  store: Source,
  record: ConversationRecord,
  request: ExportRequest & { readonly output: string },
  progress: Progress,
): Promise<void> {
  switch (request.layout) {
    case 'jsonl':
      return writeTo(request, 'file', (path) => writeJsonl(store, record, path, progress))
    case 'directory':
      return writeTo(request, 'directory', (path) => writeDirectory(store, record, path, progress))
    case 'zip': {
      const { writeZip } = await import('./input/zip.ts')
      const files = conversationFiles(store, record, progress)
      return writeTo(request, 'file', (path) => writeZip(path, folderName(record.id), files))
    }
  }
}

async function writeJsonl(
  store: Source,
  record: ConversationRecord,
  path: string,
  progress: Progress,
): Promise<void> {
  const file = await open(path, 'wx')
  try {
    for await (const events of readLog(store, record)) {
      await file.appendFile(events.map((event) => `${textOf(event, 'line')}\n`).join(''))
      progress.tick((events.at(-1)?.seq ?? 0) + 1)
    }
  } finally {
    await file.close()
  }
}

async function writeDirectory(
  store: Source,
  record: ConversationRecord,
  path: string,
  progress: Progress,
): Promise<void> {
  await mkdir(path)
  await mkdir(join(path, 'events'))
  for await (const { path: name, text } of conversationFiles(store, record, progress))
    await writeFile(join(path, name), text, { flag: 'wx' })
}

/** A file of a conversation's directory. */
export interface ConversationFile {
  /** With `/` between folder and name. */
  readonly path: string
  readonly text: string
  /** Milliseconds since 1970; of the event, or of the record. */
  readonly time: number
}

/** The documents, then the events in order. */
export async function* conversationFiles(
  store: Pick<Store, 'read'>,
  record: ConversationRecord,
  progress: Progress,
): AsyncIterableIterator<ConversationFile> {
  const documents = documentsOf(record)
  const time = Date.parse(record.updatedAt)
  yield { path: 'meta.json', text: JSON.stringify(documents.meta), time }
  yield { path: 'base_state.json', text: JSON.stringify(documents.baseState), time }
  const own = ownDocument(record, documents)
  if (own !== null) yield { path: 'colloquy.json', text: JSON.stringify(own), time }
  for await (const events of readLog(store, record)) {
    for (const event of events) {
      const path = `events/${eventFileName(event.seq, event.id)}`
      yield { path, text: textOf(event, 'file'), time: Number(BigInt(event.time) / 1000n) }
    }
    progress.tick((events.at(-1)?.seq ?? 0) + 1)
  }
}

/** Where a text is written: among others, one on each line, or as a file of its own. */
export type TextForm = 'line' | 'file'

/** What stands in no JSON on one line, and may stand in a line that is none. */
// oxlint-disable-next-line no-control-regex -- they are what it is there to find
const CONTROL = /[\u0000-\u001f]/

/**
 * The text of an entry: an event as JSON, a line in quarantine as it was given, or wrapped where that would not give it
 * back. One that can be read by now is written as it was, so that it is tried again.
 */
export function textOf({ fact, seq }: Pick<StoredEvent, 'fact' | 'seq'>, form: TextForm): string {
  if (!isQuarantined(fact)) return JSON.stringify(fact)
  return isFaithful(fact, form, seq === 0) ? fact.raw : wrap(fact)
}

/** The same as {@link textOf} on a line, for a reader that is a terminal: nothing in it drives one. */
export function shownTextOf(stored: Pick<StoredEvent, 'fact' | 'seq'>): string {
  const text = textOf(stored, 'line')
  const shown = escapeActive(text)
  if (!isQuarantined(stored.fact) || (shown === text && !CONTROL.test(text))) return shown
  return escapeActive(wrap(stored.fact))
}

/** Whether a line that is written as it was is read as what it is. */
function isFaithful(fact: Quarantined, form: TextForm, first: boolean): boolean {
  const { raw } = fact
  if (/[\ud800-\udfff]/u.test(raw)) return false
  if (form === 'line' && (raw.includes('\n') || raw.trim() === '')) return false
  // Its bytes were no text; what stands for them is, and must not be taken for the event.
  if (fact.issues.some(({ type }) => type === 'unicode_error')) return false
  const { fact: again, broken } = decodePiece(Buffer.from(raw))
  // At the beginning it would say that the file is an array, or no JSON at all.
  if (first && (raw.trimStart().startsWith('[') || broken !== null)) return false
  if (!isQuarantined(again)) return true
  return (
    again.raw === raw &&
    again.id === fact.id &&
    again.parent_id === fact.parent_id &&
    again.event_kind === fact.event_kind
  )
}

/** How long an id may be in a name, so that the name fits everywhere. */
const LONGEST = 200

/**
 * `event-00007-<id>.json`. What a name may not have stands as `%` and its bytes; an id that is too long, or that an
 * event lacks, is one that no other can be written as. Import reads the id from the event itself.
 */
export function eventFileName(seq: number, id: string | null): string {
  return `event-${String(seq).padStart(5, '0')}-${id === null ? '~' : nameOf(id)}.json`
}

/**
 * The name of a conversation's folder in a zip: its UUID without dashes, as agent servers have it, or its id as in a
 * file's name.
 */
export const folderName = (id: string): string => nameOf(undashed(id))

function nameOf(id: string): string {
  const name = encodeURIComponent(id).replaceAll(
    /[!'()*~]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return name.length <= LONGEST ? name : `~${createHash('sha256').update(id).digest('hex')}`
}

/** What an export writes into its directory; a directory with anything else in it is not the export's own. */
const WRITTEN: readonly string[] = ['meta.json', 'base_state.json', 'colloquy.json', 'events']

/** Where to write. */
export interface Target {
  readonly output: string
  /** Whether what is there may be replaced. */
  readonly force: boolean
}

/**
 * Writes a file or a directory under another name beside its own, and moves it into its place when all went well; else
 * nothing is left.
 * @throws FileError `exists` for what would be overwritten, and what the file system says in words.
 */
export async function writeTo(
  target: Target,
  kind: 'file' | 'directory',
  write: (path: string) => Promise<void>,
): Promise<void> {
  await refuseToOverwrite(target, kind)
  const output = resolve(target.output)
  const temporary = join(
    dirname(output),
    `.${basename(output).slice(0, 100)}.${randomBytes(6).toString('hex')}.tmp`,
  )
  try {
    await write(temporary)
    await (kind === 'file' ? placeFile(temporary, output, target.force) : placeDirectory(temporary, output))
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    throw fromWriting(error)
  }
}

async function refuseToOverwrite({ output, force }: Target, kind: 'file' | 'directory'): Promise<void> {
  const found = await stat(output).catch(() => null)
  if (found === null) return
  if (found.isDirectory() !== (kind === 'directory'))
    throw new FileError(
      'exists',
      `is a ${found.isDirectory() ? 'directory' : 'file'} already; give another name`,
    )
  const names = found.isDirectory() ? await readdir(output) : [basename(output)]
  if (names.length === 0) return
  if (!force) throw new FileError('exists', 'exists already; give another name, or say --force')
  const foreign = found.isDirectory() ? names.find((name) => !WRITTEN.includes(name)) : undefined
  if (foreign !== undefined)
    throw new FileError('exists', `holds ${foreign}, which no export wrote; give another name`)
}

async function placeFile(temporary: string, output: string, force: boolean): Promise<void> {
  const file = await open(temporary, 'r+')
  await file.sync().finally(() => file.close())
  if (force) return rename(temporary, output)
  // Unlike a rename, a link does not replace what another process wrote there meanwhile.
  try {
    await link(temporary, output)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') throw error
    // Not every file system has links.
    return rename(temporary, output)
  }
  await unlink(temporary)
}

async function placeDirectory(temporary: string, output: string): Promise<void> {
  const old = `${temporary}.old`
  const replaced = await rename(output, old).then(
    () => true,
    () => false,
  )
  try {
    await rename(temporary, output)
  } catch (error) {
    if (replaced) await rename(old, output)
    throw error
  }
  await rm(old, { recursive: true, force: true })
}
