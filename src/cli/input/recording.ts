/** A recorded conversation, folded, with the line of each event: what all commands that show something start from. */

import { decodeEvent, type Issue, type Loaded } from '../../event/index.ts'
import {
  ColloquyError,
  type ConversationRecord,
  type Fact,
  findEvent,
  initialState,
  isQuarantined,
  reduce,
  type State,
  type Store,
} from '../../index.ts'
import type { Session } from '../../sessions/index.ts'
import { readLog } from '../db/store.ts'
import { FileError } from '../failure.ts'
import type { Io, Progress } from '../print/io.ts'
import { quoted } from '../print/text.ts'
import { type From, openFacts } from './facts.ts'
import type { Form } from './open.ts'

/** An issue and the line it is about. */
export interface LineIssue {
  readonly line: number
  readonly kind: string | null
  readonly issue: Issue
}

/** What `--json` says of it. */
export const issueAsJson = ({ line, kind, issue: { loc, msg, type } }: LineIssue) => ({
  line,
  kind,
  loc,
  msg,
  type,
})

/** Pieces of text that are no JSON: how many, and the first of them. */
export interface Broken {
  readonly line: number
  readonly why: string
  readonly count: number
  /** Whether it is the end of the file, as after a write that was cut off. */
  readonly isLast: boolean
}

/** How often an upcaster was at work, and where first. */
export interface Upcasts {
  readonly count: number
  readonly line: number
}

/** A conversation as a file or a store holds it. */
export interface Recording {
  /** As the user typed it; `-` for standard input; for a database without its password. */
  readonly file: string
  /** Its id in the database; null for one in a file. */
  readonly conversation: string | null
  /** How the text of a file is divided; null for a database. */
  readonly form: Form | null
  /** The session of another agent that the file holds; null for events. */
  readonly session: Session | null
  /** The fold of the log; of no events where it is not asked for. */
  readonly state: State
  /** What was loaded, with its warnings; nothing where the fold is not asked for. */
  readonly loaded: readonly Loaded[]
  /** The line number of each position of the log; for a database the position plus 1. */
  readonly lines: readonly number[]
  /** How many lines could not be read as events. */
  readonly quarantined: number
  readonly issues: readonly LineIssue[]
  /** What is wrong with events that load all the same. */
  readonly warnings: readonly LineIssue[]
  readonly broken: Broken | null
  readonly upcasts: ReadonlyMap<string, Upcasts>
}

/**
 * Reads and folds one file, a chunk at a time. Without the fold no event is kept, so that a file may be larger than
 * memory.
 * @throws FileError when the file has no result.
 */
export async function readRecording(
  file: string,
  io: Io,
  progress: Progress,
  { fold = true, from = null }: { readonly fold?: boolean; readonly from?: From | null } = {},
): Promise<Recording> {
  const { form, facts, session } = await openFacts(file, from, io)
  const lines: number[] = []
  const loaded: Loaded[] = []
  const issues: LineIssue[] = []
  const warnings: LineIssue[] = []
  const upcasts = new Map<string, Upcasts>()
  let broken: Broken | null = null
  let quarantined = 0
  let state = initialState()
  for await (const batch of facts) {
    for (const { line, broken: why, ...piece } of batch) {
      const { fact, upcasts: names, warnings: odd } = piece
      if (fold) {
        state = reduce(state, fact)
        loaded.push(piece)
      }
      lines.push(line)
      for (const name of names) count(upcasts, name, line)
      broken = noteBroken(broken, line, why)
      if (form === 'array' && why === 'not JSON')
        throw new FileError('not_json', `element ${line} is not JSON`)
      if (isQuarantined(fact)) quarantined += 1
      issues.push(...issuesOf(fact, line))
      warnings.push(...warningsOf(fact, odd, line))
    }
    progress.tick(lines.length)
  }
  if (broken !== null && broken.count === lines.length)
    throw new FileError('not_json', noneIsJson(broken, form))
  const read = { loaded, lines, quarantined, issues, warnings, broken, upcasts }
  return { file, conversation: null, form, session, state, ...read }
}

/**
 * Reads and folds the log of a stored conversation, some events at a time. Its facts are taken as the store has them.
 */
export async function readStored(
  store: Store,
  record: ConversationRecord,
  file: string,
  progress: Progress,
  fold = true,
): Promise<Recording> {
  const lines: number[] = []
  const loaded: Loaded[] = []
  const issues: LineIssue[] = []
  const warnings: LineIssue[] = []
  let quarantined = 0
  let state = initialState({ conversationId: record.id })
  for await (const events of readLog(store, record)) {
    for (const { seq, fact } of events) {
      if (fold) state = reduce(state, fact)
      lines.push(seq + 1)
      if (isQuarantined(fact)) quarantined += 1
      issues.push(...issuesOf(fact, seq + 1))
      // A store's facts were decoded when they came; what was odd about them then is not kept.
      const decoded = isQuarantined(fact) ? null : decodeEvent(fact)
      const odd = decoded?.ok === true ? decoded.warnings : []
      if (fold) loaded.push({ fact, upcasts: [], warnings: odd })
      warnings.push(...warningsOf(fact, odd, seq + 1))
    }
    progress.tick(lines.length)
  }
  const read = { loaded, lines, quarantined, issues, warnings, broken: null, upcasts: new Map() }
  return { file, conversation: record.id, form: null, session: null, state, ...read }
}

