/** The help pages, made from the table of commands, so that no option is left out. */

import { type CommandFacts, type CommandName, COMMANDS, FROM } from './commands.ts'

const ENTRIES = Object.entries(COMMANDS)

/** The widest line. */
const COLUMNS = 100

/** Every line of the page of one command, or of all of them. */
export function helpPage(topic: CommandName | null): string[] {
  return topic === null ? overview() : commandPage(topic)
}

function overview(): string[] {
  const columns = Math.max(...ENTRIES.map(([name]) => name.length))
  return [
    'colloquy: from a recorded log of an agent’s conversation to its state, view and messages',
    '',
    'Usage: colloquy COMMAND [FILE…] [OPTIONS]',
    '',
    ...ENTRIES.map(([name, { about }]) => `  ${name.padEnd(columns)}  ${about}`),
    '',
    ...FILES,
    ...DATABASES,
    '',
    'Options:',
    '  --json             one JSON object per file or page, each on one line',
    '  --db FILE_OR_URL   a database in place of a FILE; --conversation ID says which conversation of it',
    '  -h, --help         this page, or with a command its own',
    '  -V, --version',
    '',
    ...EXITS,
  ]
}

function commandPage(name: CommandName): string[] {
  const { about, reads, flags } = COMMANDS[name]
  const namesEvent = reads.includes('files') && flags.some((flag) => flag === 'at' || flag === 'leaf')
  const more = [...COMMANDS[name].more, ...(namesEvent ? [EVENT_ID] : [])]
  return [
    `colloquy ${name}: ${about}`,
    '',
    ...usage(name, COMMANDS[name]),
    ...(more.length > 0 ? ['', ...more.flatMap(wrapped)] : []),
    ...(reads.length > 0 ? [''] : []),
    ...(reads.includes('files') ? FILES : []),
    ...(reads.includes('database') ? DATABASES : []),
    ...(reads.length > 0 ? ['', ...EXITS] : []),
  ]
}

/** The ways to call a command; a line that begins with an option goes on with the way before it. */
function usage(name: CommandName, { synopsis }: CommandFacts): string[] {
  const lead = `Usage: colloquy ${name} `
  return synopsis.map((line, index) => {
    if (index === 0) return (lead + line).trimEnd()
    return line.startsWith('[') ? ' '.repeat(lead.length) + line : `       colloquy ${name} ${line}`
  })
}

/** A sentence on as many lines as it needs. */
function wrapped(text: string): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + 1 + word.length > COLUMNS) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}

const EVENT_ID =
  'The first characters of an EVENT_ID are enough where no other id begins with them; a number that begins no id is a line.'

const FILES = [
  'FILE is a .jsonl file with one event per line, a .json file with an array of events, a directory',
  'of event-NNNNN-<id>.json files, a zip of one, or - for standard input; or a session of another',
  'agent, or messages as a provider has them. FORM says which, where it does not show by itself:',
  `${FROM.slice(0, 6).join(', ')},`,
  `${FROM.slice(6).join(', ')}.`,
]

const DATABASES = ['FILE_OR_URL is a SQLite file, or a postgres:// URL (which needs the package pg).']

const EXITS = ['Exit code: 0 all is well, 1 something is wrong with the data, 2 the command makes no sense.']
