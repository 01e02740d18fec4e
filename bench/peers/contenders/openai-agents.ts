/** The in-memory session of the OpenAI Agents SDK, its only session without a server. */

import { type AgentInputItem, MemorySession } from '@openai/agents'
import type { Contender, Session } from '../contender.ts'
import { argumentsOf, type Item, TOOL } from '../items.ts'

const PAGE = 100

// Its model class for Chat Completions uses this converter, but the package does not export it.
const converter = new URL(
  '../node_modules/@openai/agents-openai/dist/openaiChatCompletionsConverter.mjs',
  import.meta.url,
)
const { itemsToMessages }: { itemsToMessages: (items: readonly AgentInputItem[]) => object[] } = await import(
  converter.href
)

function itemOf(item: Item): AgentInputItem {
  switch (item.kind) {
    case 'user':
      return { type: 'message', role: 'user', content: item.text }
    case 'assistant': {
      const content = [{ type: 'output_text' as const, text: item.text }]
      return { type: 'message', role: 'assistant', status: 'completed', id: item.id, content }
    }
    case 'call': {
      const call = { name: TOOL, arguments: argumentsOf(item.command) }
      return { type: 'function_call', id: item.id, callId: item.callId, status: 'completed', ...call }
    }
    case 'result': {
      const output = { type: 'text' as const, text: item.text }
      return { type: 'function_call_result', name: TOOL, callId: item.callId, status: 'completed', output }
    }
    default:
      return item satisfies never
  }
}

function openSession(): Promise<Session> {
  const session = new MemorySession({ sessionId: 'c1' })
  return Promise.resolve({
    fill: (items) => session.addItems(items.map(itemOf)),
    async append(turn) {
      for (const item of turn) await session.addItems([itemOf(item)])
    },
    close: () => Promise.resolve(),
    async reopen() {
      await session.getItems()
    },
    async prompt() {
      return itemsToMessages(await session.getItems())
    },
    async readAll() {
      return (await session.getItems()).length
    },
    findPages: () => Promise.resolve({ last: async () => (await session.getItems(PAGE)).length }),
  })
}

export const OPENAI_AGENTS: readonly Contender[] = [
  {
    family: 'OpenAI Agents memory',
    setting: '',
    description: '`MemorySession`; it has no settings',
    medium: 'memory',
    survives: 'nothing',
    open: openSession,
  },
]
