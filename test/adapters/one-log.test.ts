/** The Claude Agent SDK, OpenAI Agents and useChat continue the same conversation. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, type AgentInputItem, type Model, Runner, tool, Usage } from '@openai/agents-core'
import fc from 'fast-check'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { conversationIdOf, sessionStore } from '../../src/adapters/claude-agent.ts'
import { colloquySession } from '../../src/adapters/openai-agents.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { checkLog } from '../../src/laws/index.ts'
import { isTextPart } from '../../src/event/shapes.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { PlainChat, server } from '../conversation/ui-client.ts'
import { RUNS } from '../../properties/run.ts'
import { everyStore } from './stores.ts'
import { askClaude } from './ask-claude.ts'

const folder = mkdtempSync(join(tmpdir(), 'one-log-'))
vi.stubEnv('CLAUDE_CONFIG_DIR', folder)
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

/** An OpenAI model that thinks, calls a tool and replies. `requests` collects its inputs. */
function openAI(requests: AgentInputItem[][]): Model {
  const id = 'rs_1'
  const content = [{ type: 'input_text', text: 'Hm.' }]
  const outputs = [
    [
      { type: 'reasoning', id, content, providerData: { encrypted_content: 'sealed' } },
      { type: 'function_call', callId: 'call_1', name: 'weather', arguments: '{"city":"Rome"}' },
    ],
    [{ type: 'message', role: 'assistant', status: 'completed', content: [output('It is sunny.')] }],
  ]
  return {
    async getResponse({ input }) {
      requests.push(input as AgentInputItem[])
      return { usage: new Usage(), output: (outputs.shift() ?? []) as never }
    },
    getStreamedResponse() {
      throw new Error('not streamed')
    },
  }
}

const output = (text: string) => ({ type: 'output_text', text })

it('a conversation continues from the Claude Agent SDK to OpenAI Agents, useChat and back', async () => {
  const store = sqliteStore({ file: ':memory:' })
  const engine = createEngine({ store })
  const sessions = sessionStore({ store })

  // The Claude Agent SDK.
  const { id: sessionId } = await askClaude('Read the file.', { sessions, folder })
  const projectKey = folder.replaceAll(/[^a-zA-Z0-9]/g, '-')
  const conversation = await engine.open(conversationIdOf({ projectKey, sessionId }))

  // OpenAI Agents.
  const requests: AgentInputItem[][] = []
  const weather = tool({
    name: 'weather',
    description: 'Returns the weather.',
    parameters: z.object({ city: z.string() }),
    execute: () => 'sunny',
  })
  const agent = new Agent({ name: 'Guide', model: openAI(requests), tools: [weather] })
  const session = colloquySession({ conversation })
  const { finalOutput } = await new Runner({ tracingDisabled: true }).run(agent, 'And in Rome?', { session })
  expect(finalOutput).toBe('It is sunny.')
  expect(requests[0]?.map((item) => ('role' in item ? item.role : item.type))).toEqual([
    'user',
    'function_call',
    'function_call_result',
    'assistant',
    'user',
  ])
  expect(JSON.stringify(requests[0])).toContain('I began with 0 lines.')
  expect(JSON.stringify(requests)).not.toContain('signed')
  expect(JSON.stringify(requests[1])).toContain('sealed')

  // useChat of the AI SDK.
  let request = ''
  const step: Step = async function* ({ state }) {
    request = JSON.stringify(toAnthropic(toMessages(state)).messages)
    yield {
      kind: 'MessageEvent',
      source: 'agent',
      llm_message: { role: 'assistant', content: [{ text: 'You are welcome.' }] },
    }
  }
  const { fetch, runs } = server(conversation, step)
  const chat = new PlainChat({ id: conversation.id, fetch })
  await chat.sendMessage({ text: 'Thank you.' })
  await Promise.all(runs)
  expect(JSON.stringify(chat.messages.at(-1)?.parts)).toContain('You are welcome.')
  for (const text of ['Read the file.', 'I began with 0 lines.', 'And in Rome?', 'sunny', 'Thank you.'])
    expect(request).toContain(text)
  // Each provider gets what it signed, and nothing that another provider signed.
  expect(request).toContain('signed')
  expect(request).not.toContain('sealed')
  const responses = JSON.stringify(toOpenAIResponses(await conversation.messages()).input)
  expect(responses).toContain('sealed')
  expect(responses).not.toContain('signed')

  // Claude Code continues with all messages.
  const { result } = await askClaude('What was it?', { sessions, folder, resume: sessionId })
  const lines = await sessions.load({ projectKey, sessionId })
  expect(result).toBe(`I began with ${(lines?.length ?? 0) - 5} lines.`)
  expect(JSON.stringify(lines?.slice(0, -5))).toMatch(/And in Rome.*sunny.*It is sunny.*Thank you.*welcome/)
  expect(JSON.stringify(lines)).not.toContain('sealed')
  const uuids = new Set(lines?.map(({ uuid }) => uuid))
  expect(lines?.slice(1).every(({ parentUuid }) => uuids.has(parentUuid as string))).toBe(true)

  // All three are on one branch.
  const messages = (await conversation.messages()).filter(({ role }) => role === 'user')
  expect(
    messages.map(({ content }) => content.flatMap((part) => (isTextPart(part) ? part.text : [])).join('')),
  ).toEqual(['Read the file.', 'And in Rome?', 'Thank you.', 'What was it?'])
  const { items } = await conversation.search({ limit: 100 })
  expect(checkLog(items.map(({ fact }) => fact))).toEqual([])
  await engine.close()
  await store.close()
})

