/** HEAD at a call that is not the last of its reply: all parts before the call are kept (law M14). */

import { expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { fromAiSdk } from '../../src/messages/ai-sdk/read.ts'
import { toAiSdk } from '../../src/messages/ai-sdk/write.ts'
import { fromAnthropic } from '../../src/messages/anthropic/read.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { fromGoogle } from '../../src/messages/google/read.ts'
import { toGoogle } from '../../src/messages/google/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { fromOpenAIResponses } from '../../src/messages/openai-responses/read.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { NO_ANSWER } from '../../src/messages/phrases.ts'
import type { Reply } from '../../src/messages/reply.ts'
import { replay } from '../../src/state/reduce.ts'

const messagesOf = ({ events }: Reply, calls: number) => {
  const stored = events.filter((event) => event.kind === 'ActionEvent').slice(0, calls) as readonly Event[]
  return toMessages(replay(stored.map((event, index) => ({ ...event, id: `e${index}` }))), {
    pending: { close: 'none' },
  })
}

const toolUse = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} })
const thinking = (signature: string) => ({ type: 'thinking', thinking: 'hm', signature })
const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'oak' } }
const matches = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
const text = { type: 'text', text: 'found' }

const compaction = { type: 'compaction', content: 'So far.', encrypted_content: 'sealed' }

it.each([
  ['a search', [thinking('s1'), search, matches, text, toolUse('a'), toolUse('b')], 5],
  ['thinking between calls', [thinking('s1'), toolUse('a'), thinking('s2'), toolUse('b')], 2],
  [
    'a sealed summary before a later call',
    [thinking('s1'), toolUse('a'), thinking('s2'), compaction, toolUse('b')],
    2,
  ],
  ['a search without thinking', [search, matches, toolUse('a'), toolUse('b'), toolUse('c')], 3],
])('an Anthropic reply keeps all blocks up to its first call: %s', (_, content, stored) => {
  const { messages } = toAnthropic(messagesOf(fromAnthropic({ content }), 1))
  expect(messages[1]?.content).toEqual(content.slice(0, stored))
})

const toolCall = (id: string) => ({ type: 'tool-call', toolCallId: id, toolName: 'look', input: {} })

it('an AI SDK reply gets no placeholder text for reasoning after HEAD', () => {
  const content = [toolCall('a'), toolCall('b'), { type: 'reasoning', text: 'hm' }]
  const reply = fromAiSdk({ content })
  const contentOf = (calls: number) => toAiSdk(messagesOf(reply, calls))[1]?.content
  expect(contentOf(2)).toEqual([...content, { type: 'text', text: NO_ANSWER }])
  expect(contentOf(1)).toEqual(content.slice(0, 1))
})

const functionCall = (k: number) => ({ functionCall: { name: 'look', args: { k } } })
const code = [
  { executableCode: { language: 'PYTHON', code: 'print(1)' }, thoughtSignature: 'c2ln' },
  { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
]

it('a Gemini reply keeps executed code, which Anthropic gets as text', () => {
  const parts = [...code, { ...functionCall(1), thoughtSignature: 'c2ln' }, functionCall(2)]
  const messages = messagesOf(fromGoogle({ candidates: [{ content: { parts }, finishReason: 'STOP' }] }), 1)
  expect(toGoogle(messages).contents[1]?.parts).toEqual(parts.slice(0, 3))
  expect(JSON.stringify(toAnthropic(messages))).toContain('print(1)')
})

const call = (id: string) => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'look',
  arguments: '{}',
})
const reasoning = (id: string) => ({ type: 'reasoning', id: `rs_${id}`, summary: [], encrypted_content: id })
const message = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'x', annotations: [] }],
  phase: 'commentary',
}

it.each([
  ['a message with a phase', [reasoning('a'), message, call('a'), call('b')], 3],
  ['reasoning before each call', [reasoning('a'), call('a'), reasoning('b'), call('b')], 2],
])('an OpenAI Responses reply keeps all items up to its first call: %s', (_, output, stored) => {
  const { input } = toOpenAIResponses(messagesOf(fromOpenAIResponses({ output }), 1))
  expect(input.slice(1, -1)).toEqual(output.slice(0, stored))
})

it('a call is sent without its item id when reasoning of a later call precedes it', () => {
  const output = [reasoning('a'), reasoning('b'), call('a'), call('b')]
  const { input } = toOpenAIResponses(messagesOf(fromOpenAIResponses({ output }), 1))
  const { id: _, ...unnamed } = call('a')
  expect(input.slice(1, -1)).toContainEqual(unnamed)
})
