/** Tools of an MCP server: their list, their results, their abort signals, and calls that run as tasks. */

import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { completionOf } from '../../src/event/completion.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import type { Content } from '../../src/event/shapes.ts'
import { type McpClient, type McpTool, mcpTools } from '../../src/steps/index.ts'
import { begin, branch } from '../conversation/agent.ts'
import { scripted, STEP_WIRES } from './wires.ts'

const PNG = 'iVBORw0KGgo='

const listed = (name: string, more: Partial<McpTool> = {}): McpTool => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
})

interface RecordedCall {
  readonly params: object
  readonly options: readonly unknown[]
}

/** Returns an in-process client with a paged list of tools, and its calls. */
function clientOf(pages: readonly (readonly McpTool[])[], result: object = { content: [] }) {
  const calls: RecordedCall[] = []
  const client = {
    listTools: async (params?: { readonly cursor?: string }) => {
      const index = Number(params?.cursor ?? 0)
      const nextCursor = index + 1 < pages.length ? String(index + 1) : undefined
      return { tools: pages[index] ?? [], nextCursor }
    },
    callTool: async (params: object, ...options: readonly unknown[]) => {
      calls.push({ params, options })
      return result
    },
  }
  return { client: client satisfies McpClient, calls }
}

async function resultOf(result: object) {
  const { client, calls } = clientOf([[listed('do')]], result)
  const conversation = await begin()
  const { step } = scripted(STEP_WIRES.chat, [{ calls: [{ id: 'c', name: 'do', args: '{"a":1}' }] }], {
    tools: await mcpTools(client),
  })
  await conversation.run(step)
  const event = (await branch(conversation)).find(({ kind }) => kind === 'ObservationEvent')
  return { observation: event?.kind === 'ObservationEvent' ? event.observation : null, calls }
}

it.each([() => 7, () => null, () => ''])(
  'mcpTools rejects a `name` function that does not return a non-empty string: %s',
  async (name) => {
    const { client } = clientOf([[listed('a')]])
    await expect(mcpTools(client, { name: name as never })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: '`name` must return a non-empty string.',
    })
  },
)

it('mcpTools reads all pages, renames the tools and filters them', async () => {
  const { client } = clientOf([[listed('a', { description: 'Does a.' }), listed('b')], [], [listed('c')]])
  const tools = await mcpTools(client, { name: (name) => `x_${name}`, include: ({ name }) => name !== 'b' })
  expect(tools.map(({ name, description, parameters }) => [name, description, parameters])).toEqual([
    ['x_a', 'Does a.', { type: 'object' }],
    ['x_c', '', { type: 'object' }],
  ])
})

it('an empty cursor ends the list', async () => {
  const { client } = clientOf([])
  const ended = { ...client, listTools: async () => ({ tools: [listed('a')], nextCursor: '' }) }
  expect((await mcpTools(ended)).map(({ name }) => name)).toEqual(['a'])
})

it('mcpTools rejects two tools with the same name, and an endless list', async () => {
  const { client } = clientOf([[listed('a')], [listed('a')]])
  await expect(mcpTools(client)).rejects.toMatchObject({ code: 'invalid_argument' })
  const endless = { ...client, listTools: async () => ({ tools: [], nextCursor: '1' }) }
  await expect(mcpTools(endless)).rejects.toMatchObject({ code: 'invalid_argument' })
})

it("the order of tools does not depend on the server's order", async () => {
  const lists = ['bac', 'cba'].map((names) => clientOf([[...names].map((name) => listed(name))]))
  const [one, other] = await Promise.all(lists.map(async ({ client }) => mcpTools(client)))
  expect(one?.map(({ name }) => name)).toEqual(other?.map(({ name }) => name))
})

