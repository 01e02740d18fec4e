/**
 * Persistent list: versions share most nodes, so every state of a log can be retained (design D6). A balanced tree
 * of blocks, with a tail that grows in place.
 */

import { work } from './work.ts'

const WIDTH = 32

/** A block of values, or two subtrees whose heights differ by one at most. */
export type Node<T> = Block<T> | Inner<T>

interface Block<T> {
  readonly height: 0
  readonly values: readonly T[]
  readonly size: number
  readonly last: T
  /** A value that a reader of the list computed from this node. All versions with the node share the value. */
  cache?: unknown
}

interface Inner<T> {
  readonly height: number
  readonly left: Node<T>
  /** Size of the left subtree. */
  readonly middle: number
  readonly right: Node<T>
  readonly size: number
  readonly last: T
  cache?: unknown
}

/** Returns the values of the block that begins at `start`, a multiple of 32. Every call returns the same objects. */
type BlockMaker<T> = (start: number) => readonly T[]

export const isBlock = <T>(node: Node<T>): node is Block<T> => node.height === 0

/**
 * A persistent list: a change returns a new version, and old versions never change. Push is O(1) amortised; get,
 * set, range and concat are O(log n).
 * @example
 * const one = vectorOf(["a"]);
 * const two = one.push("b");
 * console.assert(one.length === 1 && two.get(1) === "b");
 */
export class Vector<T> implements Iterable<T> {
  readonly length: number
  readonly #tree: Node<T> | null
  /** Index of the first value of the tail. */
  readonly #start: number
  /** Values after the tree. Versions share this array, so a push to the newest version writes in place. */
  readonly #tail: T[]

  constructor(length: number, tree: Node<T> | null, tail: T[]) {
    this.length = length
    this.#tree = tree
    this.#start = tree?.size ?? 0
    this.#tail = tail
  }

  static empty<T>(): Vector<T> {
    return new Vector<T>(0, null, [])
  }

  /** Tree of the values before the tail. After `prefix`, it can contain values past the end. Versions share nodes. */
  get tree(): Node<T> | null {
    return this.#tree
  }

