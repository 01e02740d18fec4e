/**
 * Durable jobs, stored as items under a lease that is renewed. A process changes a job only while it holds
 * the lease, then releases or finishes the job. If the process dies, another process can claim the job when
 * the job is due.
 */

import { type RunInOrder, serialQueue, unref } from './async.ts'
import { ColloquyError, hasCode, nullOn } from '../event/errors.ts'
import type { Item, ItemChange, NewItem } from '../store/contract/items.ts'
import { MAX_PAGE_SIZE } from '../store/contract/query.ts'
import type { Store } from '../store/contract/store.ts'
import { retryConflicts } from '../store/kit/items.ts'

export interface JobKind<T extends object> {
  readonly store: Store
  readonly collection: string
  /** Returns the collection of a job with this record. Without this function, all jobs are in `collection`. */
  readonly collectionOf?: (record: T) => string
  readonly keysOf?: (record: T) => NonNullable<NewItem['keys']>
  /** Milliseconds after which another process may claim the job of a process that died. */
  readonly ttl: number
}

export class Job<T extends object> {
  readonly id: string
  record: T
  readonly #kind: JobKind<T>
  /** Runs writes in order, because each must name the version that the previous write returned. */
  readonly #inOrder: RunInOrder = serialQueue()
  readonly #lost = new AbortController()
  readonly #renewal: ReturnType<typeof setInterval>
  #item: Item
  #stored: T
  /** The record of the last save, if this save failed. The store contains it if only the response was lost. */
  #unsaved: T | null = null
  #isOver = false

