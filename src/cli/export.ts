/** Writes a stored conversation to standard output, a file, a directory or a zip, in a form that import reads back. */

import { createHash, randomBytes } from 'node:crypto'
import { link, mkdir, open, readdir, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { redactionRules, redactRecord, redactStored } from '../context/redaction/index.ts'
import type { Quarantined } from '../event/index.ts'
import { type ConversationRecord, isQuarantined, type Store, type StoredEvent } from '../index.ts'

import { type Layout, layoutOf, type RequestOf } from './commands.ts'
import { getConversation, readLog, undashed, withStore } from './db/store.ts'
import { FileError, fromWriting } from './failure.ts'
import { documentsOf, ownDocument } from './input/documents.ts'
import { decodePiece, wrap } from './input/recording.ts'
import type { NewFile } from './input/zip.ts'
import type { Progress } from './print/io.ts'
import { counted, escapeActive, safe } from './print/text.ts'
import { aboutStored, type Page } from './show/page.ts'

interface Source {
  readonly store: Pick<Store, 'read'>
  readonly record: ConversationRecord
  readonly progress: Progress
}

export async function exportConversation({ options }: RequestOf<'export'>, page: Page): Promise<number> {
  const { db, conversation, output, force = false } = options
  const about = aboutStored(db, conversation)
  return page.attempt({ ...about, name: output ?? about.name }, async (progress) => {
    const record = await withStore(db, { write: false }, async (store) => {
      const stored = await getConversation(store, conversation)
      const source =
        options.redact === true ? redacted(store, stored, progress) : { store, record: stored, progress }
      if (output === undefined) await printLines(source, page)
      else await writeOutput(source, layoutOf(options), { output, force })
      return source.record
    })
    progress.done()
    if (output === undefined) return 0
    const remark = `${counted(record.version, 'event')} of ${safe(record.id)}`
    await page.print([page.heading(safe(output), remark)])
    return 0
  })
}

function redacted(store: Store, record: ConversationRecord, progress: Progress): Source {
  const rules = redactionRules()
  const read: Store['read'] = async (...input) =>
    (await store.read(...input)).map((event) => redactStored(event, rules))
  return { store: { read }, record: redactRecord(record, rules), progress }
}

async function printLines({ store, record }: Source, page: Page): Promise<void> {
  const textOf = page.io.stdout.isTTY ? terminalTextOf : (event: StoredEvent) => rawText(event, 'line')
  for await (const events of readLog(store, record)) await page.print(events.map(textOf))
}

async function writeOutput(source: Source, layout: Layout, target: Target): Promise<void> {
  switch (layout) {
    case 'jsonl':
      return writeTo(target, 'file', (path) => writeFile(path, linesOf(source), { flag: 'wx' }))
    case 'directory':
      return writeTo(target, 'directory', async (path) => {
        await mkdir(path)
        await mkdir(join(path, 'events'))
        for await (const { path: name, text } of filesOf(source))
          await writeFile(join(path, name), text, { flag: 'wx' })
      })
    case 'zip': {
      const { writeZip } = await import('./input/zip.ts')
      return writeTo(target, 'file', (path) =>
        writeZip(path, nameOf(undashed(source.record.id)), filesOf(source)),
      )
    }
  }
}

async function* linesOf({ store, record, progress }: Source): AsyncIterableIterator<string> {
  for await (const events of readLog(store, record)) {
    yield events.map((event) => `${rawText(event, 'line')}\n`).join('')
    progress.tick((events.at(-1)?.seq ?? 0) + 1)
  }
}

async function* filesOf({ store, record, progress }: Source): AsyncIterableIterator<NewFile> {
  const documents = documentsOf(record)
  const time = Date.parse(record.updatedAt)
  yield { path: 'meta.json', text: JSON.stringify(documents.meta), time }
  yield { path: 'base_state.json', text: JSON.stringify(documents.baseState), time }
  const ownEntry = ownDocument(record, documents)
  if (ownEntry !== null) yield { path: 'colloquy.json', text: JSON.stringify(ownEntry), time }
  for await (const events of readLog(store, record)) {
    for (const event of events) {
      const path = `events/${eventFileName(event.seq, event.id)}`
      yield { path, text: rawText(event, 'file'), time: Number(BigInt(event.time) / 1000n) }
    }
    progress.tick((events.at(-1)?.seq ?? 0) + 1)
  }
}

/** Maximum length of an id in a file's name, so that the name fits on every file system. */
const MAX_NAME_LENGTH = 200

/**
 * `event-00007-<id>.json`, unique and safe on every file system: illegal characters are percent-encoded,
 * longer ids hashed. Import reads the id from the event.
 */
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

// Not part of JSON on one line; a line that is not JSON may contain them.
// oxlint-disable-next-line no-control-regex -- they are what it is there to find
const CONTROL = /[\u0000-\u001f]/

/**
 * An event as JSON; a quarantined line unchanged, or wrapped where import would read it differently. Import
 * retries a line that is now readable.
 */
function rawText({ fact, seq }: Pick<StoredEvent, 'fact' | 'seq'>, where: 'line' | 'file'): string {
  if (!isQuarantined(fact)) return JSON.stringify(fact)
  return isFaithful(fact, where, seq === 0) ? fact.raw : wrap(fact)
}

function terminalTextOf(stored: Pick<StoredEvent, 'fact' | 'seq'>): string {
  const text = rawText(stored, 'line')
  const shown = escapeActive(text)
  if (!isQuarantined(stored.fact) || (shown === text && !CONTROL.test(text))) return shown
  return escapeActive(wrap(stored.fact))
}

function isFaithful(fact: Quarantined, where: 'line' | 'file', isFirst: boolean): boolean {
  const { raw } = fact
  if (/[\ud800-\udfff]/u.test(raw)) return false
  if (where === 'line' && (raw.includes('\n') || raw.trim() === '')) return false
  // Its bytes were not text; the replacement characters are, and must not be read as the event.
  if (fact.issues.some(({ type }) => type === 'unicode_error')) return false
  const { fact: again, broken } = decodePiece(Buffer.from(raw))
  // The first line decides whether a file is an array, or JSON at all.
  if (isFirst && (raw.trimStart().startsWith('[') || broken !== null)) return false
  return !isQuarantined(again) || wrap({ ...again, issues: [] }) === wrap({ ...fact, issues: [] })
}

/** The names that an export writes into its directory; a directory with other names is never replaced. */
const WRITTEN: readonly string[] = ['meta.json', 'base_state.json', 'colloquy.json', 'events']

interface Target {
  readonly output: string
  readonly force: boolean
}

/**
 * Writes under a temporary name in the same folder, then moves; a failure leaves the previous content.
 * @throws FileError `exists` for an existing output, and the errors of the file system.
 */
export async function writeTo(
  target: Target,
  kind: 'file' | 'directory',
  write: (path: string) => Promise<void>,
): Promise<void> {
  await refuseToOverwrite(target, kind)
  const output = resolve(target.output)
  const suffix = randomBytes(6).toString('hex')
  const temporary = join(dirname(output), `.${basename(output).slice(0, 100)}.${suffix}.tmp`)
  try {
    await write(temporary)
    await (kind === 'file' ? placeFile(temporary, output, target.force) : placeDirectory(temporary, output))
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    throw fromWriting(error)
  }
}

async function refuseToOverwrite({ output, force }: Target, kind: 'file' | 'directory'): Promise<void> {
  const stats = await stat(output).catch(() => null)
  if (stats === null) return
  const foundKind = stats.isDirectory() ? 'directory' : 'file'
  if (foundKind !== kind) throw new FileError('exists', `is already a ${foundKind}; use another path`)
  const names = kind === 'directory' ? await readdir(output) : null
  if (names?.length === 0) return
  if (!force) throw new FileError('exists', 'already exists; use another path, or add --force')
  const foreign = names?.find((name) => !WRITTEN.includes(name))
  if (foreign !== undefined)
    throw new FileError('exists', `contains ${foreign}, which is not a file of an export; use another path`)
}

async function placeFile(temporary: string, output: string, force: boolean): Promise<void> {
  const file = await open(temporary, 'r+')
  await file.sync().finally(() => file.close())
  if (force) return rename(temporary, output)
  // Unlike a rename, a link does not replace what another process wrote there in the meantime.
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
  const previous = await stat(output).catch(() => null)
  if (previous !== null) await rename(output, old)
  try {
    await rename(temporary, output)
  } catch (error) {
    if (previous !== null) await rename(old, output)
    throw error
  }
  await rm(old, { recursive: true, force: true })
}
