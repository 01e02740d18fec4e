/** An entry that reads itself from the columns when it is asked, so that an opened log costs no object an event. */

import type { Event } from '../../event/types.ts'
import type { Entry, EvictedBody, LogWarning } from '../entry.ts'
import type { Chunk } from './chunk.ts'
import { keyAt } from './keys.ts'
import type { ColumnarLog } from './columnar-log.ts'

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
