/** The command as a function of its arguments and environment, so that tests can run it as a shell does. */

import { relative } from 'node:path'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { createEngine, maskSecrets } from '../index.ts'
import { listLeaves } from '../state/index.ts'
import type { CommandName, FileCommand, Request, RequestOf } from './commands.ts'
import { helpPage, printsJson } from './commands.ts'
import { hideLogins } from './db/address.ts'
import { getConversation, withStore } from './db/store.ts'
import { exportConversation } from './export.ts'
import { FileError, fromSystem, UsageError } from './failure.ts'
import { importFiles } from './import.ts'
import {
  brokenNote,
  openingCall,
  quarantineNote,
  readRecording,
  readStored,
  selectState,
} from './input/recording.ts'
import type { Recording } from './input/recording.ts'
import { inspect } from './inspect.ts'
import { readPackage } from './package.ts'
import { commandIn, parseRequest } from './parse-arguments.ts'
import { failureText, type Io, lasting, OutputError, type Sink } from './print/io.ts'
import { plain, safe, widest } from './print/text.ts'
import { serveConversations } from './serve/serve.ts'
import { auditBlobs, deleteConversations, eraseEvent, printPage } from './stored.ts'
import { checkView, judgeLog, type Judged, junitOf, repairsOf, showLaws } from './show/check.ts'
import { convertView, messagesView } from './show/messages.ts'
import { type About, aboutFile, aboutStored, LISTED, Page, type View } from './show/page.ts'
import { condenseView, replayView, stateRows, stuckView, viewRows, viewView } from './show/state.ts'
import { treeLines, type TreeRow, treeView } from './show/tree.ts'
import { whyView } from './show/why.ts'

/** The shell command that starts Colloquy. A clone has no `colloquy` command, so `npm run` starts it there. */
const CALLED = import.meta.url.endsWith('.ts') ? 'npm run -s colloquy --' : 'npx colloquy'

const HIDDEN_KINDS: readonly string[] = ['ObservationEvent', 'CondensationRequest']

function* showDemo(page: Page, recording: Recording, file: string): IterableIterator<string> {
  const { state } = recording
  yield page.heading('State', 'computed from the log, event by event')
  yield* stateRows(page, state)
  yield ''
  yield page.heading('Tree', '● leads to HEAD   ○ on an abandoned branch')
  const isHidden = ({ isRemark, entry: { id, event } }: TreeRow): boolean =>
    id !== state.log.head?.id && (isRemark || HIDDEN_KINDS.includes(event?.kind ?? ''))
  yield* treeLines(page, recording, isHidden)
  yield ''
  yield page.heading('What the model sees')
  yield* viewRows(page, state, false)
  yield ''
  yield page.heading('What was repaired')
  yield* page.problemRows(repairsOf(recording), { limit: LISTED })
  yield ''
  yield page.heading('Try next')
  const leaf = listLeaves(state).find(({ id }) => id !== state.log.head?.id)?.id
  const tries = [
    [`messages ${file} --format anthropic`, 'the request'],
    [`view ${file} --leaf ${leaf}`, 'other branch'],
    ['check YOUR-LOG.jsonl', 'your own log'],
    ['serve', 'as a service'],
    ['help', 'all the rest'],
  ] as const
  const columns = widest(tries.map(([command]) => command))
  for (const [command, why] of tries)
    yield `  ${page.paint('strong', `${CALLED} ${command.padEnd(columns)}`)}  ${page.paint('dim', why)}`
}

/** Resolves to the exit code: 0, 1 for bad data, 2 for bad usage. Rejects only if the output is closed. */
export async function run(argv: readonly string[], world: Io): Promise<number> {
  // Without a reader of standard error, the exit code still reports the failure.
  const io = { ...world, stderr: lasting(world.stderr) }
  const page = new Page(io)
  try {
    const request = parseRequest(argv)
    return await perform(request, new Page(io, printsJson(request)))
  } catch (error) {
    if (error instanceof OutputError && error.isClosed) throw error
    if (error instanceof UsageError) {
      const help = ['help', ...commandIn(argv)].join(' ')
      await page.complain(`${plain(hideLogins(error.message))} (see: colloquy ${help})`)
      return 2
    }
    const failure = fromSystem(error)
    const subject =
      failure instanceof FileError && failure.subject !== null ? `${safe(failure.subject)}: ` : ''
    await page.complain(subject + failureText(failure))
    return 1
  }
}

type Action<Name extends CommandName> = (request: RequestOf<Name>, page: Page) => Promise<number>

const ACTIONS: { readonly [Name in CommandName]: Name extends FileCommand ? View<Name> : Action<Name> } = {
  check: checkView,
  replay: replayView,
  view: viewView,
  messages: messagesView,
  tree: treeView,
  stuck: stuckView,
  why: whyView,
  condense: condenseView,
  convert: convertView,
  inspect,
  import: importFiles,
  export: exportConversation,
  search: printPage,
  'search-text': printPage,
  conversations: printPage,
  'audit-blobs': auditBlobs,
  delete: deleteConversations,
  erase: eraseEvent,
  serve: serveConversations,
  demo,
  async help({ operand }, page) {
    await page.print(helpPage(operand))
    return 0
  },
}

