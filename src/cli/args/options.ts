/** Splits the words of a command line into options with their values and operands. */

import { parseArgs } from 'node:util'
import { type CommandName, COMMANDS, type Flag } from './commands.ts'
import { UsageError } from '../failure.ts'

const OPTIONS = {
  json: { type: 'boolean' },
  at: { type: 'string' },
  leaf: { type: 'string' },
  format: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  content: { type: 'boolean' },
  db: { type: 'string' },
  conversation: { type: 'string' },
  timezone: { type: 'string' },
  output: { type: 'string' },
  force: { type: 'boolean' },
  redact: { type: 'boolean' },
  kind: { type: 'string' },
  source: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  text: { type: 'string' },
  desc: { type: 'boolean' },
  limit: { type: 'string' },
  page: { type: 'string' },
  host: { type: 'string' },
  port: { type: 'string' },
  workspace: { type: 'string' },
  memory: { type: 'string' },
  agent: { type: 'string' },
  config: { type: 'string' },
  'allow-origin': { type: 'string' },
  'max-events': { type: 'string' },
  summary: { type: 'string' },
  budget: { type: 'string' },
  laws: { type: 'boolean' },
  ended: { type: 'boolean' },
  grammar: { type: 'string' },
  html: { type: 'string' },
  inspect: { type: 'boolean' },
  open: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'V' },
} as const satisfies Record<Flag | 'help' | 'version', { type: 'boolean' | 'string'; short?: string }>

type OptionName = keyof typeof OPTIONS

/** The options that may be given several times; of the others with a value, a second one would go unheard. */
const REPEATED: readonly OptionName[] = ['kind', 'grammar', 'allow-origin']

/** The options given, each with its values in order; an empty text for one that takes none. */
export type Given = ReadonlyMap<OptionName, readonly string[]>

/**
 * Words and options, each option known and with the value it needs.
 * @throws UsageError for any other.
 */
export function readOptions(argv: readonly string[]): { options: Given; words: string[] } {
  const options = new Map<OptionName, readonly string[]>()
  const words: string[] = []
  for (const token of tokensOf(argv)) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    if (!isOption(name)) throw new UsageError(`unknown option ${rawName}`)
    if (OPTIONS[name].type === 'boolean') {
      if (value !== undefined) throw new UsageError(`${rawName} takes no value`)
    } else if (value === undefined || value === '' || (inlineValue === false && isOptionLike(value))) {
      throw new UsageError(`${rawName} needs a value`)
    } else if (options.has(name) && !REPEATED.includes(name)) {
      throw new UsageError(`${rawName} is given twice, and takes one value`)
    }
    options.set(name, [...(options.get(name) ?? []), value ?? ''])
  }
  return { options, words }
}

// Not strict: the messages of the strict parser run over several sentences, and it takes no `-x` as a value at all.
const tokensOf = (argv: readonly string[]) =>
  parseArgs({ args: [...argv], options: OPTIONS, strict: false, allowPositionals: true, tokens: true }).tokens

/** The first word that is neither an option nor the value of one. */
export const firstWord = (argv: readonly string[]): string | undefined =>
  tokensOf(argv).find((token) => token.kind === 'positional')?.value

/** No option begins with a digit: `-5` is a number, which the command that reads it may refuse in better words. */
const isOptionLike = (value: string): boolean => /^-(?!\d)/.test(value)

const isOption = (name: string): name is OptionName => Object.hasOwn(OPTIONS, name)

/** Refuses an option that a command does not have. @throws UsageError */
export function checkFlags(command: CommandName, options: Given): void {
  const flags: readonly string[] = COMMANDS[command].flags
  for (const name of options.keys()) {
    if (!flags.includes(name satisfies OptionName)) throw new UsageError(`${command} has no option --${name}`)
  }
}

/** The value of an option that is given once, or null. */
export const valueOf = (options: Given, name: OptionName): string | null => options.get(name)?.at(-1) ?? null

/** The value of an option as one of a list of choices, or null. @throws UsageError for any other value. */
export function choiceOf<T extends string>(
  options: Given,
  name: OptionName,
  choices: readonly T[],
): T | null {
  const value = valueOf(options, name)
  const choice = choices.find((known) => known === value)
  if (value === null || choice !== undefined) return choice ?? null
  throw new UsageError(`unknown --${name} '${value}': use one of ${choices.join(', ')}`)
}

/** Every value of an option, each one of a list of choices. @throws UsageError for any other value. */
export function choicesOf<T extends string>(
  options: Given,
  name: OptionName,
  choices: readonly T[],
): readonly T[] {
  return (options.get(name) ?? []).flatMap((value) => {
    const choice = choiceOf(new Map([[name, [value]]]), name, choices)
    return choice === null ? [] : [choice]
  })
}

/** The value of an option as an integer, or null. @throws UsageError for any other value, and for a smaller one. */
export function wholeOf(options: Given, name: OptionName, least: number): number | null {
  const text = valueOf(options, name)
  const value = Number(text)
  if (text === null || (/^\d{1,15}$/.test(text) && value >= least)) return text === null ? null : value
  throw new UsageError(`--${name} must be an integer, ${least} or more`)
}