it('long names that begin alike stay different, and a call reaches the right tool', async () => {
  const letter = fc.constantFrom('a', 'B', '_', '-', '.', '/', 'é', '😀', '\uD800')
  const text = (minLength: number, maxLength: number) => fc.string({ unit: letter, minLength, maxLength })
  const names = fc
    .tuple(text(64, 70), fc.uniqueArray(text(1, 70), { minLength: 2, maxLength: 6 }))
    .map(([prefix, ends]) => ends.map((end) => prefix + end))
  const { signal } = new AbortController()
  await fc.assert(
    fc.asyncProperty(names, fc.nat(), async (list, n) => {
      const index = n % list.length
      const { client, calls } = clientOf([list.map((name) => listed(name))])
      const tools = await mcpTools(client)
      expect(new Set(tools.map(({ name }) => name)).size).toBe(list.length)
      for (const { name } of tools) expect(name).toMatch(/^[\w-]{64}$/)
      const alone = await mcpTools(clientOf([[listed(list[index] ?? '')]]).client)
      const tool = tools.find(({ name }) => name === alone[0]?.name)
      await tool?.execute({}, { signal } as never)
      expect(calls.map(({ params }) => params)).toEqual([{ name: list[index], arguments: {} }])
    }),
  )
})

it.each([
  ['admin.tools/list', 'admin_tools_list'],
  ['Dockerfile problems scanner', 'Dockerfile_problems_scanner'],
  ['naïve', 'na_ve'],
  ['long'.repeat(20), `${'long'.repeat(16).slice(0, 55)}_2221965b`],
])('a name that providers reject is replaced for the model: %s', async (name, shown) => {
  const { client, calls } = clientOf([[listed(name)]])
  const conversation = await begin()
  const { step, requests } = scripted(STEP_WIRES.chat, [{ calls: [{ id: 'c', name: shown, args: '{}' }] }], {
    tools: await mcpTools(client),
  })
  await conversation.run(step)
  expect(requests[0]?.['tools']).toMatchObject([{ function: { name: shown } }])
  expect(calls.map(({ params }) => params)).toEqual([{ name, arguments: {} }])
  const both = clientOf([[listed(name), listed(shown)]])
  await expect(mcpTools(both.client)).rejects.toThrow(/Two tools/)
  expect(await mcpTools(both.client, { name: (each) => (each === name ? '0.x' : each) })).toMatchObject([
    { name: '0_x' },
    { name: shown },
  ])
})

it('hints of the server have an effect only with trustHints', async () => {
  const { client } = clientOf([[listed('a', { annotations: { readOnlyHint: true } }), listed('b')]])
  const repeatable = async (trustHints: boolean) =>
    (await mcpTools(client, { trustHints })).map((tool) => tool.repeatable === true)
  expect(await repeatable(true)).toEqual([true, false])
  expect(await repeatable(false)).toEqual([false, false])
})

it.each<readonly [string, object, readonly Content[], boolean?]>([
  [
    'an error',
    { content: [{ type: 'text', text: 'no' }], isError: true },
    [{ type: 'text', text: 'no' }],
    true,
  ],
  [
    'an image',
    { content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] },
    [{ type: 'image', image_urls: [`data:image/png;base64,${PNG}`] }],
  ],
  ['structured content', { structuredContent: { a: 1 }, content: [] }, [{ type: 'text', text: '{"a":1}' }]],
])('%s becomes an observation', async (_, result, content, isError = false) => {
  const { observation, calls } = await resultOf(result as object)
  expect(observation).toMatchObject({ content })
  expect(observation?.is_error === true).toBe(isError)
  expect(calls.map(({ params }) => params)).toEqual([{ name: 'do', arguments: { a: 1 } }])
})

it('a call passes the abort signal in the argument that each version of the SDK expects', async () => {
  const { signal } = new AbortController()
  const context = { signal, call: {} as never }
  const { client, calls } = clientOf([[listed('do')]])
  const [first] = await mcpTools(client, { request: { timeout: 5 } })
  await first?.execute({}, context)
  expect(calls[0]?.options).toEqual([undefined, { signal, timeout: 5 }])
  const input: unknown[] = []
  const second = {
    ...client,
    callTool: async (_: object, options: unknown) => {
      input.push(options)
      return {}
    },
  }
  await (await mcpTools(second as McpClient))[0]?.execute({}, context)
  expect(input).toEqual([{ signal }])
})

const onprogress = (): void => undefined

