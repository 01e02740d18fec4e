/** What may be given to the AI SDK, before a word of it is written; readers of its replies use it too. */

import { isObject } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { sentMore } from '../kinds.ts'
import { pairParts } from '../pairs.ts'
import { hasOwnParts } from '../parts-in-order.ts'
import type { FieldRef } from '../reply-parts.ts'
import { isWhitespace } from '../text.ts'
import { isSignedThinking, THINKING_KINDS, thinkingFirst } from '../thinking-parts.ts'
import type { Limits, PairHalf } from '../turns.ts'
import { KINDS } from './kinds.ts'
import { PARTS } from './part-shapes.ts'

/** The SDK hands ids, names and images on to any provider, so they keep to the strictest. */
export const LIMITS: Limits = {
  grammar: 'ai-sdk',
  table: KINDS,
  callId: { illegal: /[^a-zA-Z0-9_-]/gu, maxLength: 40 },
  toolNameLength: 64,
  takesImage: (image) => image.from === 'data' || image.secure,
  parts: PARTS,
  kinds: THINKING_KINDS,
  order: thinkingFirst,
  callsLast: false,
  isSigned: (message, ref) => optionsOf(ref) !== null || isSignedThinking(message, ref),
  more: { text: KINDS.text.more, thinking: KINDS.reasoning.more, call: KINDS['tool-call'].more },
  pairOf,
  pairs: pairParts,
  says: (turn) =>
    turn.texts.length > 0 ||
    turn.bound > 0 ||
    hasOwnParts(turn) ||
    !isWhitespace(turn.message.reasoning_content ?? '') ||
    turn.message.thinking_blocks.some(
      (block) => 'thinking' in block && !block.signature && !isWhitespace(block.thinking),
    ),
  pauses: true,
  appends: false,
}

/**
 * What a provider has added to a part for itself; null where it has not. It is bound to the reply as it came, as much
 * as a signature is: an id of an item is refused without the reasoning that it was made with.
 */
export function optionsOf({ kind, more }: FieldRef): JsonObject | null {
  const options = sentMore(more, LIMITS.more[kind])?.['providerOptions']
  return isObject(options) && Object.values(options).every(isObject) ? options : null
}

/** A call that the provider has executed itself, and its result, which stands in a reply too. */
function pairOf({ type, toolCallId }: JsonObject): PairHalf | null {
  if (typeof toolCallId !== 'string') return null
  if (type === 'tool-call') return { half: 'call', id: toolCallId, waits: true }
  return type === 'tool-result' ? { half: 'result', id: toolCallId, waits: true } : null
}
