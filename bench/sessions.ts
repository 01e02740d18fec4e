/**
 * Prints the cost of reading another agent's session at growing lengths: `npm run bench:sessions`. Pass a
 * format, or `all`, and optionally files of recorded sessions; `--quick` reads less.
 *
 * There are three baselines: parsing the lines and keeping the values; the least work of any reader, which
 * copies and freezes the objects and lists of the events; and loading the same log from Colloquy's own
 * lines. All times are CPU times of the reading thread, so other load matters little.
 */

import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { claudeCode, codex, pi } from '../properties/sessions/agents.ts'
import { anthropic, openaiChat, openaiResponses, uiMessages } from '../properties/sessions/arrays.ts'
import { geminiCli } from '../properties/sessions/gemini.ts'
import type { Script, ScriptReply } from '../properties/sessions/script.ts'
import { loadLine } from '../src/event/load.ts'
import type { JsonValue } from '../src/event/shapes.ts'
import { readSession } from '../src/sessions/read.ts'
import type { SessionFormat, SessionRecord } from '../src/sessions/session.ts'
import { replay } from '../src/state/reduce.ts'
import { orUsage } from '../test/usage.ts'
import { machine } from './measure.ts'
import { seeded } from './workload.ts'

/** Maximum cost of reading, parsing included, as a multiple of parsing alone. */
const TARGET = 1.5

const isQuick = process.argv.includes('--quick')

/**
 * Formats with their maximum number of lines. One UI message contains as much as ten lines of other
 * formats.
 */
const FORMATS: readonly (readonly [SessionFormat, number, (script: Script) => unknown[]])[] = [
  ['claude-code', 100_000, claudeCode],
  ['codex', 100_000, codex],
  ['pi', 100_000, (script) => pi(script, 3)],
  ['gemini-cli', 30_000, (script) => geminiCli(script, true)],
  ['ui-messages', 10_000, (script) => uiMessages(script, 5)],
  ['anthropic', 30_000, anthropic],
  ['openai-chat', 30_000, openaiChat],
  ['openai-responses', 30_000, openaiResponses],
]

/** Line lengths resemble recorded sessions: most are short, and some results contain a file. */
function scriptOf(turns: number): Script {
  const random = seeded(11)
  const words = (mean: number): string => {
    const length = Math.round(-Math.log(1 - random()) * mean)
    return 'const total = rows.map((row) => row.size) // of "all"\n'.repeat(length / 54 + 1).slice(0, length)
  }
  const reply = (calls: number): ScriptReply => ({
    thinking: random() < 0.5 ? words(600) : null,
    text: words(250),
    calls: Array.from({ length: calls }, () => ({
      name: random() < 0.5 ? 'bash' : 'Edit',
      input: { path: `src/${words(40)}`, text: words(300) },
      result: words(3_000),
      isError: random() < 0.05,
    })),
  })
  return Array.from({ length: turns }, (_, index) => ({
    back: index > 0 && index % 50 === 0 ? 1 : 0,
    user: words(300),
    replies: [reply(2), reply(1), reply(1), reply(0)],
    compacted: index > 0 && index % 200 === 0 ? words(4_000) : null,
    drift: [index % 9 === 0, index % 7 === 0, false, index % 11 === 0, index % 5 === 0, false, false, false],
  }))
}

const linesOf = (values: readonly unknown[]): string[] => values.map((value) => JSON.stringify(value))

function session(write: (script: Script) => unknown[], length: number): string[] {
  const linesPerTurn = write(scriptOf(20)).length / 20
  return linesOf(write(scriptOf(Math.ceil((length / linesPerTurn) * 1.1))).slice(0, length))
}

const parse = (lines: readonly string[]): SessionRecord[] =>
  lines.map((raw, index) => ({ line: index + 1, raw, value: JSON.parse(raw) as JsonValue }))

/** Copies and freezes objects and lists; strings are shared. */
function copyFrozen(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze(value.map(copyFrozen))
  const copied: Record<string, unknown> = { ...value }
  for (const key in copied) {
    const member = copied[key]
    if (typeof member === 'object' && member !== null) copied[key] = copyFrozen(member)
  }
  return Object.freeze(copied)
}

/** Minimum microseconds per line for each piece, timed in turns. */
function times(count: number, pieces: readonly (() => unknown)[]): number[] {
  const rounds = isQuick ? 3 : 5
  // CPU time has millisecond resolution, so short pieces run more often.
  const repetitions = Math.ceil(20_000 / count)
  const minimum = pieces.map(() => Infinity)
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, run] of pieces.entries()) {
      globalThis.gc?.()
      const start = process.threadCpuUsage()
      for (let number = 0; number < repetitions; number += 1) retained[0] = run()
      const { user, system } = process.threadCpuUsage(start)
      retained.length = 0
      // The first round compiles.
      if (round > 0)
        minimum[index] = Math.min(minimum[index] ?? Infinity, (user + system) / count / repetitions)
    }
  return minimum
}

/** Retains the timed value as a caller would. */
const retained: unknown[] = []

function printRow(name: string, from: SessionFormat | undefined, lines: readonly string[]): void {
  const count = lines.length
  const options = from === undefined ? {} : { from }
  const facts = readSession(parse(lines), options).facts.map(({ fact }) => fact)
  const ownLines = facts.map((fact) => JSON.stringify(fact))
  const [parsed = 0, copied = 0, decoded = 0, read = 0, folded = 0] = times(count, [
    () => lines.map((line) => JSON.parse(line) as unknown),
    () => [lines.map((line) => JSON.parse(line) as unknown), facts.map(copyFrozen)],
    () => ownLines.map((line) => loadLine(line)),
    () => readSession(parse(lines), options),
    () => replay(facts),
  ])
  const bytes = lines.reduce((sum, line) => sum + line.length, 0) / count
  const ratio = read / parsed
  console.log(
    [
      name.padEnd(30),
      count.toLocaleString('en').padStart(8),
      bytes.toFixed(0).padStart(8),
      ...[parsed, copied, decoded, read].map((time) => time.toFixed(2).padStart(8)),
      (copied / parsed).toFixed(2).padStart(8),
      `${ratio.toFixed(2)}${ratio > TARGET ? ' >' : '  '}`.padStart(9),
      (read / decoded).toFixed(2).padStart(8),
      folded.toFixed(2).padStart(8),
    ].join(''),
  )
}

console.log(machine())
console.log(
  `Microseconds per line. "read" parses the lines and reads them as a log; the target is ${TARGET} times "parse".
"copy" parses the lines and copies the objects of the events; "own" loads Colloquy's own lines.`,
)
const COLUMNS = ['lines', 'bytes', 'parse', 'copy', 'own', 'read', 'c/parse', 'r/parse', 'r/own', 'fold']
console.log(
  `${'format'.padEnd(30)}${COLUMNS.map((name) => name.padStart(name === 'r/own' ? 9 : 8)).join('')}`,
)
const [only, ...files] = process.argv.slice(2).filter((word) => word !== '--quick')
orUsage(() => {
  const formats = ['all', ...FORMATS.map(([format]) => format)]
  if (only !== undefined && !formats.includes(only))
    throw new Error(`${only}: must be one of ${formats.join(', ')}`)
})
for (const [format, limit, write] of FORMATS) {
  if (only !== undefined && only !== format && only !== 'all') continue
  for (const length of isQuick ? [2_000, 20_000] : [2_000, limit / 5, limit])
    printRow(format, format, session(write, length))
}
for (const file of files) {
  const text = readFileSync(file, 'utf8')
  printRow(
    basename(file),
    undefined,
    text.split('\n').filter((line) => line.trim() !== ''),
  )
}
