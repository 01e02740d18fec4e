import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { redactionRules, redactLog, redactRecord } from '../context/redaction/index.ts'
import { type Fact, isQuarantined, type Loaded } from '../event/index.ts'
import { findings } from '../explain/index.ts'
import { type ConversationRecord, replay, type State, type Store } from '../index.ts'
import type { LogDocument, LogTitle, PageSource } from '../inspector/index.ts'
import { findingOptions, inspectorPage, logBlocks, startedBy, titleOf } from '../inspector/index.ts'
import type { Options, RequestOf } from './commands.ts'
import { eachConversation, getConversation, withStore } from './db/store.ts'
import { type Target, writeTo } from './export.ts'
import { FileError, rejectRead } from './failure.ts'
import { openingCall, quarantineNote, readRecording, readStored, type Recording } from './input/recording.ts'
import { counted, plain, safe } from './print/text.ts'
import { aboutFile, type Page } from './show/page.ts'

interface Logs {
  readonly name: string
  readonly titles: readonly LogTitle[]
  readonly read: (index: number) => Promise<LogDocument>
}

export async function inspect({ options, files }: RequestOf<'inspect'>, page: Page): Promise<number> {
  const { db, html } = options
  return page.attempt(aboutFile(db?.label ?? files.join(', ')), async () => {
    const show = async (logs: Logs): Promise<number> => {
      // A missing file is reported before a missing template.
      const template = await readTemplate()
      return html === undefined
        ? serveLogs(template, logs, options, page)
        : writePage(template, logs, { output: html, kind: 'file', force: options.force === true }, page)
    }
    if (db === undefined) return show(await filesOf(files, options, page))
    return withStore(db, { write: false }, async (store) =>
      show(await logsIn(store, db.label, options, page)),
    )
  })
}

/** Paths of the page: in the package, and in `dist` when the command runs from sources. */
const TEMPLATES = ['../inspector/page.html', '../../dist/inspector/page.html']

export async function readTemplate(): Promise<string> {
  const texts = TEMPLATES.map((path) => readFile(new URL(path, import.meta.url), 'utf8'))
  return Promise.any(texts).catch(() => {
    throw new FileError('not_built', 'the inspector page is not built: run npm run build')
  })
}

async function filesOf(files: readonly string[], options: Options<'inspect'>, page: Page): Promise<Logs> {
  const { from, redact = false } = options
  const logs: LogDocument[] = []
  for (const file of files) {
    const recording = await readRecording(file, page.io, from).catch(rejectRead(file))
    const parent = recording.session?.parentId ?? null
    logs.push(...documentsOf(recording, { title: basename(file), name: file, parent }, redact))
    const note = quarantineNote(recording, recording.lines.length)
    if (note !== null) await page.complain(`${safe(file)}: ${note}`)
  }
  const read = async (index: number) => logs[index] as LogDocument
  return { name: files.join(', '), titles: logs.map(titleOf), read }
}

const MAX_CONVERSATIONS = 2000

async function logsIn(store: Store, label: string, options: Options<'inspect'>, page: Page): Promise<Logs> {
  const { conversation, redact = false } = options
  const titleOfRecord = (record: ConversationRecord): LogTitle => {
    const { id, title, parentConversationId: parent } = redact ? redactRecord(record, RULES) : record
    return { title: plain(title ?? id), conversation: id, name: id, parent, call: openingCall(record) }
  }
  const root = conversation === undefined ? null : await getConversation(store, conversation)
  let titles: LogTitle[] = root === null ? [] : [titleOfRecord(root)]
  for await (const record of eachConversation(store, { limit: 100 })) {
    if (root === null && titles.length === MAX_CONVERSATIONS) {
      const maximum = MAX_CONVERSATIONS.toLocaleString('en')
      await page.complain(`shows the newest ${maximum} conversations; pass --conversation ID for another one`)
      break
    }
    // The children of a conversation may be anywhere in the list.
    if (root === null || (record.parentConversationId !== null && record.id !== root.id))
      titles.push(titleOfRecord(record))
  }
  if (root !== null) titles = [0, ...startedBy(0, titles)].map((index) => titles[index] as LogTitle)
  return {
    name: `${conversation ?? 'all'} in ${label}`,
    titles,
    async read(index) {
      const { name } = titles[index] as LogTitle
      const record = await getConversation(store, name)
      return documentOf(await readStored(store, record), titleOfRecord(record), redact)
    },
  }
}

const RULES = redactionRules()

interface Log extends Pick<Recording, 'loaded' | 'lines' | 'session'> {
  /** State of the log; null for a subagent's log, whose findings the page computes. */
  readonly state: State | null
}

