/** Reads any input as facts, or folds it into a state, and records the input line of each event. */

import { isUtf8 } from 'node:buffer'
import { type Issue, type JsonObject, type Loaded, quarantine, type Quarantined } from '../../event/index.ts'
import {
  ColloquyError,
  findEvent,
  initialState,
  isQuarantined,
  loadLine,
  loadValue,
  reduce,
  stateAt,
  switchTo,
} from '../../index.ts'
import type { ConversationRecord, Fact, State, Store } from '../../index.ts'
import { detectSession, readSession, withCodexHistory } from '../../sessions/index.ts'
import type { Session, SessionRecord } from '../../sessions/index.ts'
import type { StateTree } from '../../state/index.ts'
import type { FileCommand, From, Options } from '../commands.ts'
import { readLog } from '../db/store.ts'
import { FileError } from '../failure.ts'
import type { Io } from '../print/io.ts'
import { counted, quoted } from '../print/text.ts'
import { asObject } from './documents.ts'
import { findRollout, follow, openInput, type Opened, type Piece, valueOf } from './open.ts'

interface Decoded extends Loaded {
  readonly broken: 'not JSON' | 'not UTF-8' | null
  /** Whether the line cannot be an event, not even one of a later version. */
  readonly hasNoKind?: boolean
}

const UNCHANGED = { upcasts: [], warnings: [] }

/** Decodes the JSON text of one event. Quarantines an unreadable text, and never throws. */
export function decodePiece(bytes: Buffer): Decoded {
  const text = bytes.toString('utf8').replaceAll(/^\ufeff|\r$/g, '')
  const stored = unwrap(text)
  if (stored !== null) return { ...UNCHANGED, fact: stored, broken: null }
  const loaded = loadLine(text)
  const { fact } = loaded
  if (!isJson(fact)) return { ...loaded, broken: 'not JSON' }
  if (!isUtf8(bytes)) return { ...UNCHANGED, fact: notUtf8(text, fact), broken: 'not UTF-8' }
  return { ...loaded, broken: null, hasNoKind: isQuarantined(fact) && fact.event_kind === undefined }
}

const isJson = (fact: Fact): boolean => !(isQuarantined(fact) && fact.issues[0]?.type === 'json_invalid')

/** Quarantines a line that is not UTF-8. The line stays in the tree if its ids are readable. */
function notUtf8(raw: string, fact: Fact): Quarantined {
  const msg = 'The bytes are not UTF-8; save the file as UTF-8.'
  const kind = isQuarantined(fact) ? fact.event_kind : fact.kind
  const names = Object.entries({ id: fact.id, parent_id: fact.parent_id, kind })
  const readable = Object.fromEntries(names.filter(([, name]) => name?.includes('\ufffd') !== true))
  return quarantine(raw, [{ loc: [], msg, type: 'unicode_error' }], readable as JsonObject)
}

/** Kind of a line that wraps a quarantined line. Programs that do not know this kind quarantine the line. */
const KIND = 'colloquy.quarantined'

export function wrap({ raw, issues, id, parent_id, event_kind }: Quarantined): string {
  return JSON.stringify({ kind: KIND, id, parent_id, event_kind, raw, issues })
}

function unwrap(text: string): Quarantined | null {
  if (!text.startsWith(`{"kind":${JSON.stringify(KIND)},`)) return null
  const { raw, issues, id, parent_id, event_kind: kind } = { ...(valueOf(text) as JsonObject | undefined) }
  if (typeof raw !== 'string' || !Array.isArray(issues) || !issues.every(isIssue)) return null
  const fact = quarantine(raw, issues, { id, parent_id, kind } as JsonObject)
  return fact.id === id && fact.parent_id === parent_id && fact.event_kind === kind ? fact : null
}

function isIssue(value: unknown): value is Issue {
  if (typeof value !== 'object' || value === null) return false
  const { loc, msg, type } = value as Readonly<Record<string, unknown>>
  return Array.isArray(loc) && typeof msg === 'string' && typeof type === 'string'
}

export interface ReadFact extends Decoded {
  readonly line: number
}

export interface Source extends Omit<Opened, 'pieces'> {
  readonly facts: AsyncIterable<readonly ReadFact[]>
  readonly session: Session | null
}

const DETECTION_RECORDS = 32

