/** Units of a view (U1, U2), their stretches (U5), and searches in a list of units. */

import type { EventWith } from '../event/kinds.ts'
import { earlyEndOf, waitsOf } from '../event/reply.ts'
import type { ActionEvent, Event, ToolResultEvent } from '../event/types.ts'
import type { EventEntry, UnitOrder } from '../log/entry.ts'
import type { PendingCallIndex } from '../log/open-calls.ts'
import { isBlock, type Node, type Vector } from '../log/vector.ts'
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

/** A model's reply with tool calls: the calls and the results of these calls, both in log order (U2). */
export interface BatchUnit extends UnitOrder {
  readonly type: 'batch'
  readonly responseId: string
  readonly calls: Vector<EventEntry<ActionEvent>>
  readonly byCallId: PendingCallIndex
  readonly results: Vector<CallResult>
  /** Whether any of the calls has thinking blocks. If so, the batch starts a thinking loop (U5). */
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

export function eventCount(unit: Unit): number {
  if (unit.type === 'message') return 1
  return isPending(unit) ? 0 : unit.calls.length + unit.results.length
}

/**
 * Yields the events of a unit, even of a pending one: calls, then results, each in log order (U9). O(events).
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

/** A stretch that the next unit may continue (U5). */
interface Stretch {
  readonly loop: boolean
  readonly paused: boolean
  readonly waits: number
}

const NO_STRETCH: Stretch = { loop: false, paused: false, waits: 0 }

/** Effect of units on the open stretch before them. Flows can be summed to find the stretch at any index. */
export interface Flow {
  /** Whether a thinking loop (U5) is open after the units; null if the units do not change this. */
  readonly loop: boolean | null
  readonly paused: boolean | null
  /** If n calls of the provider's tools lack results before the units, max(`floor`, n + `added`) lack them after. */
  readonly floor: number
  readonly added: number
  /**
   * Minimum number of calls of the provider's tools that lack results before the units, so that the units
   * continue the open stretch (U5). Each kind of stretch has its number: `loop` if a thinking loop is open,
   * `paused` after a paused reply, `both` if both apply, else `plain`.
   */
  readonly joins: readonly [plain: number, loop: number, paused: number, both: number]
}

const NEVER = Infinity
/** Maximum number of calls without results that a reply adds or removes. It keeps sums exact in any order. */
const MAX_WAITS = 2 ** 31
const NO_FLOW: Flow = { loop: null, paused: null, floor: 0, added: 0, joins: [0, 0, 0, 0] }

const loopKey = (loop: boolean, paused: boolean): number => (loop ? 1 : 0) + (paused ? 2 : 0)

/**
 * Returns the effect of a unit on the open stretch before it (U5). A pending batch can be the continuation of
 * the reply before it. But it ends a thinking loop, and no later reply is its continuation.
 */
export function flowOf(unit: Unit): Flow {
  const reply = replyIn(unit)
  if (reply === null) return NO_REPLY
  if (isPending(unit)) return { ...ENDS, joins: [1, 1, 0, 0] }
  const isBatch = unit.type === 'batch'
  const thinking = isBatch && unit.thinking
  const isOfLoop = isBatch && !thinking
  const paused = earlyEndOf(reply) === 'paused'
  // A reply continues a message without calls only if the message was paused.
  const added = isBatch || paused ? Math.max(-MAX_WAITS, Math.min(waitsOf(reply), MAX_WAITS)) : -Infinity
  const loop = thinking ? true : isBatch ? null : false
  return { loop, paused, floor: 0, added, joins: [1, isOfLoop ? 0 : 1, 0, 0] }
}

/** Flow, except `joins`, of a unit that no later reply continues. */
const ENDS = { loop: false, paused: false, floor: 0, added: -Infinity }
const NO_REPLY: Flow = { ...ENDS, joins: [NEVER, NEVER, NEVER, NEVER] }

export const afterFlow = ({ loop, paused, waits }: Stretch, flow: Flow): Stretch => ({
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

/** Whether a unit is not a reply of the model. If so, the unit is a stretch of its own. */
export const isNoReply = (unit: Unit): boolean => replyIn(unit) === null

function replyIn(unit: Unit): Event | null {
  if (unit.type === 'batch') return unit.calls.get(0)?.event ?? null
  const { event } = unit.item
  return event.kind === 'MessageEvent' && event.source === 'agent' ? event : null
}

interface Totals {
  readonly events: number
  readonly flow: Flow
}

export type Units = Vector<Unit>

/** Returns the index of the first unit whose order is not before `order`, else the length. O(log n). */
export function indexOfUnit(units: Units, order: UnitOrder): number {
  let index = 0
  let node = units.tree
  if (node !== null && isUnitBefore(node.last, order)) {
    index = node.size
    node = null
  }
  while (node !== null && !isBlock(node)) {
    work.units += 1
    const { left, right } = node
    const isRight: boolean = isUnitBefore(left.last, order)
    if (isRight) index += left.size
    node = isRight ? right : left
  }
  for (const unit of node === null ? units.tail() : node.values) {
    work.units += 1
    if (!isUnitBefore(unit, order)) break
    index += 1
  }
  return index
}

/** Returns the first index with at least `events` view events before it, else the length. O(log n). */
export function indexAfter(units: Units, events: number): number {
  let index = 0
  let rest = events
  for (const { size, totals } of partsOf(units, (part) => part.events < rest)) {
    if (rest <= 0) break
    rest -= totals.events
    index += size
  }
  return index
}

/** Returns the open stretch before an index (U5). O(log n). */
export function stretchBefore(units: Units, index: number): Stretch {
  let stretch = NO_STRETCH
  let end = 0
  for (const { size, totals } of partsOf(units, (_, count) => end + count <= index)) {
    end += size
    if (end > index) break
    stretch = afterFlow(stretch, totals.flow)
  }
  return stretch
}

/** Returns the first index >= `from` at which a stretch starts, else the length. O(log n). */
export function nextStart(units: Units, from: number): number {
  let stretch = NO_STRETCH
  let index = 0
  const skips = (flow: Flow, size: number): boolean => index + size <= from || !hasStart(stretch, flow)
  for (const { size, totals } of partsOf(units, (part, count) => skips(part.flow, count))) {
    if (!skips(totals.flow, size)) break
    stretch = afterFlow(stretch, totals.flow)
    index += size
  }
  return index
}

interface Part {
  readonly size: number
  readonly totals: Totals
}

/** Yields parts that cover all units in order: subtrees for which `skips` is true, or single units. */
function* partsOf(units: Units, skips: (totals: Totals, size: number) => boolean): IterableIterator<Part> {
  const stack = units.tree === null ? [] : [units.tree]
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    work.units += 1
    const totals = totalsIn(node)
    if (skips(totals, node.size)) yield { size: node.size, totals }
    else if (isBlock(node)) yield* singles(node.values)
    else stack.push(node.right, node.left)
  }
  yield* singles(units.tail())
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

const sumTotals = (left: Totals, right: Totals): Totals => ({
  events: left.events + right.events,
  flow: sumFlows([left.flow, right.flow]),
})

/** Returns the totals of a subtree, cached because versions of a view share subtrees. O(1) amortised. */
function totalsIn(node: Node<Unit>): Totals {
  return (node.cache ??= isBlock(node)
    ? totalsOf(node.values)
    : sumTotals(totalsIn(node.left), totalsIn(node.right))) as Totals
}

/** Returns the number of view events in the units. O(1), or O(log n) for the first call with these units. */
export const eventsIn = (units: Units): number =>
  units
    .tail()
    .reduce((sum, unit) => sum + eventCount(unit), units.tree === null ? 0 : totalsIn(units.tree).events)

/** Returns the order for a unit that is inserted before `index`. `first`: position of its first event. O(log n). */
export const orderAt = (units: Units, index: number, first: number): UnitOrder => ({
  rank: index === units.length ? first : (units.get(index - 1)?.rank ?? -1),
  first,
})
