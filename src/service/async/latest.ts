/** What was used last, within a bound: what was longest not used goes first. */

/** Values by key; their sizes together stay within the bound. */
export class Latest<T> {
  readonly #most: number
  readonly #kept = new Map<string, { readonly value: T; readonly size: number }>()
  #size = 0

  constructor(most: number) {
    this.#most = most
  }

  get(key: string): T | undefined {
    const kept = this.#kept.get(key)
    if (kept === undefined) return undefined
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    return kept.value
  }

  set(key: string, value: T, size = 1): void {
    this.delete(key)
    this.#kept.set(key, { value, size })
    this.#size += size
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= this.#most) break
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    this.#size -= this.#kept.get(key)?.size ?? 0
    this.#kept.delete(key)
  }
}
