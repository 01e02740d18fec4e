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
  lookOf,
  type PageSource,
  shownFact,
  startedBy,
  titleOf,
} from '../inspector/index.ts'
import type { Session, SessionFact } from '../sessions/index.ts'
import type { InspectRequest } from './args/request.ts'
import { attempt, complain } from './attempt.ts'
import { getConversation, withStore } from './db/store.ts'
import { writeTo } from './export.ts'
import { FileError, notListening } from './failure.ts'
import { asideNote, readRecording, readStored, type Recording } from './input/recording.ts'
import { ClosedPipe, type Io, progressOn, writeAll, writeLines } from './print/io.ts'
import { counted, plain, safe } from './print/text.ts'

/** The logs that a page is about, each read when it is asked for. */
interface Logs {
  readonly titles: readonly LogTitle[]
  readonly read: (index: number) => Promise<LogDocument>
}

/** Opens the page. Resolves to the exit code, for a page that is served once the command is asked to end. */
export async function inspect(request: InspectRequest, io: Io): Promise<number> {
  const { stored } = request
  const name = stored?.db.label ?? request.files.join(', ')
  const about = { name, fields: { file: name }, json: false }
  const progress = progressOn(name, io)
  return attempt(about, io, progress, async () => {
    const show = async (logs: Logs): Promise<number> => {
      progress.done()
      // Behind what the user named: a file that is not there is the first thing to say.
      const template = await readTemplate()
      return request.html === null
        ? serveLogs(template, logs, request, io)
        : writePage(template, logs, request.html, request, io)
    }
    if (stored === null) return show(await filesOf(request, io))
    return withStore(stored.db, { write: false }, async (store) => show(await storedLogs(store, request, io)))
  })
}

