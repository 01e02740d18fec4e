/** E10: logs converted for evaluation and tracing tools. */

import fc from 'fast-check'
import { describe, it } from 'vitest'
import { pathTo, replay, type State } from '../src/index.ts'
import { parseInstant } from '../src/event/time.ts'
import { type TimelineReply, toTimeline } from '../src/messages/index.ts'
import { readSession, type Session, toAtif, toSpans } from '../src/sessions/index.ts'
import type { StateTree } from '../src/state/index.ts'
import { hostileLog } from '../src/testing/index.ts'
import { textIn } from '../src/sessions/content.ts'
import { hold, same, total } from '../src/testing/failure.ts'
import { always, RUNS } from './run.ts'
import { recordsOf } from './sessions/lines.ts'

interface Span {
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
}

const spansOf = (source: State | StateTree): Span[] =>
  toSpans(source).resourceSpans.flatMap((resource) =>
    (resource['scopeSpans'] as unknown as { spans: Span[] }[]).flatMap(({ spans }) => spans),
  )

function callsOf(state: State): string[] {
  return toTimeline(state).flatMap((item) =>
    item.type === 'call' ? [`${item.tool} ${JSON.stringify(item.arguments)} ${item.result !== null}`] : [],
  )
}

const messagesOf = (state: State): number =>
  toTimeline(state).filter(
    (item) => item.type === 'message' && item.source !== 'environment' && textIn(item.content) !== '',
  ).length

/** Includes a turn for a reply before the first user message. */
function turnsOf(state: State): number {
  const text = toTimeline(state).flatMap((item) =>
    item.type === 'call' ? ['agent'] : item.type === 'message' ? [item.source] : [],
  )
  const isUsers = text.map((source) => source === 'user')
  const first = text.indexOf('agent')
  const user = isUsers.indexOf(true)
  return isUsers.filter(Boolean).length + (first !== -1 && (user === -1 || first < user) ? 1 : 0)
}

/** By the event a reply names, otherwise by the one before it. */
function requestTimesOf(state: State): string[] {
  const times = new Map<string | null, bigint>()
  const befores = new Map<string, bigint>()
  let now = 0n
  for (const { id, timestamp } of pathTo(state)) {
    if (id !== null) befores.set(id, now)
    const micros = timestamp === null ? undefined : parseInstant(timestamp)
    now = micros === undefined ? now : BigInt(micros) * 1000n
    if (id !== null) times.set(id, now)
  }
  let before: TimelineReply | null = null
  let isNewTurn = false
  return toTimeline(state).flatMap((item) => {
    if (item.type === 'message' && item.source === 'user') isNewTurn = true
    if (item.type !== 'call' && !(item.type === 'message' && item.source === 'agent')) return []
    const { reply } = item
    const hasSameId = reply !== null && reply.id !== null && reply.id === before?.id
    // Several replies may share an id: the first item of each has its record, all have its request.
    const hasSameRequest = hasSameId && reply.after === before?.after
    // A user message ends a reply, unless the log proves that both items follow one request.
    const isProven = reply?.after !== undefined || !isNewTurn
    const isSame = hasSameRequest && isProven && (reply.model ?? reply.tokens) === null
    before = reply
    isNewTurn = false
    if (isSame) return []
    const end = times.get(item.id) ?? 0n
    const requests = times.get(item.reply?.after ?? null) ?? befores.get(item.id) ?? 0n
    return [String(requests === 0n ? end : requests)]
  })
}

const requestTimesIn = (spans: readonly Span[]): string[] =>
  spans.filter(({ name }) => name.startsWith('chat')).map((span) => span.startTimeUnixNano)

/** Shared by all nodes, because creating an arbitrary of logs costs more than a draw. */
const logs = hostileLog()

