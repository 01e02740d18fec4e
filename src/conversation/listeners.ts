/** Who wants to know of news: callbacks go in, and are called, each for itself, when there are some. */

/** A set of callbacks. */
export class Listeners<T> {
  readonly #all = new Set<{ readonly call: (news: T) => void }>()

  /** Adds one; returns what removes it. O(1). */
  add(call: (news: T) => void): () => void {
    const entry = { call }
    this.#all.add(entry)
    return () => void this.#all.delete(entry)
  }

  /** Calls all that there are. They are the library's own, and neither throw nor add others. O(listeners). */
  tell(news: T): void {
    for (const { call } of this.#all) call(news)
  }
}
