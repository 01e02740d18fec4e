/** Three frameworks continue one conversation, from one log. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, type AgentInputItem, type Model, Runner, tool, Usage } from '@openai/agents-core'
import { afterAll, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { conversationIdOf, sessionStore } from '../../src/adapters/claude-agent.ts'
import { colloquySession } from '../../src/adapters/openai-agents.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { checkLog } from '../../src/laws/index.ts'
import { isTextPart } from '../../src/event/shapes.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { PlainChat, server } from '../conversation/ui-client.ts'
import { askClaude } from './ask-claude.ts'

const folder = mkdtempSync(join(tmpdir(), 'one-log-'))
vi.stubEnv('CLAUDE_CONFIG_DIR', folder)
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

/** An OpenAI model that thinks, calls a tool and answers; `seen` collects its requests. */
function openAI(seen: AgentInputItem[][]): Model {
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
      seen.push(input as AgentInputItem[])
      return { usage: new Usage(), output: (outputs.shift() ?? []) as never }
    },
    getStreamedResponse() {
      throw new Error('not streamed')
    },
  }
}

const output = (text: string) => ({ type: 'output_text', text })

it('begins under the Claude Agent SDK, continues under OpenAI Agents, ends under useChat, and goes back', async () => {
  const store = sqliteStore({ file: ':memory:' })
  const engine = createEngine({ store })
  const sessions = sessionStore({ store })

  // The Claude Agent SDK.
  const { id: sessionId } = await askClaude('Read the file.', { sessions, folder })
  const projectKey = folder.replaceAll(/[^a-zA-Z0-9]/g, '-')
  const conversation = await engine.open(conversationIdOf({ projectKey, sessionId }))

  // OpenAI Agents.
  const seen: AgentInputItem[][] = []
  const weather = tool({
    name: 'weather',
    description: 'Returns the weather.',
    parameters: z.object({ city: z.string() }),
    execute: () => 'sunny',
  })
  const agent = new Agent({ name: 'Guide', model: openAI(seen), tools: [weather] })
  const session = colloquySession({ conversation })
  const { finalOutput } = await new Runner({ tracingDisabled: true }).run(agent, 'And in Rome?', { session })
  expect(finalOutput).toBe('It is sunny.')
  expect(seen[0]?.map((item) => ('role' in item ? item.role : item.type))).toEqual([
    'user',
    'function_call',
    'function_call_result',
    'assistant',
    'user',
  ])
  expect(JSON.stringify(seen[0])).toContain('I began with 0 lines.')
  expect(JSON.stringify(seen)).not.toContain('signed')
  expect(JSON.stringify(seen[1])).toContain('sealed')

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

  // Claude Code continues with all of it.
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
