/** The command as a function of its arguments and the world around it, so that tests run it as a shell would. */

import { relative } from 'node:path'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { listPendingCalls, maskSecrets, pathTo, type State, stateAt, switchTo, viewEvents } from '../index.ts'
import { toAtif, toSpans } from '../sessions/index.ts'
import { cutPoints, kindOf, listDroppedResults, listLeaves } from '../state/index.ts'
import { commandIn, parseRequest } from './args/args.ts'
import type { FileCommand } from './args/commands.ts'
import { helpPage } from './args/help.ts'
import type { FileRequest, Request, Stored } from './args/request.ts'
import { attempt, complain, complainOf } from './attempt.ts'
import { hideLogins } from './db/address.ts'
import { getConversation, withStore } from './db/store.ts'
import { exportConversation } from './export.ts'
import { fromWriting, UsageError } from './failure.ts'
import { importFiles } from './import.ts'
import {
  asideNote,
  brokenNote,
  issueAsJson,
  namedId,
  nameOf,
  readRecording,
  readStored,
  type Recording,
  titleOf,
} from './input/recording.ts'
import { inspect } from './inspect.ts'
import { readPackage } from './package.ts'
import {
  ClosedPipe,
  FailedOutput,
  type Io,
  lasting,
  type Progress,
  progressOn,
  type Sink,
  writeAll,
  writeLines,
} from './print/io.ts'
import { jsonLine, paintFor, plain, safe, toJson } from './print/text.ts'
import { serveConversations } from './serve/serve.ts'
import { judge, type Judged, junitOf, showCheck, showLaws } from './show/check.ts'
import { showDemo } from './show/demo.ts'
import { listConversations, searchEvents } from './show/lists.ts'
import { messagesIn, messagesOf, showMessages } from './show/messages.ts'
import { CALLED, type Page } from './show/page.ts'
import { showReplay } from './show/replay.ts'
import { showTree } from './show/tree.ts'
import { condensed, LOOPS, showCondense, showStuck, showView } from './show/view.ts'
import { showWhy, whyAsJson } from './show/why.ts'

/** How wide a line is where there is no terminal, and at least. */
const COLUMNS = { default: 100, least: 40 }

/** Runs a command. Resolves to 0, 1 for bad data or 2 for bad usage; rejects with nothing but {@link ClosedPipe}. */
export async function run(argv: readonly string[], world: Io): Promise<number> {
  // Without a reader of what is wrong, the exit code still says it.
  const io = { ...world, stderr: lasting(world.stderr) }
  try {
    return await perform(parseRequest(argv), io)
  } catch (error) {
    if (error instanceof ClosedPipe) throw error
    if (!(error instanceof UsageError)) {
      await complainOf(error, io)
      return 1
    }
    const page = ['help', ...commandIn(argv)].join(' ')
    await complain(io, `${plain(hideLogins(error.message))} (see: colloquy ${page})`)
    return 2
  }
}

async function perform(request: Request, io: Io): Promise<number> {
  switch (request.command) {
    case 'help':
      await writeLines(io.stdout, helpPage(request.topic))
      return 0
    case 'version':
      await writeLines(io.stdout, [(await readPackage()).version])
      return 0
    case 'demo':
      return await demo(io)
    case 'inspect':
      return await inspect(request, io)
    case 'import':
      return await importFiles(request, io, pageFor(io))
    case 'export':
      return await exportConversation(request, io, pageFor(io))
    case 'search':
      return await searchEvents(request, io, pageFor(io))
    case 'conversations':
      return await listConversations(request, io, pageFor(io))
    case 'serve':
      return await serveConversations(request, io, (await readPackage()).version)
    default:
      return await answerFiles(request, io)
  }
}

/** What is done with each recording of a request. */
interface Work {
  readonly request: FileRequest
  readonly io: Io
  /** What was found by laws, for one document of all recordings. */
  readonly judged: Judged[]
}

/**
 * Carries the command out for the conversation of a database, or the files in the order given; the worst of the exit
 * codes counts.
 */
async function answerFiles(request: FileRequest, io: Io): Promise<number> {
  const judged: Judged[] = []
  const code = await answerEach({ request, io, judged })
  const form = request.laws?.form
  if (form === 'junit') await writeLines(io.stdout, junitOf(judged))
  return code
}

async function answerEach(work: Work): Promise<number> {
  const { request, io } = work
  if (request.stored !== null) {
    return answerStored(request, request.stored, io, (recording, progress) =>
      answerOne(recording, progress, work),
    )
  }
  let worst = 0
  for (const [index, file] of request.files.entries()) {
    if (index > 0 && !request.json && !isOneDocument(request)) await io.stdout.write('\n')
    worst = Math.max(worst, await answerFile(file, work))
  }
  return worst
}

/** Whether what is found in all files is written as one. */
const isOneDocument = ({ laws }: FileRequest): boolean => laws?.form === 'junit'

