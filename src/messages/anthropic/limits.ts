/** What Anthropic Messages takes, before a word of it is written; readers of its replies use it too. */

import { isSignedThinking, THINKING_KINDS, thinkingFirst } from '../thinking-parts.ts'
import type { Limits } from '../turns.ts'

export const LIMITS: Limits = {
  grammar: 'anthropic',
  callId: { illegal: /[^a-zA-Z0-9_-]/gu, maxLength: 64 },
  toolNameLength: 128,
  takesImage: (image) => image.from === 'data' || image.secure,
  kinds: THINKING_KINDS,
  order: thinkingFirst,
  callsLast: true,
  isSigned: isSignedThinking,
  says: ({ texts, bound }) => texts.length > 0 || bound > 0,
  pauses: true,
  appends: true,
}
