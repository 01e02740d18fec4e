/** Runs work on the connection in order; what drivers throw becomes an error of the contract. */

import { hasCode } from '../../event/errors.ts'
import { storeClosed } from '../kit/errors.ts'
import type { Connection } from './connection.ts'
import { type Outcome, shareCommit } from './share-commit.ts'
import { toStoreError } from './to-store-error.ts'
import { retry } from './retry.ts'

/** How the connection comes and goes. */
export interface ConnectionSource {
  /** Opens it; called again when it failed, or when the connection was dropped. */
  open(): Promise<Connection>
  /** Closes a connection that this source has opened. Does nothing for one that belongs to the caller. */
  close(connection: Connection): void
  /**
   * Whether a connection that gives errors should be dropped and opened anew: not one in memory, and none of the
   * caller's.
   */
  readonly reopens: boolean
}

type Work<T> = (connection: Connection) => T

/** A work that writes, and waits for the end of the turn. */
interface QueuedWrite {
  readonly work: Work<unknown>
  readonly deadline: number
  readonly settle: (outcome: Outcome) => void
}

/** Works that share one commit at most: for as long as they are done, nothing else is. */
const LARGEST_GROUP = 256

/** After so many reads the event loop gets a turn: reads that follow one another would let no write and no timer in. */
const READS = 256

/** Runs work on one connection. */
export class Runner {
  readonly #source: ConnectionSource
  /** Milliseconds. */
  readonly #busyTimeout: number
  #connection: Connection | null = null
  #opening: Promise<Connection> | null = null
  #closed = false
  /** Calls that are not answered yet, but for those that were made at once. */
  readonly #pending = new Set<Promise<unknown>>()
  /** Works that write, in the order of their calls. */
  readonly #queue: QueuedWrite[] = []
  #isFlushing = false
  #reads = 0

  constructor(source: ConnectionSource, busyTimeout: number) {
    this.#source = source
    this.#busyTimeout = busyTimeout
  }

  /** The connection while it is open. */
  get connection(): Connection | null {
    return this.#connection
  }

  /** @throws `store_closed`. */
  refuseWhenClosed(): void {
    if (this.#closed) throw storeClosed()
  }

  /** Does a work that reads. @throws what it throws, and `store_…` errors for what the driver throws. */
  async read<T>(work: Work<T>): Promise<T> {
    this.refuseWhenClosed()
    const deadline = this.#deadline()
    this.#reads += 1
    if (this.#reads % READS === 0)
      return this.#later(async () => {
        await new Promise((resolve) => setImmediate(resolve))
        return this.#persist(work, deadline)
      })
    const done = this.#tryNow(work)
    return done === null ? this.#later(() => this.#persist(work, deadline)) : done.value
  }

  /**
   * Does a work that writes, after all that were asked for before, and resolves when it is durable. Works that are
   * asked for in one turn of the event loop share one commit (design D30). @throws as {@link Runner.read}.
   */
  async write<T>(work: Work<T>): Promise<T> {
    this.refuseWhenClosed()
    const deadline = this.#deadline()
    return this.#later(
      () =>
        new Promise((resolve, reject) => {
          const settle = (outcome: Outcome): void =>
            'error' in outcome ? reject(outcome.error) : resolve(outcome.value as T)
          this.#queue.push({ work, deadline, settle })
          this.#flushSoon()
        }),
    )
  }

  /** Refuses every later call, waits for those that were made before, and closes the connection. */
  async close(): Promise<void> {
    this.#closed = true
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending)
    this.#drop()
  }

  /** Its result in a box; null when there is no connection yet, or it is busy. */
  #tryNow<T>(work: Work<T>): { readonly value: T } | null {
    if (this.#connection === null) return null
    try {
      return { value: this.#attempt(this.#connection, work) }
    } catch (error) {
      if (hasCode(error, 'store_busy')) return null
      throw error
    }
  }

  #flushSoon(): void {
    if (this.#isFlushing || this.#queue.length === 0) return
    this.#isFlushing = true
    // At the end of the turn: what all sockets that are ready ask for is there by then.
    setImmediate(async () => {
      await this.#commit(this.#queue.splice(0, LARGEST_GROUP))
      this.#isFlushing = false
      this.#flushSoon()
    })
  }

  /** Does works in one transaction, and each by itself where one of them, or the commit, cannot be done. */
  async #commit(group: readonly QueuedWrite[]): Promise<void> {
    const works = group.map(({ work }) => work)
    const deadline = Math.min(...group.map((each) => each.deadline))
    try {
      const outcomes = await this.#persist((connection) => shareCommit(connection, works), deadline)
      for (const [i, { settle }] of group.entries()) settle(outcomes[i] as Outcome)
    } catch (error) {
      // Who waits for another process waits with all: one after the other they would wait many times as long.
      if (group.length === 1 || hasCode(error, 'store_busy'))
        for (const { settle } of group) settle({ error })
      else for (const each of group) await this.#commit([each])
    }
  }

  #later<T>(call: () => Promise<T>): Promise<T> {
    const result = call()
    this.#pending.add(result)
    const rest = (): boolean => this.#pending.delete(result)
    result.then(rest, rest)
    return result
  }

  #deadline(): number {
    return performance.now() + this.#busyTimeout
  }

  #persist<T>(work: Work<T>, deadline: number): Promise<T> {
    return retry(deadline, async () => this.#attempt(this.#connection ?? (await this.#open()), work))
  }

  #attempt<T>(connection: Connection, work: Work<T>): T {
    try {
      return work(connection)
    } catch (error) {
      const fault = toStoreError(error)
      // The file may be repaired or replaced, and then only a new connection sees it.
      const isLost = hasCode(fault, 'store_unavailable') || hasCode(fault, 'store_read_only')
      if (isLost && this.#connection === connection && this.#source.reopens) this.#drop()
      throw fault
    }
  }

  #open(): Promise<Connection> {
    this.#opening ??= this.#source.open().then(
      (connection) => {
        this.#opening = null
        this.#connection = connection
        return connection
      },
      (error: unknown) => {
        this.#opening = null
        throw toStoreError(error)
      },
    )
    return this.#opening
  }

  #drop(): void {
    const connection = this.#connection
    this.#connection = null
    if (connection !== null) this.#source.close(connection)
  }
}
