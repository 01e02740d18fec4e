/** What the conversations of one engine share: the store, what is in memory, what runs and what is published. */

import { ColloquyError } from '../event/errors.ts'
import type { Store } from '../store/contract/store.ts'
import type { Stamp } from './stamp.ts'
import type { Replica } from './replica.ts'
import { type Pinned, Replicas } from './replicas.ts'

/** One engine's things. */
export class Shared {
  readonly store: Store
  readonly stamp: Stamp
  readonly #replicas: Replicas
  readonly #running = new Map<string, number>()
  readonly #work = new Set<Promise<unknown>>()
  readonly #closing = new AbortController()
  #closed: Promise<void> | null = null

  constructor(store: Store, stamp: Stamp, bytes: number) {
    this.store = store
    this.stamp = stamp
    this.#replicas = new Replicas(store, stamp, bytes)
  }

  /** Aborted when the engine closes. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** How many conversations are in memory. */
  get size(): number {
    return this.#replicas.size
  }

  /** A name for a run that no other has. */
  newOwner(): string {
    return `run-${this.stamp.newId()}`
  }

  /** Does a work with a conversation. */
  async use<T>(id: string, work: (replica: Replica) => Promise<T>): Promise<T> {
    this.check()
    return this.await(this.#replicas.use(id, work))
  }

  async pin(id: string): Promise<Pinned> {
    this.check()
    return this.#replicas.pin(id)
  }

  /** The replica of a conversation that is in use, or null. */
  inUse(id: string): Replica | null {
    return this.#replicas.inUse(id)
  }

  /** Whether a run of this engine is live. */
  isRunning(id: string): boolean {
    return (this.#running.get(id) ?? 0) > 0
  }

  async whileRunning<T>(id: string, work: (replica: Replica, owner: string) => Promise<T>): Promise<T> {
    return this.use(id, async (replica) => {
      this.#running.set(id, (this.#running.get(id) ?? 0) + 1)
      try {
        return await work(replica, this.newOwner())
      } finally {
        const left = (this.#running.get(id) ?? 1) - 1
        if (left > 0) this.#running.set(id, left)
        else this.#running.delete(id)
      }
    })
  }

  async delete(id: string): Promise<boolean> {
    this.check()
    const existed = await this.await(this.store.deleteConversation(id))
    this.#replicas.forget(id)
    return existed
  }

  /** Ends runs and subscriptions, and waits for what is under way. The store stays open: it is not the engine's. */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  /** @throws ColloquyError `closed`. */
  check(): void {
    if (this.closing.aborted) throw new ColloquyError('closed', 'The engine was closed; make another one.')
  }

  async #end(): Promise<void> {
    this.#closing.abort(new ColloquyError('closed', 'The engine was closed.'))
    await Promise.allSettled(this.#work)
    await this.#replicas.clear()
  }

  /** The engine is not closed before a work is done. */
  async await<T>(work: Promise<T>): Promise<T> {
    this.#work.add(work)
    try {
      return await work
    } finally {
      this.#work.delete(work)
    }
  }
}
