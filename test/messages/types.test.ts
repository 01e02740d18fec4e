/** Checks at compile time that written requests fit the types of the providers' packages and of the wire. */

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

it('Chat Completions accepts the messages', () => {
  const messages: ChatCompletionMessageParam[] = toOpenAIChat(HELLO)
  const request: ChatCompletionCreateParamsNonStreaming = { model: 'any', messages }
  expect(request.messages).toHaveLength(2)
})

it('Responses accepts instructions and input', () => {
  const { instructions, input } = toOpenAIResponses(HELLO)
  const items: ResponseInputItem[] = input
  const request: ResponseCreateParamsNonStreaming = { model: 'any', instructions, input: items }
  expect(request.instructions).toBe('be brief')
})

it('Anthropic Messages accepts system and messages', () => {
  const written = toAnthropic(HELLO)
  const messages: MessageParam[] = written.messages
  const system: TextBlockParam[] = written.system ?? []
  const request: MessageCreateParamsNonStreaming = { model: 'any', max_tokens: 1, ...written }
  expect([request.system, messages.length]).toEqual([system, 1])
})

it('the AI SDK accepts the messages', () => {
  const messages: ModelMessage[] = toAiSdk(HELLO)
  expect(messages).toHaveLength(2)
})

const readGoogle: (reply: GenerateContentResponse) => Reply = fromGoogle

it('Gemini accepts the contents, and `fromGoogle` its replies', () => {
  const { systemInstruction = {}, contents } = toGoogle(HELLO)
  const items: Content[] = contents
  const request: GenerateContentParameters = { model: 'any', contents, config: { systemInstruction } }
  expect([items.length, request.config?.systemInstruction, readGoogle]).toEqual([
    1,
    { parts: [{ text: 'be brief' }] },
    fromGoogle,
  ])
})

const readInteraction: (reply: Interactions.Interaction) => Reply = fromInteractions

it('Interactions accepts the steps, and `fromInteractions` its replies', () => {
  const { system_instruction, input } = toInteractions(HELLO)
  const items: Interactions.Step[] = input
  const request: Interactions.InteractionCreateParams.CreateModelInteractionParamsNonStreaming = {
    model: 'any',
    input: items,
    ...(system_instruction === undefined ? {} : { system_instruction }),
  }
  expect([request.system_instruction, items.length, readInteraction]).toEqual([
    'be brief',
    1,
    fromInteractions,
  ])
})

it('neutral messages and calls are assignable to the wire types', () => {
  const wire: readonly Message[] = HELLO
  const calls: readonly NeutralToolCall[] = []
  const wireCalls: readonly MessageToolCall[] = calls
  expect([wire.length, wireCalls.length]).toEqual([2, 0])
})
