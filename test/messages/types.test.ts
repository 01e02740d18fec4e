/** Proves to the compiler that what the grammars give can be handed to the providers' own packages, and to the wire's own types. */

import type {
  MessageCreateParamsNonStreaming,
  MessageParam,
  TextBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import type { Content, GenerateContentParameters, GenerateContentResponse, Interactions } from '@google/genai'
import type { ModelMessage } from 'ai'
import type {
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import type {
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
} from 'openai/resources/responses/responses'
import { expect, it } from 'vitest'
import type { Message, MessageToolCall } from '../../src/event/shapes.ts'
import { toAiSdk } from '../../src/messages/ai-sdk/write.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { fromGoogle } from '../../src/messages/google/read.ts'
import { toGoogle } from '../../src/messages/google/write.ts'
import { fromInteractions } from '../../src/messages/interactions/read.ts'
import { toInteractions } from '../../src/messages/interactions/write.ts'
import type { Reply } from '../../src/messages/reply.ts'
import type { NeutralMessage, NeutralToolCall } from '../../src/messages/message.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'

const HELLO: NeutralMessage[] = [
  { role: 'system', content: [{ text: 'be brief' }] },
  { role: 'user', content: [{ text: 'hi' }], name: null },
]

it('Chat Completions takes the messages', () => {
  const messages: ChatCompletionMessageParam[] = toOpenAIChat(HELLO)
  const request: ChatCompletionCreateParamsNonStreaming = { model: 'any', messages }
  expect(request.messages).toHaveLength(2)
})

it('Responses takes instructions and input', () => {
  const { instructions, input } = toOpenAIResponses(HELLO)
  const items: ResponseInputItem[] = input
  const request: ResponseCreateParamsNonStreaming = { model: 'any', instructions, input: items }
  expect(request.instructions).toBe('be brief')
})

it('Anthropic Messages takes system and messages', () => {
  const written = toAnthropic(HELLO)
  const messages: MessageParam[] = written.messages
  const system: TextBlockParam[] = written.system ?? []
  const request: MessageCreateParamsNonStreaming = { model: 'any', max_tokens: 1, ...written }
  expect([request.system, messages.length]).toEqual([system, 1])
})

it('the AI SDK takes the messages', () => {
  const messages: ModelMessage[] = toAiSdk(HELLO)
  expect(messages).toHaveLength(2)
})

const readGoogle: (reply: GenerateContentResponse) => Reply = fromGoogle

it('Gemini takes the contents, and its replies are read', () => {
  const { systemInstruction = {}, contents } = toGoogle(HELLO)
  const taken: Content[] = contents
  const request: GenerateContentParameters = { model: 'any', contents, config: { systemInstruction } }
  expect([taken.length, request.config?.systemInstruction, readGoogle]).toEqual([
    1,
    { parts: [{ text: 'be brief' }] },
    fromGoogle,
  ])
})

const readInteraction: (reply: Interactions.Interaction) => Reply = fromInteractions

it('Interactions takes the steps, and its replies are read', () => {
  const { system_instruction, input } = toInteractions(HELLO)
  const taken: Interactions.Step[] = input
  const request: Interactions.InteractionCreateParams.CreateModelInteractionParamsNonStreaming = {
    model: 'any',
    input: taken,
    ...(system_instruction === undefined ? {} : { system_instruction }),
  }
  expect([request.system_instruction, taken.length, readInteraction]).toEqual([
    'be brief',
    1,
    fromInteractions,
  ])
})

it('a neutral message can be read as a wire message, and its calls as wire calls', () => {
  const wire: readonly Message[] = HELLO
  const calls: readonly NeutralToolCall[] = []
  const wireCalls: readonly MessageToolCall[] = calls
  expect([wire.length, wireCalls.length]).toEqual([2, 0])
})
