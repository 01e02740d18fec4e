/** A text that grows at its end, in the pieces in which it came: a rope that is sliced is flattened, all of it. */

import { lowerBound } from './lower-bound.ts'

/** A growing text. */
export class Words {
  readonly #pieces: { readonly text: string; readonly start: number }[] = []
  #length = 0

  /** In UTF-16 code units. */
  get length(): number {
    return this.#length
  }

  /** O(1). */
  add(text: string): void {
    if (text === '') return
    this.#pieces.push({ text, start: this.#length })
    this.#length += text.length
  }

  /** What stands between two places. O(pieces there + log of all): for who keeps up, the last piece itself. */
  slice(from: number, to: number): string {
    if (from >= to) return ''
    const first = lowerBound(this.#pieces, ({ start, text }) => start + text.length > from)
    let found = ''
    for (let at = first; at < this.#pieces.length; at += 1) {
      const { text, start } = this.#pieces[at] as { readonly text: string; readonly start: number }
      if (start >= to) break
      found +=
        from <= start && start + text.length <= to ? text : text.slice(Math.max(0, from - start), to - start)
    }
    return found
  }

  /** Whether any of it fits. O(pieces). */
  some(fits: (text: string) => boolean): boolean {
    return this.#pieces.some(({ text }) => fits(text))
  }
}
