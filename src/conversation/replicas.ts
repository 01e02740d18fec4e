/** The cache of an engine: replicas in use are pinned, idle ones evicted by size, the least recently used first. */

import { LRUCache } from 'lru-cache'
import type { Store } from '../store/contract/store.ts'
import type { Stamp } from './stamp.ts'
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
 * Replicas by conversation. One that is used is never evicted; idle ones are, the longest unused first, when together
 * they take more memory than they may. Nothing is lost by it: what is asked for again is opened again. Where one alone
 * takes more, the last of such that was used stays all the same, or it would be read from the store at every call.
 */
export class Replicas {
  readonly #store: Store
  readonly #stamp: Stamp
  readonly #busy = new Map<string, Busy>()
  readonly #idle: LRUCache<string, Replica>
  readonly #bytes: number
  /** The last used of those that are larger than all that may be kept. */
  #oversized: { readonly id: string; readonly replica: Replica } | null = null

  /** @param bytes what idle replicas may take together; 0: none is kept */
  constructor(store: Store, stamp: Stamp, bytes: number) {
    this.#store = store
    this.#stamp = stamp
    this.#bytes = bytes
    this.#idle = new LRUCache({ maxSize: Math.max(1, bytes), sizeCalculation: (replica) => replica.bytes })
  }

  /** How many conversations are in memory. */
  get size(): number {
    return this.#busy.size + this.#idle.size + (this.#oversized === null ? 0 : 1)
  }

  /** The replica of a conversation that is in use, or null. */
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

  /** What forgets a conversation as it is now, once it was deleted; not one that was made anew under its id by then. */
  forgetter(id: string): () => void {
    const busy = this.#busy.get(id)
    const idle = this.#oversized?.id === id ? this.#oversized.replica : this.#idle.peek(id)
    const replica = busy === undefined ? idle : busy.open
    const epoch = replica?.epoch
    return () => {
      if (replica?.epoch === epoch) replica?.leave()
      // It is being opened, as whatever it will be found to be.
      if (replica === null && this.#busy.get(id) === busy) this.#busy.delete(id)
    }
  }

  /** Waits for what is under way, and forgets all. */
  async clear(): Promise<void> {
    const idle = [...this.#idle.values(), ...(this.#oversized === null ? [] : [this.#oversized.replica])]
    const all = [...[...this.#busy.values()].map(({ replica }) => replica), ...idle]
    await Promise.allSettled(all.map(async (replica) => (await replica).settle()))
    this.#busy.clear()
    this.#idle.clear()
    this.#oversized = null
  }

  #open(id: string): Busy {
    const idle = this.#take(id)
    const replica = idle === undefined ? this.#read(id) : Promise.resolve(idle)
    const busy: Busy = { replica, open: idle ?? null, users: 0 }
    this.#busy.set(id, busy)
    return busy
  }

  async #read(id: string): Promise<Replica> {
    const replica = await Replica.open(this.#store, this.#stamp, id)
    // Found deleted it stays so, and another conversation may be made under its id.
    replica.gone.addEventListener('abort', () => this.#drop(replica), { once: true })
    return replica
  }

  #drop(replica: Replica): void {
    const { id } = replica
    if (this.#busy.get(id)?.open === replica) this.#busy.delete(id)
    if (this.#idle.peek(id) === replica) this.#idle.delete(id)
    if (this.#oversized?.replica === replica) this.#oversized = null
  }

  #leave(id: string, busy: Busy): void {
    const { open } = busy
    if (this.#busy.get(id) !== busy) return
    if (open?.isDue !== true) return this.#rest(id, busy)
    // The caller that was given the state comes first; then it is made small, and only then weighed.
    setTimeout(() => void open.settle().then(() => this.#rest(id, busy)), 0)
  }

  #rest(id: string, busy: Busy): void {
    if (busy.users > 0 || this.#busy.get(id) !== busy) return
    this.#busy.delete(id)
    if (busy.open === null || this.#bytes === 0) return
    if (busy.open.bytes > this.#bytes) this.#oversized = { id, replica: busy.open }
    else this.#idle.set(id, busy.open)
  }

  /** An idle one, which is no longer among them. */
  #take(id: string): Replica | undefined {
    const oversized = this.#oversized?.id === id ? this.#oversized.replica : undefined
    if (oversized !== undefined) this.#oversized = null
    const replica = oversized ?? this.#idle.get(id)
    this.#idle.delete(id)
    return replica
  }
}
