/** The help pages: the table of commands goes in, lines of text come out. */

import { type CommandName, COMMANDS } from './commands.ts'

const ENTRIES = Object.entries(COMMANDS)

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
    '',
    'Options:',
    '  --json       one JSON object per file, each on one line',
    '  -h, --help   this page, or with a command its own',
    '  -V, --version',
    '',
    ...EXITS,
  ]
}

function commandPage(name: CommandName): string[] {
  const { synopsis, about, more, files } = COMMANDS[name]
  return [
    `colloquy ${name}: ${about}`,
    '',
    `Usage: colloquy ${name} ${synopsis}`.trimEnd(),
    ...(more.length > 0 ? ['', ...more] : []),
    ...(files ? ['', ...FILES, '', ...EXITS] : []),
  ]
}

const FILES = [
  'FILE is a .jsonl file with one event per line, a .json file with an array of events, a directory',
  'of event-NNNNN-<id>.json files, or - for standard input.',
]

const EXITS = ['Exit code: 0 all is well, 1 something is wrong with the data, 2 the command makes no sense.']