async function answerFile(file: string, work: Work): Promise<number> {
  const { io } = work
  const { command, json, laws, from } = work.request
  const progress = progressOn(file, io)
  return attempt({ name: file, fields: { file }, json }, io, progress, async () => {
    const fold = !(json && command === 'check' && laws === null)
    const recording = await readRecording(file, io, progress, { fold, from })
    return answerOne(recording, progress, work)
  })
}

/** Writes the result, and tells what of the conversation could not be read. */
async function answerOne(recording: Recording, progress: Progress, work: Work): Promise<number> {
  const code = await writeAnswer(recording, progress, work)
  // What is quarantined is all that check shows.
  const isCheck = work.request.command === 'check'
  const note = isCheck ? brokenNote(recording) : asideNote(recording, recording.lines.length)
  if (note !== null) await complain(work.io, `${safe(titleOf(recording))}: ${note}`)
  return note === null ? code : 1
}

/** Writes the result, or keeps it for the one document of all. Resolves to the exit code. */
async function writeAnswer(recording: Recording, progress: Progress, work: Work): Promise<number> {
  const { request, io, judged } = work
  progress.step('working')
  const laws = request.laws === null ? null : judge(recording, request.laws)
  const isWrong = request.command === 'check' && (laws?.findings ?? recording.issues).length > 0
  if (laws !== null) judged.push(laws)
  if (request.json) {
    // Everything that can fail happens before the first byte, so that no line holds half a result and an error.
    const value = { ...answer(recording, request), ...(laws !== null && { laws: laws.findings }) }
    progress.done()
    await writeAll(io.stdout, jsonLine(value))
  } else if (!isOneDocument(request)) {
    const lines = laws === null ? show(io, recording, request) : showLaws(pageFor(io), laws)
    progress.done()
    await writeLines(io.stdout, lines)
  }
  progress.done()
  return isWrong ? 1 : 0
}

function show(io: Io, recording: Recording, request: FileRequest): Iterable<string> {
  const page = pageFor(io)
  const title = titleOf(recording)
  const state = stateFor(recording, request)
  // What is piped is read by a parser.
  const { isTTY } = io.stdout
  switch (request.command) {
    case 'check':
      return showCheck(page, recording)
    case 'replay':
      return showReplay(page, recording, state)
    case 'view':
      return showView(page, title, state)
    case 'messages':
      return showMessages(page, title, request, state, isTTY)
    case 'tree':
      return showTree(page, recording)
    case 'condense':
      return showCondense(page, title, state, condensed(state, request))
    case 'convert':
      return toJson(converted(recording, request), 2).split('\n')
    case 'why':
      return showWhy(page, recording, state, request)
    case 'stuck':
      return showStuck(page, title, state)
  }
}

async function demo(io: Io): Promise<number> {
  const path = fileURLToPath(new URL('sample.jsonl', import.meta.url))
  const recording = await readRecording(path, io, progressOn('sample.jsonl', io))
  const near = relative(process.cwd(), path)
  await writeLines(io.stdout, showDemo(pageFor(io), recording, CALLED, near.startsWith('..') ? path : near))
  return 0
}

const pageFor = ({ stdout, env }: Io): Page => ({
  paint: paintFor(stdout.isTTY, env),
  // A terminal that does not know its width says 0.
  columns: Math.max(stdout.columns || COLUMNS.default, COLUMNS.least),
})

interface Terminal extends Writable {
  readonly isTTY?: boolean
  readonly columns?: number
}

function sinkOf(stream: Terminal): Sink {
  // An error also comes as an event, which would end the process without a listener; the write itself rejects with it.
  stream.on('error', () => {})
  return {
    isTTY: stream.isTTY === true,
    columns: stream.columns,
    write: (text) =>
      new Promise((resolve, reject) => {
        stream.write(text, (error) => {
          if (error === null || error === undefined) resolve()
          else reject(outputError(error))
        })
      }),
  }
}

function outputError(error: Error): Error {
  if ('code' in error && error.code === 'EPIPE') return new ClosedPipe('closed', { cause: error })
  const told = fromWriting(error)
  const why = told instanceof Error ? told.message : error.message
  return new FailedOutput(`standard output ${why}`, { cause: error })
}

const STOPPING = ['SIGINT', 'SIGTERM'] as const

