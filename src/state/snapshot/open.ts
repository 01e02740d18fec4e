/** Opens the parts of a snapshot. Nothing opens unless they belong together. */

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

interface Part {
  readonly part: number
  readonly bytes: Uint8Array
}

export interface StoredFact {
  readonly id: string | null
  readonly fact: Fact
}

export interface Saved extends Contents {
  readonly lacking: readonly number[]
}

/** Reads the parts, or returns null. O(bytes). */
export function readParts(parts: readonly Part[], conversationId: string): Saved | null {
  const byNumber = new Map(parts.map(({ part, bytes }) => [part, bytes]))
  if (byNumber.size !== parts.length) return null
  const first = byNumber.get(0)
  const head = first === undefined ? null : readHead(first)
  if (head === null || head.record.conversationId !== conversationId) return null
  const { length, size, seal } = head.record
  const chunks: Chunk[] = []
  let link: Seal = NO_SEAL
  for (let position = 0; position < length; position += size) {
    const bytes = byNumber.get(chunks.length + 1)
    const chunk = bytes === undefined ? null : Chunk.open(CHUNK_LABEL, bytes)
    // A chunk names its predecessor, and the head names the last chunk, so parts of two logs or states never
    // match.
    if (chunk === null || chunk.first !== position || chunk.size !== size || !isSame(chunk.link, link))
      return null
    if (chunk.count !== Math.min(size, length - position)) return null
    chunks.push(chunk)
    link = chunk.seal
  }
  return isSame(link, seal) ? { ...head, chunks, conversationId } : null
}

/**
 * Builds the state with bodies from the log. Null when a body is missing, or an event differs: the snapshot
 * belongs to another log. O(view + facts).
 */
export function stateWith(saved: Saved, facts: ReadonlyMap<number, StoredFact>): State | null {
  const bodies = new Map(saved.bodies)
  const { size, length } = saved.record
  for (const [seq, { id, fact }] of facts) {
    const chunk = saved.chunks[Math.floor(seq / size)]
    if (chunk === undefined || seq >= length || keyAt(chunk.ids, seq) !== id) return null
    if (!isQuarantined(fact) && fact.kind === chunk.kind(seq)) bodies.set(seq, fact)
  }
  return saved.lacking.every((seq) => bodies.has(seq)) ? stateOver({ ...saved, bodies }) : null
}

const isSame = (one: Seal, other: Seal): boolean => one[0] === other[0] && one[1] === other[1]

interface Contents {
  readonly conversationId: string
  readonly record: StateRecord
  readonly bodies: ReadonlyMap<number, Event>
  readonly chunks: readonly Chunk[]
}

/** Builds the state. O(view + pending calls + length / 32), and O(path) when results were dropped. */
export function stateOver({ conversationId, record, bodies, chunks }: Contents): State {
  const { header, head, headHeader } = record
  const contents: Loaded = { bodies, head, headHeader, lastHeader: header, branch: emptyBranch() }
  const columns = new ColumnarLog(chunks, (columns, seq) => new SnapshotEntry(columns, seq, contents))
  if (head >= 0) contents.branch = branchFrom(record, columns)
  const top = head < 0 ? null : (columns.entry(head) as Checkpoint)
  return { conversationId, header, log: logOver<Checkpoint>(columns, top), branch: contents.branch }
}

interface Loaded {
  readonly bodies: ReadonlyMap<number, Event>
  readonly head: number
  readonly headHeader: Header
  readonly lastHeader: Header
  /** HEAD's branch. It consists of entries, so it is set after them. */
  branch: Branch
}

export class SnapshotEntry extends ColumnarEntry implements Checkpoint {
  readonly #loaded: Loaded

  constructor(columns: ColumnarLog, seq: number, loaded: Loaded) {
    super(columns, seq, loaded.bodies.get(seq) ?? null)
    this.#loaded = loaded
  }

  /** True at HEAD, at the state updates below it, and at leaves. */
  get hasBranch(): boolean {
    const anchor = this.columns.anchor(this.seq)
    return anchor < 0 || anchor === this.#loaded.head
  }

  get branch(): Branch {
    if (!this.hasBranch) throw evicted(this)
    // State updates do not change the branch, and entries outside the tree have none.
    return this.columns.anchor(this.seq) < 0 ? emptyBranch() : this.#loaded.branch
  }

  /** Whether the header is in memory: at HEAD, and after the last entry. */
  get hasHeader(): boolean {
    return this.seq === this.#loaded.head || this.seq === this.columns.length - 1
  }

  get header(): Header {
    if (!this.hasHeader) throw evicted(this)
    return this.seq === this.#loaded.head ? this.#loaded.headHeader : this.#loaded.lastHeader
  }
}

function evicted({ id, seq }: Entry): ColloquyError {
  const message = `The state at event ${quote(id)} (position ${seq}) was evicted by a snapshot or evict(). Replay the whole log.`
  return new ColloquyError('evicted', message, { event_id: id, seq })
}
