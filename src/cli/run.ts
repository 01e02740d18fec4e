/** Arguments and a world go in, what the command prints goes to that world, the exit code comes out. */

import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ColloquyError } from '../index.ts'
import { answer, jsonPieces, stateFor } from './answer.ts'
import { type FileRequest, parseRequest, type Request } from './args.ts'
import { FileError, UsageError } from './failure.ts'
import { helpPage } from './help.ts'
import { ClosedPipe, type Io, writeAll, writeLines } from './io.ts'
import { progressOn, type Progress } from './progress.ts'
import { brokenNote, readRecording, type Recording } from './recording.ts'
import { showCheck } from './show/check.ts'
import { showDemo } from './show/demo.ts'
import { showMessages } from './show/messages.ts'
import type { Page } from './show/page.ts'
import { showReplay } from './show/replay.ts'
import { paintFor } from './show/style.ts'
import { hideSecrets, plain, safe } from './show/text.ts'
import { showTree } from './show/tree.ts'
import { showView } from './show/view.ts'

/** How wide a line is where there is no terminal, and at least. */
const COLUMNS = { default: 100, least: 40 }

/** Runs a command. Resolves to 0, 1 for bad data or 2 for bad usage; rejects with nothing but {@link ClosedPipe}. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  try {
    return await perform(parseRequest(argv), io)
  } catch (error) {
    if (error instanceof ClosedPipe) throw error
    await complain(
      io,
      error instanceof UsageError ? `${plain(error.message)} (see: colloquy help)` : explain(error),
    )
    return error instanceof UsageError ? 2 : 1
  }
}

async function perform(request: Request, io: Io): Promise<number> {
  switch (request.command) {
    case 'help':
      await writeLines(io.stdout, helpPage(request.topic))
      return 0
    case 'version':
      await writeLines(io.stdout, [await version()])
      return 0
    case 'demo':
      return await demo(io)
    default:
      return await answerFiles(request, io)
  }
}

/** Answers the files in the order given; the worst of their exit codes counts. */
async function answerFiles(request: FileRequest, io: Io): Promise<number> {
  let worst = 0
  for (const [index, file] of request.files.entries()) {
    if (index > 0 && !request.json) await io.stdout.write('\n')
    worst = Math.max(worst, await answerFile(file, request, io))
  }
  return worst
}

async function answerFile(file: string, request: FileRequest, io: Io): Promise<number> {
  const progress = progressOn(file, io)
  try {
    const recording = await readRecording(file, io, progress, !(request.json && request.command === 'check'))
    await writeAnswer(recording, request, io, progress)
    const note = brokenNote(recording)
    if (note !== null) await complain(io, `${safe(file)}: ${note}`)
    return note !== null || (request.command === 'check' && recording.issues.length > 0) ? 1 : 0
  } catch (error) {
    progress.done()
    if (error instanceof ClosedPipe) throw error
    const code = error instanceof FileError || error instanceof ColloquyError ? error.code : 'unexpected'
    const message = explain(error)
    if (request.json) await writeAll(io.stdout, [...jsonPieces({ file, error: { code, message } }), '\n'])
    await complain(io, `${safe(file)}: ${message}`)
    return 1
  }
}

async function writeAnswer(
  recording: Recording,
  request: FileRequest,
  io: Io,
  progress: Progress,
): Promise<void> {
  progress.step('working')
  if (request.json) {
    // Everything that can fail happens before the first byte, so that no line holds half an answer and an error.
    const value = answer(recording, request)
    progress.done()
    await writeAll(io.stdout, jsonPieces(value))
    await io.stdout.write('\n')
    return
  }
  const lines = show(pageFor(io), recording, request)
  progress.done()
  await writeLines(io.stdout, lines)
}

function show(page: Page, recording: Recording, request: FileRequest): Iterable<string> {
  const state = stateFor(recording.state, request)
  switch (request.command) {
    case 'check':
      return showCheck(page, recording)
    case 'replay':
      return showReplay(page, recording, state)
    case 'view':
      return showView(page, recording.file, state)
    case 'messages':
      return showMessages(page, recording.file, request.format, state)
    case 'tree':
      return showTree(page, recording)
  }
}

async function demo(io: Io): Promise<number> {
  const path = fileURLToPath(new URL('sample.jsonl', import.meta.url))
  const recording = await readRecording(path, io, progressOn('sample.jsonl', io))
  const near = relative(process.cwd(), path)
  const command = import.meta.url.endsWith('.ts') ? 'npm run -s colloquy --' : 'colloquy'
  await writeLines(io.stdout, showDemo(pageFor(io), recording, command, near.startsWith('..') ? path : near))
  return 0
}

const pageFor = ({ stdout, env }: Io): Page => ({
  paint: paintFor(stdout.isTTY, env),
  // A terminal that does not know its width says 0.
  columns: Math.max(stdout.columns || COLUMNS.default, COLUMNS.least),
})

async function version(): Promise<string> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  return String((JSON.parse(text) as { readonly version?: unknown }).version)
}

async function complain(io: Io, message: string): Promise<void> {
  await io.stderr.write(`colloquy: ${message}\n`)
}

/** What went wrong, on one line and without a stack. */
function explain(error: unknown): string {
  return plain(hideSecrets(error instanceof Error ? error.message : String(error))) || 'something went wrong'
}
