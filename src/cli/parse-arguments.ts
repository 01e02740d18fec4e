import { parseArgs, type ParseArgsConfig } from 'node:util'
import { nearestName } from '../store/kit/index.ts'
import { type CommandName, isCommand, type Request, shownOption, TABLE } from './commands.ts'
import { isDatabaseUrl } from './db/address.ts'
import { fail, UsageError } from './failure.ts'

/** Parses and checks a command line; a mistake is reported before anything is opened. @throws UsageError */
export function parseRequest(argv: readonly string[]): Request {
  const inputs = new Map<string, string[]>()
  const words: string[] = []
  const [command] = commandIn(argv)
  const known = Object.keys(command === undefined ? PARSER_OPTIONS : { ...TABLE[command].options, help: '' })
  for (const token of tokensOf(argv)) {
    if (token.kind === 'positional') words.push(token.value)
    else if (token.kind === 'option')
      inputs.set(token.name, [...(inputs.get(token.name) ?? []), valueOf(token, known)])
  }
  const [name, ...rest] = words
  if (inputs.has('version')) return { command: 'version', options: {} }
  if (name === undefined)
    return inputs.size === 0 || inputs.has('help') ? helpOn(null) : fail('no command given')
  if (words.some(isDatabaseUrl)) fail('a database URL is not a FILE: pass it with --db')
  if (!isCommand(name)) throw unknownCommand(name)
  if (inputs.has('help')) return helpOn(name === 'help' ? null : name)
  const options = parseOptions(name, inputs)
  const { operand: operandName, input } = TABLE[name]
  // A single FILE precedes the operand.
  const fileCount = operandName === undefined ? Infinity : input === 'nothing' || 'db' in options ? 0 : 1
  const files = rest.slice(0, fileCount)
  const operand = rest[fileCount] ?? null
  if (rest.length > fileCount + 1)
    fail(`${name} accepts only one ${fileCount === 0 ? '' : 'FILE and one '}${operandName}`)
  checkInput(name, files, options)
  TABLE[name].check?.(options, files)
  if (name === 'help' && operand !== null && !isCommand(operand)) throw unknownCommand(operand)
  return { command: name, files, operand, options } as Request
}

/** Returns the command whose help page a usage error should mention; empty if the command is unknown. */
export function commandIn(argv: readonly string[]): readonly CommandName[] {
  const name = tokensOf(argv).find((token) => token.kind === 'positional')?.value
  return name !== undefined && name !== 'help' && isCommand(name) ? [name] : []
}

const helpOn = (operand: CommandName | null): Request => ({
  command: 'help',
  files: [],
  operand,
  options: {},
})

const PARSER_OPTIONS: NonNullable<ParseArgsConfig['options']> = {
  ...Object.fromEntries(
    Object.values(TABLE)
      .flatMap(({ options }) => Object.entries(options))
      .map(([name, { value }]) => [name, { type: value === null ? 'boolean' : 'string' }]),
  ),
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'V' },
}

// A strict parser would reject `-x` as a value, and its messages are several sentences long.
const tokensOf = (argv: readonly string[]) =>
  parseArgs({ args: [...argv], options: PARSER_OPTIONS, strict: false, allowPositionals: true, tokens: true })
    .tokens

type OptionToken = Extract<ReturnType<typeof tokensOf>[number], { kind: 'option' }>

function valueOf({ name, rawName, value = '', inlineValue }: OptionToken, known: readonly string[]): string {
  if (!Object.hasOwn(PARSER_OPTIONS, name)) fail(`unknown option ${rawName}${hintOf(name, known, '--')}`)
  if (PARSER_OPTIONS[name]?.type === 'boolean')
    return inlineValue === true ? fail(`${rawName} accepts no value`) : value
  // No option begins with a digit: `-5` is a number, which the option's parser may reject.
  if (value !== '' && (inlineValue === true || !/^-(?!\d)/.test(value))) return value
  const hint = /^-[^-]/.test(value) ? `: for a value that begins with -, write ${rawName}=-x` : ''
  return fail(`${rawName} needs a value${hint}`)
}

type OptionValues = Readonly<Record<string, unknown>>

function parseOptions(command: CommandName, inputs: ReadonlyMap<string, readonly string[]>): OptionValues {
  const { options } = TABLE[command]
  const values: Record<string, unknown> = {}
  for (const [name, texts] of inputs) {
    const known = Object.hasOwn(options, name) ? options[name] : undefined
    if (known === undefined) return fail(`${command} has no option --${name}`)
    const { value, parse, isRepeated = false } = known
    if (texts.length > 1 && !isRepeated && value !== null) fail(`--${name} can be used only once`)
    values[name] = isRepeated ? texts.flatMap((text) => parse(text, name)) : parse(texts[0] ?? '', name)
  }
  for (const [name, { isRequired = false, needs }] of Object.entries(options)) {
    if (isRequired && !inputs.has(name)) fail(`${command} needs ${shownOption(options, name)}`)
    if (needs !== undefined && inputs.has(name) && !inputs.has(needs))
      fail(`--${name} needs ${shownOption(options, needs)}`)
  }
  return values
}

function checkInput(name: CommandName, files: readonly string[], options: OptionValues): void {
  const { input, options: table } = TABLE[name]
  const [hasFile, hasDatabase] = [files.length > 0, 'db' in options]
  if ('yes' in table && options['yes'] === options['dry-run'])
    fail(`${name} needs either --yes or --dry-run (which only shows the changes)`)
  if (files.indexOf('-') !== files.lastIndexOf('-'))
    fail('standard input can be read only once: pass `-` once')
  if (input === 'nothing' && hasFile) fail(`${name} accepts no FILE`)
  // The argument is not quoted: it may be a URL with a password.
  if (input === 'database' && hasFile) fail(`${name} accepts no FILE, only --db FILE_OR_URL`)
  if (input === 'files' ? !hasFile : input.startsWith('files-or') && !hasFile && !hasDatabase)
    fail(`${name} needs a FILE (or - for standard input)${input === 'files' ? '' : ' or --db'}`)
  if (!hasDatabase || !input.startsWith('files-or')) return
  if (hasFile) fail(`${name} accepts a FILE or --db, not both`)
  if ('from' in options) fail('--from applies to a FILE, not to a database')
  if (input === 'files-or-conversation' && !('conversation' in options))
    fail('--db needs --conversation ID: list the ids with `colloquy conversations`')
}

function unknownCommand(name: string): UsageError {
  return new UsageError(`unknown command '${name}'${hintOf(name, Object.keys(TABLE))}`)
}

function hintOf(typed: string, known: readonly string[], prefix = ''): string {
  const meant = nearestName(typed, known)
  return meant === null ? '' : `: did you mean ${prefix}${meant}?`
}
