/** Columnar log: a log without event bodies, in columns of bytes. Each entry is created when it is first read. */

import type { Event } from '../../event/types.ts'
import type { Entry, EvictedBody, LogWarning, UnitOrder } from '../entry.ts'
import type { Chunk } from './chunk.ts'
import { keyAt, type KeyColumn, KeyIndex } from './columns.ts'

/** Size of a vector's block, in entries. */
const LEAF = 32

/** Creates the entry at a position when it is first read. Called at most once for each position. */
export type EntryMaker<E extends Entry> = (columns: ColumnarLog, seq: number) => E

/** The first entries of a log, in columns of bytes. Every access to an entry returns the same object. */
export class ColumnarLog {
  readonly length: number
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

  chunkOf(seq: number): Chunk {
    return this.chunks[Math.floor(seq / this.size)] as Chunk
  }

  entry(seq: number): Entry {
    const leaf = (this.#leaves[Math.floor(seq / LEAF)] ??= [])
    return (leaf[seq % LEAF] ??= this.#make(this, seq))
  }

  /** Returns the block of up to 32 entries that begins at `start`, which must be a multiple of 32. O(1). */
  leaf(start: number): readonly Entry[] {
    const end = Math.min(start + LEAF, this.length)
    for (let seq = start; seq < end; seq += 1) this.entry(seq)
    return (this.#leaves[start / LEAF] ?? []) as readonly Entry[]
  }

  parent(seq: number): number {
    return this.chunkOf(seq).parent(seq)
  }

  /** Returns the position itself if it can be HEAD, else its nearest ancestor that can be HEAD, or -1. O(1). */
  anchor(seq: number): number {
    if (seq < 0) return -1
    const chunk = this.chunkOf(seq)
    return chunk.canBeHead(seq) ? seq : chunk.above(seq)
  }

  /** Reports which of the first `length` entries can be HEAD, each with its nearest such ancestor, or -1. O(length). */
  eachPossibleHead(length: number, report: (seq: number, above: number) => void): void {
    for (const chunk of this.chunks) {
      const end = Math.min(chunk.first + chunk.count, length)
      for (let seq = chunk.first; seq < end; seq += 1) {
        if (chunk.canBeHead(seq)) report(seq, this.anchor(chunk.parent(seq)))
      }
    }
  }

  /** Returns the warnings of the first `length` entries, in order. O(chunks + warnings). */
  warnings(length = this.length): LogWarning[] {
    return this.chunks.flatMap((chunk) => chunk.allWarnings().filter((report) => report.seq < length))
  }

  /** Returns the positions of dropped results (U3) on the path of `seq`, in log order. O(path); O(chunks) if none. */
  droppedOn(seq: number): number[] {
    if (this.chunks.every((chunk) => chunk.dropCount === 0)) return []
    const positions: number[] = []
    for (let position = seq; position >= 0; position = this.parent(position))
      if (this.chunkOf(position).dropped(position) !== null) positions.push(position)
    return positions.toReversed()
  }

  /** Reports the position and tool call id of each action on the path of `seq`, latest first. O(path). */
  eachCallOn(seq: number, report: (seq: number, toolCallId: string) => void): void {
    for (let position = seq; position >= 0; position = this.parent(position)) {
      const callId = keyAt(this.chunkOf(position).callIds, position)
      if (callId !== null) report(position, callId)
    }
  }
}

export class ColumnarEntry implements Entry, EvictedBody {
  readonly columns: ColumnarLog
  readonly seq: number
  readonly event: Event | null
  readonly quarantined = null
  unit: UnitOrder | null = null
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

  eachCall(report: (seq: number, toolCallId: string) => void): void {
    this.columns.eachCallOn(this.seq, report)
  }

  get #chunk(): Chunk {
    return this.columns.chunkOf(this.seq)
  }

  #entry(seq: number): Entry | null {
    return seq < 0 ? null : this.columns.entry(seq)
  }
}
