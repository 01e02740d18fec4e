/** An entry of which only the skeleton is known: a skeleton and a position go in, an entry that reads itself from there comes out. */

import type { Event } from '../../event/types.ts'
import type { Entry, Remains, Report } from '../entry.ts'
import type { Chunk } from './chunk.ts'
import { keyAt } from './keys.ts'
import type { Skeleton } from './skeleton.ts'

/** An entry over a skeleton. Its body is at hand where a view needs it. */
export class SkeletonEntry implements Entry, Remains {
  readonly skeleton: Skeleton
  readonly seq: number
  readonly event: Event | null
  readonly quarantined = null
  #id: string | null | undefined

  constructor(skeleton: Skeleton, seq: number, event: Event | null) {
    this.skeleton = skeleton
    this.seq = seq
    this.event = event
  }

  get remains(): Remains {
    return this
  }

  get id(): string | null {
    if (this.#id === undefined) this.#id = keyAt(this.#chunk.ids, this.seq)
    return this.#id
  }

  get timestamp(): string | null {
    return this.#chunk.timestamp(this.seq)
  }

  get stands(): boolean {
    return this.#chunk.stands(this.seq)
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

  get reports(): readonly Report[] {
    return this.#chunk.reports(this.seq)
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
    this.skeleton.eachCallOn(this.seq, say)
  }

  get #chunk(): Chunk {
    return this.skeleton.chunkOf(this.seq)
  }

  #entry(seq: number): Entry | null {
    return seq < 0 ? null : this.skeleton.entry(seq)
  }
}
