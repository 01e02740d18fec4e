/** Tools of the AI SDK are executed by the step, and shown to the model as the SDK would show them. */

import { jsonSchema, streamText, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { aiSdkStep } from '../../src/steps/index.ts'
import { begin, branch } from '../conversation/agent.ts'
import { type SaidCall, STEP_WIRES, streamed, streamOf } from './wires.ts'

const INPUT = z.object({ n: z.coerce.number().default(7) })

const TOOLS = {
  plain: tool({ description: 'P', inputSchema: INPUT, execute: ({ n }) => ({ n, kind: 'file' }) }),
  slow: tool({
    inputSchema: INPUT,
    async *execute() {
      yield 'half'
      yield 'whole'
    },
  }),
  shown: tool({
    inputSchema: INPUT,
    execute: (_, { toolCallId }) => toolCallId,
    toModelOutput: ({ output }) => ({
      type: 'content',
      value: [
        { type: 'text', text: `of ${output}` },
        { type: 'file-data', data: 'AA==', mediaType: 'image/png' },
      ],
    }),
  }),
  failing: tool({
    inputSchema: jsonSchema({ type: 'object' }),
    execute: () => 'broken',
    toModelOutput: ({ output }) => ({ type: 'error-text', value: output }),
  }),
}

const results = async (calls: readonly SaidCall[]) => {
  const conversation = await begin()
  const script = [{ calls }, { text: 'Done.' }]
  const model = new MockLanguageModelV4({
    doStream: async () => ({
      stream: streamOf(streamed(STEP_WIRES.aiSdk.stream(script.shift() ?? {}, 1)) as AsyncIterable<never>),
    }),
  })
  expect((await conversation.run(aiSdkStep({ streamText, model, tools: TOOLS }))).status).toBe('finished')
  return (await branch(conversation)).flatMap((event): unknown[] => {
    if (event.kind === 'ObservationEvent') return [event.observation]
    return event.kind === 'AgentErrorEvent' ? [event.error] : []
  })
}

it.each<readonly [keyof typeof TOOLS, string, unknown]>([
  ['plain', '{"n":"4"}', { content: [{ type: 'text', text: '{"n":4,"kind":"file"}' }] }],
  ['plain', '{}', { content: [{ type: 'text', text: '{"n":7,"kind":"file"}' }] }],
  ['slow', '{}', { content: [{ type: 'text', text: 'whole' }] }],
  [
    'shown',
    '{}',
    {
      content: [
        { type: 'text', text: 'of c' },
        { type: 'file-data', mediaType: 'image/png', data: 'AA==' },
      ],
    },
  ],
  ['failing', '{}', { content: [{ type: 'text', text: 'broken' }], is_error: true }],
])('%s %s', async (name, args, observation) => {
  expect(await results([{ id: 'c', name, args }])).toMatchObject([observation])
})

it('arguments that do not fit, and a tool that there is none of, are told of', async () => {
  expect(await results([{ id: 'c', name: 'plain', args: '{"n":"four"}' }])).toEqual([
    expect.stringMatching(/^The call was not executed/),
  ])
  expect(await results([{ id: 'c', name: 'elsewhere', args: '{}' }])).toEqual([
    expect.stringMatching(/^The call was not executed: .*'elsewhere'/),
  ])
})

it('a tool that wants approval by the SDK is refused, since it would never be asked for', () => {
  const asking = tool({ inputSchema: INPUT, needsApproval: true, execute: () => '' })
  const options = { streamText, model: new MockLanguageModelV4(), tools: { asking } }
  expect(() => aiSdkStep(options)).toThrow(/needsApproval.*policy/)
})

it('a tool that nothing executes is refused, unless the provider executes it', () => {
  const model = new MockLanguageModelV4()
  const make = (given: object) => () => aiSdkStep({ streamText, model, tools: { given } })
  const unexecuted = tool({ inputSchema: INPUT, outputSchema: z.string() })
  expect(make(unexecuted)).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
  const ofProvider = { type: 'provider', id: 'p.shell', args: {}, inputSchema: INPUT }
  expect(make({ ...ofProvider, isProviderExecuted: false })).toThrow(/execute/)
  expect(make({ ...ofProvider, isProviderExecuted: true })).not.toThrow()
})
