/** Looks now and then whether another connection has written, and says so to those who watch. */

import type { Watches } from '../kit/watches.ts'
import type { Connection } from './connection.ts'

const DATA_VERSION = 'PRAGMA data_version'

/** Made anew under its id, a conversation begins elsewhere in the feed, whatever the number of its events. */
const LOG_STATE = 'SELECT version, feed_start FROM colloquy_log WHERE conversation_id = ?'

interface LogState {
  readonly version: number
  readonly feed_start: number
}

/**
 * Polls `PRAGMA data_version`, which changes when any other connection has written, of this process or another; then
 * the versions of the logs that are watched, so that only those are woken that something was appended to, or that are
 * others. A connection that a fault has dropped is opened anew, as those who only watch make no call that would. The
 * timer keeps no process alive.
 */
export class Poll {
  readonly #watches: Watches
  readonly #connection: () => Connection | null
  /** Milliseconds. */
  readonly #interval: number
  #timer: ReturnType<typeof setInterval> | null = null
  /** What the pragma said last; null before it was asked. */
  #seen: number | null = null
  /** Whom it was asked of: another connection counts anew. */
  #asked: Connection | null = null
  readonly #states = new Map<string, string>()
  readonly #open: () => Promise<unknown>
  #isOpening = false

  /** @param open opens the connection; may fail, and is then called again */
  constructor(
    watches: Watches,
    connection: () => Connection | null,
    open: () => Promise<unknown>,
    interval: number,
  ) {
    this.#watches = watches
    this.#connection = connection
    this.#open = open
    this.#interval = interval
  }

  /** Begins to look; what is written from now on is noticed. Does nothing while it looks already. */
  start(): void {
    if (this.#timer !== null) return
    this.#seen = this.#ask()
    this.#openAnew()
    this.#timer = setInterval(() => this.#look(), this.#interval)
    this.#timer.unref?.()
  }

  /** Ends it with the last watch. */
  rest(): void {
    if (!this.#watches.isEmpty) return
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    this.#states.clear()
  }

  /** What is written to the database shows only on an open connection. */
  #openAnew(): void {
    if (this.#connection() !== null || this.#isOpening) return
    this.#isOpening = true
    const end = (): void => {
      this.#isOpening = false
    }
    this.#open().then(end, end)
  }

  #look(): void {
    this.#openAnew()
    const asked = this.#asked
    const seen = this.#ask()
    if (seen === null || (seen === this.#seen && asked === this.#asked)) return
    this.#seen = seen
    this.#watches.wakeAll()
    for (const id of this.#watches.ids()) if (this.#isNews(id)) this.#watches.wake(id)
  }

  #ask(): number | null {
    this.#asked = this.#connection()
    const row = this.#try<{ readonly data_version: number }>(DATA_VERSION)
    return row?.data_version ?? null
  }

  /** Whether a log is another than when it was looked at last; so it is when it never was. */
  #isNews(id: string): boolean {
    const found = this.#try<LogState>(LOG_STATE, id)
    const state = found === undefined ? 'none' : `${found.version} ${found.feed_start}`
    const before = this.#states.get(id)
    this.#states.set(id, state)
    return state !== before
  }

  /** A database that cannot be read now is asked again at the next tick. */
  #try<R>(sql: string, ...values: string[]): R | undefined {
    try {
      return this.#connection()?.get<R>(sql, ...values)
    } catch {
      return undefined
    }
  }
}
