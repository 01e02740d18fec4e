/** A folded conversation with the line of each event: the input of all commands that show something. */

import { type Issue, type JsonObject, type Loaded } from '../../event/index.ts'
import {
  ColloquyError,
  type ConversationRecord,
  findEvent,
  initialState,
  isQuarantined,
  loadValue,
  reduce,
  type State,
  stateAt,
  type Store,
  switchTo,
} from '../../index.ts'
import type { Session } from '../../sessions/index.ts'
import type { StateTree } from '../../state/index.ts'
import type { From } from '../commands.ts'
import { eachConversation, readLog } from '../db/store.ts'
import { FileError } from '../failure.ts'
import type { Io, Progress } from '../print/io.ts'
import { quoted } from '../print/text.ts'
import { openFacts, type ReadFact } from './facts.ts'
import type { InputForm } from './open.ts'

export interface LineIssue {
  readonly line: number
  readonly kind: string | null
  readonly issue: Issue
}

export const issueAsJson = ({ line, kind, issue: { loc, msg, type } }: LineIssue) => ({
  line,
  kind,
  loc,
  msg,
  type,
})

interface Broken {
  readonly line: number
  readonly why: string
  readonly count: number
  /** Whether it is the end of the file, such as after an interrupted write. */
  readonly isLast: boolean
}

export interface Tally {
  readonly count: number
  readonly line: number
}

/** Notes on a log, by line. */
export interface Problems {
  quarantined: number
  broken: Broken | null
  readonly issues: LineIssue[]
  readonly warnings: LineIssue[]
  readonly upcasts: Map<string, Tally>
}

export const newProblems = (): Problems => ({
  quarantined: 0,
  broken: null,
  issues: [],
  warnings: [],
  upcasts: new Map(),
})

/**
 * Adds the problems of one read fact. At most `limit` issues and `limit` warnings are listed.
 * @throws FileError `not_json` for an element of an array.
 */
export function noteRead(
  problems: Problems,
  { line, fact, upcasts, warnings, broken: why }: ReadFact,
  form: InputForm | null,
  limit = Infinity,
): void {
  const { broken } = problems
  if (broken !== null)
    problems.broken = { ...broken, count: broken.count + (why === null ? 0 : 1), isLast: false }
  else if (why !== null) problems.broken = { line, why, count: 1, isLast: true }
  if (form === 'array' && why === 'not JSON') throw new FileError('not_json', `element ${line} is not JSON`)
  for (const name of upcasts) tally(problems.upcasts, name, line)
  const isRead = !isQuarantined(fact)
  if (!isRead) problems.quarantined += 1
  const kind = isRead ? fact.kind : (fact.event_kind ?? null)
  const list = isRead ? problems.warnings : problems.issues
  const reported = (isRead ? warnings : fact.issues).map((issue) => ({ line, kind, issue }))
  list.push(...reported.slice(0, limit - list.length))
}

export interface Recording extends Readonly<Problems> {
  /** As typed; `-` for standard input; for a database without its password. */
  readonly file: string
  readonly conversation: string | null
  /** Its subagents; empty unless they were requested. */
  readonly children: readonly StateTree[]
  readonly form: InputForm | null
  readonly session: Session | null
  /** The folded log; empty unless the fold was requested. */
  readonly state: State
  readonly loaded: readonly Loaded[]
  /** The line number of each position of the log; for a database the position plus 1. */
  readonly lines: readonly number[]
}

/**
 * Reads and folds one file in chunks. Without the fold no event is kept, so a file may exceed memory.
 * @throws FileError if nothing in the file could be read.
 */
export async function readRecording(
  file: string,
  io: Io,
  progress: Progress,
  { fold = true, from }: { readonly fold?: boolean; readonly from?: From | undefined } = {},
): Promise<Recording> {
  const { form, facts, session } = await openFacts(file, from, io)
  const read = await collect(facts, form, fold ? initialState() : null, progress)
  if (read.broken?.count === read.lines.length && read.broken !== null)
    throw new FileError('not_json', noJsonMessage(read.broken, form))
  return { file, conversation: null, children: [], form, session, ...read }
}

/** Reads and folds the log of a stored conversation, some events at a time. */
export async function readStored(
  store: Store,
  record: ConversationRecord,
  file: string,
  progress: Progress,
  fold = true,
): Promise<Recording> {
  const state = fold ? initialState({ conversationId: record.id }) : null
  const read = await collect(storedFacts(store, record), null, state, progress)
  return { file, conversation: record.id, children: [], form: null, session: null, ...read }
}

/** The parent's action that opened a conversation; null if its record does not name it. */
export function openingCall({ metadata }: ConversationRecord): string | null {
  const { action_id: call } = { ...(metadata['subagent'] as JsonObject | undefined) }
  return typeof call === 'string' ? call : null
}

/** Reads the subagents of a stored conversation, whole or only their records. */
export async function readSubagents(
  store: Store,
  parentId: string,
  isWhole: boolean,
  known = new Set([parentId]),
): Promise<StateTree[]> {
  const trees: StateTree[] = []
  const query = { parentConversationId: parentId, tags: { subagent: 'true' }, order: 'created_at' } as const
  for await (const record of eachConversation(store, query)) {
    // Records may name each other as parents.
    if (known.has(record.id)) continue
    known.add(record.id)
    const { id, title } = record
    let state = initialState({ conversationId: id })
    for await (const events of isWhole ? readLog(store, record) : [])
      for (const { fact } of events) state = reduce(state, fact)
    const children = isWhole ? await readSubagents(store, id, isWhole, known) : []
    trees.push({ id, title, actionId: openingCall(record), state, children })
  }
  return trees
}

