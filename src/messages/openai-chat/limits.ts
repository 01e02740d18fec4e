/** What OpenAI Chat Completions takes, before a word of it is written; readers of its replies use it too. */

import { allOf } from '../reply-parts.ts'
import { string } from '../shape.ts'
import type { Limits } from '../turns.ts'
import { KINDS } from './kinds.ts'
import { PARTS } from './part-shapes.ts'

export const LIMITS: Limits = {
  grammar: 'openai-chat',
  table: KINDS,
  callId: { illegal: /[^!-~]/gu, maxLength: 40 },
  toolNameLength: 64,
  takesImage: () => true,
  parts: PARTS,
  kinds: ['text', 'call'],
  order: (_, counts) => allOf(counts, 'text', 'call'),
  callsLast: true,
  isSigned: () => false,
  more: { text: { type: string }, call: { ...KINDS.tool_calls.more, type: string } },
  pairOf: () => null,
  pairs: (turns) => turns,
  says: ({ texts }) => texts.length > 0,
  pauses: false,
  appends: true,
}