/** Streams events, but reads a session as a whole, because a reply may span several lines. @throws FileError */
export async function openFacts(name: string, from: From | undefined, io: Io): Promise<Source> {
  const { pieces, ...opened } = await openInput(name, io)
  if (opened.sidecarFiles !== null || from === 'events')
    return { ...opened, facts: decodePieces(pieces), session: null }
  const iterator = pieces[Symbol.asyncIterator]()
  const first: Piece[] = []
  while (first.length < DETECTION_RECORDS) {
    const next = await iterator.next()
    if (next.done === true) break
    first.push(...next.value)
  }
  const all = follow<readonly Piece[]>([first], iterator)
  const format = from ?? detectSession(first.slice(0, DETECTION_RECORDS).map(({ bytes }) => valueOf(bytes)))
  if (format === null) {
    if (opened.form === 'document') rejectDocument(first)
    return { ...opened, facts: decodePieces(all), session: null }
  }
  const { records: own, replaced } = await recordsIn(all)
  const records = await withCodexHistory(own, async (id) => {
    const file = await findRollout(name, id)
    return file === null ? null : (await recordsIn((await openInput(file, io)).pieces)).records
  })
  const { notes, ...read } = readSession(records, { from: format })
  const what = 'bytes that are not UTF-8, replaced'
  const lossy = replaced.slice(0, 1).map((line) => ({ what, count: replaced.length, line }))
  const session = { ...read, notes: [...notes, ...lossy] }
  return { ...opened, facts: factsOf(session), session }
}

/** Reads records. Replaces bytes that are not UTF-8; `replaced` has the numbers of such lines of JSON. */
async function recordsIn(pieces: AsyncIterable<readonly Piece[]>) {
  const records: SessionRecord[] = []
  const replaced: number[] = []
  for await (const some of pieces)
    for (const { line, bytes } of some) {
      const value = valueOf(bytes)
      if (value !== undefined && !isUtf8(bytes)) replaced.push(line)
      records.push({ line, raw: bytes.toString('utf8'), value })
    }
  return { records, replaced }
}

export async function* factsOf({ facts }: Session): AsyncIterableIterator<readonly ReadFact[]> {
  yield facts.map((one) => ({ ...UNCHANGED, ...one, broken: isJson(one.fact) ? null : 'not JSON' }))
}

async function* decodePieces(
  pieces: AsyncIterable<readonly Piece[]>,
): AsyncIterableIterator<readonly ReadFact[]> {
  for await (const some of pieces) yield some.map(({ line, bytes }) => ({ line, ...decodePiece(bytes) }))
}

function rejectDocument([piece]: readonly Piece[]): never {
  const value = valueOf(piece?.bytes ?? '')
  const what = value !== null && typeof value === 'object' ? 'an object' : 'a single value'
  throw new FileError(
    'not_an_array',
    `the file contains ${what}, but neither an array of events nor a session; if it is a single event, name it .jsonl`,
  )
}

interface LineIssue extends Pick<Issue, 'loc' | 'msg' | 'type'> {
  readonly line: number
  readonly kind: string | null
}

interface Broken {
  readonly line: number
  readonly why: string
  readonly count: number
  /** Whether the first broken line is the last line of the file, as after an interrupted write. */
  readonly isLast: boolean
}

export interface Tally {
  readonly count: number
  readonly line: number
}

export const newProblems = () => ({
  quarantined: 0,
  broken: null as Broken | null,
  issues: [] as LineIssue[],
  warnings: [] as LineIssue[],
  upcasts: new Map<string, Tally>(),
})

export type Problems = ReturnType<typeof newProblems>

type Form = Opened['form'] | null

/** Adds a fact's problems to `problems`, which lists at most `limit` issues and `limit` warnings. */
export function noteRead(
  problems: Problems,
  { line, fact, upcasts, warnings, broken: why }: ReadFact,
  limit = Infinity,
): void {
  const { broken } = problems
  if (broken !== null)
    problems.broken = { ...broken, count: broken.count + (why === null ? 0 : 1), isLast: false }
  else if (why !== null) problems.broken = { line, why, count: 1, isLast: true }
  for (const name of upcasts) tally(problems.upcasts, name, line)
  const isRead = !isQuarantined(fact)
  if (!isRead) problems.quarantined += 1
  const kind = isRead ? fact.kind : (fact.event_kind ?? null)
  const list = isRead ? problems.warnings : problems.issues
  const reported = (isRead ? warnings : fact.issues).slice(0, limit - list.length)
  list.push(...reported.map(({ loc, msg, type }) => ({ line, kind, loc, msg, type })))
}

export function tally<K>(counts: Map<K, Tally>, key: K, line: number): void {
  const before = counts.get(key)
  counts.set(key, { count: (before?.count ?? 0) + 1, line: before?.line ?? line })
}

export interface Recording extends Readonly<Problems> {
  /** Id of the conversation; null for a file. */
  readonly conversation: string | null
  /** Ids of subagents, and of the calls that opened them. Subagents in a database are omitted by default. */
  readonly subagents: readonly { readonly id: string | null; readonly actionId: string | null }[]
  /** States of subagents. Subagents in a database are omitted by default. Empty for a file. */
  readonly children: readonly StateTree[]
  readonly form: Form
  readonly session: Session | null
  readonly state: State
  readonly loaded: readonly Loaded[]
  /** For each log position, the line number of its fact in the input; for a database, the position plus 1. */
  readonly lines: readonly number[]
}

