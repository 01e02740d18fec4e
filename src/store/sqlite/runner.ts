import { hasCode } from '../../event/errors.ts'
import { storeClosed } from '../kit/errors.ts'
import type { Work } from '../sql/dialect.ts'
import { type Connection, type ConnectionSource, PartlyWritten } from './database.ts'
import { toStoreError } from './errors.ts'

type Outcome = { readonly value: unknown } | { readonly error: unknown }

interface QueuedWrite {
  readonly work: () => Work<unknown>
  readonly isAlone: boolean
  readonly deadline: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Maximum number of units of work in one commit, during which nothing else runs. */
const LARGEST_GROUP = 256

/** Maximum reads per turn of the event loop, so that they do not block writes and timers. */
const READS_PER_TURN = 256

/** Milliseconds of writing after which the remaining writes wait for the next turn of the event loop. */
const LONGEST_TURN = 1

/** Maximum milliseconds between retries. It is small: a process that writes continuously leaves only short gaps. */
const LONGEST_PAUSE = 10

/** Milliseconds without a write after which the write-ahead log is copied to the database and emptied. */
const IDLE = 1_000

export class Runner {
  readonly #source: ConnectionSource
  connection: Connection | null = null
  #opening: Promise<Connection> | null = null
  isClosed = false
  readonly #pending = new Set<Promise<unknown>>()
  readonly #queue: QueuedWrite[] = []
  #flush: Promise<void> | null = null
  #idleTimer: ReturnType<typeof setTimeout> | null = null
  #reads = 0

  constructor(source: ConnectionSource) {
    this.#source = source
  }

