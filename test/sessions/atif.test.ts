/** A file of trajectories: each is read, whatever precedes it, under a name of its own. */

import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { JsonValue } from '../../src/event/index.ts'
import { recordsOf } from '../../properties/sessions/lines.ts'
import { listPendingCalls, replay } from '../../src/index.ts'
import { readSession, type Session, toAtif } from '../../src/sessions/index.ts'

const trajectory = (fields: object) => ({
  schema_version: 'ATIF-v1.7',
  agent: { name: 'a', version: '1' },
  steps: [{ step_id: 1, source: 'user', message: 'hi' }],
  ...fields,
})

const read = (values: readonly unknown[]): Session => readSession(recordsOf(values), { from: 'atif' })

const userIn = ({ facts }: Session): string => JSON.stringify(facts.map(({ fact }) => fact))

it('further lines are sessions beside the first, and none takes the name of another', () => {
  const second = { steps: [{ step_id: 1, source: 'user', message: 'second' }] }
  const { id, children, notes } = read([
    trajectory({ session_id: 'one' }),
    trajectory({ session_id: 'two', ...second }),
    trajectory({ session_id: 'one' }),
  ])
  expect(id).toBe('one')
  expect(children.map((child) => [child.id, child.parentId])).toEqual([
    ['two', null],
    [null, null],
  ])
  expect(children.map((child) => userIn(child).includes('second'))).toEqual([true, false])
  expect(notes).toEqual([{ what: 'further trajectories, each its own session', count: 2, line: 2 }])
})

it('a line that cannot be read costs no other', () => {
  const [good] = recordsOf([trajectory({ session_id: 'one' })])
  if (good === undefined) throw new Error('there is one')
  const session = readSession(
    [
      { line: 1, raw: '{"schema', value: undefined },
      { ...good, line: 2 },
    ],
    {
      from: 'atif',
    },
  )
  expect(session.id).toBe('one')
  expect(userIn(session)).toContain('"hi"')
  expect(session.notes).toEqual([{ what: 'not a trajectory', count: 1, line: 1 }])
  expect(read([7]).facts).toMatchObject([{ fact: { raw: '7' } }])
})

it('an agent that was started is called as its own trajectory, also in the session of its parent', () => {
  const inner = trajectory({ session_id: 'run', trajectory_id: 'child' })
  const same = trajectory({ session_id: 'run' })
  const { id, children } = read([
    trajectory({ session_id: 'run', trajectory_id: 'root', subagent_trajectories: [inner, same] }),
  ])
  expect(id).toBe('run')
  expect(children.map((child) => [child.id, child.parentId])).toEqual([
    ['child', 'run'],
    [null, 'run'],
  ])
})

it('begins at the first time that a conversation can have', () => {
  const timestamps = ['yesterday', '2026-02-30T10:00:00Z', '2026-01-02T10:00:00Z']
  const steps = timestamps.map((timestamp) => ({ source: 'user', message: 'hi', timestamp }))
  expect(read([trajectory({ steps })]).createdAt).toBe('2026-01-02T10:00:00Z')
  expect(read([trajectory({ steps: steps.slice(0, 2) })]).createdAt).toBe(null)
})

it('what is no step and no trajectory is kept as it stands', () => {
  const session = read([
    trajectory({ session_id: 'run', steps: ['stray'], subagent_trajectories: [null] }),
    trajectory({ session_id: 'odd', steps: 'none' }),
  ])
  expect(session.facts.slice(1)).toMatchObject([{ fact: { raw: '"stray"' } }, { fact: { raw: 'null' } }])
  const [odd] = session.children
  expect(odd?.facts[0]?.fact).toMatchObject({ value: { steps: 'none' } as JsonValue })
})

it.each([
  ['an image of a reply', { source: 'agent', message: [{ type: 'image', source: { path: 'MARK' } }] }],
  [
    'a call of a user',
    { source: 'user', message: 'u', tool_calls: [{ tool_call_id: 'c', function_name: 'MARK' }] },
  ],
  ['a call that is none', { source: 'agent', message: 'a', tool_calls: ['MARK'] }],
  ['calls that are no list', { source: 'agent', message: 'a', tool_calls: { MARK: 1 } }],
  ['an observation in words', { source: 'agent', message: 'a', observation: 'MARK' }],
  ['results in words', { source: 'agent', message: 'a', observation: { results: 'MARK', extra: { a: 1 } } }],
  ['a result in words', { source: 'agent', message: 'a', observation: { results: ['MARK'] } }],
  [
    'a list in a result',
    { source: 'agent', message: 'a', observation: { results: [{ content: [['MARK']] }] } },
  ],
  ['a message that is an object', { source: 'agent', message: { said: 'MARK' } }],
])('%s is kept', (_, step) => {
  expect(userIn(read([trajectory({ steps: [step] })]))).toContain('MARK')
})

