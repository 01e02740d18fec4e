/** M17: server tool calls and their results are never separated; M21 with them. */

import * as fc from 'fast-check'
import { expect } from 'vitest'
import { isObject } from '../../src/event/json.ts'
import type { JsonObject } from '../../src/event/shapes.ts'
import type { Event } from '../../src/event/types.ts'
import { fitToBudget } from '../../src/context/budget.ts'
import { estimateTokens } from '../../src/context/estimate.ts'
import { planFork } from '../../src/conversation/fork.ts'
import { fromAnthropic } from '../../src/messages/anthropic/read.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import type { AssistantMessage, NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { stateAt } from '../../src/state/at.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { initialState, type State } from '../../src/state/state.ts'
import { isPending } from '../../src/view/units.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import { validateAnthropic } from '../../src/messages/anthropic/rules.ts'
import { checkRequest, frozen, startRequests } from './request-cache.ts'
import { ANTHROPIC_UNITS, type ServerBlock } from '../replies/anthropic-parts.ts'

export const USER: Event = {
  kind: 'MessageEvent',
  id: 'u',
  source: 'user',
  llm_message: { role: 'user', content: [{ text: 'Hi.' }] },
}

export const closing = { pending: { close: 'It was not run.' } } as const

export const isReply = (message: NeutralMessage): message is AssistantMessage => message.role === 'assistant'

/** Parts without event fields. */
export const othersOf = ({ reply }: AssistantMessage): JsonObject[] =>
  (reply?.parts ?? []).flatMap((part) => (isObject(part) && isObject(part['other']) ? [part['other']] : []))

export function textsIn(value: unknown): string {
  if (typeof value === 'string') return `${value}\n`
  return typeof value === 'object' && value !== null ? Object.values(value).map(textsIn).join('') : ''
}

/** Replies continue each other across these. */
export type Command =
  | { readonly do: 'user' | 'result' }
  | {
      readonly do: 'reply'
      readonly calls: number
      readonly results: number
      readonly pauses: boolean
      readonly asks: boolean
      /** Whether it may contain results of unknown calls. */
      readonly lies: boolean
    }
  | { readonly do: 'back' | 'forget'; readonly index: number; readonly count: number }

export const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Command>({ do: 'user' }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('reply' as const),
      calls: fc.nat(2),
      results: fc.nat(2),
      pauses: fc.boolean(),
      asks: fc.boolean(),
      lies: fc.nat(19).map((n) => n === 0),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('back' as const, 'forget' as const),
      index: fc.nat(),
      count: fc.nat(3),
    }),
  },
)

const THINKING = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }

export type PairOccurrence =
  | 'together_in_two_replies'
  | 'separated'
  | 'both_condensed'
  | 'both_cut'
  | 'forked_between'

