/** Checks the options of commands that work on a database. */

import { EVENT_KINDS } from '../../index.ts'
import { isLegalId, parseInstant, SOURCES } from '../../event/index.ts'
import { MAX_PAGE_SIZE } from '../../store/kit/index.ts'
import { type DatabaseCommand, FROM, LAYOUTS } from './commands.ts'
import { type Address, addressOf } from '../db/address.ts'
import { UsageError } from '../failure.ts'
import { choiceOf, type Given, valueOf } from './options.ts'
import type {
  ConversationsRequest,
  ExportRequest,
  Filter,
  ImportRequest,
  InspectRequest,
  PageRequest,
  SearchRequest,
  ServeRequest,
  Stored,
} from './request.ts'

/** @throws UsageError */
export function importRequest(files: readonly string[], options: Given): ImportRequest {
  const db = databaseOf('import', options)
  if (files.length === 0) throw new UsageError('import needs a FILE, or - for standard input')
  const conversation = valueOf(options, 'conversation')
  if (conversation !== null && !isLegalId(conversation))
    throw new UsageError('--conversation must be 1 to 200 characters without control characters')
  if (conversation !== null && files.length > 1)
    throw new UsageError('--conversation names one conversation: import one FILE with it')
  if (conversation === null && files.includes('-'))
    throw new UsageError('standard input (-) has no name: say --conversation ID')
  const timeZone = valueOf(options, 'timezone')
  if (timeZone !== null && !isTimeZone(timeZone))
    throw new UsageError(`unknown time zone '${timeZone}': use an IANA name, as Europe/Berlin`)
  const from = choiceOf(options, 'from', FROM)
  return { command: 'import', files, db, conversation, timeZone, from, json: options.has('json') }
}

/** @throws UsageError */
export function exportRequest(words: readonly string[], options: Given): ExportRequest {
  const stored = storedOf('export', words, options)
  const output = valueOf(options, 'output')
  const named = output !== null && /\.zip$/i.test(output) ? 'zip' : 'jsonl'
  const layout = choiceOf(options, 'format', LAYOUTS) ?? named
  if (output === null && layout !== 'jsonl')
    throw new UsageError(`export --format ${layout} needs --output PATH`)
  // Import would take it for an array, or for base_state.json.
  if (layout === 'jsonl' && output !== null && /\.(?:json|zip)$/i.test(output))
    throw new UsageError('lines go to a file of another name: --output PATH.jsonl, or say --format')
  if (output === null && options.has('force')) throw new UsageError('--force needs --output PATH')
  const [force, redact] = [options.has('force'), options.has('redact')]
  return { command: 'export', ...stored, layout, output, force, redact }
}

/** @throws UsageError */
export function searchRequest(words: readonly string[], options: Given): SearchRequest {
  const stored = storedOf('search', words, options)
  return {
    command: 'search',
    ...stored,
    ...pageOf(options),
    filter: filterOf(options),
    descending: options.has('desc'),
  }
}

/** @throws UsageError */
export function conversationsRequest(words: readonly string[], options: Given): ConversationsRequest {
  refuseWords('conversations', words)
  return { command: 'conversations', db: databaseOf('conversations', options), ...pageOf(options) }
}

/** Where a service keeps its conversations by default. */
const OWN_FILE = 'colloquy.db'

/** @throws UsageError */
export function serveRequest(words: readonly string[], options: Given): ServeRequest {
  refuseWords('serve', words)
  const port = portOf(options, '8000')
  const memory = valueOf(options, 'memory')
  if (memory !== null && !/^[1-9]\d{0,6}$/.test(memory))
    throw new UsageError('--memory must be a number of mebibytes from 1 to 9999999')
  const origins = options.get('allow-origin') ?? []
  if (!origins.every(isOrigin))
    throw new UsageError('--allow-origin must be as in https://app.example.com, or *')
  return {
    command: 'serve',
    db: addressOf(valueOf(options, 'db') ?? OWN_FILE),
    host: valueOf(options, 'host') ?? '127.0.0.1',
    port,
    workspace: valueOf(options, 'workspace'),
    cacheBytes: memory === null ? null : Number(memory) * 2 ** 20,
    redact: options.has('redact'),
    agent: valueOf(options, 'agent'),
    config: valueOf(options, 'config'),
    inspect: options.has('inspect'),
    allowOrigins: origins,
  }
}

