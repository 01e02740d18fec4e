/** The form of an Anthropic Messages request: which fields it has, and what the rules see of it. */

import { anthropicFiles } from './files.ts'
import type { Turn } from './pairing.ts'
import { asList, asObject, type JsonObject } from './rule.ts'
import { anything, byKey, fields, flag, listOf, object, oneOf, orNull, text, textOr } from './shape.ts'

/** What a request meets that does not stand in it. */
export interface Target {
  /** False for models that refuse a final assistant message (Claude 4.6 and later). */
  readonly prefill?: boolean
  /** True for models whose thinking is switched on by budget: the running tool loop must show its thinking. */
  readonly thinking?: boolean
  /** True for models that take system messages behind others (Claude Opus 4.8 and later). */
  readonly systemMessages?: boolean
}

export interface Block {
  readonly path: string
  readonly type: unknown
  readonly body: JsonObject
}

export interface Message {
  readonly path: string
  readonly role: unknown
  readonly content: unknown
  /** A string content counts as one text block, an empty one as none. */
  readonly blocks: readonly Block[]
}

export interface View {
  readonly request: unknown
  readonly target: Target
  readonly messages: readonly Message[]
  readonly system: readonly Block[]
  readonly calls: readonly Block[]
  readonly results: readonly Result[]
  /** Every text and image block, at the top and inside of tool results. */
  readonly listLeavesIn: readonly Block[]
  readonly turns: readonly Turn[]
}

export interface Result extends Block {
  readonly inner: readonly Block[]
}

const cached = {
  cache_control: orNull(byKey('type', { ephemeral: fields({}, { ttl: oneOf('5m', '1h') }) })),
}
const leafShapes = {
  text: fields({ text }, cached),
  image: fields(
    {
      source: byKey('type', {
        base64: fields({ media_type: text, data: text }),
        url: fields({ url: text }),
      }),
    },
    cached,
  ),
}
const files = anthropicFiles(leafShapes, cached)
const caller = { caller: orNull(object) }
const RESULTS = ['web_search', 'web_fetch', 'advisor', 'code_execution', 'bash_code_execution'].concat(
  'text_editor_code_execution',
  'tool_search',
)
const result = fields({ tool_use_id: text, content: anything }, { ...cached, ...caller })
/** What the provider's own tools say, and what it says of itself; the insides are its own. */
const serverShapes = {
  server_tool_use: fields({ id: text, name: text, input: object }, { ...cached, ...caller }),
  ...Object.fromEntries(RESULTS.map((name) => [`${name}_tool_result`, result])),
  mcp_tool_use: fields({ id: text, name: text, server_name: text, input: object }, cached),
  mcp_tool_result: fields({ tool_use_id: text }, { content: anything, is_error: orNull(flag), ...cached }),
  mcp_tool_listing: fields({ mcp_server_name: text, tools: listOf(object) }),
  compaction: fields(
    {},
    {
      content: orNull(text),
      encrypted_content: orNull(text),
      signature: orNull(text),
      tool_changes: anything,
      ...cached,
    },
  ),
  fallback: fields({ from: object, to: object }, { trigger: anything }),
}
const block = byKey('type', {
  ...leafShapes,
  text: fields({ text }, { ...cached, citations: orNull(listOf(object)) }),
  ...files.user,
  ...serverShapes,
  thinking: fields({ thinking: text, signature: text }),
  redacted_thinking: fields({ data: text }),
  tool_use: fields(
    { id: text, name: text, input: anything },
    { ...cached, ...caller, toolset_name: orNull(text) },
  ),
  tool_result: fields(
    { tool_use_id: text },
    { content: textOr(listOf(byKey('type', { ...leafShapes, ...files.result }))), is_error: flag, ...cached },
  ),
})
const message = fields({ content: textOr(listOf(block)) })
const texts = textOr(listOf(byKey('type', { text: leafShapes.text })))
export const shape = fields(
  {
    messages: listOf(
      byKey('role', { user: message, assistant: message, system: fields({ content: texts }) }),
    ),
  },
  { system: texts },
)

/** What the rules look at, read out of whatever the request may be. */
export function viewOf(request: unknown, target: Target): View {
  const body = asObject(request)
  const messages = asList(body['messages']).map((value, index): Message => {
    const path = `messages[${index}]`
    const { role, content } = asObject(value)
    return { path, role, content, blocks: blocksOf(content, `${path}.content`) }
  })
  const blocks = messages.flatMap((message) => message.blocks)
  const results = messages.flatMap(resultsOf)
  const listLeavesIn = [...blocks, ...results.flatMap(({ inner }) => inner)].filter(isLeaf)
  const calls = messages.flatMap(callsOf)
  const system = blocksOf(body['system'], 'system')
  return { request, target, messages, system, calls, results, listLeavesIn, turns: turnsIn(messages) }
}

/** Halves of the pairs that a provider's own tools make, and what their two have in common. */
export function serverPair({ type, body }: Block): { readonly call: boolean; readonly id: string } | null {
  if (type === 'server_tool_use' || type === 'mcp_tool_use')
    return { call: true, id: `${type} ${String(body['id'])}` }
  if (type === 'mcp_tool_result') return { call: false, id: `mcp_tool_use ${String(body['tool_use_id'])}` }
  if (typeof type !== 'string' || !type.endsWith('_tool_result')) return null
  return { call: false, id: `server_tool_use ${String(body['tool_use_id'])}` }
}

export const SERVER_KINDS: readonly string[] = Object.keys(serverShapes)

export function isThinking({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

function isLeaf({ type }: Block): boolean {
  return type === 'text' || type === 'image'
}

function blocksOf(content: unknown, path: string): Block[] {
  if (content === '') return []
  if (typeof content === 'string') return [{ path, type: 'text', body: { text: content } }]
  return asList(content).map((value, index) => {
    const body = asObject(value)
    return { path: `${path}[${index}]`, type: body['type'], body }
  })
}

function callsOf({ role, blocks }: Message): Block[] {
  return role === 'assistant' ? blocks.filter(({ type }) => type === 'tool_use') : []
}

function resultsOf({ role, blocks }: Message): Result[] {
  if (role !== 'user') return []
  return blocks
    .filter(({ type }) => type === 'tool_result')
    .map((result) => {
      const content = result.body['content']
      const inner = typeof content === 'string' ? [] : blocksOf(content, `${result.path}.content`)
      return { ...result, inner }
    })
}

/** Results belong to the very next message; results elsewhere stand alone. */
function turnsIn(messages: readonly Message[]): Turn[] {
  const turns = messages.map((message, index): Turn => {
    if (message.role === 'assistant') {
      const next = messages[index + 1]
      return { calls: refs(callsOf(message), 'id'), results: next ? resultRefs(next) : [] }
    }
    const follows = messages[index - 1]?.role === 'assistant'
    return { calls: [], results: follows ? [] : resultRefs(message) }
  })
  return turns
}

const resultRefs = (message: Message) => refs(resultsOf(message), 'tool_use_id')

function refs(blocks: readonly Block[], key: string) {
  return blocks.map(({ path, body }) => ({ id: body[key], path }))
}
