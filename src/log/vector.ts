/** Persistent vector: versions share most slots, so each event's state can be retained (design D6). */

import { work } from './work.ts'

const BITS = 5
const WIDTH = 1 << BITS
const MASK = WIDTH - 1

/** An inner node contains nodes, a leaf contains values. The level decides which. */
type Node = readonly unknown[]

/** Makes a leaf on access: the values between two multiples of 32, always the same objects. */
type LeafMaker<T> = (start: number) => readonly T[]

const NO_NODES: Node = Object.freeze([])

/**
 * A persistent list: a change returns a new version, and old versions never change. A trie with 32 children
 * per node. Push is O(1) amortised; get and prefix are O(log n).
 * @example
 * const one = vectorOf(["a"]);
 * const two = one.push("b");
 * console.assert(one.length === 1 && two.get(1) === "b");
 */
export class Vector<T> implements Iterable<T> {
  readonly length: number
  readonly #shift: number
  readonly #root: Node
  /** Index of the first value of the tail. */
  readonly #start: number
  readonly #tail: T[]

  constructor(length: number, shift: number, root: Node, tail: T[]) {
    this.length = length
    this.#shift = shift
    this.#root = root
    this.#start = length === 0 ? 0 : ((length - 1) >>> BITS) << BITS
    this.#tail = tail
  }

  static empty<T>(): Vector<T> {
    // A fresh tail for each caller: the first push owns it.
    return new Vector<T>(0, BITS, NO_NODES, [])
  }

  /** Returns the value at an index, or undefined outside 0..length-1. O(log32 n). */
  get(index: number): T | undefined {
    if (index < 0 || index >= this.length) return undefined
    return this.#leaf(index)[index & MASK]
  }

  /** Returns the last value, or undefined. O(1). */
  last(): T | undefined {
    return this.length === 0 ? undefined : this.#tail[(this.length - 1) & MASK]
  }

  /** Returns a version with one more value at the end. O(1) amortised. */
  push(value: T): Vector<T> {
    const used = this.length - this.#start
    if (used === 0) {
      // A literal reserves one slot; pushing onto an empty array reserves seventeen, and most vectors stay
      // short.
      work.slots += 1
      return new Vector(1, this.#shift, this.#root, [value])
    }
    if (used < WIDTH) {
      let tail = this.#tail
      if (tail.length !== used) {
        tail = tail.slice(0, used)
        work.slots += used
      }
      tail.push(value)
      work.slots += 1
      return new Vector(this.length + 1, this.#shift, this.#root, tail)
    }
    work.slots += 1
    if (this.length >>> BITS > 1 << this.#shift) {
      work.slots += 2
      const root = [this.#root, spine(this.#shift, this.#tail)]
      return new Vector(this.length + 1, this.#shift + BITS, root, [value])
    }
    const root = withLeaf(this.#root, this.#shift, this.#start, this.#tail)
    return new Vector(this.length + 1, this.#shift, root, [value])
  }

  /** Returns a vector of the first `length` values. O(log32 n), without copying. */
  prefix(length: number): Vector<T> {
    if (length >= this.length) return this
    if (length <= 0) return Vector.empty()
    return new Vector(length, this.#shift, this.#root, this.#leaf(length - 1))
  }

  /** Returns the values from `from` (default 0) to before `to` (default: all) as an array. O(result). */
  slice(from = 0, to = this.length): T[] {
    const end = Math.min(to, this.length)
    const out: T[] = []
    for (let index = Math.max(0, from); index < end;) {
      const leaf = this.#leaf(index)
      const stop = Math.min(end, (index | MASK) + 1)
      for (; index < stop; index += 1) out.push(leaf[index & MASK] as T)
    }
    return out
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let index = 0; index < this.length;) {
      const leaf = this.#leaf(index)
      const stop = Math.min(this.length, (index | MASK) + 1)
      for (; index < stop; index += 1) yield leaf[index & MASK] as T
    }
  }

  #leaf(index: number): T[] {
    if (index >= this.#start) return this.#tail
    let node: Node = this.#root
    for (let level = this.#shift; level > 0; level -= BITS) {
      node = node[(index >>> level) & MASK] as Node
    }
    const leaf = node as Node | LeafMaker<T>
    return (typeof leaf === 'function' ? leaf(index & ~MASK) : leaf) as T[]
  }
}

export function vectorOf<T>(values: Iterable<T>): Vector<T> {
  let vector = Vector.empty<T>()
  for (const value of values) vector = vector.push(value)
  return vector
}

/**
 * Returns a vector that calls `leafAt` on each access, except to the last leaf, which is made at once. Not a
 * method of `Vector`, because only snapshots use it.
 * @param leafAt returns all 32 values from an index that is a multiple of 32, fewer at the end of the vector
 */
export function lazyVector<T>(length: number, leafAt: LeafMaker<T>): Vector<T> {
  if (length === 0) return Vector.empty()
  const start = ((length - 1) >>> BITS) << BITS
  let nodes: unknown[] = Array.from({ length: start >>> BITS }, () => leafAt)
  let shift = 0
  do {
    const count = Math.ceil(nodes.length / WIDTH)
    const above: Node[] = []
    for (let index = 0; index < count; index += 1) above.push(nodes.slice(index * WIDTH, (index + 1) * WIDTH))
    nodes = above
    shift += BITS
  } while (nodes.length > 1)
  // The maker may retain its leaf, and a push may write into this one.
  return new Vector(length, shift, (nodes[0] ?? NO_NODES) as Node, leafAt(start).slice())
}

function spine(level: number, leaf: Node): Node {
  if (level === 0) return leaf
  work.slots += 1
  return [spine(level - BITS, leaf)]
}

/** Returns the trie with a leaf at `index`, the index of the leaf's first value. Omits later leaves. */
function withLeaf(node: Node, level: number, index: number, leaf: Node): Node {
  const slot = (index >>> level) & MASK
  const copy = node.slice(0, slot)
  work.slots += slot + 1
  if (level === BITS) copy.push(leaf)
  else if (slot < node.length) {
    copy.push(withLeaf(node[slot] as Node, level - BITS, index, leaf))
  } else copy.push(spine(level - BITS, leaf))
  return copy
}