/** M17: a condensation, cut or fork removes both halves from requests or neither. */
export function checkPairs(commands: readonly Command[], met: (happened: PairOccurrence) => void): void {
  let state = initialState()
  let n = 0
  const log: Event[] = []
  const put = (event: Event): void => {
    log.push(frozen(event))
    state = reduce(state, event)
  }
  const user = (): void => put({ ...USER, id: `u${(n += 1)}` } as Event)
  user()
  const requests = startRequests()
  let waiting: ServerBlock[] = []
  let lied = false
  for (const each of commands) {
    if (each.do === 'user') user()
    else if (each.do === 'back' || each.do === 'forget') {
      const ids = [...viewEventsIn(state.branch.view)].map(({ id }) => id)
      const index = each.index % Math.max(1, ids.length)
      if (each.do === 'back')
        put({
          kind: 'ConversationStateUpdateEvent',
          id: `h${(n += 1)}`,
          key: 'leaf_event_id',
          value: ids[index] ?? null,
        })
      else {
        const before = pairsIn(toMessages(state, closing))
        put({
          kind: 'Condensation',
          id: `c${(n += 1)}`,
          forgotten_event_ids: ids.slice(index, index + each.count),
          llm_response_id: `c${n}`,
        })
        if (!lied && leavesWhole(before, toMessages(state, closing))) met('both_condensed')
      }
    } else if (each.do === 'reply') {
      const messages = toMessages(state, closing)
      if (messages.length === 0) continue
      const request = toAnthropic(messages)
      const open = halvesIn(blocksOf(request))
      const isOpen = (result: ServerBlock): boolean =>
        'tool_use_id' in result && open.get(result.tool_use_id) === 1
      // A run also makes no request while calls are pending.
      if (each.lies || hasPending(state)) lied = true
      else waiting = waiting.filter(isOpen)
      const content: object[] = [
        THINKING,
        ...waiting.slice(0, each.results),
        THINKING,
        { type: 'text', text: 'Oak.' },
      ]
      waiting = waiting.slice(each.results)
      for (let call = 0; call < each.calls; call += 1) {
        const [made, result] = ANTHROPIC_UNITS[call]?.((n += 1)) ?? []
        if (made === undefined || result === undefined) continue
        content.push(made)
        waiting.push(result)
      }
      if (each.asks) content.push({ type: 'tool_use', id: `toolu_${(n += 1)}`, name: 'ls', input: {} })
      const stop_reason = each.pauses ? 'pause_turn' : each.asks ? 'tool_use' : 'end_turn'
      const reply = { id: `msg_${(n += 1)}`, model: 'claude', content, stop_reason }
      for (const event of fromAnthropic(reply, { request, state }).events) {
        put({ ...event, id: `e${(n += 1)}` })
        if (event.kind === 'ActionEvent')
          put({
            kind: 'ObservationEvent',
            id: `o${(n += 1)}`,
            tool_name: 'ls',
            tool_call_id: event.tool_call_id,
            action_id: `e${n - 1}`,
            observation: { kind: 'X', content: [{ text: 'a' }] },
          })
      }
    }
    const messages = toMessages(state, closing)
    if (messages.length === 0) continue
    const request = toAnthropic(messages)
    checkRequest(requests, 'anthropic', state, closing)
    // Thinking may resume after text whose own thinking was lost.
    const violations = validateAnthropic(request).filter(({ rule }) => rule !== 'thinking-first')
    expect(violations).toEqual([])
    const text = textsIn(request)
    if (text.includes('[server_tool_use') || text.includes('tool_result]')) met('separated')
    if (holdsPairOfTwo(request.messages)) met('together_in_two_replies')
  }
  const messages = toMessages(state, closing)
  const pairs = pairsIn(messages)
  if (lied || pairs.size === 0) return
  const write = (each: State): NeutralMessage[] => toMessages(each, closing)
  for (const part of [0.7, 0.4]) {
    const fit = fitToBudget(state, estimateTokens, estimateTokens(messages) * part, { write })
    if (fit.type === 'fit' && leavesWhole(pairs, fit.messages)) met('both_cut')
  }
  const ids = [...viewEventsIn(state.branch.view)].map(({ id }) => id)
  for (const index of [0.3, 0.5, 0.7]) {
    const id = ids[Math.floor(ids.length * index)] ?? ''
    const { positions } = planFork(state, id)
    const forked = replay(log.filter((_, index) => positions?.has(index)))
    const [there, was] = [toMessages(forked, closing), toMessages(stateAt(state, id), closing)]
    expect(there).toEqual(was)
    const sent = sentHalves(there)
    if ([...pairs].some((pair) => sent.get(pair) === 1)) met('forked_between')
  }
}

const hasPending = ({ branch }: State): boolean => [...branch.view.units].some(isPending)

/** By call id. */
function halvesIn(blocks: readonly JsonObject[]): Map<unknown, number> {
  const halves = new Map<unknown, number>()
  for (const { type, id, tool_use_id } of blocks) {
    const isCall = type === 'server_tool_use' || type === 'mcp_tool_use'
    const of = isCall ? id : type === 'tool_result' ? null : tool_use_id
    if (typeof of === 'string') halves.set(of, (halves.get(of) ?? 0) + 1)
  }
  return halves
}

/** Text does not count as a half. */
const sentHalves = (messages: readonly NeutralMessage[]): Map<unknown, number> =>
  halvesIn(messages.length === 0 ? [] : blocksOf(toAnthropic(messages)))

const blocksOf = ({ messages }: ReturnType<typeof toAnthropic>): JsonObject[] =>
  messages.flatMap(({ content }) => content as object as readonly JsonObject[])

const pairsIn = (messages: readonly NeutralMessage[]): Set<unknown> =>
  new Set([...sentHalves(messages)].flatMap(([id, count]) => (count === 2 ? [id] : [])))

/** Each pair is sent whole or not at all, even as text. */
function leavesWhole(pairs: ReadonlySet<unknown>, messages: readonly NeutralMessage[]): boolean {
  const stored = halvesIn(messages.filter(isReply).flatMap(othersOf))
  const sent = sentHalves(messages)
  for (const id of pairs) {
    expect([0, 2]).toContain(stored.get(id) ?? 0)
    expect(sent.get(id)).toBe(stored.get(id))
  }
  return [...pairs].some((id) => !stored.has(id))
}

function holdsPairOfTwo(messages: readonly { readonly content: readonly object[] }[]): boolean {
  const calls = new Map<unknown, number>()
  return messages.some(({ content }, index) =>
    (content as readonly JsonObject[]).some((block) => {
      if (block['type'] === 'server_tool_use') calls.set(block['id'], index)
      const made = calls.get(block['tool_use_id'])
      return made !== undefined && made !== index
    }),
  )
}
