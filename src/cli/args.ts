/** Command line arguments go in, one checked request comes out. */

import { parseArgs } from 'node:util'
import { type CommandName, COMMANDS, type FileCommand, type Format, FORMATS, isCommand } from './commands.ts'
import { UsageError } from './failure.ts'

/** A command over files. */
export interface FileRequest {
  readonly command: FileCommand
  readonly files: readonly string[]
  readonly json: boolean
  /** The event to look from, given by `--at` or `--leaf`; null for HEAD. */
  readonly event: string | null
  readonly format: Format
}

/** What the user asks for. */
export type Request =
  | FileRequest
  | { readonly command: 'demo' | 'version' }
  | { readonly command: 'help'; readonly topic: CommandName | null }

const OPTIONS = {
  json: { type: 'boolean' },
  at: { type: 'string' },
  leaf: { type: 'string' },
  format: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'V' },
} as const

type OptionName = keyof typeof OPTIONS
type Given = ReadonlyMap<OptionName, string>

/**
 * The request that the arguments make.
 * @throws UsageError when they make none.
 */
export function parseRequest(argv: readonly string[]): Request {
  const { options, words } = readArgs(argv)
  const [name, ...files] = words
  if (options.has('version')) return { command: 'version' }
  if (name === undefined) {
    if (options.has('help')) return { command: 'help', topic: null }
    throw new UsageError('no command given')
  }
  if (!isCommand(name)) throw new UsageError(`unknown command '${name}'`)
  if (options.has('help')) return { command: 'help', topic: name === 'help' ? null : name }
  checkFlags(name, options)
  if (name === 'help') return { command: 'help', topic: topicOf(files) }
  if (name === 'demo') {
    if (files.length > 0) throw new UsageError('demo takes no file')
    return { command: 'demo' }
  }
  if (files.length === 0) throw new UsageError(`${name} needs a FILE, or - for standard input`)
  if (files.filter((file) => file === '-').length > 1)
    throw new UsageError('standard input (-) can be read once only')
  return {
    command: name,
    files,
    json: options.has('json'),
    event: options.get('at') ?? options.get('leaf') ?? null,
    format: formatOf(options.get('format')),
  }
}

/** Words and options, each option known and with the value it needs. */
function readArgs(argv: readonly string[]): { options: Given; words: string[] } {
  // Not strict: the messages of the strict parser run over several sentences, and it takes no `-x` as a value at all.
  const { tokens } = parseArgs({
    args: [...argv],
    options: OPTIONS,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const options = new Map<OptionName, string>()
  const words: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    if (!isOption(name)) throw new UsageError(`unknown option ${rawName}`)
    if (OPTIONS[name].type === 'boolean') {
      if (value !== undefined) throw new UsageError(`${rawName} takes no value`)
    } else if (value === undefined || value === '' || (inlineValue === false && value.startsWith('-'))) {
      throw new UsageError(`${rawName} needs a value`)
    }
    options.set(name, value ?? '')
  }
  return { options, words }
}

const isOption = (name: string): name is OptionName => Object.hasOwn(OPTIONS, name)

function checkFlags(command: CommandName, options: Given): void {
  const flags: readonly string[] = COMMANDS[command].flags
  for (const name of options.keys()) {
    if (!flags.includes(name satisfies OptionName)) throw new UsageError(`${command} has no option --${name}`)
  }
}

function topicOf(words: readonly string[]): CommandName | null {
  const [topic, extra] = words
  if (topic === undefined) return null
  if (extra !== undefined) throw new UsageError('help takes one command')
  if (!isCommand(topic)) throw new UsageError(`unknown command '${topic}'`)
  return topic
}

function formatOf(text: string | undefined): Format {
  if (text === undefined) return 'neutral'
  const format = FORMATS.find((known) => known === text)
  if (format === undefined) throw new UsageError(`unknown format '${text}': use one of ${FORMATS.join(', ')}`)
  return format
}