export async function readRecording(file: string, io: Io, from?: From): Promise<Recording> {
  const recording = await collect(await openFacts(file, from, io), null)
  const { broken, lines, form } = recording
  if (broken === null || broken.count < lines.length) return recording
  throw new FileError('not_json', noJsonMessage(broken, form))
}

export const readStored = (store: Store, record: ConversationRecord): Promise<Recording> =>
  collect({ form: null, session: null, facts: storedFacts(store, record) }, record.id)

async function* storedFacts(store: Store, record: ConversationRecord): AsyncIterableIterator<ReadFact[]> {
  for await (const events of readLog(store, record)) {
    yield events.map(({ seq, fact }) => {
      // The warnings of an event are not stored: decoding it again finds them.
      const warnings = isQuarantined(fact) ? [] : loadValue(fact).warnings
      return { line: seq + 1, fact, upcasts: [], warnings, broken: null }
    })
  }
}

async function collect(
  { form, session, facts }: { readonly form: Form } & Pick<Source, 'session' | 'facts'>,
  conversation: string | null,
): Promise<Recording> {
  const lines: number[] = []
  const loaded: Loaded[] = []
  const problems = newProblems()
  let state = initialState(conversation === null ? {} : { conversationId: conversation })
  for await (const batch of facts)
    for (const piece of batch) {
      state = reduce(state, piece.fact)
      loaded.push(piece)
      lines.push(piece.line)
      noteRead(problems, piece)
    }
  const subagents = (session?.children ?? []).flatMap(({ id, subagent }) =>
    subagent === null ? [] : [{ id, actionId: subagent.actionId }],
  )
  return { conversation, subagents, children: [], form, session, state, loaded, lines, ...problems }
}

/** Returns the id of the parent's action that opened a conversation; null if the conversation's record has none. */
export function openingCall({ metadata }: ConversationRecord): string | null {
  const call = asObject(metadata['subagent'])?.['action_id']
  return typeof call === 'string' ? call : null
}

const unitOf = (form: Form): string =>
  form === 'directory' || form === 'zip' ? 'event file' : form === 'array' ? 'element' : 'line'

export const noJsonMessage = ({ count, why }: Broken, form: Form): string =>
  count === 1 ? `the only ${unitOf(form)} is ${why}` : `none of its ${count} ${unitOf(form)}s is JSON`

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
  const others = more === 0 ? 'was' : `and ${counted(more, 'other')} were`
  return `${unitOf(form)} ${broken.line} is ${broken.why}${cut}: it ${others} quarantined; the rest is read`
}

type Log = Pick<Recording, 'state' | 'lines'>

/** Returns the state that `--leaf` or `--at` selects, or else the latest state. @throws `unknown_event`. */
export function selectState(log: Log, options: Options<FileCommand>): State {
  const { leaf, at } = { leaf: undefined, at: undefined, ...options }
  if (leaf !== undefined) return switchTo(log.state, resolveEventId(log, leaf))
  return at === undefined ? log.state : stateAt(log.state, resolveEventId(log, at))
}

const LISTED_IDS = 3

/**
 * Finds an event by id, unique id prefix or line. Returns its id or position, or `typed` if no event matches. O(n).
 * @throws ColloquyError `unknown_event` if several ids begin with `typed`.
 */
export function resolveEvent({ state, lines }: Log, typed: string): string | number {
  if (findEvent(state, typed) !== undefined || typed.endsWith('-summary')) return typed
  const ids = new Set<string>()
  for (const { id } of state.log.entries) if (id?.startsWith(typed) === true) ids.add(id)
  const [first, ...others] = ids
  if (others.length > 0) {
    const some = [...ids].slice(0, LISTED_IDS).map(quoted).join(', ')
    const more = ids.size > LISTED_IDS ? ` and ${ids.size - LISTED_IDS} more` : ''
    throw unknownEvent(typed, `${quoted(typed)} matches several ids: ${some}${more}. Type more of the id.`)
  }
  const seq = /^\d{1,9}$/.test(typed) ? lines.indexOf(Number(typed)) : -1
  return first ?? (seq < 0 ? typed : seq)
}

function resolveEventId(log: Log, typed: string): string {
  const event = resolveEvent(log, typed)
  if (typeof event === 'string') return event
  const entry = log.state.log.entries.get(event)
  if (entry?.inTree === true && entry.id !== null) return entry.id
  throw unknownEvent(typed, `Line ${typed} is not an event in the conversation tree. Pass an event id.`)
}

const unknownEvent = (typed: string, message: string): ColloquyError =>
  new ColloquyError('unknown_event', message, { event_id: typed })
