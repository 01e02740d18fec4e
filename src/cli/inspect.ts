/** Opens the inspector over files, or over a database: as a page that is served here, or as one file. */

import { spawn } from 'node:child_process'
import { open, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { redactionRules, redactLog, redactRecord } from '../context/redaction/index.ts'
import { isQuarantined, type Loaded } from '../event/index.ts'
import { findings } from '../explain/index.ts'
import { type ConversationRecord, type Fact, replay, type State, type Store } from '../index.ts'
import {
  inspectorPage,
  logBlocks,
  type LogDocument,
  type LogTitle,
  findingOptions,
  type PageSource,
  shownFact,
  startedBy,
  titleOf,
} from '../inspector/index.ts'
import type { Session } from '../sessions/index.ts'

import type { Options, RequestOf } from './commands.ts'
import { eachConversation, getConversation, withStore } from './db/store.ts'
import { writeTo } from './export.ts'
import { FileError, fromListening } from './failure.ts'
import { openingCall, quarantineNote, readRecording, readStored, type Recording } from './input/recording.ts'
import {
  aboutFile,
  aboutStored,
  attempt,
  ClosedPipe,
  complain,
  type Io,
  progressOn,
  writeAll,
  writeLines,
} from './print/io.ts'
import { counted, plain, safe } from './print/text.ts'

interface Logs {
  readonly name: string
  readonly titles: readonly LogTitle[]
  readonly read: (index: number) => Promise<LogDocument>
}

/** Serves the inspector's page until the command is stopped, or writes it to a file. Resolves to the exit code. */
export async function inspect({ options, files }: RequestOf<'inspect'>, io: Io): Promise<number> {
  const { db, conversation, html } = options
  return attempt(aboutFile(db?.label ?? files.join(', ')), io, async (progress) => {
    const show = async (logs: Logs): Promise<number> => {
      progress.done()
      // A missing file is reported before a missing template.
      const template = await readTemplate()
      return html === undefined
        ? serveLogs(template, logs, options, io)
        : writePage(template, logs, { output: html, force: options.force === true }, io)
    }
    if (db === undefined) return show(await filesOf(files, options, io))
    if (html !== undefined && conversation === undefined)
      throw new FileError('several_conversations', '--html writes one conversation: add --conversation ID')
    return withStore(db, { write: false }, async (store) => show(await storedLogs(store, options, io)))
  })
}

/** Next to the command in the package; in `dist` when it runs from sources. */
const TEMPLATES = ['../inspector/page.html', '../../dist/inspector/page.html']

/** The page of the inspector. @throws FileError where it was not built. */
export async function readTemplate(): Promise<string> {
  for (const path of TEMPLATES) {
    // oxlint-disable-next-line no-await-in-loop -- the first that exists
    const text = await readFile(new URL(path, import.meta.url), 'utf8').catch(() => null)
    if (text !== null) return text
  }
  throw new FileError('not_built', 'the inspector page is not built: run npm run build')
}

async function filesOf(files: readonly string[], options: Options<'inspect'>, io: Io): Promise<Logs> {
  const logs: LogDocument[] = []
  for (const file of files) {
    const progress = progressOn(file, io)
    try {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const recording = await readRecording(file, io, progress, { from: options.from })
      logs.push(...documentsOf(recording, options.redact === true))
      const note = quarantineNote(recording, recording.lines.length)
      // oxlint-disable-next-line no-await-in-loop
      if (note !== null) await complain(io, `${safe(file)}: ${note}`)
    } catch (error) {
      if (error instanceof FileError && error.subject === null)
        throw new FileError(error.code, error.message, file)
      throw error
    } finally {
      progress.done()
    }
  }
  const read = async (index: number) => logs[index] as LogDocument
  return { name: files.join(', '), titles: logs.map(titleOf), read }
}

const MAX_CONVERSATIONS = 2000

async function storedLogs(store: Store, options: Options<'inspect'>, io: Io): Promise<Logs> {
  const { db, conversation, redact = false } = options
  const root = conversation === undefined ? null : await getConversation(store, conversation)
  const records = await listedRecords(store, root, redact, io)
  return {
    name: aboutStored({ label: db?.label ?? '' }, conversation ?? 'all').name,
    titles: records.map((record) => recordTitle(record, redact)),
    read: async (index) => {
      const { id } = records[index] as ConversationRecord
      const record = await getConversation(store, id)
      const progress = progressOn(id, io)
      const recording = await readStored(store, record, db?.label ?? '', progress)
      progress.done()
      return documentOf(recording, recordTitle(record, redact), redact)
    },
  }
}

async function listedRecords(
  store: Store,
  root: ConversationRecord | null,
  redact: boolean,
  io: Io,
): Promise<readonly ConversationRecord[]> {
  const records: ConversationRecord[] = root === null ? [] : [root]
  // The conversations that one started may be anywhere in the list.
  const maximum = root === null ? MAX_CONVERSATIONS : Infinity
  for await (const record of eachConversation(store, { limit: 100 })) {
    if (records.length === maximum) {
      await complain(io, `shows the newest ${maximum.toLocaleString('en')}; --conversation ID for another`)
      break
    }
    if (root === null || (record.parentConversationId !== null && record.id !== root.id)) records.push(record)
  }
  if (root === null) return records
  const titles = records.map((record) => recordTitle(record, redact))
  return [root, ...startedBy(0, titles).map((index) => records[index] as ConversationRecord)]
}

function recordTitle(record: ConversationRecord, redact: boolean): LogTitle {
  const { id, title, parentConversationId: parent } = redact ? redactRecord(record, redactionRules()) : record
  return { title: plain(title ?? id), conversation: id, name: id, parent, call: openingCall(record) }
}

function documentsOf(recording: Recording, redact: boolean): LogDocument[] {
  const { session, file } = recording
  const title = redactedText(session?.title ?? basename(file), redact)
  const name = session?.id ?? file
  const ownDocument = documentOf(
    recording,
    {
      title: plain(title),
      conversation: '',
      name,
      parent: session?.parentId ?? null,
      call: session?.subagent?.actionId ?? null,
    },
    redact,
  )
  return session === null ? [ownDocument] : [ownDocument, ...childrenOf(session, ownDocument, redact)]
}

function documentOf(recording: Recording, title: LogTitle, redact: boolean): LogDocument {
  const { lines, session } = recording
  const { conversation } = title
  const facts = shownFacts(
    recording.loaded.map(({ fact }) => fact),
    conversation,
    recording.state,
    redact,
  )
  const loaded = redact ? redactLoaded(recording.loaded, facts) : recording.loaded
  // Findings quote names and texts of the shown facts.
  const state = redact ? replay(facts, { conversationId: conversation }) : recording.state
  return {
    ...title,
    lines: lines.every((line, index) => line === index + 1) ? null : lines,
    issues: loaded.flatMap(({ warnings }, seq) => warnings.map((issue) => ({ seq, issue }))),
    notes: notesOf(session, redact),
    findings: findings(state, { loaded, ...findingOptions(loaded.length) }),
    facts,
  }
}

/** The loaded facts without secrets, which the texts of issues may quote. */
const redactLoaded = (loaded: readonly Loaded[], facts: readonly Fact[]): Loaded[] =>
  loaded.map(({ fact, upcasts, warnings }, index) => ({
    fact: facts[index] ?? fact,
    upcasts,
    warnings: warnings.map(({ loc, msg, type }) => ({
      loc: loc.map((step) => (typeof step === 'string' ? redactedText(step, true) : step)),
      msg: redactedText(msg, true),
      type,
    })),
  }))

function childrenOf({ children }: Session, parent: LogTitle, redact: boolean): LogDocument[] {
  return children.flatMap((child, index) => {
    const title = child.title ?? child.id ?? `${parent.title}, child ${index + 1}`
    const facts = child.facts.map(({ fact }) => fact)
    const ownDocument: LogDocument = {
      title: plain(redactedText(title, redact)),
      conversation: '',
      name: child.id ?? `${parent.name}/${index}`,
      parent: parent.name,
      call: child.subagent?.actionId ?? null,
      lines: child.facts.map(({ line }) => line),
      issues: [],
      notes: notesOf(child, redact),
      findings: null,
      facts: shownFacts(facts, '', null, redact),
    }
    return [ownDocument, ...childrenOf(child, ownDocument, redact)]
  })
}

const notesOf = (session: Session | null, redact: boolean): string[] =>
  (session?.notes ?? []).map(
    ({ what, count, line }) => `line ${line}: ${redactedText(what, redact)}, ${counted(count, 'time')}`,
  )

const redactedText = (text: string, redact: boolean): string =>
  redact ? redactRecord({ title: text }, redactionRules()).title : text

/** Facts without secrets. A fact without an id gets the one that its log derived. */
function shownFacts(
  facts: readonly Fact[],
  conversationId: string,
  state: State | null,
  redact: boolean,
): Fact[] {
  const clean = redact ? redactLog(facts, redactionRules(), { conversationId }) : facts
  return clean.map((fact, seq) => {
    const shown = shownFact(fact)
    if (shown === fact || isQuarantined(shown) || shown.id !== undefined) return shown
    const id = state?.log.entries.get(seq)?.id ?? null
    return id === null ? shown : { ...shown, id }
  })
}

async function writePage(
  template: string,
  { titles, read }: Logs,
  target: { readonly output: string; readonly force: boolean },
  io: Io,
): Promise<number> {
  const logs = await Promise.all(titles.map((_, index) => read(index)))
  // From here on, errors are about the file that is written.
  return attempt(aboutFile(target.output), io, async () => {
    await writeTo(target, 'file', async (path) => {
      const file = await open(path, 'wx')
      try {
        const sink = { isTTY: false, write: async (text: string) => void (await file.write(text)) }
        await writeAll(sink, inspectorPage(template, logs))
      } finally {
        await file.close()
      }
    })
    await writeLines(io.stdout, [
      `Written to ${safe(target.output)}: it opens in any browser, without a server`,
    ])
    return 0
  })
}

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "frame-ancestors 'none'",
}

