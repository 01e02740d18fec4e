/** M21: cached requests equal fresh ones. */

import type { Fact } from '../../src/event/quarantine.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import type { MessageOptions, NeutralMessage, RequestCache } from '../../src/messages/message.ts'
import { type LeftOut, requestRecord, type WriteOptions } from '../../src/messages/prefix.ts'
import { requestCache } from '../../src/messages/request-cache.ts'
import { reduce } from '../../src/state/reduce.ts'
import { initialState, type State } from '../../src/state/state.ts'
import { hold, same, total } from '../../src/testing/failure.ts'
import { type WireGrammar, WIRES } from '../wire/reply.ts'

type Write = (messages: readonly NeutralMessage[], options: WriteOptions) => object

export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value))
    Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

/** With their original bytes. */
export interface Requests {
  readonly cache: RequestCache
  readonly earlier: { readonly request: object; readonly text: string }[]
}

export const startRequests = (): Requests => ({ cache: requestCache(), earlier: [] })

/** `change` simulates a step that edits the messages. */
export function checkRequest(
  { cache, earlier }: Requests,
  grammar: WireGrammar,
  state: State,
  options: MessageOptions = {},
  writing: WriteOptions = {},
  change: (messages: readonly NeutralMessage[]) => readonly NeutralMessage[] = (messages) => messages,
): boolean {
  const write: Write = WIRES[grammar].write
  const plain = toMessages(state, options)
  const messages = total('M21', 'toMessages', () => toMessages(state, { ...options, cache }))
  same('M21', 'messages', messages, plain)
  if (messages.length === 0) return false
  const remaining: LeftOut[] = []
  const cachedLeft: LeftOut[] = []
  const request = write(change(plain), { ...writing, onPrefix: (each) => remaining.push(each) })
  const cached = total('M21', grammar, () =>
    write(change(messages), { ...writing, cache, onPrefix: (each) => cachedLeft.push(each) }),
  )
  const text = JSON.stringify(request)
  same('M21', `${grammar}: the request`, JSON.stringify(cached), text)
  same('M21', `${grammar}: its record`, requestRecord(cached), requestRecord(request))
  same('M21', `${grammar}: replies without signed parts`, cachedLeft, remaining)
  // A grammar without later prompts writes such a request from nothing.
  const isContinued = WIRES[grammar].limits.appends || options.system !== 'append'
  if (isContinued && messages.every(isDeepFrozen))
    hold('M21', listIn(cached).every(isDeepFrozen), 'a message is not frozen')
  for (const each of earlier) same('M21', 'an earlier request', JSON.stringify(each.request), each.text)
  const before = earlier.at(-1)?.request
  earlier.splice(0, Math.max(0, earlier.length - 3))
  earlier.push({ request: cached, text })
  return before !== undefined && sharesMessages(before, cached)
}

const listIn = (request: object): readonly unknown[] =>
  Array.isArray(request) ? request : Object.values(request).flatMap((value: unknown) => value)

/** Shared messages must be frozen. */
function sharesMessages(one: object, other: object): boolean {
  const earlier = new Set(listIn(one))
  const shared = listIn(other).filter((message) => typeof message === 'object' && earlier.has(message))
  for (const message of shared) hold('M21', isDeepFrozen(message), 'a shared message is not frozen')
  return shared.length > 0
}

const isDeepFrozen = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  ArrayBuffer.isView(value) ||
  (Object.isFrozen(value) && Object.values(value).every(isDeepFrozen))

const MODES: readonly MessageOptions[] = [{}, {}, { pending: { close: 'interrupted' } }, { system: 'append' }]

/** M21 for every prefix, with alternating options and some unfrozen facts. */
export function checkCached(facts: readonly Fact[], grammar: WireGrammar, stride: number): boolean {
  const requests = startRequests()
  let state = initialState()
  let shares = false
  for (const [index, fact] of facts.entries()) {
    state = reduce(state, stride > 1 && index % stride === 0 ? fact : frozen(fact))
    shares = checkRequest(requests, grammar, state, MODES[index % stride] ?? {}) || shares
  }
  return shares
}

/** A request for a state of a log, named by its position from 0 to 1. */
export interface Visit {
  readonly position: number
  readonly mode: number
  readonly model: string
  /** Number of last messages that a step removes. */
  readonly cut: number
}

/** M21 for states in any order, as HEAD and readers move. */
export function checkVisits(facts: readonly Fact[], grammar: WireGrammar, visits: readonly Visit[]): boolean {
  const requests = startRequests()
  const states = [initialState()]
  for (const fact of facts) states.push(reduce(states.at(-1) as State, frozen(fact)))
  let shares = false
  for (const { position, mode, model, cut } of visits) {
    const state = states[Math.round(position * facts.length)] as State
    const change = (messages: readonly NeutralMessage[]): readonly NeutralMessage[] =>
      messages.slice(0, Math.max(1, messages.length - cut))
    const writing = { model, tools: [{ name: 'ls' }] }
    shares = checkRequest(requests, grammar, state, MODES[mode] ?? {}, writing, change) || shares
  }
  return shares
}
