/** What the conversations of one engine share: the store, what is in memory, what runs and what is published. */

import { ColloquyError } from '../event/errors.ts'
import type { Store } from '../store/contract/store.ts'
import type { StreamingDeltaEvent } from '../event/types.ts'
import type { Stamp } from './stamp.ts'
import type { Replica } from './replica.ts'
import { briefOwner } from './run/lease.ts'
import { type Pinned, Replicas } from './replicas.ts'
import { dropShared, realTime, SharedReplies } from './shared-replies.ts'

/** One engine's things. */
export class Shared {
  readonly store: Store
  readonly stamp: Stamp
  readonly #replicas: Replicas
  readonly #shares: boolean
  readonly #replies = new WeakMap<Replica, SharedReplies>()
  readonly #openReplies = new Set<SharedReplies>()
  /** By conversation: the owners of its runs here, of which all but one wait for the lease. */
  readonly #running = new Map<string, Set<string>>()
  readonly #work = new Set<Promise<unknown>>()
  readonly #closing = new AbortController()
  #closed: Promise<void> | null = null

  constructor(store: Store, stamp: Stamp, bytes: number, shares: boolean) {
    this.store = store
    this.#shares = shares
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

  /** The same for what holds a lease and runs nothing. */
  newBriefOwner(): string {
    return briefOwner(this.stamp.newId())
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

  /** Gives more of a reply to those who listen. */
  publish(id: string, delta: StreamingDeltaEvent): void {
    const replica = this.inUse(id)
    replica?.replies.publish(delta)
    if (replica !== null) this.#sharedOf(replica)?.said()
  }

  /** Listens to replies that other processes make, until the function that it returns is called. */
  listen(replica: Replica): () => void {
    return this.#sharedOf(replica)?.listen() ?? (() => undefined)
  }

  #sharedOf(replica: Replica): SharedReplies | null {
    if (!this.#shares) return null
    const known = this.#replies.get(replica)
    if (known !== undefined) return known
    const { id, replies } = replica
    const shared = new SharedReplies({
      items: this.store,
      id,
      replies,
      isElsewhere: () => replica.state.header.status === 'running' && !this.#isAtWork(replica),
      isClosing: () => this.closing.aborted,
      schedule: realTime,
      open: this.#openReplies,
    })
    this.#replies.set(replica, shared)
    return shared
  }

  /** Whether a run of this engine is live, or waits for its lease. */
  isRunning(id: string): boolean {
    return this.#running.has(id)
  }

  /** Whether a run of this engine has begun: one that waits for its lease has appended nothing. */
  #isAtWork({ id, writer }: Replica): boolean {
    return writer !== null && this.#running.get(id)?.has(writer) === true
  }

  async whileRunning<T>(id: string, work: (replica: Replica, owner: string) => Promise<T>): Promise<T> {
    return this.use(id, async (replica) => {
      const owner = this.newOwner()
      const owners = this.#running.get(id) ?? new Set<string>()
      this.#running.set(id, owners.add(owner))
      try {
        return await work(replica, owner)
      } finally {
        owners.delete(owner)
        if (owners.size === 0) this.#running.delete(id)
      }
    })
  }

  async delete(id: string): Promise<boolean> {
    this.check()
    const forget = this.#replicas.forgetter(id)
    const existed = await this.await(this.store.deleteConversation(id))
    // At once: another may be made under the id from now on.
    forget()
    // Also where there was none: the call that deleted it may have failed here.
    if (this.#shares) await this.await(dropShared(this.store, id))
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
    await Promise.all([...this.#openReplies].map((shared) => shared.close()))
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
