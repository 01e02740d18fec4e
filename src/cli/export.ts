/** Writes a stored conversation to standard output, a file, a directory or a zip, in a form that an import can read. */

import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { redactionRules, redactRecord, redactStored } from '../context/redaction/index.ts'
import type { Quarantined } from '../event/index.ts'
import { type ConversationRecord, isQuarantined, type Store, type StoredEvent } from '../index.ts'
import { type Layout, layoutOf, type RequestOf } from './commands.ts'
import { getConversation, readLog, undashed, withStore } from './db/store.ts'
import { codeOf, FileError, fromSystem } from './failure.ts'
import { documentsOf, ownDocument } from './input/documents.ts'
import { isDatabaseFile } from './input/open.ts'
import { decodePiece, wrap } from './input/recording.ts'
import type { NewFile } from './input/zip.ts'
import { counted, escapeActive, safe } from './print/text.ts'
import { aboutStored, type Page } from './show/page.ts'

interface Source {
  readonly store: Pick<Store, 'read'>
  readonly record: ConversationRecord
}

export async function exportConversation({ options }: RequestOf<'export'>, page: Page): Promise<number> {
  const { db, conversation, output, force = false } = options
  const about = aboutStored(db, conversation)
  const write = async (store: Store): Promise<number> => {
    const stored = await getConversation(store, conversation)
    const source = options.redact === true ? await redacted(store, stored) : { store, record: stored }
    if (output === undefined) {
      const { stdout } = page.io
      for await (const text of linesOf(source, stdout.isTTY)) await stdout.write(text)
      return 0
    }
    const layout = layoutOf(options)
    const kind = layout === 'directory' ? layout : 'file'
    await writeTo({ output, kind, force }, (path) => writeLayout(source, layout, path))
    const remark = `${counted(stored.version, 'event')} of ${safe(stored.id)}`
    await page.print([page.heading(safe(output), remark)])
    return 0
  }
  return page.attempt({ ...about, name: output ?? about.name }, () => withStore(db, { write: false }, write))
}

/** Returns a source with masked secrets. First reads the log to find masked replies, which can be on several pages. */
async function redacted(store: Store, record: ConversationRecord): Promise<Source> {
  const rules = redactionRules()
  const masked = new Set<string>()
  const read: Store['read'] = async (...input) => redactStored(await store.read(...input), rules, masked)
  for await (const _ of readLog({ read }, record));
  return { store: { read }, record: redactRecord(record, rules) }
}

async function writeLayout(source: Source, layout: Layout, path: string): Promise<void> {
  if (layout === 'jsonl') return writeFile(path, linesOf(source), { flag: 'wx' })
  if (layout === 'zip') {
    const { writeZip } = await import('./input/zip.ts')
    return writeZip(path, nameOf(undashed(source.record.id)), filesOf(source))
  }
  await mkdir(join(path, 'events'), { recursive: true })
  for await (const { path: name, text } of filesOf(source))
    await writeFile(join(path, name), text, { flag: 'wx' })
}

async function* linesOf({ store, record }: Source, isTerminal = false): AsyncIterableIterator<string> {
  const textOf = isTerminal ? terminalTextOf : (event: StoredEvent) => rawText(event, 'line')
  for await (const events of readLog(store, record))
    yield events.map((event) => `${textOf(event)}\n`).join('')
}

async function* filesOf({ store, record }: Source): AsyncIterableIterator<NewFile> {
  const documents = documentsOf(record)
  yield { path: 'meta.json', text: JSON.stringify(documents.meta) }
  yield { path: 'base_state.json', text: JSON.stringify(documents.baseState) }
  const ownEntry = ownDocument(record, documents)
  if (ownEntry !== null) yield { path: 'colloquy.json', text: JSON.stringify(ownEntry) }
  for await (const events of readLog(store, record))
    for (const event of events)
      yield { path: `events/${eventFileName(event.seq, event.id)}`, text: rawText(event, 'file') }
}

/** Maximum length of an id in a file's name, so that the name fits on every file system. */
const MAX_NAME_LENGTH = 200

