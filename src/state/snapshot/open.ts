/** Opens the parts of a snapshot, or nothing when they do not belong together. */

import { ColloquyError } from '../../event/errors.ts'
import type { Event } from '../../event/types.ts'
import type { Entry } from '../../log/entry.ts'
import { quote } from '../../event/text.ts'
import { ColumnarEntry, ColumnarLog } from '../../log/columnar/columnar-log.ts'
import { type Branch, emptyBranch } from '../branch.ts'
import type { Header } from '../header.ts'
import type { Checkpoint, State } from '../state.ts'
import { logOver } from '../../log/log.ts'
import { Chunk } from '../../log/columnar/chunk.ts'
import { branchFrom, type StateRecord, readHead, CHUNK_LABEL } from './record.ts'
import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import { keyAt } from '../../log/columnar/columns.ts'
import type { Seal } from '../../log/columnar/sealed.ts'
import { NO_SEAL } from './chunks.ts'

/** A part as it was stored. */
interface Part {
  readonly part: number
  readonly bytes: Uint8Array
}

/** A fact as it was read from the log. */
export interface Found {
  readonly id: string | null
  readonly fact: Fact
}

/** Parts that belong together, before they are a state. */
export interface Saved extends Contents {
  /** The positions whose bodies are to be read from the log. */
  readonly lacking: readonly number[]
}

/** What the parts hold, or null. O(bytes). */
export function readParts(parts: readonly Part[], conversationId: string): Saved | null {
  const byNumber = new Map(parts.map(({ part, bytes }) => [part, bytes]))
  if (byNumber.size !== parts.length) return null
  const first = byNumber.get(0)
  const head = first === undefined ? null : readHead(first)
  if (head === null || head.record.conversationId !== conversationId) return null
  const { length, size, seal } = head.record
  const chunks: Chunk[] = []
  let link: Seal = NO_SEAL
  for (let at = 0; at < length; at += size) {
    const bytes = byNumber.get(chunks.length + 1)
    const chunk = bytes === undefined ? null : Chunk.open(CHUNK_LABEL, bytes)
    // A chunk names the one before it and the head the last: parts of two logs, or of two states, do not fit.
    if (chunk === null || chunk.first !== at || chunk.size !== size || !isSame(chunk.link, link)) return null
    if (chunk.count !== Math.min(size, length - at)) return null
    chunks.push(chunk)
    link = chunk.seal
  }
  return isSame(link, seal) ? { ...head, chunks, conversationId } : null
}

/**
 * The state, with the bodies that its parts lack as they were found in the log. Null where one is missing, and where
 * any position holds another event than the snapshot knows there: then it is of another log. O(view + found).
 */
export function stateWith(saved: Saved, found: ReadonlyMap<number, Found>): State | null {
  const bodies = new Map(saved.bodies)
  const { size, length } = saved.record
  for (const [seq, { id, fact }] of found) {
    const chunk = saved.chunks[Math.floor(seq / size)]
    if (chunk === undefined || seq >= length || keyAt(chunk.ids, seq) !== id) return null
    if (!isQuarantined(fact) && fact.kind === chunk.kind(seq)) bodies.set(seq, fact)
  }
  return saved.lacking.every((seq) => bodies.has(seq)) ? stateOver({ ...saved, bodies }) : null
}

const isSame = (one: Seal, other: Seal): boolean => one[0] === other[0] && one[1] === other[1]

/** Everything that a snapshot holds. */
interface Contents {
  readonly conversationId: string
  readonly record: StateRecord
  readonly bodies: ReadonlyMap<number, Event>
  readonly chunks: readonly Chunk[]
}

/** The state. O(view + pending calls + length / 32), where results were dropped also O(path). */
export function stateOver({ conversationId, record, bodies, chunks }: Contents): State {
  const { header, head, headHeader } = record
  const held: Held = { bodies, head, headHeader, lastHeader: header, branch: emptyBranch() }
  const columns = new ColumnarLog(chunks, (columns, seq) => new SnapshotEntry(columns, seq, held))
  if (head >= 0) held.branch = branchFrom(record, columns)
  const top = head < 0 ? null : (columns.entry(head) as Checkpoint)
  return { conversationId, header, log: logOver<Checkpoint>(columns, top), branch: held.branch }
}

/** What a snapshot holds beside the columnar log. */
interface Held {
  /** The bodies of the view and of the pending calls, by position. */
  readonly bodies: ReadonlyMap<number, Event>
  /** The position of HEAD, -1 for the empty HEAD. */
  readonly head: number
  /** The header right after HEAD's entry, and after the last entry. */
  readonly headHeader: Header
  readonly lastHeader: Header
  /** HEAD's branch. It is made of entries, so it comes after them. */
  branch: Branch
}

/** An entry over a columnar log, with its checkpoint where that is held. */
export class SnapshotEntry extends ColumnarEntry implements Checkpoint {
  readonly #held: Held

  constructor(columns: ColumnarLog, seq: number, held: Held) {
    super(columns, seq, held.bodies.get(seq) ?? null)
    this.#held = held
  }

  /**
   * Whether the branch part is in memory: at HEAD and the state updates that hang on it, and where there is nothing
   * above.
   */
  get hasBranch(): boolean {
    const anchor = this.columns.anchor(this.seq)
    return anchor < 0 || anchor === this.#held.head
  }

  get branch(): Branch {
    if (!this.hasBranch) throw evicted(this)
    // A state update changes no branch, and what is out of the tree has none.
    return this.columns.anchor(this.seq) < 0 ? emptyBranch() : this.#held.branch
  }

  /** Whether the header is: at HEAD, and after the last entry. */
  get hasHeader(): boolean {
    return this.seq === this.#held.head || this.seq === this.columns.length - 1
  }

  get header(): Header {
    if (!this.hasHeader) throw evicted(this)
    return this.seq === this.#held.head ? this.#held.headHeader : this.#held.lastHeader
  }
}

function evicted({ id, seq }: Entry): ColloquyError {
  const message = `what was known at event ${quote(id)} (position ${seq}) was evicted by a snapshot or evict(); fold the whole log to look there`
  return new ColloquyError('evicted', message, { event_id: id, seq })
}
