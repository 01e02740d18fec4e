/**
 * Columnar log: everything about a log but the bodies, in columns of bytes. Opening a long log makes no object for an
 * event until someone asks for it.
 */

import type { Event } from '../../event/types.ts'
import type { Entry, EvictedBody, LogWarning } from '../entry.ts'
import type { Chunk, Row } from './chunk.ts'
import { keyAt, type KeyColumn, KeyIndex } from './columns.ts'

/** Entries in a row that are made and kept together; the width of a vector's leaf. */
const LEAF = 32

/** Makes the entry of a position; called once for each. */
export type EntryMaker<E extends Entry> = (columns: ColumnarLog, seq: number) => E

/**
 * The first positions of a log, as columns over bytes. An entry comes to be when it is asked for, and is the same
 * object ever after.
 */
export class ColumnarLog {
  /** How many positions it knows, from 0. */
  readonly length: number
  /** How many positions a complete chunk has. */
  readonly size: number
  readonly chunks: readonly Chunk[]
  readonly ids: KeyIndex
  readonly callIds: KeyIndex
  readonly responseIds: KeyIndex
  readonly #make: EntryMaker<Entry>
  readonly #leaves: (Entry | undefined)[][] = []

  constructor(chunks: readonly Chunk[], make: EntryMaker<Entry>) {
    this.chunks = chunks
    this.length = chunks.reduce((sum, chunk) => sum + chunk.count, 0)
    this.size = chunks[0]?.size ?? 1
    this.#make = make
    const index = (of: (chunk: Chunk) => KeyColumn) => new KeyIndex(chunks.map(of), this.length)
    this.ids = index((chunk) => chunk.ids)
    this.callIds = index((chunk) => chunk.callIds)
    this.responseIds = index((chunk) => chunk.responseIds)
  }

  /** The chunk that a position lies in. O(1). */
  chunkOf(seq: number): Chunk {
    return this.chunks[Math.floor(seq / this.size)] as Chunk
  }

  /** The entry at a position. O(1). */
  entry(seq: number): Entry {
    const leaf = (this.#leaves[Math.floor(seq / LEAF)] ??= [])
    return (leaf[seq % LEAF] ??= this.#make(this, seq))
  }

  /** The entries from a multiple of 32 up to the next or the end, for a vector. O(1). */
  leaf(start: number): readonly Entry[] {
    const end = Math.min(start + LEAF, this.length)
    for (let seq = start; seq < end; seq += 1) this.entry(seq)
    return (this.#leaves[start / LEAF] ?? []) as readonly Entry[]
  }

  /** The rows from a position up to another. O(rows · log chunk). */
  rows(from: number, to: number): Row[] {
    return Array.from({ length: to - from }, (_, index) => this.chunkOf(from + index).row(from + index))
  }

  parent(seq: number): number {
    return this.chunkOf(seq).parent(seq)
  }

  /** The position itself where it can be HEAD, or else the nearest above it that can; -1 for none. O(1). */
  anchor(seq: number): number {
    if (seq < 0) return -1
    const chunk = this.chunkOf(seq)
    return chunk.canBeHead(seq) ? seq : chunk.above(seq)
  }

  /**
   * Calls back with each position below a length that can be HEAD, and the one above it that can; -1 for none.
   * O(length).
   */
  eachReal(length: number, say: (seq: number, above: number) => void): void {
    for (const chunk of this.chunks) {
      const end = Math.min(chunk.first + chunk.count, length)
      for (let seq = chunk.first; seq < end; seq += 1) {
        if (chunk.canBeHead(seq)) say(seq, this.anchor(chunk.parent(seq)))
      }
    }
  }

  /** The warnings up to a length of the log, in order. O(chunks + warnings). */
  warnings(length = this.length): LogWarning[] {
    return this.chunks.flatMap((chunk) => chunk.allWarnings().filter((report) => report.seq < length))
  }

  /**
   * The results on the path to a position that stay out of the view, in log order. O(path), O(chunks) when there are
   * none.
   */
  droppedOn(seq: number): number[] {
    if (this.chunks.every((chunk) => chunk.dropCount === 0)) return []
    const found: number[] = []
    for (let at = seq; at >= 0; at = this.parent(at))
      if (this.chunkOf(at).dropped(at) !== null) found.push(at)
    return found.toReversed()
  }

  /**
   * Calls back with the position and tool call id of each action on the path to a position, the last first. O(path).
   */
  eachCallOn(seq: number, say: (seq: number, toolCallId: string) => void): void {
    for (let at = seq; at >= 0; at = this.parent(at)) {
      const callId = keyAt(this.chunkOf(at).callIds, at)
      if (callId !== null) say(at, callId)
    }
  }
}

/** An entry over a columnar log. Its body is in memory where a view needs it. */
export class ColumnarEntry implements Entry, EvictedBody {
  readonly columns: ColumnarLog
  readonly seq: number
  readonly event: Event | null
  readonly quarantined = null
  #id: string | null | undefined

  constructor(columns: ColumnarLog, seq: number, event: Event | null) {
    this.columns = columns
    this.seq = seq
    this.event = event
  }

  get evicted(): EvictedBody {
    return this
  }

  get id(): string | null {
    if (this.#id === undefined) this.#id = keyAt(this.#chunk.ids, this.seq)
    return this.#id
  }

  get timestamp(): string | null {
    return this.#chunk.timestamp(this.seq)
  }

  get inTree(): boolean {
    return this.#chunk.inTree(this.seq)
  }

  get canBeHead(): boolean {
    return this.#chunk.canBeHead(this.seq)
  }

  get parent(): Entry | null {
    return this.#entry(this.#chunk.parent(this.seq))
  }

  get depth(): number {
    return this.#chunk.depth(this.seq)
  }

  get jump(): Entry | null {
    return this.#entry(this.#chunk.jump(this.seq))
  }

  get above(): Entry | null {
    return this.#entry(this.#chunk.above(this.seq))
  }

  get warnings(): readonly LogWarning[] {
    return this.#chunk.warnings(this.seq)
  }

  get kind(): string | null {
    return this.#chunk.kind(this.seq)
  }

  get isEvent(): boolean {
    return this.#chunk.isEvent(this.seq)
  }

  get callId(): string | null {
    return keyAt(this.#chunk.callIds, this.seq)
  }

  get responseId(): string | null {
    return keyAt(this.#chunk.responseIds, this.seq)
  }

  eachCall(say: (seq: number, toolCallId: string) => void): void {
    this.columns.eachCallOn(this.seq, say)
  }

  get #chunk(): Chunk {
    return this.columns.chunkOf(this.seq)
  }

  #entry(seq: number): Entry | null {
    return seq < 0 ? null : this.columns.entry(seq)
  }
}
