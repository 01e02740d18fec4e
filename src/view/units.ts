/**
 * The units of a view: what they are (U1, U2), stretches of them (U5), and their persistent sequence, a balanced
 * tree of blocks with a tail that grows in place.
 */

import type { EventWith } from '../event/kinds.ts'
import { earlyEndOf, waitsOf } from '../event/reply.ts'
import type { ActionEvent, Event, ToolResultEvent } from '../event/types.ts'
import type { EventEntry, UnitOrder } from '../log/entry.ts'
import type { PendingCallIndex } from '../log/open-calls.ts'
import type { Vector } from '../log/vector.ts'
import { work } from '../log/work.ts'

/** One event of the view. A derived summary has no position in the log. */
export interface ViewItem<E extends Event = Event> {
  readonly id: string
  readonly event: E
}

/** A system prompt, a message or a summary (U1). */
export interface MessageUnit extends UnitOrder {
  readonly type: 'message'
  readonly item: ViewItem<EventWith<'unit', 'message'>>
  readonly completes?: EventEntry<ActionEvent>
  readonly summaryOf?: number
}

/** A tool result and the call it ends. */
export interface CallResult {
  readonly entry: EventEntry<ToolResultEvent>
  readonly call: EventEntry<ActionEvent>
}

/** A reply of the model that calls tools: its calls and their results, both in log order (U2). */
export interface BatchUnit extends UnitOrder {
  readonly type: 'batch'
  readonly responseId: string
  readonly calls: Vector<EventEntry<ActionEvent>>
  readonly byCallId: PendingCallIndex
  readonly results: Vector<CallResult>
  /** Whether a call has thinking blocks, so that the batch starts a thinking loop (U5). */
  readonly thinking: boolean
  readonly onlyErrors: boolean
}

/** A unit of the view: a message, system prompt or summary, or a tool batch. */
export type Unit = MessageUnit | BatchUnit

export const isDerived = (unit: MessageUnit): boolean => !('seq' in unit.item)

/**
 * Whether a unit is a batch with a call that has no result. Such a batch is not in the view (U4).
 * @example
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user',
 *   content: [{ text: 'hi' }] } }])
 * isPending(state.branch.view.units.get(0)) // false
 */
export const isPending = (unit: Unit): boolean =>
  unit.type === 'batch' && unit.results.length < unit.calls.length

/** Returns the number of view events of a unit: 0 for a pending batch. O(1). */
export function eventCount(unit: Unit): number {
  if (unit.type === 'message') return 1
  return isPending(unit) ? 0 : unit.calls.length + unit.results.length
}

/**
 * Yields the events of a unit, pending or not: calls, then results, each in log order (U9). O(events).
 * @example
 * const state = replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message: { role: 'user',
 *   content: [{ text: 'hi' }] } }])
 * [...unitEvents(state.branch.view.units.get(0))].map((item) => item.id) // ['m']
 */
export function* unitEvents(unit: Unit): IterableIterator<ViewItem> {
  if (unit.type === 'message') {
    yield unit.item
    return
  }
  yield* unit.calls
  for (const result of unit.results) yield result.entry
}

/** A stretch that is still open (U5). */
interface Stretch {
  readonly loop: boolean
  readonly paused: boolean
  readonly waits: number
}

const NO_STRETCH: Stretch = { loop: false, paused: false, waits: 0 }

/** Effect of units on the open stretch before them. A few sums yield the stretch at any index. */
interface Flow {
  /** Whether a thinking loop is open after the units; null if the units do not change this. */
  readonly loop: boolean | null
  readonly paused: boolean | null
  /** Waiting calls after the units: the number before the units plus `added`, but at least `floor`. */
  readonly floor: number
  readonly added: number
  /**
   * Minimum number of waiting calls before the units that lets the units continue the stretch: `plain`, while
   * a loop is open, after a pause, and for both.
   */
  readonly joins: readonly [plain: number, loop: number, paused: number, both: number]
}

const NEVER = Infinity
/** Maximum change of the waiting calls by one reply, so that sums are exact in any order. */
const MAX_WAITS = 2 ** 31
const NO_FLOW: Flow = { loop: null, paused: null, floor: 0, added: 0, joins: [0, 0, 0, 0] }

const loopKey = (loop: boolean, paused: boolean): number => (loop ? 1 : 0) + (paused ? 2 : 0)

/**
 * Returns the effect of a unit (U5). A pending batch may continue a reply, but belongs to no thinking loop,
 * and nothing continues it.
 */