/** Once only: who asks twice does not want to wait. */
function onStop(stop: () => void): void {
  const once = (): void => {
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
  // Standard input may still be open, with no reader left.
  process.exit()
}

/** Runs the command that the process was started with; its exit code becomes the process's. */
export async function runProcess(): Promise<void> {
  // Node 22 calls its SQLite experimental, on standard error, where a script looks for what went wrong.
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
}

type Answer = Readonly<Record<string, unknown>>

/** The result of each command, as the table of the `--json` contract has it. */
const ANSWERS: Readonly<Record<FileCommand, (recording: Recording, request: FileRequest) => Answer>> = {
  check: ({ lines, quarantined, issues, warnings }) => ({
    events: lines.length,
    valid: lines.length - quarantined,
    issues: issues.map(issueAsJson),
    warnings: warnings.map(issueAsJson),
  }),

  replay: (recording, request) => {
    const state = stateFor(recording, request)
    return {
      events: state.log.entries.length,
      status: state.header.status,
      head: state.log.head?.id ?? null,
      error: state.header.error,
      pending: pendingIds(state),
      branches: listLeaves(state).length,
      quarantined: quarantinedCount(state),
    }
  },

  view: (recording, request) => {
    const state = stateFor(recording, request)
    const { view } = state.branch
    return {
      view: Array.from(viewEvents(state), (item) => item.id),
      pending: pendingIds(state),
      dropped: listDroppedResults(state),
      unhandled_condensation_request: view.unhandledCondensationRequest,
      cut_points: cutPoints(state),
    }
  },

  messages: (recording, { format, budget, ...request }) => {
    const state = stateFor(recording, request)
    return messagesIn(format, messagesOf(state, budget), state)
  },

  condense: (recording, request) => {
    const state = stateFor(recording, request)
    const { event, reason, after } = condensed(state, request)
    return {
      condensation: event,
      reason,
      view_before: state.branch.view.length,
      view: Array.from(viewEvents(after), (item) => item.id),
    }
  },

  tree: ({ state }) => {
    const { log } = state
    const onHeadPath = new Set(pathTo(state))
    const standing = [...log.entries].filter((entry) => entry.inTree)
    return {
      roots: standing.filter((entry) => entry.parent === null).map((entry) => entry.id),
      events: standing.map((entry) => ({
        id: entry.id,
        kind: kindOf(entry),
        parent: entry.parent?.id ?? null,
        on_head_path: onHeadPath.has(entry),
      })),
    }
  },

  convert: (recording, request) => ({ [request.to ?? 'atif']: converted(recording, request) }),

  why: (recording, request) => whyAsJson(recording, stateFor(recording, request), request),

  stuck: (recording, request) => {
    const state = stateFor(recording, request)
    const verdict = LOOPS.verdict(state)
    return {
      stuck: verdict !== null,
      pattern: verdict?.pattern ?? null,
      event_ids: verdict?.eventIds ?? [],
      reason: verdict?.reason ?? null,
      nudge: LOOPS.nudge(state),
    }
  },
}

/** The document that `convert` writes, with every secret masked. */
export function converted(recording: Recording, request: FileRequest): unknown {
  const state = stateFor(recording, request)
  const id = recording.conversation ?? recording.session?.id ?? undefined
  if (request.to !== 'otel') return maskSecrets(toAtif(state, id === undefined ? {} : { sessionId: id }))
  const content = request.content === true
  return maskSecrets(toSpans(state, id === undefined ? { content } : { conversationId: id, content }))
}

/** The result of a request about one conversation, with every secret masked. */
export function answer(recording: Recording, request: FileRequest): Answer {
  return maskSecrets({
    ...nameOf(recording),
    ...sessionOf(recording),
    ...ANSWERS[request.command](recording, request),
  })
}

/** What a session was read from, where the file holds one. */
const sessionOf = ({ session }: Recording): Answer =>
  session === null ? {} : { session: { format: session.format, id: session.id, notes: session.notes } }

/** The state that a request looks at: at an event for `replay --at`, on another branch for `--leaf`, else at HEAD. */
export function stateFor(
  recording: Pick<Recording, 'state' | 'lines'>,
  { command, event }: Pick<FileRequest, 'command' | 'event'>,
): State {
  const { state } = recording
  if (event === null) return state
  const id = namedId(recording, event)
  return command === 'replay' ? stateAt(state, id) : switchTo(state, id)
}

/** The ids of the branch's pending calls, in log order. */
const pendingIds = (state: State): string[] => listPendingCalls(state).map((call) => call.entry.id)

/** How many lines of the log could not be read as events. */
function quarantinedCount({ log }: State): number {
  let count = 0
  for (const entry of log.entries) if (entry.quarantined !== null) count += 1
  return count
}

/** Carries the request out; `write` prints the result and gives the exit code. */
export async function answerStored(
  { command, json, laws }: FileRequest,
  { db, conversation }: Stored,
  io: Io,
  write: (recording: Recording, progress: Progress) => Promise<number>,
): Promise<number> {
  const name = `${conversation} in ${db.label}`
  const progress = progressOn(name, io)
  const about = { name, fields: { file: db.label, conversation }, json }
  return attempt(about, io, progress, async () => {
    const recording = await withStore(db, { write: false }, async (store) => {
      const record = await getConversation(store, conversation)
      return readStored(store, record, db.label, progress, !(json && command === 'check' && laws === null))
    })
    return write(recording, progress)
  })
}
