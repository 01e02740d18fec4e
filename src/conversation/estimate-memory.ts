/** Estimates the bytes that a state takes in memory, from a sample of bodies. */

import { columnarLength } from '../log/log.ts'
import type { State } from '../state/state.ts'

/** How many entries are looked at. */
const SAMPLE = 32
/** What an entry takes beside its body, with the checkpoint that is kept at it. */
const PER_CHECKPOINT = 1_000
/** What a value takes beside its text, with the name of the field that holds it. */
const PER_NODE = 32
/** What an entry takes of which only the columnar log is known. */
const PER_SKELETON = 150

/** What a state takes, reckoned anew when its log has grown by a tenth, or other bodies were evicted. */
export class MemoryEstimate {
  #last = { bytes: 0, length: -1, letGo: 0 }

  /** Bytes. O(1) mostly. */
  of(state: State): number {
    const { length } = state.log.entries
    const letGo = columnarLength(state.log)
    const before = this.#last
    if (letGo !== before.letGo || length < before.length || length > before.length * 1.1)
      this.#last = { bytes: estimateMemory(state), length, letGo }
    return this.#last.bytes
  }
}

/** Bytes, reckoned from the bodies of a few entries evenly spread over the log. O(1). */
function estimateMemory({ log: { entries } }: State): number {
  const { length } = entries
  const step = Math.max(1, Math.floor(length / SAMPLE))
  let sum = 0
  let count = 0
  for (let at = length - 1; at >= 0; at -= step) {
    const fact = entries.get(at)?.event ?? entries.get(at)?.quarantined ?? null
    sum += fact === null ? PER_SKELETON : PER_CHECKPOINT + sizeOf(fact)
    count += 1
  }
  return count === 0 ? PER_CHECKPOINT : Math.ceil((sum / count) * length)
}

/** What a value's nodes and texts take; a walk, as writing it would cost the length of its texts. O(nodes). */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return PER_NODE + 2 * value.length
  if (typeof value !== 'object' || value === null) return PER_NODE
  let sum = PER_NODE
  for (const inner of Object.values(value)) sum += sizeOf(inner)
  return sum
}
