/** What OpenAI Responses takes, before a word of it is written; readers of its replies use it too. */

import type { ReasoningItemModel } from '../../event/shapes.ts'
import type { AssistantMessage } from '../message.ts'
import { allOf, type FieldRef, type PartCounts } from '../reply-parts.ts'
import { isWellFormed } from '../text.ts'
import { pairParts } from '../pairs.ts'
import { hasOwnParts, reasoningItems } from '../parts-in-order.ts'
import { id, objects } from '../part-shapes.ts'
import { object, string } from '../shape.ts'
import type { Limits, PairHalf } from '../turns.ts'
import { KINDS } from './kinds.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { PARTS } from './part-shapes.ts'

const REASONING_ID = /^rs[a-zA-Z0-9_-]{0,62}$/

/** What calls have beside id, name and arguments; those with a type of their own have their item's id here too. */
const CALL_MORE = {
  ...KINDS.function_call.more,
  type: string,
  id,
  environment: object,
  pending_safety_checks: objects,
}

export const LIMITS: Limits = {
  grammar: 'openai-responses',
  table: KINDS,
  callId: { illegal: /[^!-~]/gu, maxLength: 64 },
  toolNameLength: 64,
  takesImage: () => true,
  parts: PARTS,
  kinds: ['text', 'call', 'reasoning'],
  order: reasoningThenCall,
  callsLast: false,
  isSigned: (message, { kind, at }) => kind === 'reasoning' && isSendable(reasoningItems(message)[at]),
  more: { text: KINDS.message.more, call: CALL_MORE },
  pairOf,
  pairs: pairParts,
  says: (turn) => turn.texts.length > 0 || hasOwnParts(turn),
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
function reasoningThenCall(message: AssistantMessage, counts: PartCounts): FieldRef[] {
  const { tool_calls, responses_reasoning_item } = message
  const texts = allOf(counts, 'text')
  const refs: FieldRef[] = []
  let reasoning = 0
  const reason = (): void => {
    refs.push({ kind: 'reasoning', at: reasoning, more: null })
    reasoning += 1
  }
  if (responses_reasoning_item !== null) reason()
  for (const [at, call] of tool_calls.entries()) {
    if (call.responses_reasoning_item !== null) reason()
    if (at === 0) refs.push(...texts)
    refs.push({ kind: 'call', at, more: null })
  }
  return tool_calls.length === 0 ? [...refs, ...texts] : refs
}

/** A call of the provider's own and its output have an id in common; where that is null, they need not be matched. */
function pairOf({ type, call_id }: JsonObject): PairHalf | null {
  const call = typeof type === 'string' ? PAIRS.get(type) : undefined
  if (call === undefined || typeof call_id !== 'string') return null
  const half = call === type ? 'call' : 'result'
  return { half, id: `${call} ${call_id}`, waits: call === 'program' || call === 'tool_search_call' }
}

const PAIRS: ReadonlyMap<string, string> = new Map(
  ['program', 'tool_search', 'shell_call', 'apply_patch_call', 'computer_call', 'local_shell_call'].flatMap(
    (name): [string, string][] => {
      const call = name === 'tool_search' ? 'tool_search_call' : name
      return [
        [call, call],
        [`${name}_output`, call],
      ]
    },
  ),
)