async function perform(request: Request, page: Page): Promise<number> {
  if (request.command === 'version') {
    await page.print([(await readPackage()).version])
    return 0
  }
  const action = ACTIONS[request.command] as Action<CommandName> | View<FileCommand>
  if (typeof action === 'function') return action(request, page)
  return showRecordings(request as RequestOf<FileCommand>, action, page)
}

async function showRecordings(
  request: RequestOf<FileCommand>,
  view: View<FileCommand>,
  page: Page,
): Promise<number> {
  const { command, options, files } = request
  const { db, conversation = '', from } = options
  const check = command === 'check' ? request.options : null
  const [isJunit, hasLaws] = [check?.format === 'junit', check?.laws === true]
  const judged: Judged[] = []
  const show = async ({ name, fields }: About, recording: Recording): Promise<number> => {
    const laws = check !== null && hasLaws ? judgeLog(recording, name, check) : null
    if (laws !== null) judged.push(laws)
    const subject = () => {
      return { ...request, recording, state: selectState(recording, options), title: safe(name) }
    }
    if (page.json) {
      const { format, id, notes } = recording.session ?? {}
      const session = recording.session !== null && { session: { format, id, notes } }
      // Everything that can fail runs before the first byte is written, so that no error follows half a result.
      const value = maskSecrets({ ...fields, ...session, ...view.json(subject()) })
      await page.answer({ ...value, ...(laws !== null && { laws: laws.violations }) }, [])
    } else if (!isJunit) {
      const lines = laws === null ? view.show(page, subject()) : showLaws(page, laws)
      await page.print(lines)
    }
    // `check` shows quarantined lines itself.
    const note = check === null ? quarantineNote(recording, recording.lines.length) : brokenNote(recording)
    if (note !== null) await page.complain(`${safe(name)}: ${note}`)
    return (check !== null && (laws?.violations ?? recording.issues).length > 0) || note !== null ? 1 : 0
  }
  let worst = 0
  if (db !== undefined) {
    const about = aboutStored(db, conversation)
    worst = await page.attempt(about, async () => {
      const recording = await withStore(db, { write: false }, async (store) => {
        const record = await getConversation(store, conversation)
        const stored = await readStored(store, record)
        if (command !== 'tree' && command !== 'convert') return stored
        const parent = await createEngine({ store }).open(record)
        if (command === 'convert') return { ...stored, children: (await parent.tree()).children }
        const others = (await parent.children()).filter(({ id }) => id !== parent.id)
        return { ...stored, subagents: others.map((one) => ({ id: one.id, actionId: openingCall(one) })) }
      })
      return show(about, recording)
    })
  }
  for (const [index, file] of files.entries()) {
    if (index > 0 && !page.json && !isJunit) await page.print([''])
    const about = aboutFile(file)
    const code = await page.attempt(about, async () => show(about, await readRecording(file, page.io, from)))
    worst = Math.max(worst, code)
  }
  if (isJunit) await page.print(junitOf(judged))
  return worst
}

async function demo(_request: RequestOf<'demo'>, page: Page): Promise<number> {
  const path = fileURLToPath(new URL('../cli/sample.jsonl', import.meta.url))
  const recording = await readRecording(path, page.io)
  const near = relative(process.cwd(), path)
  await page.print(showDemo(page, recording, near.startsWith('..') ? path : near))
  return 0
}

function sinkOf(stream: Writable & { readonly isTTY?: boolean; readonly columns?: number }): Sink {
  // Without a listener, an error event would end the process. The write rejects with the same error.
  stream.on('error', () => {})
  return {
    isTTY: stream.isTTY === true,
    columns: stream.columns,
    write: (text) =>
      new Promise((resolve, reject) => {
        stream.write(text, (error) => (error ? reject(new OutputError(error)) : resolve()))
      }),
  }
}

/** Calls `stop` on the first SIGINT or SIGTERM. A second signal ends the process at once. */
function onStop(stop: () => void): void {
  const once = (): void => {
    process.off('SIGINT', once).off('SIGTERM', once)
    stop()
  }
  process.on('SIGINT', once).on('SIGTERM', once)
}

function endOnError(error: unknown): never {
  if (error instanceof OutputError && error.isClosed) process.exit(0)
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`colloquy: unexpected error: ${message.split('\n', 1)[0]}\n`)
  process.exit(1)
}

export async function runProcess(): Promise<void> {
  // Node 22 warns on standard error that its SQLite is experimental. Scripts would read this as a failure.
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') process.stderr.write(`${name}: ${message}\n`)
  })
  process.on('uncaughtException', endOnError)
  process.on('unhandledRejection', endOnError)
  const io = {
    stdin: process.stdin,
    stdout: sinkOf(process.stdout),
    stderr: sinkOf(process.stderr),
    env: process.env,
    onStop,
  }
  const code = await run(process.argv.slice(2), io).catch(endOnError)
  // Exit, because an open standard input, or work that ignores its signal, would keep the process alive.
  process.exit(code)
}