/** Returns a name that is unique and safe on every file system. Import reads the id from the event. */
export function eventFileName(seq: number, id: string | null): string {
  return `event-${String(seq).padStart(5, '0')}-${id === null ? '~' : nameOf(id)}.json`
}

function nameOf(id: string): string {
  const name = encodeURIComponent(id).replaceAll(
    /[!'()*~]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return name.length <= MAX_NAME_LENGTH ? name : `~${createHash('sha256').update(id).digest('hex')}`
}

/** Returns an event's JSON. Wraps a quarantined line if an import would read the bare line differently. */
function rawText({ fact, seq }: Pick<StoredEvent, 'fact' | 'seq'>, where: 'line' | 'file'): string {
  if (!isQuarantined(fact)) return JSON.stringify(fact)
  return isFaithful(fact, where, seq === 0) ? fact.raw : wrap(fact)
}

/** Escapes characters that control a terminal, because a quarantined line may contain them. */
const terminalTextOf = ({ fact }: StoredEvent): string =>
  escapeActive(isQuarantined(fact) ? wrap(fact) : JSON.stringify(fact))

function isFaithful(fact: Quarantined, where: 'line' | 'file', isFirst: boolean): boolean {
  const { raw } = fact
  if (/[\ud800-\udfff]/u.test(raw)) return false
  if (where === 'line' && (raw.includes('\n') || raw.trim() === '')) return false
  // The bytes were not UTF-8. `raw` has replacement characters, and must not be read as the event.
  if (fact.issues.some(({ type }) => type === 'unicode_error')) return false
  const { fact: again, broken, hasNoKind } = decodePiece(Buffer.from(raw))
  // The first line decides whether a file is an array, or a log at all.
  if (isFirst && (raw.trimStart().startsWith('[') || broken !== null || hasNoKind === true)) return false
  return !isQuarantined(again) || wrap({ ...again, issues: [] }) === wrap({ ...fact, issues: [] })
}

/** Names in an exported directory. A directory that contains anything else is never replaced. */
const WRITTEN: readonly string[] = ['meta.json', 'base_state.json', 'colloquy.json', 'events']

export interface Target {
  readonly output: string
  readonly kind: 'file' | 'directory'
  readonly force: boolean
}

/** Writes under a temporary name, then renames, so a failure leaves the old content. @throws FileError */
export async function writeTo(target: Target, write: (path: string) => Promise<void>): Promise<void> {
  const output = resolve(target.output)
  const name = `.${basename(output).slice(0, 100)}.${randomBytes(6).toString('hex')}`
  const temporary = join(dirname(output), `${name}.tmp`)
  const previous = join(dirname(output), `${name}.old`)
  const isNew = await reserve(target)
  try {
    await write(temporary)
    if (target.kind === 'directory') await rename(output, previous)
    await rename(temporary, output)
  } catch (error) {
    await rename(previous, output).catch(() => undefined)
    await rm(temporary, { recursive: true, force: true })
    if (isNew) await rm(output, { recursive: true, force: true })
    throw fromSystem(error)
  }
  await rm(previous, { recursive: true, force: true })
}

/** Creates the output, unless it exists. Returns false if it exists and may be replaced. */
async function reserve({ output, kind, force }: Target): Promise<boolean> {
  try {
    await (kind === 'file' ? writeFile(output, '', { flag: 'wx' }) : mkdir(output))
    return true
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw fromSystem(error)
  }
  if (!force) throw new FileError('exists', 'already exists; use another path, or add --force')
  const existing = await stat(output)
  // The rename would replace a device or pipe, such as /dev/stdout, by a file.
  if (!existing.isFile() && !existing.isDirectory())
    throw new FileError('exists', 'is not a regular file; use another path')
  if (kind === 'file' && existing.isFile() && (await isDatabaseFile(output)))
    throw new FileError('exists', 'is a SQLite database; use another path')
  const names = kind === 'directory' ? await readdir(output) : []
  const foreign = names.find((name) => !WRITTEN.includes(name))
  if (foreign === undefined) return false
  throw new FileError('exists', `contains ${foreign}, which is not a file of an export; use another path`)
}