/** A scheme, a host and perhaps a port; `*` stands for all. */
function isOrigin(text: string): boolean {
  if (text === '*') return true
  const url = URL.canParse(text) ? new URL(text) : null
  return (
    url !== null && /^https?:$/.test(url.protocol) && url.origin === text.toLowerCase().replace(/\/$/, '')
  )
}

/** @throws UsageError */
export function inspectRequest(files: readonly string[], options: Given): InspectRequest {
  const [db, conversation] = [valueOf(options, 'db'), valueOf(options, 'conversation')]
  if (db !== null && files.length > 0) throw new UsageError('inspect takes a FILE or --db, not both')
  if (db === null && conversation !== null) throw new UsageError('--conversation needs --db FILE_OR_URL')
  if (db === null && files.length === 0) throw new UsageError('inspect needs a FILE, or - for standard input')
  if (files.filter((file) => file === '-').length > 1)
    throw new UsageError('standard input (-) can be read once only')
  const html = valueOf(options, 'html')
  if (html !== null && (options.has('port') || options.has('open')))
    throw new UsageError('--html writes a file: nothing is served')
  if (html === null && options.has('force')) throw new UsageError('--force needs --html PATH')
  return {
    command: 'inspect',
    files,
    stored: db === null ? null : { db: addressOf(db), conversation },
    from: choiceOf(options, 'from', FROM),
    port: portOf(options, '0'),
    open: options.has('open'),
    html,
    force: options.has('force'),
    redact: options.has('redact'),
  }
}

/** @throws UsageError */
function portOf(options: Given, otherwise: string): number {
  const port = valueOf(options, 'port') ?? otherwise
  if (/^\d{1,5}$/.test(port) && Number(port) <= 65_535) return Number(port)
  throw new UsageError('--port must be a number from 0 to 65535')
}

function storedOf(command: DatabaseCommand, words: readonly string[], options: Given): Stored {
  refuseWords(command, words)
  const db = databaseOf(command, options)
  const conversation = valueOf(options, 'conversation')
  if (conversation === null) throw new UsageError(`${command} needs --conversation ID`)
  return { db, conversation }
}

function databaseOf(command: DatabaseCommand, options: Given): Address {
  const db = valueOf(options, 'db')
  if (db === null) throw new UsageError(`${command} needs --db FILE_OR_URL`)
  return addressOf(db)
}

function refuseWords(command: DatabaseCommand, words: readonly string[]): void {
  // Not named: it may be a URL with a password.
  if (words.length > 0) throw new UsageError(`${command} takes no FILE, only --db FILE_OR_URL`)
}

function pageOf(options: Given): PageRequest {
  const text = valueOf(options, 'limit')
  const limit = text === null ? null : Number(text)
  if (limit !== null && !(/^\d+$/.test(text ?? '') && limit >= 1 && limit <= MAX_PAGE_SIZE))
    throw new UsageError(`--limit must be a number from 1 to ${MAX_PAGE_SIZE}`)
  return { limit, page: valueOf(options, 'page'), json: options.has('json') }
}

function filterOf(options: Given): Filter {
  const kinds = (options.get('kind') ?? []).map((kind) => {
    const known = EVENT_KINDS.find((each) => each === kind)
    if (known === undefined)
      throw new UsageError(`unknown --kind '${kind}': use one of ${EVENT_KINDS.join(', ')}`)
    return known
  })
  const source = choiceOf(options, 'source', SOURCES)
  const since = timeOf(options, 'since')
  const until = timeOf(options, 'until')
  const text = valueOf(options, 'text')
  const leaf = valueOf(options, 'leaf')
  return {
    ...(kinds.length > 0 && { kinds }),
    ...(source !== null && { source }),
    ...(since !== null && { timestampGte: since }),
    ...(until !== null && { timestampLt: until }),
    ...(text !== null && { text }),
    ...(leaf !== null && { leafId: leaf }),
  }
}

function timeOf(options: Given, name: 'since' | 'until'): string | null {
  const text = valueOf(options, name)
  // People write days; a day begins at midnight.
  const time = text !== null && /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00` : text
  if (time === null || parseInstant(time) !== undefined) return time
  throw new UsageError(`--${name} must be a date and time in ISO 8601, as in 2026-01-31T10:00:00.5+01:00`)
}

function isTimeZone(text: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).format(0) !== ''
  } catch {
    return false
  }
}