/** Returns a log in the page's format. `redact` masks secrets in all of it, including the title and the notes. */
function documentOf(log: Log, head: LogTitle, redact: boolean): LogDocument {
  const conversationId = head.conversation
  const notes = (log.session?.notes ?? []).map(
    ({ what, count, line }) => `line ${line}: ${what}, ${counted(count, 'time')}`,
  )
  const texts = {
    title: head.title,
    metadata: { notes, warnings: log.loaded.map(({ warnings }) => warnings) },
  }
  const { title, metadata } = redact ? (redactRecord(texts as object, RULES) as typeof texts) : texts
  const original = log.loaded.map(({ fact }) => fact)
  const clean = redact ? redactLog(original, RULES, { conversationId }) : original
  const facts = clean.map((fact, seq) => {
    if (isQuarantined(fact) || fact.id !== undefined) return fact
    // Add the id: from the event without its encrypted content, the page would derive another id.
    const id = log.state?.log.entries.get(seq)?.id ?? null
    return id === null ? fact : { ...fact, id }
  })
  const loaded = log.loaded.map(({ upcasts }, seq): Loaded => {
    return { fact: facts[seq] as Fact, upcasts, warnings: metadata.warnings[seq] ?? [] }
  })
  // Findings quote facts, so they are computed from the redacted facts.
  const state = redact && log.state !== null ? replay(facts, { conversationId }) : log.state
  return {
    ...head,
    title,
    lines: log.lines.every((line, index) => line === index + 1) ? null : log.lines,
    issues: metadata.warnings.flatMap((issues, seq) => issues.map((issue) => ({ seq, issue }))),
    notes: metadata.notes,
    findings: state === null ? null : findings(state, { loaded, ...findingOptions(loaded.length) }),
    facts,
  }
}

function documentsOf(
  log: Log,
  { title, name, parent }: Pick<LogTitle, 'title' | 'name' | 'parent'>,
  redact: boolean,
): LogDocument[] {
  const { id = null, title: ownTitle = null, subagent = null, children = [] } = { ...log.session }
  const named = { title: plain(ownTitle ?? title), name: id ?? name, parent }
  const self = { ...named, conversation: '', call: subagent?.actionId ?? null }
  const below = children.flatMap((session, index) => {
    const loaded = session.facts.map(({ fact }) => ({ fact, upcasts: [], warnings: [] }))
    const child = { loaded, lines: session.facts.map(({ line }) => line), session, state: null }
    const childTitle = session.id ?? `${self.title}, child ${index + 1}`
    const head = { title: childTitle, name: `${self.name}/${index}`, parent: self.name }
    return documentsOf(child, head, redact)
  })
  return [documentOf(log, self, redact), ...below]
}

async function writePage(template: string, logs: Logs, target: Target, page: Page): Promise<number> {
  const { output } = target
  const documents = await Promise.all(logs.titles.map((_, index) => logs.read(index)))
  // From here on, errors are about the file that is written.
  return page.attempt(aboutFile(output), async () => {
    await writeTo(target, (path) => writeFile(path, inspectorPage(template, documents), { flag: 'wx' }))
    await page.print([`Written to ${safe(output)}: it opens in any browser, without a server`])
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

async function serveLogs(
  template: string,
  logs: Logs,
  options: Options<'inspect'>,
  page: Page,
): Promise<number> {
  const { listen } = await import('../service/node/index.ts')
  const source: PageSource = { from: 'files', logs: logs.titles, first: 0 }
  const html = [...inspectorPage(template, [], source)].join('')
  const fetch = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url)
    if (request.method !== 'GET' && request.method !== 'HEAD') return new Response(null, { status: 405 })
    if (pathname === '/')
      return new Response(html, { headers: { ...HEADERS, 'content-type': 'text/html; charset=utf-8' } })
    const index = /^\/logs\/(\d{1,6})$/.exec(pathname)?.[1]
    if (index === undefined || logs.titles[Number(index)] === undefined)
      return new Response(null, { status: 404 })
    const log = await logs.read(Number(index))
    return new Response(ReadableStream.from(encoded(logBlocks(log))), {
      headers: { ...HEADERS, 'content-type': 'application/x-ndjson' },
    })
  }
  const address = { host: '127.0.0.1', port: options.port ?? 0, onlyLocal: true }
  const server = await listen({ fetch, ...address })
  const lines = [
    `Colloquy shows ${logs.name} at ${server.url}`,
    '  only this machine has access; stop with Ctrl-C',
  ]
  if (options.open === true) openBrowser(server.url)
  await page.serve(server, lines)
  return 0
}

function* encoded(lines: Iterable<string>): IterableIterator<Uint8Array> {
  for (const line of lines) yield Buffer.from(`${line}\n`)
}

const OPENERS: Partial<Readonly<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Opens a URL in the browser. Ignores a failure, because the address is also printed. */
function openBrowser(url: string): void {
  const [command = 'xdg-open', ...words] = OPENERS[process.platform] ?? []
  spawn(command, [...words, url], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}
