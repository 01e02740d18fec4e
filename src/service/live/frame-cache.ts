/**
 * An event is written once for all who listen, and its frame kept for those who come a little later, within a bound of
 * characters.
 */

import type { LoggedEvent } from '../../conversation/logged-event.ts'
import type { ReplyPlace } from '../../conversation/streamed.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import { deltaFrame, eventFrame, type Frame } from './frame.ts'

interface Kept {
  readonly id: string | null
  readonly position: number
  readonly frame: Frame | null
}

/**
 * The latest frames of all streams of a service; the last one is kept however long it is, as many may be about to ask
 * for it.
 */
export class FrameCache {
  readonly #chars: number
  /** By the event itself: under the same id and position another log may hold another. */
  readonly #kept = new Map<Fact, Kept>()
  readonly #deltas = new WeakMap<Event, Frame>()
  #size = 0

  /** @param chars characters of frames that are kept, roughly */
  constructor(chars: number) {
    this.#chars = chars
  }

  /** Characters that are kept. */
  get size(): number {
    return this.#size
  }

  /** The frame of an event of a log; null for a line that is no event. O(1) for one that is kept, else O(size). */
  event(item: LoggedEvent): Frame | null {
    const kept = this.#kept.get(item.fact)
    // Logs may share an event that a fork has copied.
    if (kept !== undefined && kept.id === item.id && kept.position === item.seq) return kept.frame
    this.#forget(item.fact)
    const frame = eventFrame(item)
    this.#kept.set(item.fact, { id: item.id, position: item.seq, frame })
    this.#size += sizeOf(frame)
    for (const [fact] of this.#kept) {
      if (this.#size <= this.#chars || this.#kept.size === 1) break
      this.#forget(fact)
    }
    return frame
  }

  /** The frame of a delta, which is there as long as the delta is. */
  delta(position: number, event: Event, said: ReplyPlace): Frame {
    const kept = this.#deltas.get(event)
    if (kept?.position === position) return kept
    const frame = deltaFrame(position, event, said)
    this.#deltas.set(event, frame)
    return frame
  }

  #forget(fact: Fact): void {
    const kept = this.#kept.get(fact)
    if (kept === undefined) return
    this.#kept.delete(fact)
    this.#size -= sizeOf(kept.frame)
  }
}

/** A line that is no event takes a place too. */
const sizeOf = (frame: Frame | null): number => (frame?.size ?? 0) + 100
