/**
 * Working calls, their progress and completions: their description, their lane in the inspector, and the
 * names of the conversations they opened.
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeEvent, type LogTitle } from '../../src/inspector/index.ts'
import { childNames, type WorkSpan, workSpans, workStatus } from '../../src/inspector/model/calls.ts'
import { callLanesOf, NO_COLUMN } from '../../src/inspector/model/lanes.ts'
import { stateOf } from '../../src/inspector/model/replayed.ts'
import { replayed } from './replayed.ts'
import { completionMessage, type CompletionOutcome } from '../../src/event/completion.ts'
import { keyedId } from '../../src/event/ids.ts'
import type { Event } from '../../src/event/types.ts'
import { listWorkingCalls, pathTo } from '../../src/state/read.ts'
import { branchOf, type State } from '../../src/state/state.ts'
import { hostileLog } from '../../src/testing/hostile-log.ts'
import { call } from '../conversation/script.ts'
import { documentOf } from './document.ts'

const ACTION = { id: 'a', event: call('a', 'report') }

const progress = (value: object): Event =>
  ({
    kind: 'ConversationStateUpdateEvent',
    key: 'call_progress',
    value: { action_id: 'a', ...value },
  }) as Event

const described = (event: Event): string[] => {
  const { role, subject, text } = describeEvent(event)
  return [role, subject, text]
}

const working = (id: string, observation: object = {}): Event => ({
  kind: 'ObservationEvent',
  tool_name: 'report',
  tool_call_id: id,
  action_id: id,
  observation: { kind: 'WorkingObservation', content: [{ type: 'text', text: 'Started.' }], ...observation },
})

it('`describeEvent` describes a working result', () => {
  expect(described(working('a'))).toEqual(['working', 'report', 'Started.'])
})

it('`describeEvent` describes progress', () => {
  expect(described(progress({ progress: 0.42, content: 'reading' }))).toEqual(['progress', '', '42% reading'])
  expect(described(progress({ progress: { page: 3 } }))).toEqual(['progress', '', '{"page":3}'])
  expect(described(progress({ task: { job: 7 } }))).toEqual(['progress', '', 'task {"job":7}'])
  expect(described(progress({}))).toEqual(['progress', '', '(empty)'])
})

it.each<[CompletionOutcome, string]>([
  ['done', 'completed'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['lost', 'lost'],
])('`describeEvent` describes a completion: %s', (outcome, role) => {
  const message = completionMessage(ACTION, [{ type: 'text', text: 'Sales went up.' }], outcome)
  expect(described(message)).toEqual([role, 'report', 'Sales went up.'])
})

/** The expected spans, from the list of working calls at each event of HEAD's path. */
function spansByIndex(state: State): [action: number, result: number, end: number | null][] {
  const spans = new Map<number, [number, number, number | null]>()
  let before: readonly number[] = []
  for (const entry of pathTo(state)) {
    const calls = listWorkingCalls({ ...state, branch: branchOf(entry) })
    const current = calls.map(({ action }) => action.seq)
    for (const { action, result } of calls)
      if (!before.includes(action.seq)) spans.set(action.seq, [action.seq, result.seq, null])
    for (const seq of before)
      if (!current.includes(seq)) spans.set(seq, [seq, spans.get(seq)?.[1] ?? -1, entry.seq])
    before = current
  }
  return [...spans.values()]
}

const spanSeqs = ({ action, result, end }: WorkSpan): [number, number, number | null] => [
  action.seq,
  result.seq,
  end?.seq ?? null,
]

