/** The messages of a state in the format that the user named, within a budget where one is given. */

import {
  listPendingCalls,
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
import { quoted } from '../print/text.ts'

/** What is sent of a state, within a budget of estimated tokens where there is one. @throws FileError `over_budget` */
export function messagesOf(state: State, budget?: number): readonly NeutralMessage[] {
  if (budget === undefined) return toMessages(state)
  const fit = fitToBudget(state, estimateTokens, budget)
  if (fit.type === 'fit') return fit.messages
  throw new FileError('over_budget', fit.reason.message)
}

/** Why there is nothing to send, where calls wait for their results; null where none does. */
export function waitingNote(state: State): string | null {
  const waiting = listPendingCalls(state)
  const [first] = waiting
  if (first === undefined) return null
  const { tool_name, tool_call_id } = first.entry.event
  const [others, wait] = waiting.length === 1 ? ['', 'waits'] : [` and ${waiting.length - 1} more`, 'wait']
  return `call ${quoted(tool_call_id)} of ${quoted(tool_name)}${others} ${wait} for a result, and until then nothing of the reply is sent`
}

/**
 * What the model is sent of a state, as the `messages` command gives it.
 * @throws FileError or ColloquyError `empty_view` in a provider's grammar.
 */
export function messagesIn(
  format: Format,
  messages: readonly NeutralMessage[],
  state: State,
): Readonly<Record<string, unknown>> {
  const waiting = messages.length === 0 && format !== 'neutral' ? waitingNote(state) : null
  if (waiting !== null) throw new FileError('empty_view', `there is nothing to send: ${waiting}`)
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
