/**
 * Finds where a user of Claude Code went back: most forks in its files are parallel calls and hooks, which are one
 * conversation; only a typed prompt that follows something behind which another prompt stands already opens a branch.
 */

import type { Origin, Place, SessionWriter } from '../writer.ts'
import type { Line } from './lines.ts'

/** A line, and what stood there when it had been read. */
interface Passed {
  readonly uuid: string
  /** The prompt that the line stands behind. */
  readonly prompt: string | null
  /** The event under HEAD. */
  readonly head: Place | null
}

/** How many lines above one are looked at before all of them are sought by name: most follow one of these. */
const NEAR = 8

/** Follows the lines of a chain in their order. Each call is O(1), amortised. */
export class Turns {
  readonly #writer: SessionWriter
  readonly #passed: Passed[] = []
  /** The lines by their names, as far as they were sought. */
  readonly #byName = new Map<string, Passed>()
  #named = 0
  /** The event under HEAD before the first prompt behind a line. */
  readonly #before = new Map<string | null, Place | null>()
  #prompt: string | null = null

  constructor(writer: SessionWriter) {
    this.#writer = writer
  }

  /** The place of what a user says: behind what it follows in the file, where that is not the end of the log. */
  place({ uuid, parent, isTyped }: Line, origin: Origin): Origin {
    if (!isTyped || uuid === null) return origin
    const above = this.#above(parent)
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
    const above = this.#above(parent)
    const prompt = uuid === this.#prompt ? uuid : above === undefined ? this.#prompt : above.prompt
    this.#passed.push({ uuid, prompt, head: this.#writer.head })
  }

  /** The latest line of a name. */
  #above(parent: string | null): Passed | undefined {
    if (parent === null) return undefined
    const passed = this.#passed
    for (let at = passed.length - 1; at >= 0 && at >= passed.length - NEAR; at -= 1)
      if (passed[at]?.uuid === parent) return passed[at]
    for (const line of passed.slice(this.#named)) this.#byName.set(line.uuid, line)
    this.#named = passed.length
    return this.#byName.get(parent)
  }
}