/** The logs of files, all of them read. */
async function filesOf(request: InspectRequest, io: Io): Promise<Logs> {
  const logs: LogDocument[] = []
  for (const file of request.files) {
    const progress = progressOn(file, io)
    try {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const recording = await readRecording(file, io, progress, { from: request.from })
      logs.push(...documentsOf(recording, request.redact))
      const note = asideNote(recording, recording.lines.length)
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
  return { titles: logs.map(titleOf), read: async (index) => logs[index] as LogDocument }
}

/** How many conversations of a database can be chosen from. */
const MOST = 2000

/** The conversation that was named with those that it has started, or all of them. */
async function storedLogs(store: Store, { stored, redact }: InspectRequest, io: Io): Promise<Logs> {
  const id = stored?.conversation ?? null
  const wanted = id === null ? null : await getConversation(store, id)
  const records = wanted === null ? [] : [wanted]
  // Those that one has started may be anywhere among all.
  const most = wanted === null ? MOST : Infinity
  let seen = 0
  for (let cursor: string | null = null; seen < most;) {
    // oxlint-disable-next-line no-await-in-loop -- each page names the next
    const page = await store.listConversations({ limit: 100, ...(cursor !== null && { cursor }) })
    seen += page.items.length
    for (const record of page.items)
      if (wanted === null || (record.parentConversationId !== null && record.id !== id)) records.push(record)
    cursor = page.next_page_id
    if (cursor === null) break
    if (seen >= most)
      // oxlint-disable-next-line no-await-in-loop
      await complain(io, `shows the newest ${most.toLocaleString('en')}; --conversation ID for another`)
  }
  if (wanted !== null) {
    const started = startedBy(
      0,
      records.map((record) => titleOfRecord(record, redact)),
    )
    const its = started.map((at) => records[at] as ConversationRecord)
    records.splice(1, Infinity, ...its)
  }
  return {
    titles: records.map((record) => titleOfRecord(record, redact)),
    read: async (index) => {
      const { id: at } = records[index] as ConversationRecord
      const record = await getConversation(store, at)
      const progress = progressOn(at, io)
      const recording = await readStored(store, record, stored?.db.label ?? '', progress)
      progress.done()
      return storedDocument(recording, record, redact)
    },
  }
}

async function writePage(
  template: string,
  { titles, read }: Logs,
  output: string,
  { force, stored }: InspectRequest,
  io: Io,
): Promise<number> {
  if (stored !== null && stored.conversation === null)
    throw new FileError('several_conversations', '--html writes one conversation: say --conversation ID')
  const logs = await Promise.all(titles.map((_, index) => read(index)))
  // From here on, what goes wrong is about the file that is written.
  const about = { name: output, fields: { file: output }, json: false }
  return attempt(about, io, progressOn(output, io), async () => {
    await writeTo({ output, force }, 'file', async (path) => {
      const file = await open(path, 'wx')
      try {
        const sink = { isTTY: false, write: async (text: string) => void (await file.write(text)) }
        await writeAll(sink, inspectorPage(template, logs))
      } finally {
        await file.close()
      }
    })
    await writeLines(io.stdout, [
      `Written to ${safe(output)}: it opens in any browser, and asks no server for anything`,
    ])
    return 0
  })
}

/** What the browser is told of what it is given. */
const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "frame-ancestors 'none'",
}

/** Serves the page to this machine until the command is asked to end. */
async function serveLogs(template: string, logs: Logs, request: InspectRequest, io: Io): Promise<number> {
  const { listen } = await import('../service/node/index.ts')
  const source: PageSource = { from: 'files', logs: logs.titles, first: 0 }
  const page = [...inspectorPage(template, [], source)].join('')
  const respond = async (asked: Request): Promise<Response> => {
    const { pathname } = new URL(asked.url)
    if (asked.method !== 'GET' && asked.method !== 'HEAD') return new Response(null, { status: 405 })
    if (pathname === '/')
      return new Response(page, { headers: { ...HEADERS, 'content-type': 'text/html; charset=utf-8' } })
    const index = /^\/logs\/(\d{1,6})$/.exec(pathname)?.[1]
    if (index === undefined || logs.titles[Number(index)] === undefined)
      return new Response(null, { status: 404 })
    const log = await logs.read(Number(index))
    return new Response(linesOf(logBlocks(log)), {
      headers: { ...HEADERS, 'content-type': 'application/x-ndjson' },
    })
  }
  const server = await listen({
    fetch: respond,
    host: '127.0.0.1',
    port: request.port,
    onlyLocal: true,
  }).catch((error: unknown) => {
    throw error instanceof Error ? notListening(error) : error
  })
  const stopped = new Promise<void>((stop) => (io.onStop === undefined ? stop() : io.onStop(stop)))
  try {
    await writeLines(io.stdout, [
      `Colloquy shows ${safe(nameOf(request))} at ${server.url}`,
      '  only this machine is let in; end with Ctrl-C',
    ])
    if (request.open) openBrowser(server.url)
    await stopped
  } catch (error) {
    if (!(error instanceof ClosedPipe)) throw error
  } finally {
    await server.close()
  }
  return 0
}

const nameOf = ({ stored, files }: InspectRequest): string =>
  stored === null ? files.join(', ') : `${stored.conversation ?? 'all'} in ${stored.db.label}`

/** Lines as bytes, one at a time. */
function linesOf(lines: Iterable<string>): ReadableStream<Uint8Array> {
  const iterator = lines[Symbol.iterator]()
  const encoder = new TextEncoder()
  return new ReadableStream({
    pull(controller) {
      const next = iterator.next()
      if (next.done === true) controller.close()
      else controller.enqueue(encoder.encode(`${next.value}\n`))
    },
  })
}

/** Shows an address in the user's browser; one that is not there is no failure: the address is printed. */
function openBrowser(url: string): void {
  const [command, ...before] =
    process.platform === 'darwin'
      ? ['open']
      : process.platform === 'win32'
        ? ['cmd', '/c', 'start', '']
        : ['xdg-open']
  spawn(command as string, [...before, url], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}

/** The logs of a file: its own, then those of the sessions that it holds. */
export function documentsOf(recording: Recording, redact: boolean): LogDocument[] {
  const { session, file } = recording
  const title = shownText(session?.title ?? basename(file), redact)
  const name = session?.id ?? file
  const own = documentOf(
    recording,
    { title, conversation: '', name, parent: session?.parentId ?? null },
    redact,
  )
  return session === null ? [own] : [own, ...childrenOf(session, own, redact)]
}

/** The log of a stored conversation. */
export const storedDocument = (
  recording: Recording,
  record: ConversationRecord,
  redact: boolean,
): LogDocument => documentOf(recording, titleOfRecord(record, redact), redact)

/** What a list says of a stored conversation. */
export function titleOfRecord(record: ConversationRecord, redact: boolean): LogTitle {
  const { id, title, parentConversationId: parent } = redact ? redactRecord(record, redactionRules()) : record
  return { title: plain(title ?? id), conversation: id, name: id, parent }
}

function documentOf(
  recording: Recording,
  { title, conversation, name, parent }: LogTitle,
  redact: boolean,
): LogDocument {
  const { lines, session } = recording
  const given = recording.loaded.map(({ fact }) => fact)
  const facts = shownFacts(given, conversation, recording.state, redact)
  const loaded = redact ? redacted(recording.loaded, facts) : recording.loaded
  // What is found quotes names and texts: those of the facts that are shown.
  const state = redact ? replay(facts, { conversationId: conversation }) : recording.state
  return {
    title: plain(title),
    conversation,
    name,
    parent,
    lines: lines.every((line, at) => line === at + 1) ? null : lines,
    issues: loaded.flatMap(({ warnings }, seq) => warnings.map((issue) => ({ seq, issue }))),
    notes: notesOf(session, redact),
    findings: findings(state, { loaded, ...lookOf(loaded.length) }),
    facts,
  }
}

/** What was loaded, without what is secret; the texts of issues may quote it, and what stood there is left out. */
const redacted = (loaded: readonly Loaded[], facts: readonly Fact[]): Loaded[] =>
  loaded.map(({ fact, upcasts, warnings }, at) => ({
    fact: facts[at] ?? fact,
    upcasts,
    warnings: warnings.map(({ loc, msg, type }) => ({
      loc: loc.map((step) => (typeof step === 'string' ? shownText(step, true) : step)),
      msg: shownText(msg, true),
      type,
    })),
  }))

/** Sessions that stand in the file of another, each behind the one that it is of. */
function childrenOf({ children }: Session, parent: LogTitle, redact: boolean): LogDocument[] {
  return children.flatMap((child, at) => {
    const title = plain(shownText(child.title ?? child.id ?? `${parent.title}, child ${at + 1}`, redact))
    const { facts } = child
    const own: LogDocument = {
      title,
      conversation: '',
      name: child.id ?? `${parent.name}/${at}`,
      parent: parent.name,
      lines: facts.map(({ line }: SessionFact) => line),
      issues: [],
      notes: notesOf(child, redact),
      findings: null,
      facts: shownFacts(
        facts.map(({ fact }) => fact),
        '',
        null,
        redact,
      ),
    }
    return [own, ...childrenOf(child, own, redact)]
  })
}

const notesOf = (session: Session | null, redact: boolean): string[] =>
  (session?.notes ?? []).map(
    ({ what, count, line }) => `line ${line}: ${shownText(what, redact)}, ${counted(count, 'time')}`,
  )

/** A text of the session beside its facts, without what is secret. */
const shownText = (text: string, redact: boolean): string =>
  redact ? redactRecord({ title: text }, redactionRules()).title : text

/** Facts without what is secret; one that came without an id keeps the one that its log derived from all of it. */
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

/** Where it stands: beside the command in the package, in what was built for a command that runs from its sources. */
const PLACES = ['../inspector/page.html', '../../dist/inspector/page.html']

/** @throws FileError where it was not built. */
export async function readTemplate(): Promise<string> {
  for (const place of PLACES) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const text = await readFile(new URL(place, import.meta.url), 'utf8').catch(() => null)
    if (text !== null) return text
  }
  throw new FileError('not_built', 'the page of the inspector is not built: run npm run build')
}
