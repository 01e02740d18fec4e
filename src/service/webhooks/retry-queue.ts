/** Whose turn it is: conversations whose delivery failed wait longer each time, and hold up no other. */

import { waitBefore, type Webhook } from './webhook.ts'

/**
 * Milliseconds between two repetitions while nothing at all is taken: a receiver that is gone is not stormed by all who
 * wait.
 */
const PACE = 50

/** Whose turn it is to be sent to one webhook. */
export class Queue {
  readonly #webhook: Webhook
  readonly #wake: () => void
  readonly #fresh = new Set<string>()
  /** Those that failed and may come again now. */
  readonly #due = new Set<string>()
  /** Those that are being sent, and whether they failed before. */
  readonly #busy = new Map<string, boolean>()
  /** Those among them that were offered meanwhile. */
  readonly #offered = new Set<string>()
  readonly #tries = new Map<string, number>()
  readonly #timers = new Map<string, ReturnType<typeof setTimeout>>()
  #repeating = 0
  #wasRepeated = false
  /** Failures since anything was taken. */
  #streak = 0
  #pacing: ReturnType<typeof setTimeout> | null = null

  /** @param wake is called when it may be one's turn again */
  constructor(webhook: Webhook, wake: () => void) {
    this.#webhook = webhook
    this.#wake = wake
  }

  /** How many conversations wait, or are being sent. */
  get size(): number {
    return this.#fresh.size + this.#due.size + this.#busy.size + this.#timers.size
  }

  /** Puts a conversation in line, unless it stands there already, or waits for its repetition. */
  offer(id: string): void {
    if (this.#timers.has(id)) return
    if (this.#busy.has(id)) this.#offered.add(id)
    else if (this.#tries.has(id)) this.#due.add(id)
    else this.#fresh.add(id)
  }

  /**
   * Whose turn it is; null when everybody has to wait. Of the requests that may be under way at once, repetitions take
   * half: the others need not wait for what hangs again. O(1).
   */
  take(): string | null {
    const { concurrency } = this.#webhook
    if (this.#busy.size >= concurrency) return null
    const mayRepeat =
      this.#due.size > 0 && this.#pacing === null && this.#repeating < Math.max(1, concurrency >> 1)
    // With one request at a time it is the turn of either in turn.
    const repeats = mayRepeat && (this.#fresh.size === 0 || !this.#wasRepeated)
    const [id = null] = repeats ? this.#due : this.#fresh
    if (id === null) return null
    this.#fresh.delete(id)
    this.#due.delete(id)
    this.#busy.set(id, repeats)
    this.#repeating += Number(repeats)
    this.#wasRepeated = repeats
    if (repeats && this.#streak >= 2 * concurrency) this.#pace()
    return id
  }

  /** It was sent; `more`: it is to be sent again. */
  took(id: string, more: boolean): void {
    this.#tries.delete(id)
    this.#streak = 0
    this.#end(id)
    if (this.#offered.delete(id) || more) this.offer(id)
  }

  /** It failed, and comes again later. */
  failed(id: string): void {
    const tries = (this.#tries.get(id) ?? 0) + 1
    this.#tries.set(id, tries)
    this.#streak += 1
    this.#end(id)
    this.#offered.delete(id)
    const timer = setTimeout(
      () => {
        this.#timers.delete(id)
        this.#due.add(id)
        this.#wake()
      },
      waitBefore(this.#webhook, tries),
    )
    this.#timers.set(id, timer)
  }

  /** It has no turn any more. */
  clear(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    if (this.#pacing !== null) clearTimeout(this.#pacing)
    this.#timers.clear()
    this.#fresh.clear()
    this.#due.clear()
  }

  #end(id: string): void {
    this.#repeating -= Number(this.#busy.get(id) === true)
    this.#busy.delete(id)
  }

  #pace(): void {
    this.#pacing = setTimeout(() => {
      this.#pacing = null
      this.#wake()
    }, PACE)
  }
}
