/** The command as a function of its arguments and its surroundings, so that tests can run it like a shell. */

import { relative } from 'node:path'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { maskSecrets } from '../index.ts'
import {
  commandIn,
  type FileCommand,
  helpPage,
  parseRequest,
  type Request,
  type RequestOf,
} from './commands.ts'
import { hideLogins } from './db/address.ts'
import { getConversation, withStore } from './db/store.ts'
import { exportConversation } from './export.ts'
import { FileError, fromWriting, UsageError } from './failure.ts'
import { importFiles } from './import.ts'
import {
  brokenNote,
  quarantineNote,
  readRecording,
  readStored,
  readSubagents,
  type Recording,
  stateAtEvent,
  stateOnBranch,
  titleOf,
} from './input/recording.ts'
import { inspect } from './inspect.ts'
import { readPackage } from './package.ts'
import {
  aboutFile,
  aboutStored,
  attempt,
  ClosedPipe,
  complain,
  FailedOutput,
  failureText,
  type Io,
  lasting,
  type Progress,
  progressOn,
  type Sink,
  writeAll,
  writeLines,
} from './print/io.ts'
import { jsonLine, pad, paintFor, plain, safe, width } from './print/text.ts'
import { serveConversations } from './serve/serve.ts'
import { auditBlobs, deleteConversations, eraseEvent, printPage } from './stored.ts'
import { checkView, judgeLog, type Judged, junitOf, repairsOf, showLaws } from './show/check.ts'
import { convertView, messagesView } from './show/messages.ts'
import { CALLED, heading, LISTED, type Page, problemRows, type View } from './show/page.ts'
import { condenseView, replayView, stateRows, stuckView, viewRows, viewView } from './show/state.ts'
import { treeLines, type TreeRow, treeRows, treeView } from './show/tree.ts'
import { whyView } from './show/why.ts'

const AGENT = [
  "import Anthropic from '@anthropic-ai/sdk'",
  "import { createEngine, memoryStore } from 'colloquy'",
  "import { anthropicStep } from 'colloquy/steps'",
  'const client = new Anthropic() // with ANTHROPIC_API_KEY',
  "const step = anthropicStep({ client, model: 'claude-sonnet-5-5', max_tokens: 1024 })",
  'const conversation = await createEngine({ store: memoryStore() }).create()',
  "await conversation.sendMessage('Hello!')",
  'await conversation.run(step)',
  'console.log((await conversation.messages()).at(-1))',
]

function* showDemo(page: Page, recording: Recording, file: string): IterableIterator<string> {
  const { state } = recording
  yield heading(page, 'State', 'what the log means, folded event by event')
  yield* stateRows(page, state)
  yield ''
  yield heading(page, 'Tree', '● leads to HEAD   ○ on an abandoned branch')
  yield* treeLines(page, recording, (row) => isMinor(row) && row.entry !== state.log.head)
  yield ''
  yield heading(page, 'What the model sees')
  yield* viewRows(page, state, false)
  yield ''
  yield heading(page, 'What was repaired')
  yield* problemRows(page, repairsOf(recording), { limit: LISTED })
  yield ''
  yield heading(page, 'An agent of your own', 'with tools, streams and other models: docs/steps.md')
  yield* AGENT.map((line) => `  ${line}`)
  yield ''
  yield heading(page, 'Try next')
  yield* suggestions(page, file, endOfOtherBranch(recording))
}

const isMinor = ({ isRemark, entry }: TreeRow): boolean =>
  isRemark || ['ObservationEvent', 'CondensationRequest'].includes(entry.event?.kind ?? '')

function* suggestions({ paint }: Page, file: string, leaf: string): IterableIterator<string> {
  const tries = Object.entries({
    'the request': `${CALLED} messages ${file} --format anthropic`,
    'other branch': `${CALLED} view ${file} --leaf ${leaf}`,
    'your own log': `${CALLED} check YOUR-LOG.jsonl`,
    'as a service': `${CALLED} serve`,
    'all the rest': `${CALLED} help`,
  })
  const columns = Math.max(...tries.map(([, line]) => width(line)))
  for (const [why, line] of tries) yield `  ${paint('strong', pad(line, columns))}  ${paint('dim', why)}`
}

