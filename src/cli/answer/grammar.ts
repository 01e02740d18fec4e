/** The messages of a state in the format that the user named, within a budget where one is given. */

import {
  type NeutralMessage,
  type State,
  toAiSdk,
  toAnthropic,
  toGoogle,
  toMessages,
  toOpenAIChat,
  toOpenAIResponses,
} from '../../index.ts'
import { estimateTokens, fitToBudget } from '../../context/index.ts'
import type { Format } from '../args/commands.ts'
import { FileError } from '../failure.ts'

/** What is sent of a state, within a budget of estimated tokens where there is one. @throws FileError `over_budget` */
export function messagesOf(state: State, budget?: number): readonly NeutralMessage[] {
  if (budget === undefined) return toMessages(state)
  const fit = fitToBudget(state, estimateTokens, budget)
  if (fit.type === 'fit') return fit.messages
  throw new FileError('over_budget', fit.reason.message)
}

/**
 * What the model is sent, as the `messages` command gives it. @throws ColloquyError `empty_view` in a provider's
 * grammar.
 */
export function messagesIn(
  format: Format,
  messages: readonly NeutralMessage[],
): Readonly<Record<string, unknown>> {
  switch (format) {
    case 'neutral':
      return { messages }
    case 'openai-chat':
      return { messages: toOpenAIChat(messages) }
    case 'openai-responses':
      return { messages: toOpenAIResponses(messages) }
    case 'anthropic':
      // The grammar leaves the system prompt out where there is none; a result has the same fields always.
      return { messages: { system: [], ...toAnthropic(messages) } }
    case 'google':
      return { messages: { systemInstruction: null, ...toGoogle(messages) } }
    case 'ai-sdk':
      return { messages: toAiSdk(messages) }
  }
}
