/** Notifies other processes of what was written, some forty times a second at most, with nothing but ids. */

import type { Connection } from './connection.ts'

/** Milliseconds in which appends share one notification. */
const PAUSE = 25

/**
 * Notifies other processes of appends, after they are durable. Not within their transaction: PostgreSQL lets commits
 * that notify pass only one at a time through the whole database, and what an append waits for must not depend on who
 * listens. Should the process end in between, polling finds the append.
 */
export class Notifier {
  readonly #connection: Connection
  readonly #channel: string
  #waiting = new Set<string>()
  #sending: Promise<void> | null = null
  #open = true

  constructor(connection: Connection, channel: string) {
    this.#connection = connection
    this.#channel = channel
  }

  /** Notifies of an append to a conversation, or of its deletion, at once or with the next ones. Never throws. */
  tell(conversationId: string): void {
    this.#waiting.add(conversationId)
    this.#sending ??= this.#sendAll()
  }

  /** Sends what is still waiting, without a pause. Never rejects. */
  async flush(): Promise<void> {
    this.#open = false
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      const ids = [...this.#waiting]
      this.#waiting = new Set()
      // It is a hint, of no use after a crash: a process that misses it polls.
      await this.#connection
        .query(
          `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, id) FROM unnest($2::text[]) AS id`,
          [this.#channel, ids],
        )
        .catch(() => undefined)
      if (this.#open) await new Promise((resolve) => setTimeout(resolve, PAUSE))
    }
    this.#sending = null
  }
}
