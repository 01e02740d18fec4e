/**
 * A step calls a model through its provider's client, executes the calls of the reply, and calls the model
 * again. Each grammar is tested with complete and with streamed replies.
 */

import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { usageTotals } from '../../src/context/usage.ts'
import { replyOf } from '../../src/event/reply.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import {
  anthropicStep,
  bedrockStep,
  googleStep,
  openaiResponsesStep,
  type StepOptions,
  type StepTool,
  tool,
} from '../../src/steps/index.ts'
import { begin, branch, names } from '../conversation/agent.ts'
import { scripted, STEP_WIRES, streamed } from './wires.ts'

const add = tool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => String(a + b),
})
const list: StepTool = {
  name: 'list',
  description: 'Lists a directory.',
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
  execute: async ({ path }) => [{ type: 'text', text: `${String(path)}/a.txt` }],
}
const LISTED = {
  toolSpec: { name: list.name, description: list.description, inputSchema: { json: list.parameters } },
}
const POINT = { cachePoint: { type: 'default' } }
const CALLS = [
  { id: 'c1', name: 'add', args: '{"a":1,"b":2}' },
  { id: 'c2', name: 'list', args: '{"path":"src"}' },
]

/** Returns, for each request, the models whose signed thinking it contains. Runs one model after the other. */
const thoughtsSent = async (names: readonly string[], options: object = {}): Promise<string[]> => {
  const conversation = await begin('Hello')
  const sent: string[] = []
  const stepFor = (model: string) =>
    anthropicStep({
      ...options,
      model,
      max_tokens: 10,
      stream: false,
      client: {
        messages: {
          async create(request: object) {
            sent.push((JSON.stringify(request).match(/(?<=sealed by )\w+/g) ?? []).join(' '))
            const [name] = model.split('-')
            const thinking = { type: 'thinking', thinking: '', signature: `sealed by ${name}` }
            const content = [thinking, { type: 'text', text: 'Hi' }]
            return {
              id: `msg_${sent.length}`,
              model: `${name}-5-20261101`,
              content,
              stop_reason: 'end_turn',
            }
          },
        },
      },
    })
  for (const name of names) {
    await conversation.run(stepFor(name))
    await conversation.sendMessage('And?')
  }
  return sent
}

describe('signed thinking', () => {
  it('is sent only to the model that signed it, also under a dated name or an alias', async () => {
    expect(
      await thoughtsSent(['opus-5', 'opus-5', 'haiku-latest', 'haiku-latest', 'opus-5-20261101']),
    ).toEqual(['', 'opus', '', 'haiku', 'opus opus'])
  })

  it.each([{ prove: false }, { thinking: { type: 'enabled', budget_tokens: 1024 } }])(
    'is sent to every model with %j',
    async (options) => {
      expect(await thoughtsSent(['opus-4-5', 'haiku-4-5'], options)).toEqual(['', 'opus'])
    },
  )
})

it.each(Object.values(STEP_WIRES))(
  'a $name request with only a blank message contains a placeholder',
  async (wire) => {
    const { step, requests } = scripted(wire, [{ text: 'Hello!' }, { text: 'Yes?' }])
    const conversation = await begin('  ')
    expect(await conversation.run(step)).toMatchObject({ status: 'finished' })
    await conversation.sendMessage('  ')
    expect(await conversation.run(step)).toMatchObject({ status: 'finished' })
    expect(JSON.stringify(requests[0])).toContain('[The conversation begins here.]')
  },
)

const unknown = (id: string) => ({ calls: [{ id, name: 'no_such_tool', args: '{}' }] })

const WIRES = Object.values(STEP_WIRES).flatMap((wire) =>
  [true, false].map((prove) => ({ wire, name: wire.name, prove })),
)

it.each(WIRES)(
  'two $name replies with calls of an unknown tool stay separate (prove: $prove)',
  async ({ wire, prove }) => {
    const turns = [unknown('c1'), unknown('c2'), { text: 'Hello!' }]
    const { step } = scripted(wire, turns, { tools: [add], prove })
    const conversation = await begin('Hello')
    await conversation.run(step)
    const messages = await conversation.read((state) => toMessages(state))
    expect(messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ])
  },
)