async function serveLogs(template: string, logs: Logs, options: Options<'inspect'>, io: Io): Promise<number> {
  const { listen } = await import('../service/node/index.ts')
  const source: PageSource = { from: 'files', logs: logs.titles, first: 0 }
  const page = [...inspectorPage(template, [], source)].join('')
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url)
    if (request.method !== 'GET' && request.method !== 'HEAD') return new Response(null, { status: 405 })
    if (pathname === '/')
      return new Response(page, { headers: { ...HEADERS, 'content-type': 'text/html; charset=utf-8' } })
    const index = /^\/logs\/(\d{1,6})$/.exec(pathname)?.[1]
    if (index === undefined || logs.titles[Number(index)] === undefined)
      return new Response(null, { status: 404 })
    const log = await logs.read(Number(index))
    return new Response(streamOf(logBlocks(log)), {
      headers: { ...HEADERS, 'content-type': 'application/x-ndjson' },
    })
  }
  const address = { host: '127.0.0.1', port: options.port ?? 0, onlyLocal: true }
  const server = await listen({ fetch, ...address }).catch((error: unknown) => {
    throw fromListening(error)
  })
  const stopped = new Promise<void>((stop) => (io.onStop === undefined ? stop() : io.onStop(stop)))
  try {
    await writeLines(io.stdout, [
      `Colloquy shows ${safe(logs.name)} at ${server.url}`,
      '  only this machine is let in; end with Ctrl-C',
    ])
    if (options.open === true) openBrowser(server.url)
    await stopped
  } catch (error) {
    if (!(error instanceof ClosedPipe)) throw error
  } finally {
    await server.close()
  }
  return 0
}

const streamOf = (lines: Iterable<string>): ReadableStream<Uint8Array> => ReadableStream.from(encoded(lines))

function* encoded(lines: Iterable<string>): IterableIterator<Uint8Array> {
  for (const line of lines) yield Buffer.from(`${line}\n`)
}

/** Opens an address in the user's browser. Its failure is ignored: the address is printed. */
function openBrowser(url: string): void {
  const [command = '', ...words] =
    process.platform === 'darwin'
      ? ['open']
      : process.platform === 'win32'
        ? ['cmd', '/c', 'start', '']
        : ['xdg-open']
  spawn(command, [...words, url], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}
