/** Opens any input as facts: events, or the session of another agent. */

import { isUtf8 } from 'node:buffer'
import type { From } from '../commands.ts'
import { FileError } from '../failure.ts'
import { follow, type InputForm, openInput, type Piece, type SidecarFiles, valueOf } from './open.ts'
import type { Io } from '../print/io.ts'
import { isLegalId, type Issue, type Loaded, type Quarantined } from '../../event/index.ts'
import { type Fact, isQuarantined, loadLine } from '../../index.ts'
import { detectSession, readSession, type Session, type SessionRecord } from '../../sessions/index.ts'

/** A fact, and whether its text was readable. */
interface Decoded extends Loaded {
  readonly broken: 'not JSON' | 'not UTF-8' | null
  /** Number of its bytes in the file; null where it shares them with others. */
  readonly bytes: number | null
}

const BOM = '\ufeff'
const REPLACED = '\ufffd'

/** Reads the event in a piece of text. Never throws; an unreadable piece is quarantined. */
export function decodePiece(bytes: Buffer): Decoded {
  return { ...readPiece(bytes), bytes: bytes.length }
}

function readPiece(bytes: Buffer): Omit<Decoded, 'bytes'> {
  const text = textOf(bytes)
  const stored = unwrap(text)
  if (stored !== null) return { fact: stored, upcasts: [], warnings: [], broken: null }
  const loaded = loadLine(text)
  const isJson = !(isQuarantined(loaded.fact) && loaded.fact.issues[0]?.type === 'json_invalid')
  if (!isJson) return { ...loaded, broken: 'not JSON' }
  if (isUtf8(bytes)) return { ...loaded, broken: null }
  return { fact: notUtf8(text, loaded.fact), upcasts: [], warnings: [], broken: 'not UTF-8' }
}

function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  const from = text.startsWith(BOM) ? 1 : 0
  const to = text.endsWith('\r') ? -1 : undefined
  return text.slice(from, to)
}

/** A line whose bytes are not text: quarantined, but placed in the tree if its ids are readable. */
function notUtf8(raw: string, fact: Fact): Quarantined {
  const kind = isQuarantined(fact) ? fact.event_kind : fact.kind
  const { id, parent_id } = fact
  return {
    quarantined: true,
    raw,
    issues: [{ loc: [], msg: 'The bytes are not UTF-8; save the file as UTF-8.', type: 'unicode_error' }],
    ...(isWhole(id) && { id }),
    ...(isWhole(id) && (parent_id === null || isWhole(parent_id)) && { parent_id }),
    ...(isWhole(kind) && { event_kind: kind }),
  }
}

const isWhole = (text: string | null | undefined): text is string =>
  typeof text === 'string' && !text.includes(REPLACED)

/** Marks a wrapped line. It is not an event kind, so other readers quarantine the line. */
const KIND = 'colloquy.quarantined'

const QUARANTINE_START = `{"kind":${JSON.stringify(KIND)},`

export function wrap({ raw, issues, id, parent_id, event_kind }: Quarantined): string {
  return JSON.stringify({ kind: KIND, id, parent_id, event_kind, raw, issues })
}

function unwrap(text: string): Quarantined | null {
  if (!text.startsWith(QUARANTINE_START)) return null
  let value: Readonly<Record<string, unknown>>
  try {
    value = JSON.parse(text) as Readonly<Record<string, unknown>>
  } catch {
    return null
  }
  const { raw, issues, id, parent_id: parent, event_kind: kind } = value
  if (typeof raw !== 'string' || !Array.isArray(issues) || !issues.every(isIssue)) return null
  if (id === undefined ? parent !== undefined : typeof id !== 'string' || !isLegalId(id)) return null
  if (parent !== undefined && parent !== null && typeof parent !== 'string') return null
  if (kind !== undefined && typeof kind !== 'string') return null
  return Object.freeze({
    quarantined: true,
    raw,
    issues,
    ...(typeof id === 'string' && { id }),
    ...(parent !== undefined && { parent_id: parent }),
    ...(kind !== undefined && { event_kind: kind }),
  })
}

function isIssue(value: unknown): value is Issue {
  if (typeof value !== 'object' || value === null) return false
  const { loc, msg, type } = value as Readonly<Record<string, unknown>>
  return Array.isArray(loc) && typeof msg === 'string' && typeof type === 'string'
}

export interface ReadFact extends Decoded {
  readonly line: number
}

/** A file that is being read. */
export interface Source {
  readonly form: InputForm
  readonly facts: AsyncIterable<readonly ReadFact[]>
  readonly sidecarFiles: SidecarFiles | null
  readonly session: Session | null
}

const DETECTION_RECORDS = 32

/**
 * Opens the input: streams events; reads a session whole, because a reply may span several lines.
 * @throws FileError when it does not exist, cannot be read, or is neither.
 */
export async function openFacts(
  name: string,
  from: From | undefined,
  io: Pick<Io, 'stdin'>,
): Promise<Source> {
  const { form, pieces, sidecarFiles } = await openInput(name, io)
  if (sidecarFiles !== null || from === 'events')
    return { form, facts: decodePieces(pieces), sidecarFiles, session: null }
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
    if (form === 'document') rejectDocument(first)
    return { form, facts: decodePieces(all), sidecarFiles, session: null }
  }
  const records: SessionRecord[] = []
  for await (const some of all)
    for (const { line, bytes } of some)
      records.push({ line, raw: bytes.toString('utf8'), value: valueOf(bytes) })
  const session = readSession(records, { from: format })
  return { form, facts: factsOf(session), sidecarFiles, session }
}

export async function* factsOf({ facts }: Session): AsyncIterableIterator<readonly ReadFact[]> {
  yield facts.map(({ line, fact }) => {
    const isJson = !(isQuarantined(fact) && fact.issues[0]?.type === 'json_invalid')
    return { line, fact, upcasts: [], warnings: [], broken: isJson ? null : 'not JSON', bytes: null }
  })
}

async function* decodePieces(
  pieces: AsyncIterable<readonly Piece[]>,
): AsyncIterableIterator<readonly ReadFact[]> {
  for await (const some of pieces) yield some.map(({ line, bytes }) => ({ line, ...decodePiece(bytes) }))
}

function rejectDocument([piece]: readonly Piece[]): never {
  const value = piece === undefined ? undefined : valueOf(piece.bytes)
  if (value === undefined) throw new FileError('not_json', 'the file is not JSON')
  const what = value !== null && typeof value === 'object' ? 'an object' : 'a single value'
  throw new FileError(
    'not_an_array',
    `the file contains ${what}, but neither an array of events nor a session`,
  )
}
