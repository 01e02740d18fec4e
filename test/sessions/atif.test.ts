/** ATIF trajectories: several in a file, subagents, unusual content, and the token counts of exported steps. */

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

const factsText = ({ facts }: Session): string => JSON.stringify(facts.map(({ fact }) => fact))

it('further trajectories are children without a parent, with null for a repeated id', () => {
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
  expect(children.map((child) => factsText(child).includes('second'))).toEqual([true, false])
  expect(notes).toEqual([{ what: 'further trajectories, each its own session', count: 2, line: 2 }])
})

const imageAt = (path: string) => ({ type: 'image', source: { media_type: 'image/png', path } })

it('an image with a URL is an image, and a path of a file is kept', () => {
  const message = [imageAt('https://images.example/a.png'), imageAt('images/b.png')]
  const session = read([trajectory({ steps: [{ step_id: 1, source: 'user', message }] })])
  expect(session.facts.at(-1)?.fact).toMatchObject({
    llm_message: {
      content: [
        { type: 'image', image_urls: ['https://images.example/a.png'] },
        { type: 'text', text: expect.stringContaining('images/b.png') },
      ],
    },
  })
})

it('an invalid line is kept as text, and the next line is read', () => {
  const [good] = recordsOf([trajectory({ session_id: 'one' })])
  if (good === undefined) throw new Error('no record')
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
  expect(factsText(session)).toContain('"hi"')
  expect(session.notes).toEqual([{ what: 'not a trajectory', count: 1, line: 1 }])
  expect(read([7]).facts).toMatchObject([{ fact: { raw: '7' } }])
})

it('a subagent has the id of its trajectory, or null if it has the id of its parent', () => {
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

it('a session is created at the first valid timestamp', () => {
  const timestamps = ['yesterday', '2026-02-30T10:00:00Z', '2026-01-02T10:00:00Z']
  const steps = timestamps.map((timestamp) => ({ source: 'user', message: 'hi', timestamp }))
  expect(read([trajectory({ steps })]).createdAt).toBe('2026-01-02T10:00:00Z')
  expect(read([trajectory({ steps: steps.slice(0, 2) })]).createdAt).toBe(null)
})

it('invalid steps and trajectories are kept as text', () => {
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
  ['a call that is a string', { source: 'agent', message: 'a', tool_calls: ['MARK'] }],
  ['calls that are an object', { source: 'agent', message: 'a', tool_calls: { MARK: 1 } }],
  ['an observation that is a string', { source: 'agent', message: 'a', observation: 'MARK' }],
  [
    'results that are a string',
    { source: 'agent', message: 'a', observation: { results: 'MARK', extra: { a: 1 } } },
  ],
  ['a result that is a string', { source: 'agent', message: 'a', observation: { results: ['MARK'] } }],
  [
    'a list in a result',
    { source: 'agent', message: 'a', observation: { results: [{ content: [['MARK']] }] } },
  ],
  ['a message that is an object', { source: 'agent', message: { said: 'MARK' } }],
])('the events contain %s', (_, step) => {
  expect(factsText(read([trajectory({ steps: [step] })]))).toContain('MARK')
})

it('the events contain all additional fields of steps, calls and results', () => {
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
          extra.map((fields) => ({
            tool_call_id: 'c',
            function_name: 'f',
            arguments: {},
            extra: fields,
          })),
          { maxLength: 1 },
        ),
        observation: extra.map((fields) => ({ results: [{ content: 'out', ...fields }] })),
      }),
    )
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), (steps) => {
      const stored = factsText(read([trajectory({ steps })]))
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

it('a call with invalid arguments is not pending, even if only another call of the step has a result', () => {
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

const actionOf = (id: string, reply?: object) => ({
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

const resultOf = (call: string) => ({
  kind: 'ObservationEvent',
  id: `${call}-end`,
  source: 'environment',
  tool_name: 'sh',
  tool_call_id: call,
  action_id: call,
  observation: { kind: 'ToolObservation', content: [{ type: 'text', text: call }] },
})

it('replies with the same response id are exported as separate steps', () => {
  const [first, second] = [{ tokens: [10, 2] }, { tokens: [20, 3] }]
  const facts = [
    actionOf('a', first),
    actionOf('b'),
    resultOf('a'),
    resultOf('b'),
    actionOf('c', second),
    resultOf('c'),
  ]
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

it.each([true, false])('the exported totals omit tokens of copied steps (copied: %s)', (isCopied) => {
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
  // Unused counts are stored in a state update.
  expect(factsText(session).match(/"prompt_tokens":100/g) ?? []).toHaveLength(isCopied ? 2 : 0)
  expect(factsText(session).match(/"cost_usd":0.5/g)).toHaveLength(3)
})
