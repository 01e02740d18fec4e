/** Writes what a model would be sent on a branch, in each grammar. */

import type { Grammar } from '../../event/reply.ts'
import { toAiSdk } from '../../messages/ai-sdk/write.ts'
import { toAnthropic } from '../../messages/anthropic/write.ts'
import { toGoogle } from '../../messages/google/write.ts'
import type { NeutralMessage } from '../../messages/message.ts'
import { toMessages } from '../../messages/neutral.ts'
import { toOpenAIChat } from '../../messages/openai-chat/write.ts'
import { toOpenAIResponses } from '../../messages/openai-responses/write.ts'
import type { LeftOut, WriteOptions } from '../../messages/prefix.ts'
import type { Branch } from '../../state/branch.ts'
import type { State } from '../../state/state.ts'

const WRITERS: Readonly<
  Record<Grammar, (messages: readonly NeutralMessage[], options: WriteOptions) => object>
> = {
  'openai-chat': toOpenAIChat,
  'openai-responses': toOpenAIResponses,
  anthropic: toAnthropic,
  'ai-sdk': toAiSdk,
  google: toGoogle,
}

/** Whether a text names a grammar. */
export const isGrammar = (text: unknown): text is Grammar =>
  typeof text === 'string' && Object.hasOwn(WRITERS, text)

/** A request, as far as it follows from the log. */
export interface Request {
  readonly messages: readonly NeutralMessage[]
  /** In the grammar, with the tools that the system prompt names; null where there is nothing to send. */
  readonly written: object | null
  readonly leftOut: readonly LeftOut[]
}

/** What would be sent on a branch. O(content of the view). */
export function requestOn(state: State, branch: Branch, grammar: Grammar): Request {
  const messages = toMessages({ ...state, branch })
  const leftOut: LeftOut[] = []
  if (messages.length === 0) return { messages, written: null, leftOut }
  const request = WRITERS[grammar](messages, { onPrefix: (left) => leftOut.push(left) })
  const list = Array.isArray(request) ? { messages: request } : request
  return { messages, written: { ...list, tools: branch.systemPrompt?.event.tools ?? [] }, leftOut }
}
