/** Continues a request where the previous request ended, so that only new messages are written. */

import type { Event } from '../event/types.ts'
import type { State } from '../state/state.ts'
import type { Node } from '../log/vector.ts'
import { type Unit, unitEvents, type Units } from '../view/units.ts'
import type { Limits, PartRef } from './limits.ts'
import type { MessageOptions, NeutralMessage, RequestCache } from './message.ts'
import { promptMessages, promptOf, writeUnits } from './neutral.ts'
import { requestRecord, type WriteOptions } from './prefix.ts'
import { type OpenRequest, type RequestWriter, startRequest } from './write.ts'

interface KnownMessages {
  readonly key: string
  readonly prompt: Event | undefined
  readonly units: Units
  readonly messages: NeutralMessage[]
  readonly ends: number[]
}

/**
 * Marks a unit in `ends` whose message can still grow. The next plain user message would be merged into this
 * message.
 */
const NO_POINT = -1

interface KnownRequest {
  readonly key: string
  readonly request: OpenRequest<object>
  readonly list: object[]
  /** The messages before the latest saved point of the request. */
  readonly settled: NeutralMessage[]
  readonly undos: (() => void)[]
  readonly points: Point[]
}

/** A saved point of a request: how many messages were read and written so far, and the writer's state. */
interface Point {
  readonly settled: number
  readonly written: number
  readonly last: object | undefined
  readonly undos: number
  readonly states: readonly object[]
}

/** Maximum number of cached requests with the same first message. They differ in options or grammar. */
const MAX_REQUESTS = 4

/** The cache keeps this many latest points. It keeps earlier points only if they are `SPACING` messages apart. */
const RECENT_POINTS = 8
const SPACING = 64

/**
 * Returns a cache for `toMessages` and the request writers, for any number of conversations. If an earlier
 * request had the same options, a request costs O(difference) and two copies of the message list. After HEAD
 * moves, at most about 64 messages are written in addition to the difference. The cache keeps four requests
 * with different options per conversation. The requests equal those written without a cache, byte for byte.
 * Messages and blocks of frozen events are frozen and shared; the message lists belong to the caller.
 * @example
 * const cache = requestCache()
 * const state = replay([{ kind: 'MessageEvent', source: 'user', llm_message: { role: 'user',
 *   content: [{ text: 'hi' }] } }])
 * toAnthropic(toMessages(state, { cache }), { cache }).messages.length // 1
 */
export function requestCache(): RequestCache {
  const known = new WeakMap<Unit, KnownMessages>()
  const requests = new WeakMap<NeutralMessage, readonly KnownRequest[]>()
  return {
    messages: (state, options) => continueMessages(known, state, options),
    write(untyped, messages, allOptions) {
      const writer = untyped as RequestWriter<object, object, object>
      const { onPrefix, ...options } = allOptions as WriteOptions
      const [first] = messages
      // Ids that a caller's function made cannot be undone.
      if (first === undefined || writer.limits.callIds !== undefined) return null
      const key = JSON.stringify([writer.limits.grammar, options, [...(writer.refused ?? [])]])
      const all = requests.get(first) ?? []
      const others = all.filter((each) => each.key !== key)
      requests.set(first, others)
      const earlier = all.find((each) => each.key === key && rewind(each, messages))
      const open = earlier ?? startKnown(key, writer, messages, options)
      const from = Math.max(open.request.lead, open.settled.length)
      // If a grammar accepts only one prompt, a later prompt replaces the first one.
      if (!writer.limits.appends && messages.slice(from).some(({ role }) => role === 'system')) return null
      const request = continueRequest(open, messages, from, writer.limits.pairOf)
      if (open.points.length > 0) requests.set(first, [open, ...others].slice(0, MAX_REQUESTS))
      if (onPrefix !== undefined) requestRecord(request)?.leftOut.forEach((remaining) => onPrefix(remaining))
      return request
    },
  }
}

/** Restores the last saved point before the first difference; returns false if there is no such point. */
function rewind(
  { request, list, settled, undos, points }: KnownRequest,
  messages: readonly NeutralMessage[],
): boolean {
  const end = Math.min(settled.length, messages.length)
  let common = 0
  // Unlike `===`, `Object.is` does not read the objects' headers; each read would be a cache miss.
  while (common < end && Object.is(settled[common], messages[common])) common += 1
  // Skips points directly before a result, because a result belongs to the reply before it.
  const last = points.findLastIndex(
    (each) => each.settled <= common && messages[each.settled]?.role !== 'tool',
  )
  const point = points[last]
  if (point === undefined) return false
  points.length = last + 1
  while (undos.length > point.undos) undos.pop()?.()
  settled.length = point.settled
  list.length = point.written
  if (point.last !== undefined) list[point.written - 1] = point.last
  for (const [index, state] of point.states.entries()) Object.assign(request.parts[index]?.state ?? {}, state)
  return true
}

function startKnown<Request extends object, Block extends object, M extends object>(
  key: string,
  writer: RequestWriter<Request, Block, M>,
  messages: readonly NeutralMessage[],
  options: WriteOptions,
): KnownRequest {
  const undos: (() => void)[] = []
  const list: M[] = []
  const request = startRequest(writer, messages, options, list, () => new UndoMap(undos))
  return { key, request, list, settled: [], undos, points: [] }
}

class UndoMap<V> extends Map<unknown, V> {
  readonly #undos: (() => void)[]

  constructor(undos: (() => void)[]) {
    super()
    this.#undos = undos
  }

  override set(key: unknown, value: V): this {
    this.#register(key)
    return super.set(key, value)
  }

  override delete(key: unknown): boolean {
    this.#register(key)
    return super.delete(key)
  }

