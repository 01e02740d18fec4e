/** The command as a function of its arguments and the world around it, so that tests run it as a shell would. */

import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { answer, converted, stateFor } from './answer/answer.ts'
import { commandIn, parseRequest } from './args/args.ts'
import { attempt, complain, complainOf } from './attempt.ts'
import { condensed } from './answer/condense.ts'
import { hideLogins } from './db/address.ts'
import { exportConversation } from './export/export.ts'
import { UsageError } from './failure.ts'
import { listConversations } from './list/conversations.ts'
import { searchEvents } from './list/search.ts'
import { helpPage } from './args/help.ts'
import { importFiles } from './import/import.ts'
import { inspect } from './inspect/inspect.ts'
import { ClosedPipe, type Io, lasting, writeAll, writeLines } from './print/io.ts'
import { jsonLine, toJson } from './print/json.ts'
import { readPackage } from './package.ts'
import { progressOn, type Progress } from './print/progress.ts'
import { asideNote, brokenNote, readRecording, type Recording, titleOf } from './input/recording.ts'
import type { FileRequest, Request } from './args/request.ts'
import { serveConversations } from './serve/serve.ts'
import { showCheck } from './show/check.ts'
import { showCondense } from './show/condense.ts'
import { showDemo } from './show/demo.ts'
import { showMessages } from './show/messages.ts'
import { CALLED } from './show/next.ts'
import type { Page } from './show/page.ts'
import { showReplay } from './show/replay.ts'
import { showStuck } from './show/stuck.ts'
import { paintFor } from './print/style.ts'
import { plain, safe } from './print/text.ts'
import { showTree } from './show/tree.ts'
import { showView } from './show/view.ts'
import { showWhy } from './why/show.ts'
import { answerStored } from './answer/stored.ts'
import { judge, type Judged } from './laws/findings.ts'
import { junitOf } from './laws/junit.ts'
import { sarifOf } from './laws/sarif.ts'
import { showLaws } from './laws/show.ts'

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
  if (form === 'sarif') await writeAll(io.stdout, jsonLine(sarifOf(judged, (await readPackage()).version)))
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
const isOneDocument = ({ laws }: FileRequest): boolean => laws?.form === 'sarif' || laws?.form === 'junit'

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