/** Children are linked to any call of their parent, or to none. */
const trees = (depth: number, id = 'c'): fc.Arbitrary<StateTree> =>
  logs.chain((facts) => {
    const state = replay(facts)
    const calls = toTimeline(state).flatMap((item) => (item.type === 'call' ? [item.id] : []))
    const child = (index: number): fc.Arbitrary<StateTree> =>
      fc
        .record({
          tree: trees(depth - 1, `${id}.${index}`),
          actionId: fc.constantFrom(...calls, 'none', null),
        })
        .map(({ tree, actionId }) => ({ ...tree, actionId }))
    return fc
      .integer({ min: 0, max: depth })
      .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => child(index))))
      .map((children) => ({ id, title: null, actionId: null, state, children }))
  })

function linksOf({ state, children }: StateTree): unknown[] {
  const items = toTimeline(state)
  return children.map((child) => {
    const call = items.find((item) => item.type === 'call' && item.id === child.actionId)
    const tool = call?.type === 'call' && call.result !== null ? call.tool : null
    return [child.id, tool, linksOf(child)]
  })
}

function linksRead({ facts, children }: Session): unknown[] {
  const items = toTimeline(replay(facts.map(({ fact }) => fact)))
  return children.map((child) => {
    const call = items.find((item) => item.type === 'call' && item.id === child.subagent?.actionId)
    return [child.id, call?.type === 'call' ? call.tool : null, linksRead(child)]
  })
}

const nodesOf = (tree: StateTree): StateTree[] => [tree, ...tree.children.flatMap(nodesOf)]

describe('E10, exports for other tools', () => {
  it('E10: a trajectory reads back with every message and call of the branch', () => {
    always(
      logs,
      (facts) => {
        const state = replay(facts)
        const written = total('E10', 'toAtif', () => toAtif(state))
        same('E10', 'writing again', toAtif(state), written)
        same(
          'E10',
          'the numbers of steps',
          written.steps.map((step) => step['step_id']),
          written.steps.map((_, index) => index + 1),
        )
        const read = replay(readSession(recordsOf([written])).facts.map(({ fact }) => fact))
        same('E10', 'the calls', callsOf(read), callsOf(state))
        hold('E10', messagesOf(read) >= messagesOf(state), 'a message is missing')
      },
      RUNS / 2,
    )
  })

  it('E10: spans are deterministic, nested in one trace, and one for each result and turn', () => {
    always(
      logs,
      (facts) => {
        const state = replay(facts)
        const spans = total('E10', 'toSpans', () => spansOf(state))
        same('E10', 'writing again', spansOf(state), spans)
        const ids = new Set(spans.map(({ spanId }) => spanId))
        hold('E10', ids.size === spans.length, 'an id is repeated')
        for (const { parentSpanId: parent, startTimeUnixNano: from, endTimeUnixNano: to } of spans) {
          hold('E10', parent === undefined || ids.has(parent), 'the parent of a span is not in the trace')
          hold('E10', BigInt(from) <= BigInt(to), 'a span ends before it begins')
        }
        const results = toTimeline(state).filter((item) => item.type === 'call' && item.result !== null)
        same(
          'E10',
          'the tools',
          spans.filter(({ name }) => name.startsWith('execute_tool')).length,
          results.length,
        )
        same('E10', 'the turns', spans.filter(({ name }) => name === 'invoke_agent').length, turnsOf(state))
        same('E10', 'request times', requestTimesIn(spans), requestTimesOf(state))
      },
      RUNS / 2,
    )
  })

  it('E10: a tree of subagents reads back completely, and its spans form one trace', () => {
    always(
      trees(2),
      (tree) => {
        const written = total('E10', 'toAtif', () => toAtif(tree))
        const read = readSession(recordsOf([written]))
        same('E10', 'the subagents', linksRead(read), linksOf(tree))
        const spans = total('E10', 'toSpans', () => spansOf(tree))
        same('E10', 'writing again', spansOf(tree), spans)
        const ids = new Set(spans.map(({ spanId }) => spanId))
        hold('E10', ids.size === spans.length, 'an id is repeated')
        for (const { parentSpanId: parent } of spans)
          hold('E10', parent === undefined || ids.has(parent), 'the parent of a span is not in the trace')
        const count = nodesOf(tree).reduce((sum, { state }) => sum + spansOf(state).length, 0)
        same('E10', 'the spans', spans.length, count)
      },
      RUNS / 4,
    )
  })
})
