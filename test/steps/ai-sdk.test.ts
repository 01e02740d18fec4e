/** The step runs tools of the AI SDK, and shows them to the model as the SDK would. */

import { jsonSchema, streamText, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { aiSdkStep } from '../../src/steps/index.ts'
import type { Content } from '../../src/event/shapes.ts'
import { begin, branch, call } from '../conversation/agent.ts'
import { type ScriptedCall, STEP_WIRES, streamed, streamOf } from './wires.ts'

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

const results = async (calls: readonly ScriptedCall[]) => {
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
])('the tool %s, called with %s, has the result that the SDK would send', async (name, args, observation) => {
  expect(await results([{ id: 'c', name, args }])).toMatchObject([observation])
})

it('invalid arguments and an unknown tool each cause an error event', async () => {
  expect(await results([{ id: 'c', name: 'plain', args: '{"n":"four"}' }])).toEqual([
    expect.stringMatching(/^The call was not executed/),
  ])
  expect(await results([{ id: 'c', name: 'elsewhere', args: '{}' }])).toEqual([
    expect.stringMatching(/^The call was not executed: .*'elsewhere'/),
  ])
})

it('a tool with needsApproval is rejected, since only a policy can require confirmation', () => {
  const asking = tool({ inputSchema: INPUT, needsApproval: true, execute: () => '' })
  const options = { streamText, model: new MockLanguageModelV4(), tools: { asking } }
  expect(() => aiSdkStep(options)).toThrow(/needsApproval.*policy/)
})

it('a tool without execute is rejected, unless the provider executes it', () => {
  const model = new MockLanguageModelV4()
  const make = (input: object) => () => aiSdkStep({ streamText, model, tools: { example: input } })
  const unexecuted = tool({ inputSchema: INPUT, outputSchema: z.string() })
  expect(make(unexecuted)).toThrow(expect.objectContaining({ code: 'invalid_argument' }))
  const ofProvider = { type: 'provider', id: 'p.shell', args: {}, inputSchema: INPUT }
  expect(make({ ...ofProvider, isProviderExecuted: false })).toThrow(/execute/)
  expect(make({ ...ofProvider, isProviderExecuted: true })).not.toThrow()
})

it('keeps signed reasoning before a call of an unknown tool, if the provider executes all tools', async () => {
  const omitted: unknown[] = []
  const sent: string[] = []
  const streamText = ({ messages }: { readonly messages: unknown }) => ({
    fullStream: (async function* () {
      sent.push(JSON.stringify(messages))
      yield { type: 'start' }
      yield { type: 'reasoning-start', id: '0' }
      yield { type: 'reasoning-delta', id: '0', text: 'Hm.' }
      yield { type: 'reasoning-end', id: '0', providerMetadata: { anthropic: { signature: 'c2ln' } } }
      if (sent.length === 1) yield { type: 'tool-call', toolCallId: 'c', toolName: 'elsewhere', input: {} }
      const finishReason = sent.length === 1 ? 'tool-calls' : 'stop'
      yield { type: 'text-start', id: '1' }
      yield { type: 'text-delta', id: '1', text: 'Done.' }
      yield { type: 'text-end', id: '1' }
      yield { type: 'finish-step', finishReason, usage: {}, response: { id: `r${sent.length}` } }
    })(),
  })
  const search = { type: 'provider', id: 'p.search', args: {}, inputSchema: INPUT, isProviderExecuted: true }
  const conversation = await begin()
  const step = aiSdkStep({ streamText, model: 'm', tools: { search } })
  await conversation.run(step, { onPrefix: (each) => omitted.push(each) })
  expect(sent).toHaveLength(2)
  expect(omitted).toEqual([])
  expect(sent[1]).toContain('c2ln')
})

/** Returns a `streamText` that accepts the prompts of version 6. `refuseAll` simulates any other version. */
function streamTextOf6(seen: unknown[], refuseAll = false) {
  const options = { providerOptions: z.object().optional() }
  const text = z.strictObject({ type: z.literal('text'), text: z.string(), ...options })
  const file = z.strictObject({
    type: z.enum(['file']),
    data: z.string(),
    mediaType: z.string(),
    filename: z.string().optional(),
    ...options,
  })
  const image = z.strictObject({ type: z.literal('image'), image: z.string(), ...options })
  const shown = z.strictObject({
    type: z.enum(['image-data', 'file-data']),
    data: z.string(),
    mediaType: z.string(),
    filename: z.string().optional(),
    ...options,
  })
  const output = z.union([
    z.object({ type: z.literal('text'), value: z.string() }),
    z.object({ type: z.literal('content'), value: z.array(z.union([text, shown])) }),
  ])
  const parts = z.array(
    z.union([
      text,
      file,
      image,
      z.object({ type: z.literal('tool-call') }),
      z.object({ type: z.literal('tool-result'), output }),
    ]),
  )
  const schema = z.array(z.object({ role: z.string(), content: z.union([z.string(), parts]) }))
  return ({ messages }: { readonly messages: unknown }) => ({
    fullStream: (async function* () {
      yield { type: 'start' }
      if (refuseAll || !schema.safeParse(messages).success) {
        yield {
          type: 'error',
          error: Object.assign(new Error('Invalid prompt'), { name: 'AI_InvalidPromptError' }),
        }
        return
      }
      seen.push(messages)
      yield { type: 'text-start', id: '1' }
      yield { type: 'text-delta', id: '1', text: 'Seen.' }
      yield { type: 'text-end', id: '1' }
      yield {
        type: 'finish-step',
        finishReason: 'stop',
        rawFinishReason: 'stop',
        usage: {},
        response: { id: `r${seen.length}` },
      }
    })(),
  })
}

const PNG = 'iVBORw0KGgo='
const FILES: readonly Content[] = [
  { text: 'See' },
  { type: 'image', image_urls: [`data:image/png;base64,${PNG}`, 'https://a.b/c.png'] },
  { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0xLjcK', filename: 'a.pdf' },
  { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'words' } },
  { type: 'file', mediaType: 'application/pdf', data: { type: 'reference', reference: { openai: 'f' } } },
]

it('with version 6, files of users and tools are sent in its format, in all requests', async () => {
  const seen: unknown[] = []
  const step = aiSdkStep({ streamText: streamTextOf6(seen) as never, model: 'm' })
  const conversation = await begin()
  await conversation.append([
    { kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content: FILES } },
    { ...call('c', 'shot'), id: 'a' },
    {
      kind: 'ObservationEvent',
      source: 'environment',
      action_id: 'a',
      tool_name: 'shot',
      tool_call_id: 'c',
      observation: { kind: 'ToolObservation', content: FILES },
    },
  ])
  expect((await conversation.run(step)).status).toBe('finished')
  await conversation.sendMessage('Go on.')
  expect((await conversation.run(step)).status).toBe('finished')
  expect(seen).toHaveLength(2)
  const text = JSON.stringify(seen[1])
  for (const part of [
    { type: 'file', mediaType: 'image/png', data: PNG },
    { type: 'image', image: 'https://a.b/c.png' },
    { type: 'text', text: 'words' },
    { type: 'image-data', mediaType: 'image/png', data: PNG },
  ])
    expect(text).toContain(JSON.stringify(part).slice(1, -1))
})

it('a version that rejects both formats causes an error that names the supported versions', async () => {
  const conversation = await begin()
  const step = aiSdkStep({ streamText: streamTextOf6([], true) as never, model: 'm' })
  const run = conversation.run(step).catch((error: unknown) => error)
  expect(JSON.stringify([await run, await branch(conversation)])).toContain('Use version 6 or 7')
})
