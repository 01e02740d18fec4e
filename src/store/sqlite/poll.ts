/** Polls whether another connection has written, and wakes watches. */

import type { Unwatch, Wake } from '../contract/store.ts'
import { Watches } from '../kit/watches.ts'
import type { Connection } from './database.ts'
import type { Runner } from './runner.ts'

/** Feed rows from a position, and its end: every change that wakes has a row. */
const NEWS = `SELECT place, witness, conversation_id AS id FROM colloquy_feed WHERE place >= ?
  ORDER BY place LIMIT ?`
const LAST = 'SELECT place, witness FROM colloquy_feed ORDER BY place DESC LIMIT 1'

/** Where more was written since the last look, all are woken. */
const MOST_NEWS = 1_000

/** A row of the feed, which no other database has at its place. */
interface Place {
  readonly place: number
  readonly witness: number
}

const START: Place = { place: 0, witness: 0 }

/**
 * Polls `PRAGMA data_version` for other connections' writes, then the feed, to wake only watches of changed
 * conversations. Reopens a failed connection, because watching processes make no calls. Keeps no process
 * alive.
 */
export class Poll {
  readonly watches = new Watches()
  readonly #runner: Runner
  /** Milliseconds. */
  readonly #interval: number
  #timer: ReturnType<typeof setInterval> | null = null
  /** What the pragma returned last; null before it was read. */
  #seen: number | null = null
  #asked: Connection | null = null
  #place: Place | null = null
  #isOpening = false

  constructor(runner: Runner, interval: number) {
    this.#runner = runner
    this.#interval = interval
  }

  watch(conversationId: string | null, wake: Wake): Unwatch {
    const unwatch = this.watches.add(conversationId, wake)
    this.#start()
    return () => {
      unwatch()
      this.#rest()
    }
  }

  close(): void {
    this.watches.clear()
    this.#rest()
  }

  /** Starts polling: later writes are noticed. Does nothing while it runs. */
  #start(): void {
    if (this.#timer !== null) return
    this.#place = this.#last()
    // What is written in between is found by the first look.
    this.#seen = null
    this.#asked = this.#runner.connection
    this.#reopen()
    this.#timer = setInterval(() => this.#look(), this.#interval)
    this.#timer.unref?.()
  }

  #rest(): void {
    if (!this.watches.isEmpty) return
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  /** What is written to the database shows only on an open connection. */
  #reopen(): void {
    if (this.#runner.connection !== null || this.#isOpening) return
    this.#isOpening = true
    const end = (): void => {
      this.#isOpening = false
    }
    this.#runner.read(function* () {}).then(end, end)
  }

  #look(): void {
    this.#reopen()
    const connection = this.#runner.connection
    const last = this.#last()
    const seen = this.#all<{ readonly data_version: number }>('PRAGMA data_version')?.[0]?.data_version
    // A database that cannot be read now is asked again at the next tick.
    if (last === null || seen === undefined) return
    const isSame = connection === this.#asked
    if (!isSame || this.#place === null) this.watches.wakeAll()
    // Else all that is new was written here, and has woken.
    else if (seen !== this.#seen && !this.#wakeSince(this.#place)) return
    this.#seen = seen
    this.#asked = connection
    this.#place = last
  }

  /** Wakes watches of what was written since; false when unreadable now. */
  #wakeSince(from: Place): boolean {
    const rows = this.#all<Place & { readonly id: string }>(NEWS, from.place, MOST_NEWS + 2)
    if (rows === null) return false
    const isThere = from === START || (rows[0]?.place === from.place && rows[0].witness === from.witness)
    const news = new Set((from === START ? rows : rows.slice(1)).map(({ id }) => id))
    // A restored database has another row at the place, or none.
    if (!isThere || rows.length > MOST_NEWS + 1) this.watches.wakeAll()
    else for (const id of news) this.watches.wake(id)
    return true
  }

  #last(): Place | null {
    const rows = this.#all<Place>(LAST)
    return rows === null ? null : (rows[0] ?? START)
  }

  #all<R>(sql: string, ...values: number[]): R[] | null {
    try {
      return this.#runner.connection?.all<R>(sql, ...values) ?? null
    } catch {
      return null
    }
  }
}
