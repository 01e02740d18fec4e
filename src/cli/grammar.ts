/** A state and the name of a format go in, what the model is sent comes out, in that format. */

import { type State, toAiSdk, toAnthropic, toMessages, toOpenAIChat, toOpenAIResponses } from '../index.ts'
import type { Format } from './commands.ts'

/** What the model is sent, as the `messages` command answers it. @throws ColloquyError `empty_view` in a provider's grammar. */
export function messagesIn(format: Format, state: State): Readonly<Record<string, unknown>> {
  const messages = toMessages(state)
  switch (format) {
    case 'neutral':
      return { messages }
    case 'openai-chat':
      return { messages: toOpenAIChat(messages) }
    case 'openai-responses':
      return { messages: toOpenAIResponses(messages) }
    case 'anthropic':
      // The grammar leaves the system prompt out where there is none; an answer has the same fields always.
      return { messages: { system: [], ...toAnthropic(messages) } }
    case 'ai-sdk':
      return { messages: toAiSdk(messages) }
  }
}
