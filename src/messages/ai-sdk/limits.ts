/** What may be given to the AI SDK, before a word of it is written; readers of its replies use it too. */

import { isWhitespace } from '../text.ts'
import { isSignedThinking, THINKING_KINDS, thinkingFirst } from '../thinking-parts.ts'
import type { Limits } from '../turns.ts'
import { PARTS } from './part-schema.ts'

/** The SDK hands ids, names and images on to any provider, so they keep to the strictest. */
export const LIMITS: Limits = {
  grammar: 'ai-sdk',
  callId: { illegal: /[^a-zA-Z0-9_-]/gu, maxLength: 40 },
  toolNameLength: 64,
  takesImage: (image) => image.from === 'data' || image.secure,
  parts: PARTS,
  kinds: THINKING_KINDS,
  order: thinkingFirst,
  callsLast: true,
  isSigned: isSignedThinking,
  more: {},
  pairOf: () => null,
  says: ({ texts, bound, message }) =>
    texts.length > 0 ||
    bound > 0 ||
    !isWhitespace(message.reasoning_content ?? '') ||
    message.thinking_blocks.some(
      (block) => 'thinking' in block && !block.signature && !isWhitespace(block.thinking),
    ),
  pauses: true,
  appends: false,
}
