/** Gives the facts of what the user named, whichever way it is written: events, or the session of another agent. */

import { isQuarantined } from '../../index.ts'
import {
  detectSession,
  readSession,
  type Session,
  type SessionFormat,
  type SessionRecord,
} from '../../sessions/index.ts'
import { FileError } from '../failure.ts'
import type { Io } from '../print/io.ts'
import { type Decoded, decodePiece } from './decode.ts'
import { type Form, openInput } from './open.ts'
import type { SidecarFiles } from './sidecar-files.ts'
import { type Piece, valueOf } from './split.ts'

/** A fact, and where it stands. */
export interface Read extends Decoded {
  readonly line: number
}

/** What `--from` can name. */
export type From = SessionFormat | 'events'

/** A file that is being read. */
export interface Source {
  readonly form: Form
  readonly facts: AsyncIterable<readonly Read[]>
  /** What stands beside the events of a persisted conversation; null for a plain file. */
  readonly sidecarFiles: SidecarFiles | null
  /** The session that it holds; null for events. */
  readonly session: Session | null
}

/** How many records are looked at to tell what a file is. */
const LOOK = 32

/**
 * Opens what the user named. Events are read as they stream in, a session only once it is whole: a reply may be spread
 * over its lines.
 * @throws FileError when it is not there, cannot be read, or is neither.
 */
export async function openFacts(name: string, from: From | null, io: Pick<Io, 'stdin'>): Promise<Source> {
  const { form, pieces, sidecarFiles } = await openInput(name, io)
  if (sidecarFiles !== null || from === 'events')
    return { form, facts: decoded(pieces), sidecarFiles, session: null }
  const iterator = pieces[Symbol.asyncIterator]()
  const first: Piece[] = []
  let isOpen = true
  while (isOpen && first.length < LOOK) {
    const next = await iterator.next()
    if (next.done === true) isOpen = false
    else first.push(...next.value)
  }
  const rest = isOpen ? iterator : null
  const format = from ?? detectSession(first.slice(0, LOOK).map(({ bytes }) => valueOf(bytes)))
  if (format === null) {
    if (form === 'document') refuseDocument(first)
    return { form, facts: decoded(joined(first, rest)), sidecarFiles, session: null }
  }
  const records: SessionRecord[] = []
  for await (const some of joined(first, rest)) for (const piece of some) records.push(recordOf(piece))
  const session = readSession(records, { from: format })
  return { form, facts: factsOf(session), sidecarFiles, session }
}

/** The facts of a session that was read. */
export async function* factsOf({ facts }: Session): AsyncIterableIterator<readonly Read[]> {
  yield facts.map(({ line, fact }) => {
    const isJson = !(isQuarantined(fact) && fact.issues[0]?.type === 'json_invalid')
    return { line, fact, upcasts: [], warnings: [], broken: isJson ? null : 'not JSON', bytes: null }
  })
}

async function* decoded(pieces: AsyncIterable<readonly Piece[]>): AsyncIterableIterator<readonly Read[]> {
  for await (const some of pieces) yield some.map(({ line, bytes }) => ({ line, ...decodePiece(bytes) }))
}

/** What was read already, and the rest of it. */
async function* joined(
  first: readonly Piece[],
  rest: AsyncIterator<readonly Piece[]> | null,
): AsyncIterableIterator<readonly Piece[]> {
  try {
    if (first.length > 0) yield first
    if (rest === null) return
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
  } finally {
    await rest?.return?.()
  }
}

function recordOf({ line, bytes }: Piece): SessionRecord {
  return { line, raw: bytes.toString('utf8'), value: valueOf(bytes) }
}

/** Says why a `.json` file that is no array has no result. */
function refuseDocument([piece]: readonly Piece[]): never {
  const value = piece === undefined ? undefined : valueOf(piece.bytes)
  if (value === undefined) throw new FileError('not_json', 'the file is not JSON')
  const what = value !== null && typeof value === 'object' ? 'an object' : 'a single value'
  throw new FileError('not_an_array', `the file holds ${what}, not an array of events nor a session`)
}
