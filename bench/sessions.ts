/**
 * Prints what reading the session of another agent costs beside parsing its lines, at growing lengths: `npm run
 * bench:sessions`. A form may be named, or `all`, and files behind it, which are read as they are.
 */

import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import {
  anthropic,
  claudeCode,
  codex,
  geminiCli,
  openaiChat,
  openaiResponses,
  pi,
  uiMessages,
} from '../properties/sessions/lines.ts'
import type { Talk, TalkReply } from '../properties/sessions/talk.ts'
import type { JsonValue } from '../src/event/shapes.ts'
import { replay } from '../src/state/reduce.ts'
import { readSession } from '../src/sessions/read.ts'
import type { SessionFormat, SessionRecord } from '../src/sessions/session.ts'
import { machine, measure } from './measure.ts'
import { seeded } from './workload.ts'

/** The most that reading may cost, parsing included, as a multiple of parsing alone. */
const TARGET = 1.5

/** The forms, and how many lines of each are read at most: a message of a user interface holds what others say in ten. */
const FORMS: readonly (readonly [SessionFormat, number, (talk: Talk) => unknown[]])[] = [
  ['claude-code', 100_000, claudeCode],
  ['codex', 100_000, codex],
  ['pi', 100_000, (talk) => pi(talk, 3)],
  ['gemini-cli', 30_000, (talk) => geminiCli(talk, true)],
  ['ui-messages', 10_000, (talk) => uiMessages(talk, 5)],
  ['anthropic', 30_000, anthropic],
  ['openai-chat', 30_000, openaiChat],
  ['openai-responses', 30_000, openaiResponses],
]

/** Lines as long on average as those of recorded sessions: most are short, and some results hold a file. */
function talkOf(turns: number): Talk {
  const random = seeded(11)
  const words = (mean: number): string => {
    const length = Math.round(-Math.log(1 - random()) * mean)
    return 'const total = rows.map((row) => row.size) // of "all"\n'.repeat(length / 54 + 1).slice(0, length)
  }
  const reply = (calls: number): TalkReply => ({
    thinking: random() < 0.5 ? words(600) : null,
    text: words(250),
    calls: Array.from({ length: calls }, () => ({
      name: random() < 0.5 ? 'bash' : 'Edit',
      input: { path: `src/${words(40)}`, text: words(300) },
      result: words(3_000),
      isError: random() < 0.05,
    })),
  })
  return Array.from({ length: turns }, (_, at) => ({
    back: at > 0 && at % 50 === 0 ? 1 : 0,
    user: words(300),
    replies: [reply(2), reply(1), reply(1), reply(0)],
    compacted: at > 0 && at % 200 === 0 ? words(4_000) : null,
    drift: [at % 9 === 0, at % 7 === 0, false, at % 11 === 0, at % 5 === 0, false, false, false],
  }))
}

const linesOf = (values: readonly unknown[]): string[] => values.map((value) => JSON.stringify(value))

/** As many lines of a form as are asked for. */
function session(write: (talk: Talk) => unknown[], length: number): string[] {
  const per = write(talkOf(20)).length / 20
  return linesOf(write(talkOf(Math.ceil((length / per) * 1.1))).slice(0, length))
}

const parse = (lines: readonly string[]): SessionRecord[] =>
  lines.map((raw, at) => ({ line: at + 1, raw, value: JSON.parse(raw) as JsonValue }))

function row(name: string, from: SessionFormat | undefined, lines: readonly string[]): void {
  const count = lines.length
  const options = from === undefined ? {} : { from }
  const facts = readSession(parse(lines), options).facts.map(({ fact }) => fact)
  const rounds = count > 10_000 ? 2 : 9
  const [parsed, read, folded] = measure(
    [
      { name: 'parse', count, run: () => lines.map((line) => JSON.parse(line) as unknown) },
      { name: 'read', count, run: () => readSession(parse(lines), options) },
      { name: 'fold', count, run: () => replay(facts) },
    ],
    rounds,
  ).map(({ least }) => least) as [number, number, number]
  const bytes = lines.reduce((sum, line) => sum + line.length, 0) / count
  const ratio = read / parsed
  console.log(
    [
      name.padEnd(30),
      count.toLocaleString('en').padStart(8),
      bytes.toFixed(0).padStart(8),
      ...[parsed, read].map((time) => time.toFixed(2).padStart(8)),
      `${ratio.toFixed(2)}${ratio > TARGET ? ' >' : '  '}`.padStart(9),
      folded.toFixed(2).padStart(8),
    ].join(''),
  )
}

console.log(machine())
console.log(
  `Microseconds for a line. Reading is parsing the lines and reading them as a log; at most ${TARGET} times parsing is wanted.`,
)
console.log(
  `${'form'.padEnd(30)}${['lines', 'bytes', 'parse', 'read', 'times', 'fold'].map((name, at) => name.padStart(at === 4 ? 7 : 8)).join('')}`,
)
const [only, ...files] = process.argv.slice(2)
for (const [form, most, write] of FORMS) {
  if (only !== undefined && only !== form && only !== 'all') continue
  for (const length of [1_000, most]) row(form, form, session(write, length))
}
for (const file of files) {
  const text = readFileSync(file, 'utf8')
  row(
    basename(file),
    undefined,
    text.split('\n').filter((line) => line.trim() !== ''),
  )
}
