/** The places for runs: so many at once, for those that run and for those that are about to be asked for. */

import { HttpProblem } from '../http/problem.ts'

/** The places of a service. */
export class Places {
  readonly #most: number
  /** How often each is taken: a conversation needs one, however many ask for its run. */
  readonly #taken = new Map<string | symbol, number>()

  constructor(most: number) {
    this.#most = most
  }

  /**
   * Takes one for a conversation, or for something beside all of them, until the function that it returns is called.
   * @throws HttpProblem 429 where there is none.
   */
  take(key: string | symbol): () => void {
    const taken = this.#taken.get(key) ?? 0
    if (taken === 0 && this.#taken.size >= this.#most) {
      throw new HttpProblem(429, `There are ${this.#most} runs already; try again when one has ended.`)
    }
    this.#taken.set(key, taken + 1)
    return () => {
      const left = (this.#taken.get(key) ?? 1) - 1
      if (left > 0) this.#taken.set(key, left)
      else this.#taken.delete(key)
    }
  }
}

/** Whether there was no place. */
export const isFull = (error: unknown): boolean => error instanceof HttpProblem && error.status === 429
