/**
 * Appends of one process to one conversation wait for each other at its row anyway: those that are asked for while
 * one is under way go out as one statement, and wait for the disk once (design D30).
 */

import type { AppendOptions, AppendResult } from '../contract/append.ts'
import { appendLive } from './append-live.ts'
import type { Connection } from './connection.ts'
import { isPlain, type LiveBatch } from './live-batch.ts'

/** Events, and characters of their bodies, that go out together at most. */
const [MOST_EVENTS, MOST_TEXT] = [256, 1_000_000]

/** Milliseconds that appends wait for one under way: its connection may be one that nothing comes back from. */
const TIMEOUT = 1_000

/** An append that waits. */
interface Waiting {
  readonly batch: LiveBatch
  readonly now: bigint | null
  readonly resolve: (result: AppendResult | null) => void
  readonly reject: (error: unknown) => void
}

/** The appends to one conversation. */
interface Line {
  readonly waiting: Waiting[]
  underWay: number
  timer: ReturnType<typeof setTimeout> | null
}

/** Appends that one store was asked for. */
export class Appends {
  readonly #connection: Connection
  readonly #lines = new Map<string, Line>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Appends as {@link appendLive} does, which says what null means. What asks for no version and no lease, and goes on
   * from HEAD event by event, shares a statement with others.
   */
  append(
    conversationId: string,
    batch: LiveBatch,
    options: AppendOptions,
    now: bigint | null,
  ): Promise<AppendResult | null> {
    if (!canShare(batch, options)) return appendLive(this.#connection, conversationId, batch, options, now)
    return new Promise((resolve, reject) => {
      const line = this.#lines.get(conversationId) ?? { waiting: [], underWay: 0, timer: null }
      this.#lines.set(conversationId, line)
      line.waiting.push({ batch, now, resolve, reject })
      if (line.underWay === 0) void this.#send(conversationId, line)
      else this.#setTimeout(conversationId, line)
    })
  }

  #setTimeout(conversationId: string, line: Line): void {
    line.timer ??= setTimeout(() => this.#send(conversationId, line), TIMEOUT)
  }

  /** Sends what waits, and what has come to wait by the time that it is done. Never rejects. */
  async #send(conversationId: string, line: Line): Promise<void> {
    if (line.timer !== null) clearTimeout(line.timer)
    line.timer = null
    line.underWay += 1
    const group = nextGroup(line.waiting)
    if (line.waiting.length > 0) this.#setTimeout(conversationId, line)
    await this.#sendGroup(conversationId, group)
    line.underWay -= 1
    if (line.waiting.length > 0) void this.#send(conversationId, line)
    else if (line.underWay === 0) this.#lines.delete(conversationId)
  }

  /** Sends these as one statement, and tells each what became of it. False where the database failed. Never rejects. */
  async #sendGroup(conversationId: string, group: readonly Waiting[]): Promise<boolean> {
    const asked = group.flatMap(({ batch }) => batch.asked)
    const now = group.at(-1)?.now ?? null
    try {
      const result = await appendLive(this.#connection, conversationId, { asked, refs: [] }, {}, now)
      if (result !== null) share(group, result)
      else if (group.length === 1) group[0]?.resolve(null)
      // One of them stands in the way; which, each finds out by itself.
      else for (const one of group) void this.#sendGroup(conversationId, [one])
      return true
    } catch (error) {
      if (group.length === 1) group[0]?.reject(error)
      else await this.#sendParts(conversationId, group)
      return false
    }
  }

  /**
   * Sends in parts what failed together: it may be for what they are together, as when they take longer than a
   * statement may. Where the first fails alone as well it is for something else, and none waits for another. What was
   * made all the same is known by its ids. Never rejects.
   */
  async #sendParts(conversationId: string, group: readonly Waiting[]): Promise<void> {
    const works = await this.#sendGroup(conversationId, group.slice(0, 1))
    const rest = group.slice(1)
    if (!works) {
      await Promise.all(rest.map((one) => this.#sendGroup(conversationId, [one])))
      return
    }
    const half = Math.ceil(rest.length / 2)
    for (const part of [rest.slice(0, half), rest.slice(half)])
      if (part.length > 0) await this.#sendGroup(conversationId, part)
  }
}

/** Whether other appends may come before it and behind it without changing what it asks for. */
const canShare = ({ asked }: LiveBatch, { expected = 'any', lease }: AppendOptions): boolean =>
  expected === 'any' && lease === undefined && asked.every((one) => isPlain(one) && !one.zoneless)

/** Takes those that go out next: the first, and as many more as are small and name no id twice. O(taken). */
function nextGroup(waiting: Waiting[]): Waiting[] {
  const ids = new Set<string>()
  let [count, text] = [0, 0]
  for (const { batch } of waiting) {
    const { asked } = batch
    text += asked.reduce((sum, { body }) => sum + body.length, 0)
    const fits = ids.size + asked.length <= MOST_EVENTS && text <= MOST_TEXT
    if (count > 0 && (!fits || asked.some(({ event }) => ids.has(event.id)))) break
    for (const { event } of asked) ids.add(event.id)
    count += 1
  }
  return waiting.splice(0, count)
}

/** Tells each what became of its own part, as if it had been alone. */
function share(group: readonly Waiting[], { events, version }: AppendResult): void {
  let at = 0
  for (const { batch, resolve } of group) {
    const own = events.slice(at, (at += batch.asked.length))
    resolve({ events: own, version: version - events.length + at, headId: own.at(-1)?.id ?? null })
  }
}
