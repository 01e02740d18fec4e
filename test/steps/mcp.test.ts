/** Tools of an MCP server: its whole list, its results, and calls that an interrupt aborts. */

import { expect, it } from 'vitest'
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

interface Called {
  readonly params: object
  readonly options: readonly unknown[]
}

/** A client in this process, whose list has pages. */
function clientOf(pages: readonly (readonly McpTool[])[], result: object = { content: [] }) {
  const calls: Called[] = []
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

it('all pages of the list are tools, under the names that are wanted', async () => {
  const { client } = clientOf([[listed('a', { description: 'Does a.' }), listed('b')], [], [listed('c')]])
  const tools = await mcpTools(client, { name: (name) => `x_${name}`, include: ({ name }) => name !== 'b' })
  expect(tools.map(({ name, description, parameters }) => [name, description, parameters])).toEqual([
    ['x_a', 'Does a.', { type: 'object' }],
    ['x_c', '', { type: 'object' }],
  ])
})

it('two tools with one name, and a list without an end, are refused', async () => {
  const { client } = clientOf([[listed('a')], [listed('a')]])
  await expect(mcpTools(client)).rejects.toMatchObject({ code: 'invalid_argument' })
  const endless = { ...client, listTools: async () => ({ tools: [], nextCursor: '1' }) }
  await expect(mcpTools(endless)).rejects.toMatchObject({ code: 'invalid_argument' })
})

it('hints of the server count only where they are trusted', async () => {
  const { client } = clientOf([[listed('a', { annotations: { readOnlyHint: true } }), listed('b')]])
  const repeatable = async (trustHints: boolean) =>
    (await mcpTools(client, { trustHints })).map((tool) => tool.repeatable === true)
  expect(await repeatable(true)).toEqual([true, false])
  expect(await repeatable(false)).toEqual([false, false])
})

it.each<readonly [string, object, readonly Content[], boolean?]>([
  ['error', { content: [{ type: 'text', text: 'no' }], isError: true }, [{ type: 'text', text: 'no' }], true],
  [
    'image',
    { content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] },
    [{ type: 'image', image_urls: [`data:image/png;base64,${PNG}`] }],
  ],
  ['structured', { structuredContent: { a: 1 }, content: [] }, [{ type: 'text', text: '{"a":1}' }]],
])('%s', async (_, result, content, isError = false) => {
  const { observation, calls } = await resultOf(result as object)
  expect(observation).toMatchObject({ content })
  expect(observation?.is_error === true).toBe(isError)
  expect(calls.map(({ params }) => params)).toEqual([{ name: 'do', arguments: { a: 1 } }])
})

it('a call has the signal of its run, where each version of the SDK expects it', async () => {
  const { signal } = new AbortController()
  const context = { signal, call: {} as never }
  const { client, calls } = clientOf([[listed('do')]])
  const [first] = await mcpTools(client, { request: { timeout: 5 } })
  await first?.execute({}, context)
  expect(calls[0]?.options).toEqual([undefined, { signal, timeout: 5 }])
  const given: unknown[] = []
  const second = {
    ...client,
    callTool: async (_: object, options: unknown) => {
      given.push(options)
      return {}
    },
  }
  await (await mcpTools(second as McpClient))[0]?.execute({}, context)
  expect(given).toEqual([{ signal }])
})
