/**
 * Finds where a user of Claude Code went back: most forks in its files are parallel calls and hooks, which are one
 * conversation; only a typed prompt that follows something behind which another prompt stands already opens a branch,
 * or what the client has put in front of that prompt.
 */

import { objectOf } from '../../messages/found.ts'
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
  /** Where the end of the session was before its user went back, until another line comes. */
  #left: { readonly prompt: string | null; readonly head: Place | null } | null = null
  readonly #lines: readonly Line[]
  /** The lines that lead to a prompt; null before they are asked for. */
  #leads: ReadonlySet<Line> | null = null
  /** Where the branch goes on that a line begins whose event moves no HEAD. */
  #led: { readonly uuid: string; readonly head: Place | null; readonly to: Place | null } | null = null

  constructor(writer: SessionWriter, lines: readonly Line[]) {
    this.#writer = writer
    this.#lines = lines
  }

  /** The place of a line's event: behind what it follows in the file, where that is a branch of its own. */
  place(line: Line, origin: Origin): Origin {
    const { uuid, parent, isTyped } = line
    if (uuid === null) return origin
    const above = this.#above(parent)
    const isBranch =
      parent === null ? this.#before.has(null) : above !== undefined && above.prompt !== this.#prompt
    if (!isTyped && !(isBranch && this.#isLead(line))) return origin
    if (isTyped) this.#prompt = uuid
    if (!isBranch) {
      if (!this.#before.has(parent)) this.#before.set(parent, this.#writer.head)
      return origin
    }
    const after = this.#behind(parent, above)
    this.#led = { uuid, head: this.#writer.head, to: after }
    return { ...origin, after }
  }

  /**
   * Goes back to a line that the client names as the end of its session, where that stands behind another prompt than
   * the last. What goes on with what was left all the same is where the next line of it puts it: see `goOn`.
   */
  end(leaf: string, origin: Origin): void {
    const above = this.#above(leaf)
    if (above === undefined || above.prompt === this.#prompt) return
    this.#left = { prompt: this.#prompt, head: this.#writer.head }
    this.#prompt = above.prompt
    this.#writer.goBack(this.#behind(leaf, above), origin)
  }

  /** Called before each line: what was taken for left, and was not, is gone on with. */
  goOn({ uuid, parent, isTyped }: Line, origin: Origin): void {
    if (this.#left === null || uuid === null) return
    const left = this.#left
    this.#left = null
    if (isTyped || this.#above(parent)?.prompt !== left.prompt) return
    this.#prompt = left.prompt
    this.#writer.goBack(left.head, origin)
  }

  /** Called behind each line. */
  pass({ uuid, parent }: Line): void {
    if (uuid === null) return
    // Whatever else begins anew goes back to the start.
    if (parent === null && !this.#before.has(null)) this.#before.set(null, null)
    const above = this.#above(parent)
    const { head } = this.#writer
    const isLed = this.#led?.uuid === uuid
    // What begins anew stands behind no prompt.
    const before = parent === null && isLed ? null : this.#prompt
    const prompt = uuid === this.#prompt ? uuid : above === undefined ? before : above.prompt
    const led = isLed && this.#led?.head === head ? this.#led.to : head
    this.#passed.push({ uuid, prompt, head: led })
  }

  /** Called behind a compaction that kept messages up to a line: what follows that line follows the summary. */
  keep(tail: string): void {
    this.#before.set(tail, this.#writer.head)
  }

  /** The event that what follows a line hangs on. */
  #behind(uuid: string | null, line: Passed | undefined): Place | null {
    const before = this.#before.get(uuid)
    return before === undefined ? (line?.head ?? null) : before
  }

  #isLead(line: Line): boolean {
    this.#leads ??= leadsIn(this.#lines)
    return this.#leads.has(line)
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

/** What the client has put in front of prompts, what it has executed itself, and what had to wait. O(lines). */
function leadsIn(lines: readonly Line[]): ReadonlySet<Line> {
  const byName = new Map(lines.map((line) => [line.uuid, line]))
  const leads = new Set<Line>()
  for (const line of lines) {
    const { parent, isTyped, isLocal, type } = line
    let above = parent === null ? undefined : byName.get(parent)
    if (type === 'assistant' && above !== undefined && isQueued(above)) leads.add(above)
    if (isLocal) leads.add(line)
    if (!isTyped && !isLocal) continue
    for (; above !== undefined && isPutIn(above) && !leads.has(above); above = byName.get(above.parent ?? ''))
      leads.add(above)
  }
  return leads
}

/** What is no boundary of a compaction, which begins anew what goes on. */
const isPutIn = ({ type, found, isLocal }: Line): boolean =>
  isLocal ||
  type === 'attachment' ||
  type === 'progress' ||
  (type === 'system' && found['subtype'] !== 'compact_boundary') ||
  (type === 'user' && found['isMeta'] === true)

const isQueued = ({ type, found }: Line): boolean =>
  type === 'attachment' && objectOf(found['attachment'])['type'] === 'queued_command'
