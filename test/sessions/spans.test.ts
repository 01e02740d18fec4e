/** OTLP spans of a log: a chat span starts at the request, a tool span at the call, and both belong to a user turn. */

import { expect, it } from 'vitest'
import { replay } from '../../src/index.ts'
import { toSpans } from '../../src/sessions/index.ts'

const timeAt = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`

const SYSTEM = {
  kind: 'SystemPromptEvent',
  id: 's',
  source: 'agent',
  timestamp: timeAt(0),
  system_prompt: { type: 'text', text: 'be brief' },
  tools: [],
}

const message = (id: string, source: string, second: number) => ({
  kind: 'MessageEvent',
  id,
  source,
  timestamp: timeAt(second),
  llm_message: { role: source === 'agent' ? 'assistant' : 'user', content: [{ type: 'text', text: id }] },
})

const CALL = {
  kind: 'ActionEvent',
  id: 'a',
  source: 'agent',
  timestamp: timeAt(3),
  thought: [],
  action: { kind: 'ShAction' },
  tool_name: 'sh',
  tool_call_id: 'c',
  tool_call: { id: 'c', name: 'sh', arguments: '{}', origin: 'completion' },
  llm_response_id: 'r1',
}

const RESULT = {
  kind: 'ObservationEvent',
  id: 'o',
  source: 'environment',
  timestamp: timeAt(33),
  tool_name: 'sh',
  tool_call_id: 'c',
  action_id: 'a',
  observation: { kind: 'ToolObservation', content: [{ type: 'text', text: 'ok' }], is_error: false },
}

const second = (nanos: string | undefined): number => Number(BigInt(nanos ?? 0) / 1_000_000_000n) % 60

function spansOf(facts: readonly object[]): [string, number, number][] {
  const [resource] = toSpans(replay(facts as Parameters<typeof replay>[0])).resourceSpans
  const scopes = resource?.['scopeSpans'] as unknown as { spans: Record<string, string>[] }[]
  return (scopes[0]?.spans ?? []).map((span) => [
    span['name'] ?? '',
    second(span['startTimeUnixNano']),
    second(span['endTimeUnixNano']),
  ])
}

it('a chat span starts at the previous result, and a system prompt does not start a turn', () => {
  const facts = [SYSTEM, message('u', 'user', 1), CALL, RESULT, message('m', 'agent', 35)]
  expect(spansOf(facts)).toEqual([
    ['invoke_agent', 1, 35],
    ['chat', 1, 3],
    ['execute_tool sh', 3, 33],
    ['chat', 33, 35],
  ])
})

const callAt = (id: string, time: number, reply?: object) => ({
  ...CALL,
  id,
  timestamp: timeAt(time),
  tool_call_id: id,
  tool_call: { ...CALL.tool_call, id, ...(reply && { reply }) },
})

const resultAt = (call: string, time: number) => ({
  ...RESULT,
  id: `${call}-end`,
  timestamp: timeAt(time),
  tool_call_id: call,
  action_id: call,
})

it('replies with the same response id have separate spans', () => {
  const recorded = { model: 'm' }
  const facts = [
    message('u', 'user', 1),
    callAt('a', 3, recorded),
    callAt('b', 3),
    resultAt('a', 4),
    resultAt('b', 5),
    callAt('c', 6, recorded),
    resultAt('c', 7),
    { ...message('m', 'agent', 8), llm_response_id: 'r1' },
    message('v', 'user', 9),
    { ...message('n', 'agent', 10), llm_response_id: 'r1' },
  ]
  const chats = spansOf(facts).filter(([name]) => name.startsWith('chat'))
  expect(chats).toEqual([
    ['chat m', 1, 3],
    ['chat m', 5, 6],
    ['chat', 9, 10],
  ])
})

it('a reply has one span even if a user message is between its calls', () => {
  const facts = [
    message('u', 'user', 1),
    callAt('a', 3, { model: 'm', tokens: [5, 2, 3], after: 'u' }),
    message('v', 'user', 4),
    callAt('b', 5, { after: 'u' }),
    resultAt('a', 6),
    resultAt('b', 7),
  ]
  const chats = spansOf(facts).filter(([name]) => name.startsWith('chat'))
  expect(chats).toEqual([['chat m', 1, 3]])
})

const toolSpans = (facts: readonly object[]) =>
  spansOf(facts).filter(([name]) => name.startsWith('execute_tool'))

const errorsIn = (facts: readonly object[]): RegExpMatchArray | null =>
  JSON.stringify(toSpans(replay(facts as Parameters<typeof replay>[0]))).match(/"code":2/g)

it('the span of a working call ends at its completion, and has an error only if that failed', () => {
  const working = { ...RESULT, timestamp: timeAt(4), observation: { kind: 'WorkingObservation' } }
  const completes = { action_id: 'a', tool_call_id: 'c', tool_name: 'sh', outcome: 'failed' }
  const { llm_message, ...end } = message('e', 'environment', 40)
  const facts = [message('u', 'user', 1), CALL, working, message('m', 'agent', 5)]
  const completion = { ...end, llm_message: { ...llm_message, completes } }
  expect(toolSpans(facts)).toEqual([['execute_tool sh', 3, 4]])
  expect(toolSpans([...facts, completion])).toEqual([['execute_tool sh', 3, 40]])
  expect(errorsIn(facts)).toBe(null)
  expect(errorsIn([...facts, completion])).toHaveLength(1)
})

it('a log without a user message has a turn only after a reply', () => {
  expect(spansOf([SYSTEM, message('e', 'environment', 1)])).toEqual([])
  expect(spansOf([SYSTEM, CALL])).toEqual([
    ['invoke_agent', 0, 3],
    ['chat', 0, 3],
  ])
})

it.each(['0001-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '2554-07-21T23:34:34Z', '9999-12-31T23:59:59Z'])(
  'a message at %s gets a time that OTLP can represent',
  (timestamp) => {
    const facts = [message('u', 'user', 1), { ...message('m', 'agent', 2), timestamp }]
    const spans = JSON.stringify(toSpans(replay(facts as never[])))
    const times = Array.from(spans.matchAll(/UnixNano":"([^"]+)"/g), ([, text = '']) => BigInt(text))
    expect(times).toHaveLength(4)
    for (const time of times) expect(time >= 0n && time < 2n ** 64n, String(time)).toBe(true)
  },
)

it('a token count that is not an integer is exported as a double', () => {
  const { llm_message, ...reply } = message('m', 'agent', 2)
  const counted = { ...reply, llm_message: { ...llm_message, reply: { tokens: [1.5, 1e300, 3] } } }
  const values = JSON.stringify(toSpans(replay([message('u', 'user', 1), counted] as never[])))
  expect(values).toContain('{"doubleValue":1.5}')
  expect(values).toContain('{"doubleValue":1e+300}')
  expect(values).toContain('{"intValue":"3"}')
})