function endOfOtherBranch({ state }: Recording): string {
  for (const { isEnd, onHeadPath, entry } of treeRows(state)) if (isEnd && !onHeadPath) return entry.id ?? ''
  return state.log.head?.id ?? ''
}

const VIEWS: { readonly [Name in FileCommand]: View<Name> } = {
  check: checkView,
  replay: replayView,
  view: viewView,
  messages: messagesView,
  tree: treeView,
  stuck: stuckView,
  why: whyView,
  condense: condenseView,
  convert: convertView,
}

/** Runs a command. Resolves to 0, 1 for bad data or 2 for bad usage; rejects with nothing but {@link ClosedPipe}. */
export async function run(argv: readonly string[], world: Io): Promise<number> {
  // Without a reader of standard error, the exit code still reports the failure.
  const io = { ...world, stderr: lasting(world.stderr) }
  try {
    return await perform(parseRequest(argv), io, pageFor(io))
  } catch (error) {
    if (error instanceof ClosedPipe) throw error
    if (error instanceof UsageError) {
      const page = ['help', ...commandIn(argv)].join(' ')
      await complain(io, `${plain(hideLogins(error.message))} (see: colloquy ${page})`)
      return 2
    }
    const subject = error instanceof FileError && error.subject !== null ? `${safe(error.subject)}: ` : ''
    await complain(io, subject + failureText(error))
    return 1
  }
}

async function perform(request: Request, io: Io, page: Page): Promise<number> {
  switch (request.command) {
    case 'help':
      await writeLines(io.stdout, helpPage(request.operand))
      return 0
    case 'version':
      await writeLines(io.stdout, [(await readPackage()).version])
      return 0
    case 'demo':
      return demo(io, page)
    case 'inspect':
      return inspect(request, io)
    case 'import':
      return importFiles(request, io, page)
    case 'export':
      return exportConversation(request, io, page)
    case 'search':
    case 'search-text':
    case 'conversations':
      return printPage(request, io, page)
    case 'audit-blobs':
      return auditBlobs(request, io, page)
    case 'delete':
      return deleteConversations(request, io, page)
    case 'erase':
      return eraseEvent(request, io, page)
    case 'serve':
      return serveConversations(request, io, (await readPackage()).version)
    default:
      return showRecordings(request, io, page)
  }
}

/** Shows the conversation of a database, or the files in order; the worst exit code counts. */
async function showRecordings(request: RequestOf<FileCommand>, io: Io, page: Page): Promise<number> {
  const { command, options, files } = request
  const { db, conversation = '', from } = options
  const check = command === 'check' ? request.options : null
  const [isJunit, hasLaws] = [check?.format === 'junit', check?.laws === true]
  const json = options.json === true || check?.format === 'json'
  const view = VIEWS[command] as View<FileCommand>
  const judged: Judged[] = []
  const show = async (recording: Recording, progress: Progress): Promise<number> => {
    progress.step('working')
    const name = titleOf(recording)
    const laws = check !== null && hasLaws ? judgeLog(recording, name, check) : null
    if (laws !== null) judged.push(laws)
    const subject = () => {
      const state =
        'at' in options
          ? stateAtEvent(recording, options.at)
          : stateOnBranch(recording, 'leaf' in options ? options.leaf : undefined)
      return { ...request, recording, state, title: safe(name) }
    }
    if (json) {
      const { format, id, notes } = recording.session ?? {}
      const session = recording.session !== null && { session: { format, id, notes } }
      // Everything that can fail runs before the first byte, so that no line has half a result and an error.
      const value = maskSecrets({
        file: recording.file,
        ...(recording.conversation !== null && { conversation: recording.conversation }),
        ...session,
        ...view.json(subject()),
      })
      progress.done()
      await writeAll(io.stdout, jsonLine({ ...value, ...(laws !== null && { laws: laws.violations }) }))
    } else if (!isJunit) {
      const lines = laws === null ? view.show(page, subject()) : showLaws(page, laws)
      progress.done()
      await writeLines(io.stdout, lines)
    }
    progress.done()
    // A check shows quarantined lines itself.
    const note = check === null ? quarantineNote(recording, recording.lines.length) : brokenNote(recording)
    if (note !== null) await complain(io, `${safe(name)}: ${note}`)
    const isBad = check !== null && (laws?.violations ?? recording.issues).length > 0
    return isBad || note !== null ? 1 : 0
  }
  // Without the laws, the JSON of a check needs no state, and the log may be larger than memory.
  const fold = !(json && check !== null && !hasLaws)
  let worst = 0
  if (db !== undefined)
    worst = await attempt(aboutStored(db, conversation, json), io, async (progress) => {
      const recording = await withStore(db, { write: false }, async (store) => {
        const record = await getConversation(store, conversation)
        const stored = await readStored(store, record, db.label, progress, fold)
        const isWhole = command === 'convert'
        if (!isWhole && command !== 'tree') return stored
        return { ...stored, children: await readSubagents(store, record.id, isWhole) }
      })
      return show(recording, progress)
    })
  for (const [index, file] of files.entries()) {
    if (index > 0 && !json && !isJunit) await io.stdout.write('\n')
    const code = await attempt(aboutFile(file, json), io, async (progress) =>
      show(await readRecording(file, io, progress, { fold, from }), progress),
    )
    worst = Math.max(worst, code)
  }
  if (isJunit) await writeLines(io.stdout, junitOf(judged))
  return worst
}