  /** Returns the value at an index, or undefined outside 0..length-1. O(log n). */
  get(index: number): T | undefined {
    if (!(index >= 0 && index < this.length)) return undefined
    if (index >= this.#start) return this.#tail[index - this.#start]
    let node = this.#tree as Node<T>
    let rest = index
    while (!isBlock(node)) {
      const { left, middle, right }: Inner<T> = node
      if (rest < middle) node = left
      else {
        rest -= middle
        node = right
      }
    }
    return node.values[rest]
  }

  /** Returns the last value, or undefined. O(1), or O(log n) after `prefix` or `range`. */
  last(): T | undefined {
    return this.get(this.length - 1)
  }

  /** Returns a version with one more value at the end. O(1) amortised. */
  push(value: T): Vector<T> {
    const used = this.length - this.#start
    work.slots += 1
    // A literal reserves one slot; pushing onto an empty array reserves seventeen, and most lists stay short.
    if (used === 0) return new Vector(this.length + 1, this.#tree, [value])
    if (used < 0 || used === WIDTH) return new Vector(this.length + 1, this.#whole(), [value])
    let tail = this.#tail
    if (tail.length !== used) {
      tail = tail.slice(0, used)
      work.slots += used
    }
    tail.push(value)
    return new Vector(this.length + 1, this.#tree, tail)
  }

  /** Returns a version with another value at an index that exists. O(log n). */
  set(index: number, value: T): Vector<T> {
    if (index < this.#start)
      return new Vector(this.length, replaced(this.#tree as Node<T>, index, value), this.#tail)
    const tail = this.tail()
    work.slots += tail.length
    tail[index - this.#start] = value
    return new Vector(this.length, this.#tree, tail)
  }

  /** Returns a list of the first `length` values. O(1), without copying. */
  prefix(length: number): Vector<T> {
    return length >= this.length ? this : new Vector(Math.max(0, length), this.#tree, this.#tail)
  }

  /** Returns the values from `from` to before `to` as a list. O(log n). */
  range(from: number, to = this.length): Vector<T> {
    if (from <= 0 && to >= this.length) return this
    if (from <= 0 && to > this.#start) return this.prefix(to)
    const [head] = split(this.#whole(), to)
    const [, rest] = split(head, from)
    return new Vector(rest?.size ?? 0, rest, [])
  }

  /** Returns this list followed by another. O(log n). */
  concat(other: Vector<T>): Vector<T> {
    if (this.length === 0) return other
    return new Vector(this.length + other.length, join(this.#whole(), other.#tree), other.#tail)
  }

  /** Returns the values from `from` (default 0) to before `to` (default: all) as an array. O(log n + result). */
  slice(from = 0, to = this.length): T[] {
    const values: T[] = []
    const start = this.#start
    const end = Math.min(to, this.length)
    if (this.#tree !== null) addValues(this.#tree, from, end, values)
    for (let index = Math.max(start, from); index < end; index += 1)
      values.push(this.#tail[index - start] as T)
    return values
  }

  /** Returns the values after the tree as a new array, at most 32. */
  tail(): T[] {
    return this.#tail.slice(0, Math.max(0, this.length - this.#start))
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let index = 0; index < this.length; index += WIDTH)
      for (const value of this.slice(index, index + WIDTH)) yield value
  }

  #whole(): Node<T> | null {
    if (this.length < this.#start) return split(this.#tree, this.length)[0]
    return join(this.#tree, blockOf(this.tail()))
  }
}

export function vectorOf<T>(values: Iterable<T>): Vector<T> {
  let vector = Vector.empty<T>()
  for (const value of values) vector = vector.push(value)
  return vector
}

/**
 * Returns a list whose last block is created at once. Each access to another block calls `valuesAt`. Not a
 * method of `Vector`, so that bundles without snapshots omit it.
 * @param valuesAt returns all 32 values from an index that is a multiple of 32, fewer at the end of the list
 */
export function lazyVector<T>(length: number, valuesAt: BlockMaker<T>): Vector<T> {
  if (length === 0) return Vector.empty()
  const blocks = Math.ceil(length / WIDTH) - 1
  const start = blocks * WIDTH
  // Copied, because a push may write into the tail, and `valuesAt` may keep its array.
  return new Vector(length, blocks === 0 ? null : lazyTree(0, blocks, valuesAt), valuesAt(start).slice())
}

function lazyTree<T>(first: number, blocks: number, valuesAt: BlockMaker<T>): Node<T> {
  if (blocks === 1) return new LazyBlock(first * WIDTH, valuesAt)
  const half = blocks >>> 1
  return new LazyInner(lazyTree(first, half, valuesAt), lazyTree(first + half, blocks - half, valuesAt))
}

/** A class, because each object literal with getters would have its own functions and hidden class. */
class LazyBlock<T> implements Block<T> {
  readonly height = 0
  readonly size = WIDTH
  readonly #start: number
  readonly #valuesAt: BlockMaker<T>

  constructor(start: number, valuesAt: BlockMaker<T>) {
    this.#start = start
    this.#valuesAt = valuesAt
  }

  get values(): readonly T[] {
    return this.#valuesAt(this.#start)
  }

  get last(): T {
    return this.values[WIDTH - 1] as T
  }
}

class LazyInner<T> implements Inner<T> {
  readonly height: number
  readonly left: Node<T>
  readonly middle: number
  readonly right: Node<T>
  readonly size: number

  constructor(left: Node<T>, right: Node<T>) {
    this.height = right.height + 1
    this.left = left
    this.middle = left.size
    this.right = right
    this.size = left.size + right.size
  }

  get last(): T {
    return this.right.last
  }
}

function blockOf<T>(values: readonly T[]): Block<T> | null {
  const size = values.length
  work.slots += size
  return size === 0 ? null : { height: 0, values, size, last: values[size - 1] as T }
}

function inner<T>(left: Node<T>, right: Node<T>): Inner<T> {
  work.slots += 1
  const height = Math.max(left.height, right.height) + 1
  const size = left.size + right.size
  return { height, left, middle: left.size, right, size, last: right.last }
}

/** Joins two trees, and balances the joined nodes again. O(difference of heights). */
function join<T>(left: Node<T> | null, right: Node<T> | null): Node<T> | null {
  if (left === null || right === null) return left ?? right
  if (isBlock(left) && isBlock(right) && left.size + right.size <= WIDTH)
    return blockOf([...left.values, ...right.values])
  if (left.height > right.height + 1) {
    const { left: far, right: near } = left as Inner<T>
    return balanced(far, join(near, right) as Node<T>)
  }
  if (right.height > left.height + 1) {
    const { left: near, right: far } = right as Inner<T>
    return balanced(join(left, near) as Node<T>, far)
  }
  return inner(left, right)
}

function balanced<T>(left: Node<T>, right: Node<T>): Node<T> {
  if (left.height > right.height + 1) {
    const { left: outer, right: middle } = left as Inner<T>
    if (outer.height >= middle.height) return inner(outer, inner(middle, right))
    const { left: one, right: other } = middle as Inner<T>
    return inner(inner(outer, one), inner(other, right))
  }
  if (right.height > left.height + 1) {
    const { left: middle, right: outer } = right as Inner<T>
    if (outer.height >= middle.height) return inner(inner(left, middle), outer)
    const { left: one, right: other } = middle as Inner<T>
    return inner(inner(left, one), inner(other, outer))
  }
  return inner(left, right)
}

/** Splits a tree into the values before an index and the values from this index on. O(log n). */
function split<T>(node: Node<T> | null, index: number): readonly [Node<T> | null, Node<T> | null] {
  if (node === null || index <= 0) return [null, node]
  if (index >= node.size) return [node, null]
  if (isBlock(node)) {
    const { values } = node
    return [blockOf(values.slice(0, index)), blockOf(values.slice(index))]
  }
  const { left, right } = node
  if (index <= left.size) {
    const [before, after] = split(left, index)
    return [before, join(after, right)]
  }
  const [before, after] = split(right, index - left.size)
  return [join(left, before), after]
}

/** Adds a tree's values from `from` to before `to` to the array `values`. O(log n + values). */
function addValues<T>(node: Node<T>, from: number, to: number, values: T[]): void {
  if (from >= node.size || to <= 0) return
  if (isBlock(node)) values.push(...node.values.slice(Math.max(0, from), to))
  else {
    const { left, right } = node
    addValues(left, from, to, values)
    addValues(right, from - left.size, to - left.size, values)
  }
}

function replaced<T>(node: Node<T>, index: number, value: T): Node<T> {
  if (isBlock(node)) return blockOf(node.values.with(index, value)) as Block<T>
  const { left, right } = node
  return index < left.size
    ? inner(replaced(left, index, value), right)
    : inner(left, replaced(right, index - left.size, value))
}