it("a server's plain reasoning is sent back to it, and not to OpenAI", async () => {
  const reasoning = {
    type: 'reasoning',
    id: 'rs_1',
    summary: [],
    content: [{ type: 'reasoning_text', text: 'I add.' }],
  }
  const { id: call_id, name, args } = CALLS[0] as (typeof CALLS)[number]
  const output = [reasoning, { type: 'function_call', id: 'fc_1', call_id, name, arguments: args }]
  const message = { type: 'message', content: [{ type: 'output_text', text: '3' }] }
  for (const server of ['vllm', undefined] as const) {
    const sent: { readonly input: readonly object[] }[] = []
    const step = openaiResponsesStep({
      client: {
        responses: {
          async create(request: { readonly input: readonly object[] }) {
            sent.push(request)
            return { status: 'completed', model: 'm', output: sent.length === 1 ? output : [message] }
          },
        },
      },
      model: 'm',
      tools: [add],
      stream: false,
      ...(server !== undefined && { server }),
    })
    const conversation = await begin('Hello')
    await conversation.run(step)
    expect(sent).toHaveLength(2)
    const thoughts = sent[1]?.input.filter((item) => 'summary' in item)
    expect(thoughts).toEqual(server === 'vllm' ? [reasoning] : [])
  }
  expect(() => openaiResponsesStep({ client: {} as never, model: 'm', server: 'other' as never })).toThrow(
    'Unknown server',
  )
})

