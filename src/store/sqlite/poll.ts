/** Looks now and then whether another connection has written, and says so to those who watch. */

import type { Watches } from '../kit/watches.ts'
import type { Connection } from './connection.ts'

const DATA_VERSION = 'PRAGMA data_version'

const LOG_VERSION = 'SELECT version FROM colloquy_log WHERE conversation_id = ?'

/**
 * Polls `PRAGMA data_version`, which changes when any other connection has written, of this process or another; then
 * the versions of the logs that are watched, so that only those are woken that something was appended to. The timer
 * keeps no process alive.
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
  readonly #versions = new Map<string, number>()

  constructor(watches: Watches, connection: () => Connection | null, interval: number) {
    this.#watches = watches
    this.#connection = connection
    this.#interval = interval
  }

  /** Begins to look; what is written from now on is noticed. Does nothing while it looks already. */
  start(): void {
    if (this.#timer !== null) return
    this.#seen = this.#ask()
    this.#timer = setInterval(() => this.#look(), this.#interval)
    this.#timer.unref?.()
  }

  /** Ends it with the last watch. */
  rest(): void {
    if (!this.#watches.isEmpty) return
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    this.#versions.clear()
  }

  #look(): void {
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

  /** Whether a log has another version than when it was looked at last; so it does when it never was. */
  #isNews(id: string): boolean {
    const version = this.#try<{ readonly version: number }>(LOG_VERSION, id)?.version ?? -1
    const before = this.#versions.get(id)
    this.#versions.set(id, version)
    return version !== before
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