/** How a result names what it is about. */
export const nameOf = ({
  file,
  conversation,
}: Pick<Recording, 'file' | 'conversation'>): { readonly file: string; readonly conversation?: string } =>
  conversation === null ? { file } : { file, conversation }

/** How a heading names it. */
export const titleOf = ({ file, conversation }: Pick<Recording, 'file' | 'conversation'>): string =>
  conversation === null ? file : `${conversation} in ${file}`

/** What keeps a line from being an event; nothing for an event. */
export function issuesOf(fact: Fact, line: number): LineIssue[] {
  if (!isQuarantined(fact)) return []
  return fact.issues.map((issue) => ({ line, kind: fact.event_kind ?? null, issue }))
}

/** What is wrong with an event that loads all the same. */
export const warningsOf = (fact: Fact, warnings: readonly Issue[], line: number): LineIssue[] =>
  isQuarantined(fact) ? [] : warnings.map((issue) => ({ line, kind: fact.kind, issue }))

/** What there is to say of broken pieces after one more piece; `why` is null for a sound one. */
export function noteBroken(before: Broken | null, line: number, why: string | null): Broken | null {
  if (before === null) return why === null ? null : { line, why, count: 1, isLast: true }
  return { ...before, count: before.count + (why === null ? 0 : 1), isLast: false }
}

/** Counts one more of something, and keeps where it was first. */
export function count<K>(counts: Map<K, Upcasts>, key: K, line: number): void {
  const before = counts.get(key)
  counts.set(key, { count: (before?.count ?? 0) + 1, line: before?.line ?? line })
}

export function noneIsJson(broken: Broken, form: Form): string {
  const what = form === 'directory' || form === 'zip' ? 'file' : 'line'
  return broken.count === 1
    ? `the only ${what} is ${broken.why}`
    : `none of its ${broken.count} ${what}s is JSON`
}

/** What a user reads where nothing of a file, or not all of it, could be read; null when all of it could. */
export function asideNote(
  read: Pick<Recording, 'broken' | 'form' | 'quarantined'>,
  records: number,
): string | null {
  const { quarantined } = read
  if (quarantined === 0 || quarantined < records) return brokenNote(read)
  const all = quarantined === 1 ? 'the only record was' : `all ${quarantined} records were`
  return `${all} quarantined; see colloquy check`
}

/** What a user reads of text that is no JSON; null when there is none. */
export function brokenNote({ broken, form }: Pick<Recording, 'broken' | 'form'>): string | null {
  if (broken === null) return null
  const cut = broken.isLast && form === 'lines' && broken.why === 'not JSON' ? ' (truncated last line?)' : ''
  const more = broken.count - 1
  const others = more === 0 ? '' : more === 1 ? ', nor is 1 other' : `, nor are ${more} others`
  const what =
    form === 'directory' || form === 'zip'
      ? `event file ${broken.line}`
      : form === 'array'
        ? `element ${broken.line}`
        : `line ${broken.line}`
  return `${what} is ${broken.why}${cut}${others}; quarantined, the rest is read`
}

type Log = Pick<Recording, 'state' | 'lines'>

/** How many ids are named where the beginning of one is not enough. */
const NAMED = 3

/**
 * The id that was meant, by its beginning, or the position of a line; what is typed where it is neither. O(n).
 * @throws ColloquyError `unknown_event` for the beginning of several ids.
 */
export function named({ state, lines }: Log, typed: string): string | number {
  if (findEvent(state, typed) !== undefined || typed.endsWith('-summary')) return typed
  const found = new Set(
    Array.from(state.log.entries, ({ id }) => id).filter((id) => id !== null && id.startsWith(typed)),
  )
  const [first] = found
  if (found.size === 1 && typeof first === 'string') return first
  if (found.size > 1) {
    const some = [...found].slice(0, NAMED).map((id) => quoted(id ?? ''))
    const more = found.size > NAMED ? ` and ${found.size - NAMED} more` : ''
    throw unknown(typed, `${quoted(typed)} begins ${some.join(', ')}${more}: give more of the id`)
  }
  const seq = /^\d{1,9}$/.test(typed) ? lines.indexOf(Number(typed)) : -1
  return seq < 0 ? typed : seq
}

/**
 * The same for an event that the log is looked at from, which only one in the tree can be. O(n).
 * @throws ColloquyError `unknown_event` also for a line that is not in the tree.
 */
export function namedId(log: Log, typed: string): string {
  const event = named(log, typed)
  if (typeof event === 'string') return event
  const entry = log.state.log.entries.get(event)
  if (entry !== undefined && entry.inTree && entry.id !== null) return entry.id
  throw unknown(typed, `line ${typed} holds no event of the tree`)
}

const unknown = (typed: string, message: string): ColloquyError =>
  new ColloquyError('unknown_event', message, { event_id: typed })