export function flowOf(unit: Unit): Flow {
  const reply = replyIn(unit)
  if (reply === null) return { ...ENDS, joins: [NEVER, NEVER, NEVER, NEVER] }
  if (isPending(unit)) return { ...ENDS, joins: [1, 1, 0, 0] }
  const isBatch = unit.type === 'batch'
  const thinking = isBatch && unit.thinking
  const isOfLoop = isBatch && !thinking
  const paused = earlyEndOf(reply) === 'paused'
  // Text alone is only continued when it was paused.
  const added = isBatch || paused ? Math.max(-MAX_WAITS, Math.min(waitsOf(reply), MAX_WAITS)) : -Infinity
  const loop = thinking ? true : isBatch ? null : false
  return { loop, paused, floor: 0, added, joins: [1, isOfLoop ? 0 : 1, 0, 0] }
}

/** Flow of a unit that no reply continues. */
const ENDS = { loop: false, paused: false, floor: 0, added: -Infinity }

const afterFlow = ({ loop, paused, waits }: Stretch, flow: Flow): Stretch => ({
  loop: flow.loop ?? loop,
  paused: flow.paused ?? paused,
  waits: Math.max(flow.floor, waits + flow.added),
})

export const hasStart = ({ loop, paused, waits }: Stretch, { joins }: Flow): boolean =>
  waits < (joins[loopKey(loop, paused)] as number)

const sumFlows = (flows: readonly Flow[]): Flow => flows.reduce(sum, NO_FLOW)

function sum(one: Flow, other: Flow): Flow {
  if (one === NO_FLOW) return other
  const joinsAt = (loop: boolean, paused: boolean): number => {
    const ownValue = one.joins[loopKey(loop, paused)] as number
    const needed = other.joins[loopKey(one.loop ?? loop, one.paused ?? paused)] as number
    return Math.max(ownValue, needed <= one.floor ? 0 : needed - one.added)
  }
  return {
    loop: other.loop ?? one.loop,
    paused: other.paused ?? one.paused,
    floor: Math.max(other.floor, one.floor + other.added),
    added: one.added + other.added,
    joins: [joinsAt(false, false), joinsAt(true, false), joinsAt(false, true), joinsAt(true, true)],
  }
}

/** Returns, for each unit, the index at which its stretch starts, usually the unit's own index. O(units). */
export function stretchStarts(units: readonly Unit[]): Int32Array {
  const starts = new Int32Array(units.length)
  let start = 0
  let stretch = NO_STRETCH
  for (const [index, unit] of units.entries()) {
    const flow = flowOf(unit)
    if (hasStart(stretch, flow)) start = index
    starts[index] = start
    stretch = afterFlow(stretch, flow)
  }
  return starts
}

/** Whether a unit is not a reply of the model: such a unit is a stretch of its own. */
export const isNoReply = (unit: Unit): boolean => replyIn(unit) === null

function replyIn(unit: Unit): Event | null {
  if (unit.type === 'batch') return unit.calls.get(0)?.event ?? null
  const { event } = unit.item
  return event.kind === 'MessageEvent' && event.source === 'agent' ? event : null
}

const WIDTH = 32

/** A block of units, or two subtrees whose heights differ by one at most. */
export type Node = LeafNode | Inner

interface Totals {
  readonly events: number
  readonly flow: Flow
}

interface LeafNode {
  readonly height: 0
  readonly units: readonly Unit[]
  readonly size: number
  readonly last: Unit
  totals: Totals | null
}

interface Inner {
  readonly height: number
  readonly left: Node
  readonly right: Node
  readonly size: number
  readonly last: Unit
  totals: Totals | null
}

/**
 * A persistent sequence of units. Push is O(1) amortised; get, set, split, join, and searches for a unit, an
 * event's index or a stretch's end are O(log n).
 *
 * Versions are immutable and share the tail, as in a `Vector`: a push to the newest version writes in place.
 */
export class Units implements Iterable<Unit> {
  readonly length: number
  /** All units before the tail. Versions are compared by the nodes that they share. */
  readonly tree: Node | null
  readonly #tail: Unit[]

  private constructor(length: number, tree: Node | null, tail: Unit[]) {
    this.length = length
    this.tree = tree
    this.#tail = tail
  }

  static empty(): Units {
    return new Units(0, null, [])
  }

  /** Returns the unit at an index, or undefined outside 0..length-1. O(log n). */
  get(index: number): Unit | undefined {
    if (index < 0 || index >= this.length) return undefined
    const start = this.tree?.size ?? 0
    if (index >= start) return this.#tail[index - start]
    let node = this.tree as Node
    let rest = index
    while (node.height > 0) {
      const { left, right } = node as Inner
      if (rest < left.size) node = left
      else {
        rest -= left.size
        node = right
      }
    }
    return (node as LeafNode).units[rest]
  }

  /** Returns the last unit, or undefined. O(1). */
  last(): Unit | undefined {
    const start = this.tree?.size ?? 0
    return this.length > start ? this.#tail[this.length - start - 1] : this.tree?.last
  }

