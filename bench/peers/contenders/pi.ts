/** The session file of pi's coding agent: lines of JSON that form a tree. */

import { convertMessages } from '@earendil-works/pi-ai/api/openai-completions'
import { convertToLlm, parseSessionEntries, SessionManager } from '@earendil-works/pi-coding-agent'
import { readFileSync } from 'node:fs'
import type { Contender, Location, Session } from '../contender.ts'
import { type Item, TOOL } from '../items.ts'

type Message = Parameters<SessionManager['appendMessage']>[0]
type Model = Parameters<typeof convertMessages>[0]
type Context = Parameters<typeof convertMessages>[1]
type Compat = Parameters<typeof convertMessages>[2]

const TOKENS = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 }
const USAGE = { ...TOKENS, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } }
const REPLY = {
  role: 'assistant',
  api: 'openai-completions',
  provider: 'openai',
  model: 'gpt',
  usage: USAGE,
} as const

/** The settings that pi detects for a model of OpenAI's own server. */
const MODEL = {
  id: 'gpt',
  name: 'gpt',
  api: 'openai-completions',
  provider: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  reasoning: false,
  input: ['text'],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1_000_000,
  maxTokens: 10_000,
} as const satisfies Partial<Model>
const COMPAT: Partial<Compat> = {
  requiresToolResultName: false,
  requiresAssistantAfterToolResult: false,
  requiresThinkingAsText: false,
  requiresReasoningContentOnAssistantMessages: false,
}

function messageOf(item: Item): Message {
  const timestamp = Date.now()
  switch (item.kind) {
    case 'user':
      return { role: 'user', content: [{ type: 'text', text: item.text }], timestamp }
    case 'assistant':
      return { ...REPLY, content: [{ type: 'text', text: item.text }], stopReason: 'stop', timestamp }
    case 'call': {
      const call = { id: item.callId, name: TOOL, arguments: { command: item.command } }
      return { ...REPLY, content: [{ type: 'toolCall', ...call }], stopReason: 'toolUse', timestamp }
    }
    case 'result': {
      const content = [{ type: 'text' as const, text: item.text }]
      return {
        role: 'toolResult',
        toolCallId: item.callId,
        toolName: TOOL,
        content,
        isError: false,
        timestamp,
      }
    }
    default:
      return item satisfies never
  }
}

function openSession({ folder }: Location): Promise<Session> {
  let manager = SessionManager.create(folder, folder)
  const file = manager.getSessionFile() ?? ''
  const append = async (items: readonly Item[]): Promise<void> => {
    for (const item of items) manager.appendMessage(messageOf(item))
  }
  return Promise.resolve({
    fill: append,
    append,
    close: () => Promise.resolve(),
    async reopen() {
      manager = SessionManager.open(file, folder)
    },
    prompt() {
      const messages = convertToLlm(manager.buildSessionContext().messages)
      return Promise.resolve(convertMessages(MODEL as Model, { messages } as Context, COMPAT as Compat))
    },
    async readAll() {
      // The first line is the header.
      return parseSessionEntries(readFileSync(file, 'utf8')).length - 1
    },
  })
}

export const PI: readonly Contender[] = [
  {
    family: 'pi session file',
    setting: '',
    description: '`SessionManager` of pi-coding-agent; it has no settings',
    medium: 'files',
    survives: 'a kill',
    open: openSession,
  },
]