/** A turn of a framework. Returns the history that the framework sent to its model. */
type Turn = (name: string, conversation: Conversation, store: Store) => Promise<string>

const KEY = { projectKey: 'project', sessionId: 'session' }

const lineOf = (uuid: string, parentUuid: unknown, message: object) => ({
  type: 'role' in message && message.role === 'user' ? 'user' : 'assistant',
  uuid,
  parentUuid,
  sessionId: KEY.sessionId,
  isSidechain: false,
  timestamp: '2026-01-01T00:00:00.000Z',
  message,
})
const replyOf = (id: string, stop_reason: string, ...content: readonly object[]) => ({
  id,
  type: 'message',
  role: 'assistant',
  model: 'claude',
  stop_reason,
  content,
  usage: { input_tokens: 1, output_tokens: 1 },
})

const TURNS: Readonly<Record<'claude' | 'openai' | 'chat', Turn>> = {
  async claude(name, _, store) {
    const sessions = sessionStore({ store })
    const loaded = (await sessions.load(KEY)) ?? []
    const text = (part: string) => ({ type: 'text', text: `${name}-${part}` })
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: `${name}-signature` }
    const use = { type: 'tool_use', id: name, name: 'Read', input: {} }
    const read = { type: 'tool_result', tool_use_id: name, content: `${name}-result` }
    const messages = [
      { role: 'user', content: `${name}-user` },
      replyOf(`${name}-1`, 'tool_use', thinking),
      replyOf(`${name}-1`, 'tool_use', use),
      { role: 'user', content: [read] },
      replyOf(`${name}-2`, 'end_turn', text('reply')),
    ]
    let parent = loaded.findLast(({ uuid }) => uuid !== undefined)?.uuid ?? null
    for (const [index, message] of messages.entries()) {
      const uuid = `${name}-line-${index}`
      await sessions.append(KEY, [lineOf(uuid, parent, message)])
      parent = uuid
    }
    return JSON.stringify(loaded)
  },
  async openai(name, conversation) {
    const requests: AgentInputItem[][] = []
    const providerData = { encrypted_content: `${name}-signature` }
    const outputs = [
      [
        { type: 'reasoning', id: `rs-${name}`, content: [], providerData },
        { type: 'function_call', callId: name, name: 'look', arguments: '{}' },
      ],
      [{ type: 'message', role: 'assistant', status: 'completed', content: [output(`${name}-reply`)] }],
    ]
    const model: Model = {
      async getResponse({ input }) {
        requests.push(input as AgentInputItem[])
        return { usage: new Usage(), output: (outputs.shift() ?? []) as never }
      },
      getStreamedResponse() {
        throw new Error('not streamed')
      },
    }
    const parameters = z.object({})
    const look = tool({ name: 'look', description: 'Looks.', parameters, execute: () => `${name}-result` })
    const agent = new Agent({ name: 'Guide', model, tools: [look] })
    const session = colloquySession({ conversation })
    await new Runner({ tracingDisabled: true }).run(agent, `${name}-user`, { session })
    return JSON.stringify(requests[0])
  },
  async chat(name, conversation) {
    let request = ''
    const { fetch, runs } = server(conversation, async function* ({ state }) {
      request = JSON.stringify(toAnthropic(toMessages(state)).messages)
      const thinking_blocks = [{ type: 'thinking', thinking: 'Hm.', signature: `${name}-signature` } as const]
      const content = [{ text: `${name}-reply ${name}-result` }]
      const llm_message = { role: 'assistant', content, thinking_blocks } as const
      yield { kind: 'MessageEvent', source: 'agent', llm_message }
    })
    const chat = new PlainChat({ id: conversation.id, fetch })
    await chat.sendMessage({ text: `${name}-user` })
    await Promise.all(runs)
    return request
  },
}

describe('three frameworks in any order', () => {
  const { stores: STORES, releaseAll } = everyStore('one_log')
  /** The frameworks whose signatures each framework sends. A chat with Anthropic also sends the signatures of Claude Code. */
  const SIGNATURES = { claude: ['claude'], openai: ['openai'], chat: ['claude', 'chat'] } as const
  const frameworks = fc.array(fc.constantFrom('claude', 'openai', 'chat'), { minLength: 2, maxLength: 6 })

  for (const [store, open] of Object.entries(STORES))
    it(`each send all messages but only signatures of their own provider, over ${store}`, async () => {
      await fc.assert(
        fc.asyncProperty(frameworks, async (turns) => {
          const openedStore = await open()
          const engine = createEngine({ store: openedStore })
          const conversation = await engine.openOrCreate(conversationIdOf(KEY))
          const names: string[] = []
          for (const [index, framework] of turns.entries()) {
            const name = `${framework}-${index}`
            const request = await TURNS[framework](name, conversation, openedStore)
            for (const earlier of names) {
              for (const part of ['user', 'result', 'reply']) expect(request).toContain(`${earlier}-${part}`)
              const isSameProvider = SIGNATURES[framework].some((owner) => earlier.startsWith(owner))
              expect(request.includes(`${earlier}-signature`)).toBe(isSameProvider)
            }
            names.push(name)
            const stored = await openedStore.read(conversation.id, { limit: 1_000 })
            expect(checkLog(stored.map(({ fact }) => fact))).toEqual([])
          }
          const state = await conversation.state()
          const users = toMessages(state).filter(({ role }) => role === 'user')
          expect(JSON.stringify(users).match(/\w+-\d-user/g)).toEqual(names.map((name) => `${name}-user`))
          await engine.close()
          await openedStore.close()
          releaseAll()
        }),
        { numRuns: Math.ceil(RUNS / (store === 'memory' ? 5 : 10)) },
      )
    })
})
