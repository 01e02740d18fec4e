/** Parses and checks the command line; a mistake is reported before anything is opened. */

import {
  type CommandName,
  COMMANDS,
  type FileCommand,
  FORMATS,
  FROM,
  GRAMMAR_NAMES,
  isCommand,
  REPORTS,
  TARGETS,
} from './commands.ts'
import { addressOf, isDatabaseUrl } from '../db/address.ts'
import {
  conversationsRequest,
  exportRequest,
  importRequest,
  inspectRequest,
  searchRequest,
  serveRequest,
} from './database-args.ts'
import { UsageError } from '../failure.ts'
import { nearest } from './nearest.ts'
import {
  checkFlags,
  choiceOf,
  choicesOf,
  firstWord,
  type Given,
  readOptions,
  valueOf,
  wholeOf,
} from './options.ts'
import type { FileRequest, LawRequest, Request } from './request.ts'

/**
 * The request that the arguments make.
 * @throws UsageError when they make none.
 */
export function parseRequest(argv: readonly string[]): Request {
  const { options, words } = readOptions(argv)
  const [name, ...rest] = words
  if (options.has('version')) return { command: 'version' }
  if (name === undefined) {
    if (options.size === 0 || options.has('help')) return { command: 'help', topic: null }
    throw new UsageError('no command given')
  }
  if (words.some(isDatabaseUrl)) throw new UsageError('a database is named with --db')
  if (!isCommand(name)) throw unknownCommand(name)
  if (options.has('help')) return { command: 'help', topic: name === 'help' ? null : name }
  checkFlags(name, options)
  return requestOf(name, rest, options)
}

/** The command that a command line is about, whatever is wrong with the rest of it; none where it names none. */
export function commandIn(argv: readonly string[]): readonly CommandName[] {
  const name = firstWord(argv)
  return name !== undefined && name !== 'help' && isCommand(name) ? [name] : []
}

function requestOf(name: CommandName, words: readonly string[], options: Given): Request {
  switch (name) {
    case 'help':
      return { command: 'help', topic: topicOf(words) }
    case 'demo':
      if (words.length > 0) throw new UsageError('demo takes no file')
      return { command: 'demo' }
    case 'inspect':
      return inspectRequest(words, options)
    case 'import':
      return importRequest(words, options)
    case 'export':
      return exportRequest(words, options)
    case 'search':
      return searchRequest(words, options)
    case 'conversations':
      return conversationsRequest(words, options)
    case 'serve':
      return serveRequest(words, options)
    default:
      return fileRequest(name, words, options)
  }
}

function fileRequest(command: FileCommand, words: readonly string[], options: Given): FileRequest {
  const db = valueOf(options, 'db')
  const { files, subject } =
    command === 'why' ? subjectIn(words, db === null ? 1 : 0) : { files: words, subject: undefined }
  const conversation = valueOf(options, 'conversation')
  if (db !== null && files.length > 0) throw new UsageError(`${command} takes a FILE or --db, not both`)
  if (db !== null && options.has('from'))
    throw new UsageError('--from says what a FILE is: a database has none')
  if (db === null && conversation !== null) throw new UsageError('--conversation needs --db FILE_OR_URL')
  if (db === null && files.length === 0)
    throw new UsageError(`${command} needs a FILE, or - for standard input`)
  if (db !== null && conversation === null)
    throw new UsageError('--db needs --conversation ID (colloquy conversations lists them)')
  if (files.filter((file) => file === '-').length > 1)
    throw new UsageError('standard input (-) can be read once only')
  const budget = wholeOf(options, 'budget', 0)
  const laws = command === 'check' ? lawRequest(options) : null
  return {
    command,
    files,
    stored: db === null || conversation === null ? null : { db: addressOf(db), conversation },
    from: choiceOf(options, 'from', FROM),
    json: options.has('json') || laws?.form === 'json',
    laws,
    event: valueOf(options, 'at') ?? valueOf(options, 'leaf'),
    format: (command === 'messages' ? choiceOf(options, 'format', FORMATS) : null) ?? 'neutral',
    ...(budget !== null && { budget }),
    ...(subject !== undefined && { subject }),
    ...(command === 'condense' && condenseOptions(options)),
    ...(command === 'convert' && {
      to: choiceOf(options, 'to', TARGETS) ?? 'atif',
      content: options.has('content'),
    }),
  }
}

/** The words of `why`: so many files, and behind them the event, where one is named. */
function subjectIn(words: readonly string[], files: number) {
  if (words.length > files + 1) throw new UsageError('why takes one FILE and one EVENT_ID')
  return { files: words.slice(0, files), subject: words[files] ?? null }
}

function lawRequest(options: Given): LawRequest | null {
  if (!options.has('laws')) {
    const alone = (['ended', 'grammar', 'format'] as const).find((name) => options.has(name))
    if (alone !== undefined) throw new UsageError(`--${alone} needs --laws`)
    return null
  }
  const form = choiceOf(options, 'format', REPORTS) ?? (options.has('json') ? 'json' : 'text')
  if (options.has('json') && form !== 'json') throw new UsageError(`--json is another format than ${form}`)
  return { ended: options.has('ended'), grammars: choicesOf(options, 'grammar', GRAMMAR_NAMES), form }
}

function condenseOptions(options: Given): Pick<FileRequest, 'maxEvents' | 'summary'> {
  // Fewer would leave nothing to keep behind a summary.
  const maxEvents = wholeOf(options, 'max-events', 4)
  if (maxEvents === null) throw new UsageError('condense needs --max-events N')
  const summary = valueOf(options, 'summary')
  if (summary === null) return { maxEvents }
  if (summary.trim() === '') throw new UsageError('--summary must say something')
  return { maxEvents, summary }
}

function topicOf(words: readonly string[]): CommandName | null {
  const [topic, extra] = words
  if (topic === undefined) return null
  if (extra !== undefined) throw new UsageError('help takes one command')
  if (!isCommand(topic)) throw unknownCommand(topic)
  return topic
}

function unknownCommand(name: string): UsageError {
  const meant = nearest(name, Object.keys(COMMANDS))
  return new UsageError(`unknown command '${name}'${meant === null ? '' : `: did you mean ${meant}?`}`)
}
