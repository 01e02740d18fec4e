/**
 * Finds where a user of Claude Code went back: most forks in its files are parallel calls and hooks, which are one
 * conversation; only a typed prompt that follows something behind which another prompt stands already opens a branch.
 */

import type { Origin, Place, SessionWriter } from '../writer.ts'
import type { Line } from './lines.ts'

interface Passed {
  /** The prompt that the line stands behind. */
  readonly prompt: string | null
  /** The event under HEAD. */
  readonly head: Place | null
}

/** Follows the lines of a chain in their order. Each call is O(1). */
export class Turns {
  readonly #writer: SessionWriter
  /** What stood there when each line had been read. */
  readonly #passed = new Map<string, Passed>()
  /** The event under HEAD before the first prompt behind a line. */
  readonly #before = new Map<string | null, Place | null>()
  #prompt: string | null = null

  constructor(writer: SessionWriter) {
    this.#writer = writer
  }

  /** The place of what a user says: behind what it follows in the file, where that is not the end of the log. */
  place({ uuid, parent, isTyped }: Line, origin: Origin): Origin {
    if (!isTyped || uuid === null) return origin
    const above = parent === null ? undefined : this.#passed.get(parent)
    const isBranch =
      parent === null ? this.#before.has(null) : above !== undefined && above.prompt !== this.#prompt
    this.#prompt = uuid
    if (!isBranch) {
      if (!this.#before.has(parent)) this.#before.set(parent, this.#writer.head)
      return origin
    }
    const before = this.#before.get(parent)
    return { ...origin, after: before === undefined ? (above?.head ?? null) : before }
  }

  /** Called behind each line. */
  pass({ uuid, parent }: Line): void {
    if (uuid === null) return
    const above = parent === null ? undefined : this.#passed.get(parent)
    const prompt = uuid === this.#prompt ? uuid : above === undefined ? this.#prompt : above.prompt
    this.#passed.set(uuid, { prompt, head: this.#writer.head })
  }
}
