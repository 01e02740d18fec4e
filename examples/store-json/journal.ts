/** Reads the changes of all processes, and adds changes decided on the latest state. */

import { randomUUID } from 'node:crypto'
import type { Watches } from 'colloquy/store-kit'
import { apply, type Change, changeIn, newState, type State, textOf, feedChangeOf } from './changes.ts'
import type { Folder } from './folder.ts'

/** The change to add, and the caller's result. */
export interface Decision<T> {
  readonly change: Change | null
  readonly result: T
}

/** The state of a folder, kept up to date. */
export class Journal {
  readonly #folder: Folder
  readonly #watches: Watches
  readonly #state = newState()

  constructor(folder: Folder, watches: Watches) {
    this.#folder = folder
    this.#watches = watches
  }

  /** The latest state, including changes of other processes. O(their changes). */
  latest(): State {
    for (;;) {
      const text = this.#folder.read(this.#state.next)
      if (text === null) return this.#state
      const change = changeIn(text)
      const obsolete = apply(this.#state, change)
      if (change.type === 'appended' || change.type === 'deleted') this.#watches.wake(change.id)
      for (const number of obsolete) this.#erase(number)
    }
  }

  /**
   * Calls `decide` with the latest state, and adds the change that it returns, if any. Calls it again if
   * another process was faster, so `decide` must be pure.
   * @throws the error of `decide`; then nothing is added
   */
  commit<T>(decide: (state: State) => Decision<T>): T {
    for (;;) {
      const state = this.latest()
      const { change, result } = decide(state)
      if (change === null) return result
      if (!this.#folder.add(state.next, textOf(change, randomUUID()))) continue
      this.latest()
      return result
    }
  }

  /** A change as written, unless another process has erased it. */
  read(number: number): Change | null {
    const text = this.#folder.read(number)
    return text === null ? null : changeIn(text)
  }

  #erase(number: number): void {
    try {
      const text = this.#folder.read(number)
      const change = text === null ? null : changeIn(text)
      if (change === null || change.type === 'erased') return
      const { witness } = change
      this.#folder.replace(number, textOf({ type: 'erased', change: feedChangeOf(change) }, witness))
    } catch {
      // The newer change is already added. The next process that opens the folder erases this one.
    }
  }
}