it.each([{ resetTimeoutOnProgress: true }, { resetTimeoutOnProgress: true, timeout: 5 }])(
  'a call with resetTimeoutOnProgress has a progress handler: %j',
  async (request) => {
    const context = { signal: new AbortController().signal, call: {} as never }
    const { client, calls } = clientOf([[listed('do')]])
    for (const options of [
      request,
      { ...request, onprogress },
      { ...request, resetTimeoutOnProgress: false },
    ])
      await (await mcpTools(client, { request: options }))[0]?.execute({}, context)
    const sent = calls.map(({ options }) => options[1] as { onprogress?: unknown })
    expect(sent[0]).toEqual({ ...request, onprogress: expect.any(Function), signal: context.signal })
    expect(sent[1]?.onprogress).toBe(onprogress)
    expect(sent[2]).not.toHaveProperty('onprogress')
  },
)

describe('tools that run as tasks', () => {
  const TASK = listed('do', { execution: { taskSupport: 'required' } })

  /** Returns a client of a server with one task, which completes after some polls. It ignores signals. */
  function taskServer(
    polls: number,
    result: () => object = () => ({ content: [{ type: 'text', text: 'Done.' }] }),
    pollInterval = 1,
  ) {
    const methods: string[] = []
    let remaining = polls
    const { client } = clientOf([[TASK]])
    const request = async ({ method, params }: { method: string; params: { taskId?: string } }) => {
      methods.push(method)
      if (method === 'tools/call')
        return { task: { taskId: 't1', status: 'working' }, _meta: { [IMMEDIATE]: 'Working on it.' } }
      expect(params.taskId).toBe('t1')
      if (method === 'tasks/result') return result()
      remaining -= 1
      return { taskId: 't1', status: remaining > 0 ? 'working' : 'completed', pollInterval }
    }
    return { client: { ...client, request } as McpClient, methods }
  }
  const IMMEDIATE = 'io.modelcontextprotocol/model-immediate-response'
  const call = [
    { calls: [{ id: 'c', name: 'do', args: '{"a":1}' }] },
    { text: 'Started.' },
    { text: 'Read.' },
  ]

  it('are background calls whose result the model reads later', async () => {
    const { client, methods } = taskServer(3)
    const conversation = await begin()
    const { step } = scripted(STEP_WIRES.chat, call, { tools: await mcpTools(client) })
    expect(await conversation.run(step, { until: 'settled' })).toMatchObject({ status: 'finished' })
    const events = await branch(conversation)
    const working = events.find((event) => event.kind === 'ObservationEvent')
    expect(working).toMatchObject({
      observation: {
        kind: 'WorkingObservation',
        task: { mcp_task: 't1' },
        content: [{ text: 'Working on it.' }],
      },
    })
    expect(events.flatMap((event) => completionOf(event)?.outcome ?? [])).toEqual(['done'])
    expect(methods).toEqual(['tools/call', 'tasks/get', 'tasks/get', 'tasks/get', 'tasks/result'])
  })

  const outcomeOf = async (client: McpClient) => {
    const conversation = await begin()
    const { step } = scripted(STEP_WIRES.chat, call, { tools: await mcpTools(client) })
    await conversation.run(step, { until: 'settled' })
    return (await branch(conversation)).flatMap((event) => completionOf(event)?.outcome ?? [])
  }

  it('are asked for their result while they require input, even if the user needs long', async () => {
    const { client, methods } = taskServer(1, () => {
      if (methods.length < 20) throw new Error('Request timed out')
      return { content: [] }
    })
    const { request } = client
    const asking = async (input: never) => {
      const reply = await request?.(input)
      return { ...(reply as object), ...(methods.at(-1) === 'tasks/get' && { status: 'input_required' }) }
    }
    expect(await outcomeOf({ ...client, request: asking })).toEqual(['done'])
    expect(methods.slice(0, 4)).toEqual(['tools/call', 'tasks/get', 'tasks/result', 'tasks/get'])
  })

  it('fail if their result is an error or cannot be read', async () => {
    expect(await outcomeOf(taskServer(1, () => ({ content: [], isError: true })).client)).toEqual(['failed'])
    const { client } = taskServer(1, () => {
      throw new Error('The task has expired.')
    })
    expect(await outcomeOf(client)).toEqual(['failed'])
  })

  it('are cancelled at the server with their call, but not when the engine closes', async () => {
    for (const [reason, last] of [
      [new Error('cancelled'), 'tasks/cancel'],
      [new ColloquyError('closed', 'closed'), 'tasks/get'],
    ] as const) {
      const { client, methods } = taskServer(1e9)
      const [tool] = await mcpTools(client)
      const stop = new AbortController()
      const polling = tool?.resume?.({ mcp_task: 't1' }, { signal: stop.signal, call: {} as never })
      setTimeout(() => stop.abort(reason), 30)
      await expect(polling).rejects.toBe(reason)
      expect(methods.at(-1)).toBe(last)
    }
  })

  it('are polled at the interval of the server, however long it is', async () => {
    const { client, methods } = taskServer(1e9, undefined, 1e12)
    const [tool] = await mcpTools(client)
    const stop = new AbortController()
    const polling = tool?.resume?.({ mcp_task: 't1' }, { signal: stop.signal, call: {} as never })
    setTimeout(() => stop.abort(new Error('cancelled')), 30)
    await expect(polling).rejects.toThrow('cancelled')
    expect(methods).toEqual(['tasks/get', 'tasks/cancel'])
  })

  it('resume only from their task handle', async () => {
    const [tool] = await mcpTools(taskServer(2).client)
    const context = { signal: new AbortController().signal, call: {} as never }
    expect(await tool?.resume?.({ mcp_task: 't1' }, context)).toEqual({
      content: [{ type: 'text', text: 'Done.' }],
    })
    for (const task of [null, 7, [], { mcp_task: 7 }, { job: 't1' }])
      expect(await tool?.resume?.(task, context)).toBeInstanceOf(Error)
  })

  it('are used only if the server supports them and the tasks option allows them', async () => {
    const optional = listed('do', { execution: { taskSupport: 'optional' } })
    for (const [tool, tasks, viaTask] of [
      [optional, false, false],
      [optional, true, true],
      [listed('do', { execution: { taskSupport: 'forbidden' } }), true, false],
      [listed('do'), true, false],
    ] as const) {
      const { client, calls } = clientOf([[tool]])
      const requests: object[] = []
      const request = async (sent: object) => (
        requests.push(sent),
        { content: [{ type: 'text', text: 'now' }] }
      )
      const [mcpTool] = await mcpTools({ ...client, request } as McpClient, { tasks })
      const context = { signal: new AbortController().signal, call: {} as never }
      const output = await mcpTool?.execute({}, context)
      expect([requests.length, calls.length]).toEqual(viaTask ? [1, 0] : [0, 1])
      if (viaTask) expect(output).toEqual({ content: [{ type: 'text', text: 'now' }] })
    }
  })

  it('follow the MCP protocol with a client of the SDK', async () => {
    const [mine, peer] = InMemoryTransport.createLinkedPair()
    const received: { method: string; params: object }[] = []
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no event target
    peer.onmessage = (message) => {
      const { id, method = '', params = {} } = message as { id?: number; method?: string; params?: object }
      if (id === undefined) return
      received.push({ method, params })
      const results: Record<string, Record<string, unknown>> = {
        initialize: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
          serverInfo: { name: 'peer', version: '1' },
        },
        'tools/list': { tools: [TASK] },
        'tools/call': {
          task: { taskId: 't1', status: 'working', ttl: 60_000, createdAt: '', lastUpdatedAt: '' },
        },
        'tasks/get': { taskId: 't1', status: 'completed', ttl: 60_000, createdAt: '', lastUpdatedAt: '' },
        'tasks/result': { content: [{ type: 'text', text: 'Done.' }] },
      }
      void peer.send({ jsonrpc: '2.0', id, result: results[method] ?? {} })
    }
    await peer.start()
    const client = new Client({ name: 'c', version: '1' })
    await client.connect(mine)
    const conversation = await begin()
    const { step } = scripted(STEP_WIRES.chat, call, { tools: await mcpTools(client) })
    await conversation.run(step, { until: 'settled' })
    expect(received.slice(-3)).toMatchObject([
      { method: 'tools/call', params: { name: 'do', arguments: { a: 1 }, task: {} } },
      { method: 'tasks/get', params: { taskId: 't1' } },
      { method: 'tasks/result', params: { taskId: 't1' } },
    ])
    expect((await branch(conversation)).some((event) => completionOf(event)?.outcome === 'done')).toBe(true)
    await client.close()
  })
})
