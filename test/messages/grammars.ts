import { toAiSdk } from '../../src/messages/ai-sdk/write.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { validateBedrock } from '../../src/messages/bedrock/rules.ts'
import { toBedrock } from '../../src/messages/bedrock/write.ts'
import { toGoogle } from '../../src/messages/google/write.ts'
import { validateInteractions } from '../../src/messages/interactions/rules.ts'
import { toInteractions } from '../../src/messages/interactions/write.ts'
import type { NeutralMessage } from '../../src/messages/message.ts'
import type { WriteOptions } from '../../src/messages/prefix.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { validateAiSdk } from '../validators/ai-sdk.ts'
import { validateAnthropic } from '../../src/messages/anthropic/rules.ts'
import { validateGoogle } from '../../src/messages/google/rules.ts'
import { validateOpenAiChat } from '../../src/messages/openai-chat/rules.ts'
import { validateOpenAiResponses } from '../../src/messages/openai-responses/rules.ts'
import type { Violation } from '../../src/messages/request-form.ts'

interface Grammar {
  readonly write: (messages: readonly NeutralMessage[], options?: WriteOptions) => unknown
  readonly validate: (request: unknown) => Violation[]
}

export const GRAMMARS = {
  'OpenAI Chat Completions': { write: toOpenAIChat, validate: validateOpenAiChat },
  'OpenAI Responses': { write: toOpenAIResponses, validate: validateOpenAiResponses },
  'Anthropic Messages': { write: toAnthropic, validate: (request) => validateAnthropic(request) },
  Gemini: { write: toGoogle, validate: validateGoogle },
  'Gemini Interactions': { write: toInteractions, validate: validateInteractions },
  'Amazon Bedrock Converse': { write: toBedrock, validate: validateBedrock },
  'AI SDK': { write: toAiSdk, validate: validateAiSdk },
} as const satisfies Readonly<Record<string, Grammar>>

export type GrammarName = keyof typeof GRAMMARS