async function demo(io: Io, page: Page): Promise<number> {
  const path = fileURLToPath(new URL('../cli/sample.jsonl', import.meta.url))
  const recording = await readRecording(path, io, progressOn('sample.jsonl', io))
  const near = relative(process.cwd(), path)
  await writeLines(io.stdout, showDemo(page, recording, near.startsWith('..') ? path : near))
  return 0
}

const COLUMNS = { default: 100, minimum: 40 }

const pageFor = ({ stdout, env }: Io): Page => ({
  paint: paintFor(stdout.isTTY, env),
  // A terminal that does not know its width reports 0.
  columns: Math.max(stdout.columns || COLUMNS.default, COLUMNS.minimum),
  isTTY: stdout.isTTY,
})

function sinkOf(stream: Writable & { readonly isTTY?: boolean; readonly columns?: number }): Sink {
  // An error is also an event, which would end the process without a listener; the write itself rejects with it.
  stream.on('error', () => {})
  return {
    isTTY: stream.isTTY === true,
    columns: stream.columns,
    write: (text) =>
      new Promise((resolve, reject) => {
        stream.write(text, (error) => (error ? reject(outputError(error)) : resolve()))
      }),
  }
}

function outputError(error: Error): Error {
  if ('code' in error && error.code === 'EPIPE') return new ClosedPipe('closed', { cause: error })
  const failure = fromWriting(error) as Error
  return new FailedOutput(`standard output ${failure.message}`, { cause: error })
}

const STOPPING = ['SIGINT', 'SIGTERM'] as const

let isStopped = false

/** Calls back on the first signal; a second one ends the process at once. */
function onStop(stop: () => void): void {
  const once = (): void => {
    isStopped = true
    for (const signal of STOPPING) process.off(signal, once)
    stop()
  }
  for (const signal of STOPPING) process.on(signal, once)
}

function fail(error: unknown): void {
  if (!(error instanceof ClosedPipe)) {
    const message = error instanceof Error ? error.message : String(error)
    process.stderr.write(`colloquy: unexpected error: ${message.split('\n', 1)[0]}\n`)
    process.exitCode = 1
  }
  // Standard input may still be open, without a reader.
  process.exit()
}

/** Runs the command that the process was started with; its exit code becomes the process's. */
export async function runProcess(): Promise<void> {
  // Node 22 reports its SQLite as experimental on standard error, which scripts search for failures.
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') process.stderr.write(`${name}: ${message}\n`)
  })
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)
  process.exitCode =
    (await run(process.argv.slice(2), {
      stdin: process.stdin,
      stdout: sinkOf(process.stdout),
      stderr: sinkOf(process.stderr),
      env: process.env,
      onStop,
    }).catch(fail)) ?? 0
  // Work that ignores its signal must not keep the process alive.
  if (isStopped) process.exit()
}