describe('the lane of working calls', () => {
  it('spans calls of the branch from working result to completion in a hostile log', () => {
    let [ended, open, reported] = [0, 0, 0]
    fc.assert(
      fc.property(hostileLog(), fc.nat(), (facts, draw) => {
        const log = replayed(documentOf(facts))
        const position = draw % (facts.length + 1)
        const state = stateOf(log, position)
        const spans = workSpans(state)
        expect(spans.map(spanSeqs)).toEqual(spansByIndex(state))
        for (const span of spans) {
          const { outcome, task, progress } = workStatus(log, position, span)
          const { action, end } = span
          // The state before the completion, on the branch of the completion's parent.
          const { header, ...rest } = end === null ? state : stateOf(log, end.seq)
          const branch = end === null ? rest.branch : branchOf(end.parent)
          const known = listWorkingCalls({ ...rest, header, branch }).find(
            (info) => info.action.seq === action.seq,
          )
          expect([task, progress]).toEqual([known?.task, known?.progress])
          expect(outcome === 'working').toBe(end === null)
          if (end === null) open += 1
          else ended += 1
          if (progress !== null) reported += 1
        }
        const lanes = callLanesOf(state)
        const dots = new Set(spans.flatMap(({ result, end }) => [result.seq, end?.seq ?? result.seq]))
        for (const [seq, column] of lanes?.column.entries() ?? [])
          expect(column !== NO_COLUMN).toBe(dots.has(seq))
        expect(lanes === null).toBe(spans.length === 0)
      }),
      { numRuns: 300 },
    )
    expect(Math.min(ended, open, reported)).toBeGreaterThan(20)
  })

  it('ignores a completion without a call, progress of an unknown call, and a second completion', () => {
    const facts: Event[] = [
      completionMessage({ id: 'none', event: call('none', 'report') }, [], 'done'),
      { ...call('a', 'report'), id: 'a' },
      progress({ progress: 0.1 }),
      working('a', { task: 7 }),
      progress({ action_id: 'none', progress: 0.5 }),
      progress({ progress: 0.9 }),
      completionMessage(ACTION, [], 'lost'),
      { ...completionMessage(ACTION, [], 'done'), id: 'again' },
    ]
    const log = replayed(documentOf(facts))
    const spans = workSpans(stateOf(log, facts.length))
    expect(spans.map(spanSeqs)).toEqual([[1, 3, 6]])
    expect(spans.map((span) => workStatus(log, facts.length, span))).toEqual([
      { outcome: 'lost', task: 7, progress: { action_id: 'a', progress: 0.9 } },
    ])
    expect(callLanesOf(stateOf(log, facts.length))?.through).toEqual(
      Uint32Array.from([0, 0, 0, 1, 1, 1, 0, 0]),
    )
  })

  it('is 4 columns wide for 5,000 working calls', () => {
    const ids = Array.from({ length: 5000 }, (_, index) => `c${index}`)
    const facts = ids.flatMap((id): Event[] => [{ ...call(id, 'report'), id }, working(id)])
    const state = stateOf(replayed(documentOf(facts)), facts.length)
    expect(workSpans(state)).toHaveLength(5000)
    const lanes = callLanesOf(state)
    expect(lanes?.width).toBe(4)
    // All calls continue below the last event.
    expect(lanes?.through.at(-1)).toBe(0b1111)
  })
})

const title = (name: string, call: string | null = null): LogTitle => ({
  title: name,
  conversation: name,
  name,
  parent: 'log',
  call,
})
const log = (...facts: Event[]) => replayed(documentOf(facts))

describe('the conversation that a call opened', () => {
  it('is named by the page, by a result, by a task handle, or by its derived id', () => {
    const result = { kind: 'SubagentObservation', conversation_id: 'by-result' }
    const derived = keyedId('child', 'log', 'd')
    const names = childNames(
      log(
        ...['a', 'b', 'c', 'd', 'e', 'f'].map((id): Event => ({ ...call(id, 'report'), id })),
        { ...working('b'), observation: result } as Event,
        working('c', { task: { subagent: 'by-task' } }),
        progress({ action_id: 'e', task: { subagent: 'by-progress' } }),
      ),
      [title('by-page', 'a'), title(derived), { ...title('stranger', 'f'), parent: 'another' }],
    )
    expect(Object.fromEntries(names)).toEqual({
      a: 'by-page',
      b: 'by-result',
      c: 'by-task',
      d: derived,
      e: 'by-progress',
    })
  })

  it('is not named by invalid values', () => {
    for (const bad of [null, 7, {}, ['x'], { subagent: 7 }, { subagent: null }, { conversation_id: 'x' }])
      expect([...childNames(log(working('a', { task: bad }), progress({ task: bad })), [])]).toEqual([])
    const other = { kind: 'ToolObservation', conversation_id: 'x' }
    expect([...childNames(log({ ...working('a'), observation: other } as Event), [])]).toEqual([])
  })
})