  readonly read = async <T>(work: () => Work<T>): Promise<T> => {
    if (this.isClosed) throw storeClosed()
    const deadline = performance.now() + this.#source.busyTimeout
    this.#reads += 1
    const isFree = this.connection !== null && !this.connection.isInTransaction
    if (isFree && this.connection !== null && this.#reads % READS_PER_TURN !== 0) {
      try {
        return this.#attempt(this.connection, (connection) => connection.read(work))
      } catch (error) {
        if (!hasCode(error, 'store_busy')) throw error
      }
    }
    return this.#track(async () => {
      await new Promise((resolve) => setImmediate(resolve))
      return this.#retry(deadline, (connection) => connection.read(work))
    })
  }

  /**
   * Runs writing units of work in the order of the calls. Resolves when the unit is durable. Waiting writes
   * share a commit (design D30), except a write with `isAlone`.
   */
  readonly write = <T>(work: () => Work<T>, { isAlone = false } = {}): Promise<T> =>
    new Promise((resolve, reject) => {
      if (this.isClosed) throw storeClosed()
      const deadline = performance.now() + this.#source.busyTimeout
      this.#queue.push({ work, isAlone, deadline, resolve: resolve as QueuedWrite['resolve'], reject })
      this.#flushSoon()
    })

  async close(): Promise<void> {
    this.isClosed = true
    while (this.#pending.size > 0 || this.#flush !== null)
      await Promise.allSettled([...this.#pending, this.#flush])
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer)
    this.#drop()
  }

  #flushSoon(): void {
    if (this.#flush !== null || this.#queue.length === 0) return
    // Waits for the end of the turn: then the requests of all ready sockets are in the queue.
    this.#flush = new Promise<void>((resolve) => setImmediate(resolve)).then(async () => {
      const end = performance.now() + LONGEST_TURN
      do {
        const alone = this.#queue.slice(0, LARGEST_GROUP).findIndex(({ isAlone }) => isAlone)
        await this.#commit(this.#queue.splice(0, alone === -1 ? LARGEST_GROUP : Math.max(1, alone)))
        // Callers that continue with another write need not wait for the next turn.
        await new Promise<void>((resolve) => process.nextTick(resolve))
      } while (this.#queue.length > 0 && performance.now() < end)
      this.#flush = null
      this.#flushSoon()
    })
  }

  /**
   * Commits units together. If that fails, commits each alone, unless the database is unavailable. While the
   * database is busy, units wait together, each until its deadline, because separate waits would add up.
   */
  async #commit(group: readonly QueuedWrite[]): Promise<void> {
    const deadline = Math.min(...group.map((each) => each.deadline))
    try {
      const outcomes = await this.#retry(deadline, (connection) => {
        const [only, second] = group
        const isAlone = only !== undefined && second === undefined
        const outcomes = isAlone ? [{ value: connection.write(only.work) }] : writeTogether(connection, group)
        this.#source.check?.()
        return outcomes
      })
      for (const [index, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[index] as Outcome
        if ('error' in outcome) reject(outcome.error)
        else resolve(outcome.value)
      }
      this.#idleTimer ??= setTimeout(() => this.#endIdleTime(), IDLE)
      this.#idleTimer.unref?.()
      this.#idleTimer.refresh?.()
    } catch (error) {
      const isBusy = hasCode(error, 'store_busy')
      if (!isBusy && group.length > 1 && !hasCode(error, 'store_unavailable')) {
        for (const each of group) await this.#commit([each])
        return
      }
      const waiting = isBusy ? group.filter((each) => each.deadline > deadline) : []
      for (const each of group) if (!waiting.includes(each)) each.reject(error)
      if (waiting.length > 0) await this.#commit(waiting)
    }
  }

  /**
   * Empties the write-ahead log's file, which otherwise keeps deleted data and the size that it reached
   * during a slow read. Readers of other processes may delay this to the next idle time.
   */
  #endIdleTime(): void {
    this.#idleTimer = null
    if (this.#queue.length > 0) return
    try {
      this.connection?.database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch {
      // Another process uses the database, and also empties the file when it is idle.
    }
  }

  #track<T>(call: () => Promise<T>): Promise<T> {
    const result = call()
    this.#pending.add(result)
    const forget = (): boolean => this.#pending.delete(result)
    result.then(forget, forget)
    return result
  }

  async #retry<T>(deadline: number, work: (connection: Connection) => T): Promise<T> {
    for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      try {
        const connection = this.connection ?? (await (this.#opening ??= this.#open()))
        return this.#attempt(connection, work)
      } catch (error) {
        if (!hasCode(error, 'store_busy') || performance.now() >= deadline) throw error
      }
      // Random, so that two waiting processes do not always retry at the same time.
      const rest = Math.min(pause * (0.5 + Math.random() / 2), deadline - performance.now())
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, rest)))
    }
  }

  #attempt<T>(connection: Connection, work: (connection: Connection) => T): T {
    try {
      return work(connection)
    } catch (error) {
      const fault = toStoreError(error)
      // The file may be repaired or replaced, and then only a new connection sees it.
      const isLost = hasCode(fault, 'store_unavailable') || hasCode(fault, 'store_read_only')
      if (isLost && this.connection === connection && this.#source.reopens) this.#drop()
      throw fault
    }
  }

  async #open(): Promise<Connection> {
    try {
      this.connection = await this.#source.open()
      return this.connection
    } catch (error) {
      throw toStoreError(error)
    } finally {
      this.#opening = null
    }
  }

  #drop(): void {
    const connection = this.connection
    this.connection = null
    if (connection !== null) this.#source.close?.(connection)
  }
}

/** Runs units in one transaction. A rejected unit affects no other unit; a driver's error undoes all units. */
function writeTogether(connection: Connection, group: readonly QueuedWrite[]): Outcome[] {
  return connection.share((part) =>
    group.map(({ work }): Outcome => {
      try {
        return { value: part(work) }
      } catch (error) {
        if (error instanceof PartlyWritten) throw error
        // After a driver's error, SQLite may have undone all units. A damaged row affects only its reader.
        if (toStoreError(error) !== error) throw error
        return { error }
      }
    }),
  )
}