it('thinking is disabled only in a tool loop that another model started', async () => {
  const conversation = await begin('Hello')
  const { step } = scripted(STEP_WIRES.chat, [{ calls: CALLS.slice(0, 1) }], { tools: [add] })
  await conversation.run(step, { maxIterations: 1 })
  const sent: { thinking: { type: string } }[] = []
  const create = async (request: object) => {
    sent.push(request as (typeof sent)[number])
    return { id: `m${sent.length}`, content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' }
  }
  const claude = anthropicStep({
    client: { messages: { create } },
    model: 'claude-opus-4-5',
    max_tokens: 2048,
    stream: false,
    tools: [add],
    thinking: { type: 'enabled', budget_tokens: 1024 },
  })
  await conversation.run(claude)
  await conversation.sendMessage('And?')
  await conversation.run(claude)
  expect(sent.map(({ thinking }) => thinking.type)).toEqual(['disabled', 'enabled'])
})

it('a request contains the skills, and the container of code that waits for results', async () => {
  const caller = { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' }
  const code = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: { code: 'add()' } }
  const result = { type: 'code_execution_tool_result', tool_use_id: 'srvtoolu_1', content: {} }
  const call = { type: 'tool_use', id: 'toolu_1', name: 'add', input: { a: 1, b: 2 }, caller }
  const replies = [
    { container: { id: 'container_1' }, content: [code, call], stop_reason: 'tool_use' },
    {
      container: { id: 'container_1' },
      content: [result, { type: 'text', text: '3' }],
      stop_reason: 'end_turn',
    },
    { content: [{ type: 'text', text: 'Yes.' }], stop_reason: 'end_turn' },
  ]
  const sent: { readonly container?: unknown }[] = []
  const create = async (request: object) => {
    sent.push(request)
    return { id: `msg_${sent.length}`, ...replies[sent.length - 1] }
  }
  const skills = [{ type: 'anthropic', skill_id: 'pdf' }]
  const step = anthropicStep({
    client: { messages: { create } },
    model: 'm',
    max_tokens: 10,
    stream: false,
    container: { skills },
    tools: [add, { type: 'code_execution_20260120', name: 'code_execution' }],
  })
  const conversation = await begin('What is 1 + 2?')
  await conversation.run(step)
  await conversation.sendMessage('Sure?')
  await conversation.run(step)
  expect(sent.map(({ container }) => container)).toEqual([
    { skills },
    { skills, id: 'container_1' },
    { skills },
  ])
})

describe.each(Object.values(STEP_WIRES))('$name', (wire) => {
  it.each(wire === STEP_WIRES.aiSdk ? [true] : [true, false])(
    'an agent calls two tools and finishes (streamed: %s)',
    async (stream) => {
      const conversation = await begin('What is 1 + 2, and what is in src?')
      const { step, requests } = scripted(
        wire,
        [{ text: 'Let me see.', calls: CALLS }, { text: '3, and a.txt.' }],
        {
          tools: [add, list],
          system: 'Be brief.',
          stream,
        },
      )
      const deltas: string[] = []
      const read = async (): Promise<void> => {
        for await (const item of conversation.subscribe({ after: -1 })) {
          if (item.type === 'delta') deltas.push(JSON.stringify(item.event))
          if (item.type === 'event' && item.status === 'finished') return
        }
      }
      const reading = read()
      expect(await conversation.run(step)).toEqual({ status: 'finished', iterations: 2 })
      await reading
      expect(deltas.length).toBe(stream ? 4 : 0)
      const events = (await branch(conversation)).filter(
        ({ kind }) => kind !== 'ConversationStateUpdateEvent',
      )
      expect(names(events)).toEqual([
        'MessageEvent of user',
        'SystemPromptEvent of agent',
        'ActionEvent of agent',
        'ActionEvent of agent',
        'ObservationEvent of environment',
        'ObservationEvent of environment',
        'MessageEvent of agent',
      ])
      const [first, second] = requests.map((request) => JSON.stringify(request))
      for (const text of ['Be brief.', 'Adds two numbers.', 'Lists a directory.'])
        for (const request of [first, second]) expect(request).toContain(text)
      expect(first).not.toContain('src/a.txt')
      expect(second).toContain('src/a.txt')
      expect(usageTotals(await conversation.state())).toMatchObject({
        prompt_tokens: 20,
        completion_tokens: 10,
      })
      await conversation.sendMessage('Thanks.')
      await conversation.run(step)
      expect(
        names(await branch(conversation)).filter((each) => each.startsWith('SystemPrompt')),
      ).toHaveLength(1)
      expect(requests).toHaveLength(3)
    },
  )

  it('an interrupt keeps the streamed part of a reply, and aborts the request', async () => {
    const conversation = await begin('Tell me all.')
    const signals: AbortSignal[] = []
    const { step } = scripted(wire, [
      async (signal) => {
        signals.push(signal)
        return (async function* () {
          yield* streamed(wire.stream({ text: 'Once upon' }, 1).slice(0, -1))
          // The AI SDK passes an event on some ticks later.
          await new Promise((resolve) => setTimeout(resolve, 5))
          await conversation.interrupt()
          yield* streamed(wire.stream({ text: 'unheard' }, 1))
        })()
      },
    ])
    expect((await conversation.run(step)).status).toBe('paused')
    expect(signals[0]?.aborted).toBe(true)
    const last = (await branch(conversation)).at(-1)
    expect(JSON.stringify(last)).toContain('"Once upon"')
    expect(JSON.stringify(last)).not.toContain('unheard')
    expect(last === undefined ? null : replyOf(last)?.interrupted).toBe(true)
  })

  it('a request that is too long ends the run with context_too_long', async () => {
    const conversation = await begin('Long.')
    const { step } = scripted(wire, [wire.tooLong])
    const { status, error } = await conversation.run(step)
    expect(status).toBe('error')
    expect(error).toMatchObject({ code: 'context_too_long' })
    expect((await conversation.state()).header.error?.code).toBe('ContextTooLong')
  })

  it('any other error of the client ends the run with this error', async () => {
    const conversation = await begin('Hello.')
    const broken = Object.assign(new Error('429 Too many tokens, the maximum context length'), {
      status: 429,
    })
    const { step } = scripted(wire, [broken])
    const { status, error } = await conversation.run(step)
    expect(status).toBe('error')
    // The AI SDK reports the error in its stream.
    if (wire === STEP_WIRES.aiSdk) expect((await conversation.state()).header.error?.code).toBe('ReplyFailed')
    else expect(error).toBe(broken)
  })

  it('after the confirmation, only approved calls are executed, before the next request', async () => {
    const conversation = await begin('What is 1 + 2?')
    await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
    const { step, requests } = scripted(wire, [{ calls: CALLS }], { tools: [add, list] })
    expect((await conversation.run(step)).status).toBe('waiting_for_confirmation')
    expect(requests).toHaveLength(1)
    const ids = (await branch(conversation)).flatMap(({ kind, id = '' }) =>
      kind === 'ActionEvent' ? [id] : [],
    )
    await conversation.approve(ids.slice(0, 1))
    await conversation.reject(ids.slice(1), 'Not that one.')
    expect((await conversation.run(step)).status).toBe('finished')
    expect(JSON.stringify(requests[1])).toContain('Not that one.')
    expect(JSON.stringify(requests[1])).not.toContain('src/a.txt')
  })
})

it.each(Object.values(STEP_WIRES))(
  'a $name request with calls has a tool list, even if the step has no tools',
  async (wire) => {
    const conversation = await begin('What is 1 + 2?')
    await conversation.run(scripted(wire, [{ calls: CALLS }], { tools: [add, list] }).step)
    await conversation.sendMessage('Sum up.')
    const { step, requests } = scripted(wire, [])
    expect((await conversation.run(step)).status).toBe('finished')
    const tools = JSON.stringify(
      requests[0]?.['tools'] ?? requests[0]?.['toolConfig'] ?? requests[0]?.['config'],
    )
    for (const { name } of CALLS) expect(tools).toContain(`"${name}"`)
    const fresh = await begin('Hello.')
    const other = scripted(wire, [])
    await fresh.run(other.step)
    expect(JSON.stringify(other.requests)).not.toContain('not available')
  },
)

it('a condensation request in a run without a condenser causes an error', async () => {
  const conversation = await begin('Hello.')
  const { step, requests } = scripted(STEP_WIRES.chat, [])
  await conversation.run(step)
  await conversation.append({ kind: 'CondensationRequest', source: 'user' })
  await conversation.pause()
  await conversation.append({
    kind: 'ConversationStateUpdateEvent',
    key: 'execution_status',
    value: 'idle',
  })
  expect((await conversation.run(step)).status).toBe('error')
  expect((await conversation.state()).header.error?.detail).toContain('has no condenser')
  expect(requests).toHaveLength(1)
})

/** Returns the configuration in the request of a Gemini step. */
const configOf = async (tools: StepOptions['tools'], config: object, vertexai = false): Promise<unknown> => {
  const sent: { readonly config: object }[] = []
  const send = (request: { readonly config: object }): Promise<unknown> => {
    sent.push(request)
    return Promise.resolve({ candidates: [{ content: { parts: [{ text: 'hi' }] }, finishReason: 'STOP' }] })
  }
  const models = { generateContent: send, generateContentStream: send }
  await (
    await begin()
  ).run(googleStep({ client: { models, vertexai }, model: 'm', config, ...(tools && { tools }) }))
  const { abortSignal: _, ...rest } = (sent[0]?.config ?? {}) as { readonly abortSignal?: unknown }
  return rest
}

describe("Gemini's own tools", () => {
  const OBJECT = { type: 'object', properties: {} }
  const F: StepTool = { name: 'f', description: '', parameters: OBJECT, execute: () => '' }
  const search = { googleSearch: {} }
  const functions = [{ functionDeclarations: [{ name: 'f', description: '', parametersJsonSchema: OBJECT }] }]
  const mixed = { includeServerSideToolInvocations: true }

  it.each<readonly [string, StepOptions['tools'], object, object]>([
    ['none', undefined, { temperature: 0 }, { temperature: 0 }],
    ['in the configuration', undefined, { tools: [search] }, { tools: [search] }],
    ['in the list', [search], {}, { tools: [search] }],
    ['an empty list in the configuration', [], { tools: [] }, {}],
    ['with functions, in the list', [F, search], {}, { tools: [...functions, search], toolConfig: mixed }],
    [
      'with functions, in the configuration',
      [F],
      { tools: [search] },
      { tools: [...functions, search], toolConfig: mixed },
    ],
    [
      'with declared functions',
      [],
      { tools: [...functions, search] },
      { tools: [...functions, search], toolConfig: mixed },
    ],
    ['functions alone', [F], { toolConfig: { a: 1 } }, { tools: functions, toolConfig: { a: 1 } }],
    [
      'computer use with functions',
      [F, { computerUse: {} }],
      {},
      { tools: [...functions, { computerUse: {} }] },
    ],
    [
      'with other settings',
      [F],
      { tools: [search], toolConfig: { functionCallingConfig: { mode: 'AUTO' } } },
      { tools: [...functions, search], toolConfig: { ...mixed, functionCallingConfig: { mode: 'AUTO' } } },
    ],
    [
      'with the flag switched off',
      [F],
      { tools: [search], toolConfig: { includeServerSideToolInvocations: false } },
      { tools: [...functions, search], toolConfig: { includeServerSideToolInvocations: false } },
    ],
  ])('are merged into the request: %s', async (_, tools, config, expected) => {
    expect(await configOf(tools, config)).toEqual(expected)
  })

  it('have no flag on Vertex AI', async () => {
    expect(await configOf([F, search], {}, true)).toEqual({ tools: [...functions, search] })
  })

  it("include the SDK's tools of MCP clients as the same objects", async () => {
    const live: Record<string, unknown> = { tool: () => undefined, callTool: () => undefined }
    live['client'] = { of: live }
    const { tools } = (await configOf([F], { tools: [search, live] })) as { readonly tools: unknown[] }
    expect(tools).toEqual([...functions, search, live])
    expect(tools.at(-1)).toBe(live)
  })
})

it.each<readonly [string, object, unknown]>([
  ['no options', {}, undefined],
  ['a tool choice without tools', { toolConfig: { toolChoice: { auto: {} } } }, undefined],
  [
    'a cache point after the tools',
    { tools: [list], toolConfig: { tools: [POINT] } },
    { tools: [LISTED, POINT] },
  ],
  [
    'a tool choice',
    { tools: [list], toolConfig: { toolChoice: { any: {} } } },
    { toolChoice: { any: {} }, tools: [LISTED] },
  ],
  ['only its own tools', { toolConfig: { tools: [LISTED] } }, { tools: [LISTED] }],
])('a Bedrock step with %s sends the expected toolConfig', async (_, options, toolConfig) => {
  const sent: object[] = []
  const converse = async (request: object) => {
    sent.push(request)
    return { output: { message: { role: 'assistant', content: [{ text: 'hi' }] } }, stopReason: 'end_turn' }
  }
  const client = { converse, converseStream: converse }
  await (await begin()).run(bedrockStep({ client, model: 'm', stream: false, ...options }))
  expect((sent[0] as { readonly toolConfig?: unknown }).toolConfig).toEqual(toolConfig)
})
