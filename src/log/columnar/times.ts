/** A column of timestamps, each kept as its difference to the one before. */

import { bytesOf, wordsIn } from './texts.ts'

/** Every so many texts one stands in full, so that a look-up reads no more than these. */
const RESTART = 16
/** In place of a length: there is no text. */
const NONE = 255

/**
 * The column as sections. A timestamp that can be read has at most 35 characters, all of them ASCII; any other text is
 * a mistake of the caller. O(length).
 */
export function writeTimes(times: readonly (string | null)[]): [Uint8Array, Uint8Array] {
  const count = times.length
  const starts = new Int32Array(Math.ceil(count / RESTART))
  const lengths = new Uint8Array(count * 2)
  const text = new Uint8Array(times.reduce((sum, time) => sum + (time?.length ?? 0), 0))
  let end = 0
  let before = ''
  times.forEach((time, at) => {
    if (at % RESTART === 0) starts[at / RESTART] = end
    const shared = time === null || at % RESTART === 0 ? 0 : sharedLength(before, time)
    const own = (time?.length ?? 0) - shared
    lengths[at * 2] = shared
    lengths[at * 2 + 1] = time === null ? NONE : own
    for (let i = 0; i < own; i += 1) text[end + i] = (time as string).charCodeAt(shared + i)
    end += own
    before = time ?? ''
  })
  const index = new Uint8Array(starts.byteLength + lengths.byteLength)
  index.set(bytesOf(starts))
  index.set(lengths, starts.byteLength)
  return [index, text.subarray(0, end)]
}

function sharedLength(one: string, other: string): number {
  let at = 0
  while (at < one.length && at < other.length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1
  return at
}

/** The timestamps of a chunk. */
export class Times {
  readonly #starts: Int32Array
  readonly #lengths: Uint8Array
  readonly #text: Uint8Array

  constructor(count: number, index: Uint8Array, text: Uint8Array) {
    const starts = Math.ceil(count / RESTART) * 4
    this.#starts = wordsIn(index.subarray(0, starts))
    this.#lengths = index.subarray(starts)
    this.#text = text
  }

  /** The timestamp at an index, or null. O(1). */
  at(index: number): string | null {
    const restart = Math.floor(index / RESTART)
    let start = this.#starts[restart] as number
    let text = ''
    for (let at = restart * RESTART; ; at += 1) {
      const shared = this.#lengths[at * 2] as number
      const length = this.#lengths[at * 2 + 1] as number
      const none = length === NONE
      if (at === index && none) return null
      const end = none ? start : start + length
      text = text.slice(0, shared) + String.fromCharCode(...this.#text.subarray(start, end))
      if (at === index) return text
      start = end
    }
  }
}
