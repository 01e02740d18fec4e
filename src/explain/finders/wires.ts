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
import type { RequestWriter } from '../../laws/requests.ts'
import type { Branch } from '../../state/branch.ts'
import type { State } from '../../state/state.ts'
import type { Scene } from './scene.ts'

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
  readonly written: { readonly tools: readonly unknown[] } | null
  readonly leftOut: readonly LeftOut[]
}

/** Both ways in which a request may hold system prompts that were replaced; the first where nothing tells. */
const SYSTEMS = ['replace', 'append'] as const

/**
 * What a server sends of a state: later system prompts stand where the replies of the log say that they stood, as far
 * as those are signed. O(content of the view).
 */
export function sentOf(
  state: State,
  grammar: Grammar = 'anthropic',
  messages: RequestWriter = toMessages,
): Scene['messages'] {
  const ways = SYSTEMS.map((system) => (one: State) => messages(one, { system }))
  const left = ways.map((way) => requestOn(state, state.branch, grammar, way).leftOut.length)
  return ways[left.indexOf(Math.min(...left))] ?? ((one) => messages(one, {}))
}

/** What would be sent on a branch. O(content of the view). */
export function requestOn(state: State, branch: Branch, grammar: Grammar, sent: Scene['messages']): Request {
  const messages = sent({ ...state, branch })
  const leftOut: LeftOut[] = []
  if (messages.length === 0) return { messages, written: null, leftOut }
  const request = WRITERS[grammar](messages, { onPrefix: (left) => leftOut.push(left) })
  const list = Array.isArray(request) ? { messages: request } : request
  return { messages, written: { ...list, tools: branch.systemPrompt?.event.tools ?? [] }, leftOut }
}
