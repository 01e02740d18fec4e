/** Reads replies of Anthropic Messages as events, so that they can go back as they came. */

import type { JsonObject } from '../../event/shapes.ts'
import {
  asJson,
  failureOf,
  type Found,
  frozenInput,
  moreOf,
  objectOf,
  objectsOf,
  stringOf,
  textOfInput,
  usageOf,
} from '../found.ts'
import {
  CUT_OFF,
  type ReadOptions,
  type Reply,
  replyEvents,
  type ReplyOutcome,
  type ReplyPart,
} from '../reply-events.ts'
import { LIMITS } from './limits.ts'

/** A whole reply, as the `@anthropic-ai/sdk` package gives it; what else it holds is read where it is there. */
export interface AnthropicReply {
  readonly content: readonly object[]
}

/**
 * The events of a reply, and what ended it. Thinking, texts and calls go back byte for byte and in their order; a blank
 * text, which the provider refuses, only where something signed is bound to it. The last call of a reply that was cut
 * off by a limit is not executed, nor are those of a refused one.
 *
 * Blocks of other kinds (server tools and their results, compaction …) and what texts and calls carry beside their
 * words (citations, callers) stand in `reply.parts` as `other` and `more`, and go back as they came; nothing but calls
 * stands behind a call then, as the provider refuses all else there. Thinking that is bound to a kind that the library
 * does not know is left out. Throws nothing. O(length).
 * @param reply a `Message`
 * @example
 * const content = [{ type: 'text', text: 'hi' }]
 * const { events, outcome } = fromAnthropic({ id: 'msg_1', content, stop_reason: 'end_turn' })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 * outcome // { type: 'done' }
 */
export function fromAnthropic(reply: AnthropicReply, options: ReadOptions = {}): Reply {
  const found = objectOf(reply)
  const blocks = objectsOf(found['content'])
  const ending = failureOf(found) ?? endingOf(found)
  return replyEvents(
    {
      id: stringOf(found['id']),
      model: stringOf(found['model']),
      stopReason: stringOf(found['stop_reason']),
      usage: usageOf(found['usage']),
      reasoning: '',
      container: stringOf(objectOf(found['container'])['id']),
      parts: blocks.map((block, at) =>
        partOf(block, ending?.type === 'truncated' && at === blocks.length - 1),
      ),
      ending,
    },
    LIMITS,
    options,
  )
}

function endingOf(reply: Found): ReplyOutcome | null {
  const reason = stringOf(reply['stop_reason'])
  switch (reason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return { type: 'truncated', reason }
    case 'compaction':
    case 'pause_turn':
      return { type: 'paused' }
    case 'refusal': {
      const { explanation } = objectOf(reply['stop_details'])
      return { type: 'refused', explanation: typeof explanation === 'string' ? explanation : null }
    }
    default:
      return null
  }
}

/** A block as a part. One that lacks what its kind must have is kept whole. */
function partOf(block: Found, isCutOff: boolean): ReplyPart {
  const { type, text, thinking, signature, data, id, name, input } = block
  if (type === 'text' && typeof text === 'string')
    return { is: 'text', text, more: moreOf(block, 'type', 'text') }
  if (type === 'thinking' && typeof thinking === 'string')
    return {
      is: 'thinking',
      block: { type, thinking, ...(typeof signature === 'string' ? { signature } : {}) },
      more: moreOf(block, 'type', 'thinking', 'signature'),
    }
  if (type === 'redacted_thinking' && typeof data === 'string')
    return { is: 'thinking', block: { type, data }, more: moreOf(block, 'type', 'data') }
  if (type === 'tool_use')
    return {
      is: 'call',
      id: stringOf(id),
      name: stringOf(name),
      arguments: textOfInput(input),
      input: frozenInput(input),
      item: null,
      unfit: isCutOff ? CUT_OFF : null,
      more: callerOf(block),
    }
  return { is: 'other', value: asJson(block) }
}

/** That the model itself has called is the default, which goes without saying. */
function callerOf(block: Found): JsonObject | null {
  const isDirect = objectOf(block['caller'])['type'] === 'direct'
  return moreOf(block, 'type', 'id', 'name', 'input', ...(isDirect ? ['caller'] : []))
}
