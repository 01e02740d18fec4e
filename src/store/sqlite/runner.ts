/** Runs work on the connection in order; what drivers throw becomes an error of the contract. */

import { ColloquyError, hasCode } from '../../event/errors.ts'
import type { Connection } from './connection.ts'
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

/** Runs work on one connection. */
export class Runner {
  readonly #source: ConnectionSource
  /** Milliseconds. */
  readonly #busyTimeout: number
  #connection: Connection | null = null
  #opening: Promise<Connection> | null = null
  #closed = false
  /** Calls that could not be made at once. */
  readonly #pending = new Set<Promise<unknown>>()
  /** The last of those that write: others that write come after it, in the order of their calls. */
  #lastWrite: Promise<unknown> | null = null

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
    if (this.#closed) throw new ColloquyError('store_closed', 'The store was closed; open it again.')
  }

  /** Does a work that reads. @throws what it throws, and `store_…` errors for what the driver throws. */
  async read<T>(work: Work<T>): Promise<T> {
    this.refuseWhenClosed()
    const deadline = this.#deadline()
    const done = this.#tryNow(work)
    return done === null ? this.#later(() => this.#persist(work, deadline)) : done.value
  }

  /** Does a work that writes, after all that were asked for before. @throws as {@link Runner.read}. */
  async write<T>(work: Work<T>): Promise<T> {
    this.refuseWhenClosed()
    const deadline = this.#deadline()
    const done = this.#lastWrite === null ? this.#tryNow(work) : null
    if (done !== null) return done.value
    const before = this.#lastWrite
    const result = this.#later(async () => {
      await before?.catch(() => undefined)
      return this.#persist(work, deadline)
    })
    this.#lastWrite = result
    const rest = (): void => {
      if (this.#lastWrite === result) this.#lastWrite = null
    }
    result.then(rest, rest)
    return result
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