  constructor(kind: JobKind<T>, item: Item) {
    this.id = item.id
    this.record = item.body as object as T
    this.#kind = kind
    this.#item = item
    this.#stored = this.record
    this.#renewal = setInterval(() => void this.#renew().catch(() => undefined), kind.ttl / 3)
    unref(this.#renewal)
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  get isStored(): boolean {
    return this.record === this.#stored
  }

  /** Time of the last write, in milliseconds since 1970 on the store's clock. */
  get writtenAt(): number {
    return (this.#item.dueAt ?? 0) - this.#kind.ttl
  }

  /** Stores the record and `changes`, and keeps the lease. @throws ColloquyError `lease_lost`. */
  save(changes: readonly ItemChange[] = []): Promise<void> {
    return this.#inOrder(() => this.#write(this.record, this.#kind.ttl, changes))
  }

  /**
   * Stores the record and `changes`, and ends the lease.
   * @param dueIn milliseconds after which the job can be claimed; null: never, unless the item is changed
   * @throws ColloquyError `lease_lost`.
   */
  release(dueIn: number | null, changes: readonly ItemChange[] = []): Promise<void> {
    return this.#inOrder(async () => {
      await this.#write(this.record, dueIn, changes)
      this.abandon()
    })
  }

  /** Deletes the job, and applies `changes`. @throws ColloquyError `lease_lost`. */
  finish(changes: readonly ItemChange[] = []): Promise<void> {
    return this.#inOrder(async () => {
      await this.#write(null, null, changes)
      this.abandon()
    })
  }

  abandon(): void {
    this.#isOver = true
    clearInterval(this.#renewal)
  }

  #renew(): Promise<void> {
    return this.#inOrder(async () => {
      if (!this.#isOver) await this.#write(this.#stored, this.#kind.ttl, [])
    })
  }

  async #write(record: T | null, dueIn: number | null, others: readonly ItemChange[]): Promise<void> {
    this.lost.throwIfAborted()
    const { id } = this
    const { collection: before, version: expected } = this.#item
    const put = record && jobItem(this.#kind, record, dueIn)
    const collection = record === null ? before : (this.#kind.collectionOf?.(record) ?? before)
    const changes: readonly ItemChange[] =
      collection === before
        ? [{ collection, id, expected, put }]
        : [
            { collection, id, expected: null, put },
            { collection: before, id, expected, put: null },
          ]
    try {
      const [item] = await this.#kind.store.changeItems([...changes, ...others])
      if (item) this.#item = item
      if (record !== null) this.#stored = record
      this.#unsaved = null
    } catch (error) {
      if (!isConflictIn(error, before) && !isConflictIn(error, collection)) {
        this.#unsaved = dueIn === this.#kind.ttl ? record : null
        throw error
      }
      if (await this.#wasSaved()) return this.#write(record, dueIn, others)
      this.#lost.abort(
        new ColloquyError('lease_lost', 'Another process has claimed this job. Stop working on it.'),
      )
      this.abandon()
      throw this.lost.reason
    }
  }

  /** Whether a save was stored despite its error. False if another process claimed the job: `dueAt` is `ttl` later. */
  async #wasSaved(): Promise<boolean> {
    const { collection, id, dueAt } = this.#item
    const [unsaved, item] = [this.#unsaved, await this.#kind.store.getItem(collection, id)]
    this.#unsaved = null
    if (unsaved === null || JSON.stringify(item?.body) !== JSON.stringify(unsaved)) return false
    if (item === null || (item.dueAt ?? 0) >= (dueAt ?? 0) + this.#kind.ttl) return false
    this.#item = item
    return true
  }
}

export class Jobs<T extends object> {
  readonly #kind: JobKind<T>

  constructor(kind: JobKind<T>) {
    this.#kind = kind
  }

  /** Adds a job that this process holds, and applies `changes`. @throws `version_conflict` for a used id. */
  async add(id: string, record: T, changes: readonly ItemChange[] = []): Promise<Job<T>> {
    return this.#put(id, record, null, changes)
  }

  async claim(limit = MAX_PAGE_SIZE, collection = this.#kind.collection): Promise<Job<T>[]> {
    const { store, ttl } = this.#kind
    const items = await store.claimItems(collection, { ttl, limit: Math.min(limit, MAX_PAGE_SIZE) })
    return items.map((item) => new Job(this.#kind, item))
  }

  /** Claims a job, even from another holder, unless `decide` returns null. Retries after a conflict. */
  async take(
    id: string,
    decide: (before: T | null) => T | null = (before) => before,
  ): Promise<Job<T> | null> {
    return retryConflicts(async () => {
      const item = await this.#kind.store.getItem(this.#kind.collection, id)
      const record = decide(item === null ? null : (item.body as object as T))
      return record === null ? null : this.#put(id, record, item?.version ?? null)
    })
  }

  /** Claims a job that was read; returns null if the job has changed since. */
  async claimRead({ id, body, version }: Item): Promise<Job<T> | null> {
    return this.#put(id, body as object as T, version).catch(nullOn('version_conflict'))
  }

  async has(by: string, value: string): Promise<boolean> {
    const { store, collection } = this.#kind
    return (await store.listItems(collection, { by, value, limit: 1 })).items.length > 0
  }

  async #put(
    id: string,
    record: T,
    expected: number | null,
    others: readonly ItemChange[] = [],
  ): Promise<Job<T>> {
    const { store, collection, ttl } = this.#kind
    const put = jobItem(this.#kind, record, ttl)
    const [item] = await store.changeItems([{ collection, id, expected, put }, ...others])
    // A put returns the item.
    return new Job(this.#kind, item as Item)
  }
}

/**
 * Works on a job, then releases or finishes it. A job that is not released or finished is due when its lease
 * ends. The signal is aborted when the lease is lost or the worker is closed.
 */
type Work<T extends object> = (job: Job<T>, signal: AbortSignal) => Promise<void>

/** Works on jobs. A process does not work on one job twice at the same time. */
export class JobWorker<T extends object> {
  readonly #jobs: Jobs<T>
  readonly #work: Work<T>
  readonly #onFailure: (error: unknown) => void
  readonly #running = new Map<string, { isStale: boolean; done: Promise<void> }>()
  readonly #closing = new AbortController()

  constructor(jobs: Jobs<T>, work: Work<T>, onFailure: (error: unknown) => void) {
    this.#jobs = jobs
    this.#work = work
    this.#onFailure = onFailure
  }

  start(job: Job<T>): void {
    this.#run(job.id, () => Promise.resolve(job))
  }

  /** Works on a job now; if this process is already doing so, works on the job again afterwards. */
  wake(id: string): void {
    const running = this.#running.get(id)
    if (running === undefined) this.#run(id, () => this.#jobs.take(id))
    else running.isStale = true
  }

  /** Starts all jobs that are due; resolves when they have begun. O(jobs that are due). */
  async startDue(): Promise<void> {
    let due: readonly Job<T>[]
    do {
      due = await this.#jobs.claim()
      for (const job of due) this.start(job)
    } while (due.length === MAX_PAGE_SIZE)
  }

  async settle(): Promise<void> {
    await Promise.all(Array.from(this.#running.values(), ({ done }) => done))
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.settle()
  }

  #run(id: string, first: () => Promise<Job<T> | null>): void {
    // Earlier work of this process on the job ends soon, because this claim has replaced its lease.
    const before = this.#running.get(id)?.done ?? Promise.resolve()
    const running = { isStale: false, done: before }
    const work = async (): Promise<void> => {
      await before
      try {
        for (let next = first; ; next = () => this.#jobs.take(id)) {
          running.isStale = false
          await this.#workOn(await next())
          if (!running.isStale || this.isClosed) return
        }
      } catch (error) {
        this.#report(error)
      } finally {
        // Deleted in the same turn of the event loop as the last check of `isStale`, so that no wake is lost.
        if (this.#running.get(id) === running) this.#running.delete(id)
      }
    }
    running.done = work()
    this.#running.set(id, running)
  }

  async #workOn(job: Job<T> | null): Promise<void> {
    if (job === null) return
    try {
      await this.#work(job, AbortSignal.any([this.#closing.signal, job.lost]))
    } catch (error) {
      if (!hasCode(error, 'lease_lost')) this.#report(error)
    } finally {
      job.abandon()
    }
  }

  #report(error: unknown): void {
    if (!this.isClosed) this.#onFailure(error)
  }
}

export const isConflictIn = (error: unknown, collection: string): boolean =>
  hasCode(error, 'version_conflict') && error.data['collection'] === collection

const jobItem = <T extends object>({ keysOf }: JobKind<T>, record: T, dueIn: number | null): NewItem => ({
  body: record as NewItem['body'],
  dueIn,
  ...(keysOf !== undefined && { keys: keysOf(record) }),
})
