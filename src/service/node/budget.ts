/** Bytes that all sockets of a service may hold together: a bound for each alone is none for thousands of them. */

/** A count of bytes with a bound. */
export class Budget {
  readonly #most: number
  #used = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Whether more is held than may be. */
  get isSpent(): boolean {
    return this.#used > this.#most
  }

  add(bytes: number): void {
    this.#used += bytes
  }

  remove(bytes: number): void {
    this.#used -= bytes
  }
}
