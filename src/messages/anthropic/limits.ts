/** What Anthropic Messages takes, before a word of it is written; readers of its replies use it too. */

import { isSignedThinking, THINKING_KINDS, thinkingFirst } from '../thinking-parts.ts'
import { pairParts } from '../pairs.ts'
import { hasOwnParts } from '../parts-in-order.ts'
import type { Limits, PairHalf } from '../turns.ts'
import { KINDS } from './kinds.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { PARTS } from './part-shapes.ts'

export const LIMITS: Limits = {
  grammar: 'anthropic',
  table: KINDS,
  callId: { illegal: /[^a-zA-Z0-9_-]/gu, maxLength: 64 },
  toolNameLength: 128,
  takesImage: (image) => image.from === 'data' || image.secure,
  parts: PARTS,
  kinds: THINKING_KINDS,
  order: thinkingFirst,
  callsLast: true,
  isSigned: isSignedThinking,
  more: { text: KINDS.text.more, call: KINDS.tool_use.more },
  pairOf,
  pairs: pairParts,
  says: (turn) => turn.texts.length > 0 || turn.bound > 0 || hasOwnParts(turn),
  pauses: true,
  appends: true,
}

/** A server's tool and its result have the id of the call in common; those of MCP servers are apart from the others. */
function pairOf({ type, id, tool_use_id }: JsonObject): PairHalf | null {
  if ((type === 'server_tool_use' || type === 'mcp_tool_use') && typeof id === 'string')
    return { half: 'call', id: `${type} ${id}`, waits: true }
  if (typeof type !== 'string' || typeof tool_use_id !== 'string') return null
  const call = type === 'mcp_tool_result' ? 'mcp_tool_use' : 'server_tool_use'
  return { half: 'result', id: `${call} ${tool_use_id}`, waits: true }
}
