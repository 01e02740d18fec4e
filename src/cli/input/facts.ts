/** Opens any input as facts: events, or the session of another agent. */

import { isQuarantined } from '../../index.ts'
import { detectSession, readSession, type Session, type SessionRecord } from '../../sessions/index.ts'
import type { From } from '../commands.ts'
import { FileError } from '../failure.ts'
import type { Io } from '../print/io.ts'
import { type Decoded, decodePiece } from './decode.ts'
import { follow, type Form, openInput, type SidecarFiles } from './open.ts'
import { type Piece, valueOf } from './split.ts'

export interface ReadFact extends Decoded {
  readonly line: number
}

/** A file that is being read. */
export interface Source {
  readonly form: Form
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
    return { form, facts: decoded(pieces), sidecarFiles, session: null }
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
    return { form, facts: decoded(all), sidecarFiles, session: null }
  }
  const records: SessionRecord[] = []
  for await (const some of all)
    for (const { line, bytes } of some)
      records.push({ line, raw: bytes.toString('utf8'), value: valueOf(bytes) })
  const session = readSession(records, { from: format })
  return { form, facts: factsOf(session), sidecarFiles, session }
}

/** The facts of a session. */
export async function* factsOf({ facts }: Session): AsyncIterableIterator<readonly ReadFact[]> {
  yield facts.map(({ line, fact }) => {
    const isJson = !(isQuarantined(fact) && fact.issues[0]?.type === 'json_invalid')
    return { line, fact, upcasts: [], warnings: [], broken: isJson ? null : 'not JSON', bytes: null }
  })
}

async function* decoded(pieces: AsyncIterable<readonly Piece[]>): AsyncIterableIterator<readonly ReadFact[]> {
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