  #register(key: unknown): void {
    const before = super.get(key)
    this.#undos.push(before === undefined ? () => super.delete(key) : () => super.set(key, before))
  }
}

/** Writes the messages from index `from` on. Saves points before replies and at the end, to which `rewind` returns. */
function continueRequest(
  open: KnownRequest,
  messages: readonly NeutralMessage[],
  from: number,
  pairOf: Limits['pairOf'],
): object {
  const { request, list } = open
  const { reader, lead } = request
  /** Calls of provider tools whose results may follow. A result changes how its call's turn is written. */
  const calls = new Set<string>()
  let isFrozen = messages.slice(0, lead).every(isShared)
  for (let index = from; ;) {
    const isEnd = index === messages.length
    const isPoint = index > from && (isEnd || messages[index]?.role === 'assistant')
    if (isPoint && isFrozen && calls.size === 0) addPoint(open, messages, index)
    if (isEnd) break
    const before = reader.state.last
    const next = reader.read(messages, index)
    const { last } = reader.state
    if (last?.role !== 'assistant') calls.clear()
    else if (last !== before) for (const ref of last.refs) followPair(ref, calls, pairOf)
    for (; index < next; index += 1) isFrozen &&= isShared(messages[index] as NeutralMessage)
  }
  const written = request.finish(messages, messages.length)
  freezeNew(open)
  // The system prompt is shared too; the list of messages is the caller's.
  if (!Array.isArray(written))
    for (const value of Object.values(written) as unknown[])
      if (!Array.isArray(value) || value[0] !== list[0]) freeze(value)
  return written
}

function followPair(ref: PartRef, calls: Set<string>, pairOf: Limits['pairOf']): void {
  const pair = ref.kind === 'other' && ref.placeholder === null ? pairOf(ref.value) : null
  if (pair?.half === 'result') calls.delete(pair.id)
  else if (pair?.waits === true) calls.add(pair.id)
}

function addPoint(open: KnownRequest, messages: readonly NeutralMessage[], index: number): void {
  const { request, list, settled, undos, points } = open
  request.writeTurns()
  freezeNew(open)
  const old = points.length - RECENT_POINTS
  if (old > 0 && (points[old]?.settled ?? 0) - (points[old - 1]?.settled ?? 0) < SPACING)
    points.splice(old, 1)
  const states = request.parts.map(({ state }) => ({ ...state }))
  points.push({ settled: index, written: list.length, last: list.at(-1), undos: undos.length, states })
  while (settled.length < index) settled.push(messages[settled.length] as NeutralMessage)
}

/**
 * Freezes the messages after the last point. Also freezes the message directly before this point, because
 * that message may have been replaced.
 */
function freezeNew({ list, points }: KnownRequest): void {
  list.slice(Math.max(0, (points.at(-1)?.written ?? 0) - 1)).forEach(freeze)
}

const isShared = (message: NeutralMessage): boolean =>
  Object.isFrozen(message) && Object.isFrozen(message.content)

function freeze(value: unknown): void {
  // Bytes cannot be frozen.
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value) && !ArrayBuffer.isView(value))
    Object.values(Object.freeze(value)).forEach(freeze)
}

function continueMessages(
  known: WeakMap<Unit, KnownMessages>,
  state: State,
  options: MessageOptions,
): NeutralMessage[] {
  const { units } = state.branch.view
  const first = units.get(0) as Unit
  const prompt = promptOf(state, options)
  const key = JSON.stringify(options)
  const latest = known.get(first)
  const isSame = latest?.key === key && latest.prompt === prompt?.event
  const ends = isSame ? latest.ends : []
  let from = isSame ? sharedPrefix(latest.units, units) : 0
  while (from > 0 && ends[from - 1] === NO_POINT) from -= 1
  ends.length = from
  const messages = isSame && from > 0 ? latest.messages : promptMessages(prompt)
  if (from > 0) messages.length = ends[from - 1] ?? 0
  let isFrozen = prompt === null || Object.isFrozen(prompt.event)
  let frozen = Math.max(0, messages.length - 1)
  writeUnits(units.slice(from), prompt, options, messages, (unit, isOpen) => {
    isFrozen &&= [...unitEvents(unit)].every(({ event }) => Object.isFrozen(event))
    if (!isFrozen) return
    ends.push(isOpen ? NO_POINT : messages.length)
    // The last message may still grow.
    for (; frozen < messages.length - (isOpen ? 1 : 0); frozen += 1) freeze(messages[frozen])
  })
  if (isFrozen) freeze(messages.at(-1))
  if (ends.length > 0)
    known.set(first, { key, prompt: prompt?.event, units: units.range(0, ends.length), messages, ends })
  return messages.slice()
}

/** Returns the number of leading units that two versions of a view share. O(log n) for shared nodes, else O(units). */
function sharedPrefix(one: Units, other: Units): number {
  const end = Math.min(one.length, other.length)
  const rest: Node<Unit>[] = one.tree === null ? [] : [one.tree]
  const others: Node<Unit>[] = other.tree === null ? [] : [other.tree]
  let index = 0
  for (;;) {
    // The last nodes of both versions begin at the index.
    const [node, otherNode] = [rest.at(-1), others.at(-1)]
    if (node === undefined || otherNode === undefined) break
    if (node === otherNode) {
      index += node.size
      rest.pop()
      others.pop()
    } else if ('left' in node && (node.size >= otherNode.size || !('left' in otherNode)))
      rest.splice(-1, 1, node.right, node.left)
    else if ('left' in otherNode) others.splice(-1, 1, otherNode.right, otherNode.left)
    else break
  }
  while (index < end && one.get(index) === other.get(index)) index += 1
  return Math.min(index, end)
}