it('what a step says beside its message, calls and results is kept beside them', () => {
  const word = fc.stringMatching(/^[a-z]{1,8}$/).map((letters) => `x_${letters}`)
  const extra = fc.dictionary(word, fc.uuid(), { minKeys: 1, maxKeys: 3 })
  const step = fc
    .tuple(fc.constantFrom('user', 'system', 'agent', 'other'), fc.constantFrom('', 'words'), extra)
    .chain(([source, message, more]) =>
      fc.record({
        source: fc.constant(source),
        message: fc.constant(message),
        extra: fc.constant(more),
        metrics: extra.map((costs) => ({ prompt_tokens: 1, ...costs })),
        tool_calls: fc.array(
          extra.map((ownValue) => ({
            tool_call_id: 'c',
            function_name: 'f',
            arguments: {},
            extra: ownValue,
          })),
          { maxLength: 1 },
        ),
        observation: extra.map((ownValue) => ({ results: [{ content: 'out', ...ownValue }] })),
      }),
    )
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), (steps) => {
      const stored = userIn(read([trajectory({ steps })]))
      for (const [id] of JSON.stringify(steps).matchAll(/[0-9a-f]{8}-[-0-9a-f]{27}/g))
        expect(stored).toContain(id)
    }),
  )
})

const call = (tool_call_id: string, input: unknown) => ({
  tool_call_id,
  function_name: 'sh',
  arguments: input,
})

it('a call that cannot be read has an error, also if another call of its step has a result', () => {
  const steps = [
    {
      step_id: 1,
      source: 'agent',
      message: '',
      tool_calls: [call('a', {}), call('b', [1])],
      observation: { results: [{ source_call_id: 'a', content: 'ok' }] },
    },
  ]
  const { facts } = read([trajectory({ steps })])
  expect(listPendingCalls(replay(facts.map(({ fact }) => fact)))).toEqual([])
})

const called = (id: string, reply?: object) => ({
  kind: 'ActionEvent',
  id,
  source: 'agent',
  thought: [],
  action: { kind: 'ShAction' },
  tool_name: 'sh',
  tool_call_id: id,
  tool_call: { id, name: 'sh', arguments: '{}', origin: 'completion', ...(reply && { reply }) },
  llm_response_id: 'same',
})

const ended = (call: string) => ({
  kind: 'ObservationEvent',
  id: `${call}-end`,
  source: 'environment',
  tool_name: 'sh',
  tool_call_id: call,
  action_id: call,
  observation: { kind: 'ToolObservation', content: [{ type: 'text', text: call }] },
})

it('replies of a server that uses one id for all are written as a step each', () => {
  const [first, second] = [{ tokens: [10, 2] }, { tokens: [20, 3] }]
  const facts = [called('a', first), called('b'), ended('a'), ended('b'), called('c', second), ended('c')]
  const { steps, final_metrics } = toAtif(replay(facts as Parameters<typeof replay>[0]))
  const calls = steps.map(({ tool_calls, metrics }) => [
    (tool_calls as { tool_call_id: string }[]).map(({ tool_call_id }) => tool_call_id),
    (metrics as { prompt_tokens: number }).prompt_tokens,
  ])
  expect(calls).toEqual([
    [['a', 'b'], 10],
    [['c'], 20],
  ])
  expect(final_metrics).toMatchObject({ total_prompt_tokens: 30, total_steps: 2 })
})

it.each([true, false])(
  'counts the tokens of a copied step (%s) in the trajectory that made it',
  (isCopied) => {
    const metrics = { prompt_tokens: 100, completion_tokens: 10, cached_tokens: 50, cost_usd: 0.5 }
    const call = { tool_call_id: 'c', function_name: 'ls', arguments: {} }
    const copied = isCopied ? { is_copied_context: true } : {}
    const steps = [
      { step_id: 1, source: 'user', message: 'hi', ...copied },
      { step_id: 2, source: 'agent', message: 'first', metrics, ...copied },
      { step_id: 3, source: 'agent', message: '', tool_calls: [call], metrics, ...copied },
      { step_id: 4, source: 'agent', message: 'own', metrics },
    ]
    const session = read([trajectory({ session_id: 'one', steps })])
    const count = isCopied ? 1 : 3
    expect(toAtif(replay(session.facts.map(({ fact }) => fact))).final_metrics).toMatchObject({
      total_prompt_tokens: 100 * count,
      total_completion_tokens: 10 * count,
      total_cached_tokens: 50 * count,
    })
    // Counts that are not used are kept beside the step.
    expect(userIn(session).match(/"prompt_tokens":100/g) ?? []).toHaveLength(isCopied ? 2 : 0)
    expect(userIn(session).match(/"cost_usd":0.5/g)).toHaveLength(3)
  },
)
