/** The conversations of one engine in memory: an id goes in, its replica comes out, kept while it is used and for as long after as memory allows. */

import { LRUCache } from 'lru-cache'
import type { Store } from '../store/store.ts'
import type { Stamp } from './draft.ts'
import { Replica } from './replica.ts'

interface Busy {
  readonly replica: Promise<Replica>
  /** The same, once it is open. */
  open: Replica | null
  users: number
}

/** A replica that stays in memory until `release` is called. */
export interface Pinned {
  readonly replica: Replica
  readonly release: () => void
}

/**
 * Replicas by conversation. One that is used is never let go; idle ones are, the longest unused first, when together they take more
 * memory than they may. Nothing is lost by it: what is asked for again is opened again.
 */
export class Replicas {
  readonly #store: Store
  readonly #stamp: Stamp
  readonly #busy = new Map<string, Busy>()
  readonly #idle: LRUCache<string, Replica>

  /** @param bytes what idle replicas may take together */
  constructor(store: Store, stamp: Stamp, bytes: number) {
    this.#store = store
    this.#stamp = stamp
    this.#idle = new LRUCache({ maxSize: bytes, sizeCalculation: (replica) => replica.bytes })
  }

  /** How many conversations are in memory. */
  get size(): number {
    return this.#busy.size + this.#idle.size
  }

  /** The replica of a conversation that is used at the moment, or null. */
  inUse(id: string): Replica | null {
    return this.#busy.get(id)?.open ?? null
  }

  /** Does a work with a conversation. @throws ColloquyError `unknown_conversation`, and what the work throws. */
  async use<T>(id: string, work: (replica: Replica) => Promise<T>): Promise<T> {
    const { replica, release } = await this.pin(id)
    try {
      return await work(replica)
    } finally {
      release()
    }
  }

  /** Keeps a conversation in memory until it is released. @throws ColloquyError `unknown_conversation`. */
  async pin(id: string): Promise<Pinned> {
    const busy = this.#busy.get(id) ?? this.#open(id)
    busy.users += 1
    let held = true
    const release = (): void => {
      if (!held) return
      held = false
      busy.users -= 1
      if (busy.users === 0) this.#leave(id, busy)
    }
    try {
      busy.open = await busy.replica
      return { replica: busy.open, release }
    } catch (error) {
      release()
      throw error
    }
  }

  /** Forgets a conversation, which was deleted. */
  forget(id: string): void {
    this.inUse(id)?.leave()
    this.#busy.delete(id)
    this.#idle.delete(id)
  }

  /** Waits for what is under way, and forgets all. */
  async clear(): Promise<void> {
    const all = [...[...this.#busy.values()].map(({ replica }) => replica), ...this.#idle.values()]
    await Promise.allSettled(all.map(async (replica) => (await replica).settle()))
    this.#busy.clear()
    this.#idle.clear()
  }

  #open(id: string): Busy {
    const idle = this.#idle.get(id)
    this.#idle.delete(id)
    const replica = idle === undefined ? Replica.open(this.#store, this.#stamp, id) : Promise.resolve(idle)
    const busy: Busy = { replica, open: idle ?? null, users: 0 }
    this.#busy.set(id, busy)
    return busy
  }

  #leave(id: string, busy: Busy): void {
    const { open } = busy
    if (this.#busy.get(id) !== busy) return
    if (open?.isDue !== true) return this.#rest(id, busy)
    // Whoever was given the state comes first; then it is made small, and only then weighed.
    setTimeout(() => void open.settle().then(() => this.#rest(id, busy)), 0)
  }

  #rest(id: string, busy: Busy): void {
    if (busy.users > 0 || this.#busy.get(id) !== busy) return
    this.#busy.delete(id)
    if (busy.open !== null) this.#idle.set(id, busy.open)
  }
}
