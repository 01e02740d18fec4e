/** Built-in steps whose clients return the plan's replies. */

import type { Step } from '../../src/conversation/run/step.ts'
import {
  aiSdkStep,
  anthropicStep,
  bedrockStep,
  googleStep,
  interactionsStep,
  openaiChatStep,
  openaiResponsesStep,
  type StepOptions,
  type StepTool,
} from '../../src/steps/index.ts'
import type { WireGrammar } from '../wire/reply.ts'

export type Create = (request: object) => Promise<unknown>

interface Options extends Omit<StepOptions, 'tools'> {
  readonly tools: readonly StepTool[]
}

export function builtInStep(grammar: WireGrammar, create: Create, input: Options): Step {
  const options = { ...input, model: 'any', stream: false }
  switch (grammar) {
    case 'anthropic':
      return anthropicStep({ ...options, client: { messages: { create } }, max_tokens: 1 })
    case 'openai-chat':
      return openaiChatStep({ ...options, client: { chat: { completions: { create } } } })
    case 'openai-responses':
      return openaiResponsesStep({ ...options, client: { responses: { create } } })
    case 'google':
      return googleStep({
        ...options,
        client: { models: { generateContent: create, generateContentStream: create } },
      })
    case 'bedrock':
      return bedrockStep({ ...options, client: { converse: create, converseStream: create } })
    case 'interactions':
      return interactionsStep({ ...options, client: { interactions: { create } } })
    case 'ai-sdk':
      // Not streamed: other tests cover the SDK's streams.
      return aiSdkStep({ ...options, streamText: (request: object) => ({ fullStream: create(request) }) })
  }
}
