/** What OpenAI Responses takes, before a word of it is written; readers of its replies use it too. */

import type { ReasoningItemModel } from '../../event/shapes.ts'
import type { AssistantMessage } from '../message.ts'
import { allOf, type PartCounts, type PartRef } from '../reply-parts.ts'
import { isWellFormed } from '../text.ts'
import { type Limits, reasoningItems } from '../turns.ts'

const REASONING_ID = /^rs[a-zA-Z0-9_-]{0,62}$/

export const LIMITS: Limits = {
  grammar: 'openai-responses',
  callId: { illegal: /[^!-~]/gu, maxLength: 64 },
  toolNameLength: 64,
  takesImage: () => true,
  kinds: ['text', 'call', 'reasoning'],
  order: reasoningThenCall,
  callsLast: false,
  isSigned: (message, { kind, at }) => kind === 'reasoning' && isSendable(reasoningItems(message)[at]),
  says: ({ texts }) => texts.length > 0,
  pauses: false,
  appends: true,
}

/**
 * Whether a reasoning item can be sent: under an id that the provider takes, with its encrypted content, since it has
 * kept nothing itself that the id alone could name.
 */
export function isSendable(item: ReasoningItemModel | undefined): boolean {
  const { id, encrypted_content } = item ?? {}
  return (
    typeof id === 'string' && REASONING_ID.test(id) && !!encrypted_content && isWellFormed(encrypted_content)
  )
}

/**
 * The model first reasons, then speaks, then calls: the text stands between the first call and the reasoning before it.
 */
function reasoningThenCall(message: AssistantMessage, counts: PartCounts): PartRef[] {
  const { tool_calls, responses_reasoning_item } = message
  const texts = allOf(counts, 'text')
  const refs: PartRef[] = []
  let reasoning = 0
  const reason = (): void => {
    refs.push({ kind: 'reasoning', at: reasoning })
    reasoning += 1
  }
  if (responses_reasoning_item !== null) reason()
  for (const [at, call] of tool_calls.entries()) {
    if (call.responses_reasoning_item !== null) reason()
    if (at === 0) refs.push(...texts)
    refs.push({ kind: 'call', at })
  }
  return tool_calls.length === 0 ? [...refs, ...texts] : refs
}
