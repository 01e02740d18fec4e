/**
 * Sockets that have not shown a key have places of their own, so that they never take those of callers who have one.
 */

/** How many there may be. */
export interface UnauthenticatedBounds {
  readonly total: number
  readonly perAddress: number
}

/** The longest waiting gives its place to the newest, so that who shows a key at once gets in, however many wait. */
export class Unauthenticated<T> {
  readonly #bounds: UnauthenticatedBounds
  readonly #evict: (socket: T) => void
  /** By address, the longest waiting first. */
  readonly #waiting = new Map<string, Set<T>>()
  #size = 0

  constructor(bounds: UnauthenticatedBounds, evict: (socket: T) => void) {
    this.#bounds = bounds
    this.#evict = evict
  }

  get size(): number {
    return this.#size
  }

  /** All of them. */
  *[Symbol.iterator](): Generator<T> {
    for (const sockets of this.#waiting.values()) yield* sockets
  }

  /** Adds one; returns what takes it out. O(1), and O(addresses) where all places are taken. */
  add(address: string, socket: T): () => void {
    const own = this.#waiting.get(address)
    if (own !== undefined && own.size >= this.#bounds.perAddress) this.#evictOldest(address, own)
    else if (this.#size >= this.#bounds.total) this.#evictOldest(...this.#largest())
    const sockets = this.#waiting.get(address) ?? new Set()
    this.#waiting.set(address, sockets.add(socket))
    this.#size += 1
    return () => this.#remove(address, socket)
  }

  /** Of those who hold the most places, so that one address never costs another its own. */
  #largest(): [string, Set<T>] {
    let found: [string, Set<T>] = ['', new Set()]
    for (const entry of this.#waiting) if (entry[1].size > found[1].size) found = entry
    return found
  }

  #evictOldest(address: string, sockets: ReadonlySet<T>): void {
    const [oldest] = sockets
    if (oldest === undefined) return
    this.#remove(address, oldest)
    this.#evict(oldest)
  }

  #remove(address: string, socket: T): void {
    const sockets = this.#waiting.get(address)
    if (sockets?.delete(socket) !== true) return
    this.#size -= 1
    if (sockets.size === 0) this.#waiting.delete(address)
  }
}