async function* storedFacts(store: Store, record: ConversationRecord): AsyncIterableIterator<ReadFact[]> {
  for await (const events of readLog(store, record)) {
    yield events.map(({ seq, fact }) => {
      // The warnings of an event are not stored: decoding it again finds them.
      const { warnings } = isQuarantined(fact) ? { warnings: [] } : loadValue(fact)
      return { line: seq + 1, fact, upcasts: [], warnings, broken: null, bytes: null }
    })
  }
}

async function collect(
  facts: AsyncIterable<readonly ReadFact[]>,
  form: InputForm | null,
  initial: State | null,
  progress: Progress,
): Promise<Omit<Recording, 'file' | 'conversation' | 'children' | 'form' | 'session'>> {
  const lines: number[] = []
  const loaded: Loaded[] = []
  const problems = newProblems()
  let state = initial ?? initialState()
  for await (const batch of facts) {
    for (const piece of batch) {
      const { fact, upcasts, warnings } = piece
      if (initial !== null) {
        state = reduce(state, fact)
        loaded.push({ fact, upcasts, warnings })
      }
      lines.push(piece.line)
      noteRead(problems, piece, form)
    }
    progress.tick(lines.length)
  }
  return { state, loaded, lines, ...problems }
}

export const recordingFields = ({
  file,
  conversation,
}: Pick<Recording, 'file' | 'conversation'>): { readonly file: string; readonly conversation?: string } =>
  conversation === null ? { file } : { file, conversation }

/** Returns the name of a recording for headings. */
export const titleOf = ({ file, conversation }: Pick<Recording, 'file' | 'conversation'>): string =>
  conversation === null ? file : `${conversation} in ${file}`

export function tally<K>(counts: Map<K, Tally>, key: K, line: number): void {
  const before = counts.get(key)
  counts.set(key, { count: (before?.count ?? 0) + 1, line: before?.line ?? line })
}

export function noJsonMessage(broken: Broken, form: InputForm): string {
  const what = form === 'directory' || form === 'zip' ? 'file' : 'line'
  return broken.count === 1
    ? `the only ${what} is ${broken.why}`
    : `none of its ${broken.count} ${what}s is JSON`
}

export function quarantineNote(
  read: Pick<Recording, 'broken' | 'form' | 'quarantined'>,
  records: number,
): string | null {
  const { quarantined } = read
  if (quarantined === 0 || quarantined < records) return brokenNote(read)
  const all = quarantined === 1 ? 'the only record was' : `all ${quarantined} records were`
  return `${all} quarantined; see colloquy check`
}

export function brokenNote({ broken, form }: Pick<Recording, 'broken' | 'form'>): string | null {
  if (broken === null) return null
  const cut = broken.isLast && form === 'lines' && broken.why === 'not JSON' ? ' (truncated last line?)' : ''
  const more = broken.count - 1
  const others = more === 0 ? '' : more === 1 ? ', nor is 1 other' : `, nor are ${more} others`
  const unit = form === 'directory' || form === 'zip' ? 'event file' : form === 'array' ? 'element' : 'line'
  return `${unit} ${broken.line} is ${broken.why}${cut}${others}; quarantined, the rest is read`
}

type Log = Pick<Recording, 'state' | 'lines'>

/** The state on the branch that ends at an event, by default HEAD. @throws ColloquyError `unknown_event` */
export const stateOnBranch = (log: Log, leaf: string | undefined): State =>
  leaf === undefined ? log.state : switchTo(log.state, resolveEventId(log, leaf))

/** The state as it was at an event, by default the latest. @throws ColloquyError `unknown_event` */
export const stateAtEvent = (log: Log, event: string | undefined): State =>
  event === undefined ? log.state : stateAt(log.state, resolveEventId(log, event))

const LISTED_IDS = 3

/**
 * Finds an event by id, id prefix or line. Returns an id or a position, else the typed text. O(n).
 * @throws ColloquyError `unknown_event` for an ambiguous prefix.
 */
export function resolveEvent({ state, lines }: Log, typed: string): string | number {
  if (findEvent(state, typed) !== undefined || typed.endsWith('-summary')) return typed
  const ids = new Set(
    Array.from(state.log.entries, ({ id }) => id).filter((id) => id !== null && id.startsWith(typed)),
  )
  const [first] = ids
  if (ids.size === 1 && typeof first === 'string') return first
  if (ids.size > 1) {
    const some = [...ids].slice(0, LISTED_IDS).map((id) => quoted(id ?? ''))
    const more = ids.size > LISTED_IDS ? ` and ${ids.size - LISTED_IDS} more` : ''
    throw unknownEvent(typed, `${quoted(typed)} matches ${some.join(', ')}${more}: type more of the id`)
  }
  const seq = /^\d{1,9}$/.test(typed) ? lines.indexOf(Number(typed)) : -1
  return seq < 0 ? typed : seq
}

function resolveEventId(log: Log, typed: string): string {
  const event = resolveEvent(log, typed)
  if (typeof event === 'string') return event
  const entry = log.state.log.entries.get(event)
  if (entry !== undefined && entry.inTree && entry.id !== null) return entry.id
  throw unknownEvent(typed, `line ${typed} is not an event in the conversation tree: pass an event id`)
}

const unknownEvent = (typed: string, message: string): ColloquyError =>
  new ColloquyError('unknown_event', message, { event_id: typed })