  /** Returns a version with one more unit at the end. O(1) amortised. */
  push(unit: Unit): Units {
    const used = this.length - (this.tree?.size ?? 0)
    work.slots += 1
    if (used === 0) return new Units(this.length + 1, this.tree, [unit])
    if (used === WIDTH) return new Units(this.length + 1, this.#whole(), [unit])
    let tail = this.#tail
    if (tail.length !== used) {
      tail = tail.slice(0, used)
      work.slots += used
    }
    tail.push(unit)
    return new Units(this.length + 1, this.tree, tail)
  }

  /** Returns a version with another unit at an index that exists. O(log n). */
  set(index: number, unit: Unit): Units {
    const start = this.tree?.size ?? 0
    if (index < start) return new Units(this.length, replaced(this.tree as Node, index, unit), this.#tail)
    const tail = this.#tail.slice(0, this.length - start)
    work.slots += tail.length
    tail[index - start] = unit
    return new Units(this.length, this.tree, tail)
  }

  /** Returns the units from `from` to before `to` as a sequence. O(log n). */
  range(from: number, to = this.length): Units {
    if (from <= 0 && to >= this.length) return this
    if (from <= 0 && to > (this.tree?.size ?? 0)) return new Units(to, this.tree, this.#tail)
    const [head] = split(this.#whole(), to)
    const [, rest] = split(head, Math.max(0, from))
    return new Units(rest?.size ?? 0, rest, [])
  }

  /** Returns this sequence followed by another. O(log n). */
  concat(other: Units): Units {
    if (this.length === 0) return other
    const tree = join(this.#whole(), other.tree)
    return new Units(this.length + other.length, tree, other.#tail)
  }

  /** Returns the units from `from` (default 0) to before `to` (default the length) as an array. O(log n + result). */
  slice(from = 0, to = this.length): Unit[] {
    return [...this.range(from, to).#blocks()].flat()
  }

  *[Symbol.iterator](): IterableIterator<Unit> {
    for (const block of this.#blocks()) yield* block
  }

  /** Returns the index of the first unit that is not before an order, else the length. O(log n). */
  indexOf(order: UnitOrder): number {
    let index = 0
    let node = this.tree
    if (node !== null && isUnitBefore(node.last, order)) {
      index = node.size
      node = null
    }
    while (node !== null && node.height > 0) {
      work.units += 1
      const { left, right } = node as Inner
      const isRight: boolean = isUnitBefore(left.last, order)
      if (isRight) index += left.size
      node = isRight ? right : left
    }
    const units = node === null ? this.#tail : (node as LeafNode).units
    for (const unit of units) {
      work.units += 1
      if (index === this.length || !isUnitBefore(unit, order)) break
      index += 1
    }
    return index
  }

  /** Returns the first index with at least this many view events before it, else the length. O(log n). */
  indexAfter(events: number): number {
    let index = 0
    let rest = events
    for (const { size, totals } of this.#parts((part) => part.events < rest)) {
      if (rest <= 0) break
      rest -= totals.events
      index += size
    }
    return index
  }

  /** Returns the open stretch before an index (U5). O(log n). */
  stretchBefore(index: number): Stretch {
    let stretch = NO_STRETCH
    let end = 0
    for (const { size, totals } of this.#parts((_, count) => end + count <= index)) {
      end += size
      if (end > index) break
      stretch = afterFlow(stretch, totals.flow)
    }
    return stretch
  }

  /** Returns the first index from `from` at which a stretch starts, else the length. O(log n). */
  nextStart(from: number): number {
    let stretch = NO_STRETCH
    let index = 0
    const skips = (flow: Flow, size: number): boolean => index + size <= from || !hasStart(stretch, flow)
    for (const { size, totals } of this.#parts((part, count) => skips(part.flow, count))) {
      if (!skips(totals.flow, size)) break
      stretch = afterFlow(stretch, totals.flow)
      index += size
    }
    return index
  }

  #whole(): Node | null {
    return join(this.tree, blockOf(this.#tail.slice(0, this.length - (this.tree?.size ?? 0))))
  }

  *#blocks(): IterableIterator<readonly Unit[]> {
    const stack: Node[] = this.tree === null ? [] : [this.tree]
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      if (node.height === 0) yield (node as LeafNode).units
      else stack.push((node as Inner).right, (node as Inner).left)
    }
    yield this.#tail.slice(0, this.length - (this.tree?.size ?? 0))
  }

  /** Yields parts that cover all units in order: subtrees for which `skips` is true, or single units. */
  *#parts(skips: (totals: Totals, size: number) => boolean): IterableIterator<Part> {
    const stack: Node[] = this.tree === null ? [] : [this.tree]
    for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
      work.units += 1
      const totals = totalsIn(node)
      if (skips(totals, node.size)) yield { size: node.size, totals }
      else if (node.height === 0) yield* singles((node as LeafNode).units)
      else stack.push((node as Inner).right, (node as Inner).left)
    }
    yield* singles(this.#tail.slice(0, this.length - (this.tree?.size ?? 0)))
  }
}

interface Part {
  readonly size: number
  readonly totals: Totals
}

function* singles(units: readonly Unit[]): IterableIterator<Part> {
  for (const unit of units) yield { size: 1, totals: totalsOf([unit]) }
}

const isUnitBefore = (unit: Unit, order: UnitOrder): boolean =>
  unit.rank !== order.rank
    ? unit.rank < order.rank
    : unit.first !== order.first
      ? unit.first < order.first
      : (unit.tie ?? 0) < (order.tie ?? 0)

function totalsOf(units: readonly Unit[]): Totals {
  work.units += units.length
  let events = 0
  for (const unit of units) events += eventCount(unit)
  return { events, flow: sumFlows(units.map(flowOf)) }
}

function totalsIn(node: Node): Totals {
  if (node.totals !== null) return node.totals
  if (node.height === 0) node.totals = totalsOf((node as LeafNode).units)
  else {
    const [left, right] = [totalsIn((node as Inner).left), totalsIn((node as Inner).right)]
    node.totals = { events: left.events + right.events, flow: sumFlows([left.flow, right.flow]) }
  }
  return node.totals
}

function blockOf(units: readonly Unit[]): LeafNode | null {
  const last = units.at(-1)
  work.slots += units.length
  return last === undefined ? null : { height: 0, units, size: units.length, last, totals: null }
}

function inner(left: Node, right: Node): Inner {
  work.slots += 1
  const height = Math.max(left.height, right.height) + 1
  return { height, left, right, size: left.size + right.size, last: right.last, totals: null }
}

/** Joins two trees; restores the balance along the border. O(difference of heights). */
function join(left: Node | null, right: Node | null): Node | null {
  if (left === null || right === null) return left ?? right
  if (left.height === 0 && right.height === 0 && left.size + right.size <= WIDTH)
    return blockOf([...(left as LeafNode).units, ...(right as LeafNode).units])
  if (left.height > right.height + 1) {
    const { left: far, right: near } = left as Inner
    return balanced(far, join(near, right) as Node)
  }
  if (right.height > left.height + 1) {
    const { left: near, right: far } = right as Inner
    return balanced(join(left, near) as Node, far)
  }
  return inner(left, right)
}

function balanced(left: Node, right: Node): Node {
  if (left.height > right.height + 1) {
    const { left: outer, right: middle } = left as Inner
    if (outer.height >= middle.height) return inner(outer, inner(middle, right))
    const { left: one, right: other } = middle as Inner
    return inner(inner(outer, one), inner(other, right))
  }
  if (right.height > left.height + 1) {
    const { left: middle, right: outer } = right as Inner
    if (outer.height >= middle.height) return inner(inner(left, middle), outer)
    const { left: one, right: other } = middle as Inner
    return inner(inner(left, one), inner(other, outer))
  }
  return inner(left, right)
}

/** Splits a tree into the trees before an index and from it. O(log n). */
function split(node: Node | null, index: number): readonly [Node | null, Node | null] {
  if (node === null || index <= 0) return [null, node]
  if (index >= node.size) return [node, null]
  if (node.height === 0) {
    const { units } = node as LeafNode
    return [blockOf(units.slice(0, index)), blockOf(units.slice(index))]
  }
  const { left, right } = node as Inner
  if (index <= left.size) {
    const [before, after] = split(left, index)
    return [before, join(after, right)]
  }
  const [before, after] = split(right, index - left.size)
  return [join(left, before), after]
}

function replaced(node: Node, index: number, unit: Unit): Node {
  if (node.height === 0) return blockOf((node as LeafNode).units.with(index, unit)) as LeafNode
  const { left, right } = node as Inner
  return index < left.size
    ? inner(replaced(left, index, unit), right)
    : inner(left, replaced(right, index - left.size, unit))
}

/** Returns the number of view events. O(1), but O(log n) at first for a range of another sequence. */
export const eventsIn = (units: Units): number =>
  units
    .slice(units.tree?.size)
    .reduce((sum, unit) => sum + eventCount(unit), units.tree === null ? 0 : totalsIn(units.tree).events)

export function unitsOf(list: Iterable<Unit>): Units {
  let units = Units.empty()
  for (const unit of list) units = units.push(unit)
  return units
}

/** Returns the order of a unit whose first event is at `first`, for insertion before `index`. O(log n). */
export const orderAt = (units: Units, index: number, first: number): UnitOrder => ({
  rank: index === units.length ? first : (units.get(index - 1)?.rank ?? -1),
  first,
})
