/**
 * Reads replies of OpenAI Responses as events, so that reasoning, words and calls can go back in the order in which
 * they came.
 */

import type { JsonObject, ReasoningItemModel } from '../../event/shapes.ts'
import { asJson, type Found, moreOf, objectOf, objectsOf, stringOf, textOfInput, usageOf } from '../found.ts'
import {
  CUT_OFF,
  type ReadOptions,
  type Reply,
  replyEvents,
  type ReplyOutcome,
  type ReplyPart,
} from '../reply-events.ts'
import { LIMITS } from './limits.ts'

/** A whole reply, as the `openai` package gives it; what else it holds is read where it is there. */
export interface ResponsesReply {
  readonly output: readonly object[]
}

/**
 * The events of a reply, and what ended it. A reasoning item stands on the call that it led to, or on the message; it
 * goes back where it has its encrypted content (`include: ['reasoning.encrypted_content']`). A call that was cut off
 * by a limit is not executed, nor are those of a filtered reply.
 *
 * A refusal is read as the words that it is, with `more: { type: 'refusal' }` in `reply.parts`; a custom call as a
 * call that cannot be executed. Items of other kinds (searches, MCP, compaction …), and reasoning that no call is left
 * for, stand there as `other`, annotations and the phase of a message as `more`. None of that is sent back yet, and
 * texts in a row are sent as one message. Throws nothing. O(length).
 * @param reply a `Response`
 * @example
 * const content = [{ type: 'output_text', text: 'hi' }]
 * const { events } = fromOpenAIResponses({ id: 'resp_1', output: [{ type: 'message', content }] })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 */
export function fromOpenAIResponses(reply: ResponsesReply, options: ReadOptions = {}): Reply {
  const found = objectOf(reply)
  const items = objectsOf(found['output'])
  const reason = stringOf(objectOf(found['incomplete_details'])['reason'])
  const ending = endingOf(found, reason, items)
  if (ending?.type === 'broken_off') return { events: [], outcome: ending }
  const isCutOff = ending?.type === 'truncated'
  return replyEvents(
    {
      id: stringOf(found['id']),
      model: stringOf(found['model']),
      stopReason: reason || stringOf(found['status']),
      usage: usageOf(found['usage']),
      reasoning: '',
      parts: items.flatMap((item, at) => partsOf(item, isCutOff && at === items.length - 1)),
      ending,
    },
    LIMITS,
    options,
  )
}

function endingOf(reply: Found, reason: string, items: readonly Found[]): ReplyOutcome | null {
  const contents = items.flatMap(({ content }) => objectsOf(content))
  switch (reply['status']) {
    case 'incomplete':
      return { type: reason === 'content_filter' ? 'filtered' : 'truncated', reason }
    case 'failed':
      return { type: 'failed', explanation: stringOf(objectOf(reply['error'])['message']) || null }
    case 'cancelled':
      return { type: 'broken_off', text: contents.map(({ text }) => stringOf(text)).join('') }
    default: {
      const refusal = contents.find(({ type }) => type === 'refusal')
      return refusal === undefined
        ? null
        : { type: 'refused', explanation: stringOf(refusal['refusal']) || null }
    }
  }
}

function partsOf(item: Found, isCutOff: boolean): ReplyPart[] {
  switch (item['type']) {
    case 'message':
      return objectsOf(item['content']).map((part, at) => messagePart(part, at === 0 ? item : {}))
    case 'reasoning':
      return [
        {
          is: 'reasoning',
          item: reasoningOf(item),
          value: asJson(item),
          more: moreOf(item, 'type', 'id', 'summary', 'content', 'encrypted_content', 'status'),
        },
      ]
    case 'function_call':
    case 'custom_tool_call': {
      const isCustom = item['type'] === 'custom_tool_call'
      const wasCutOff = isCutOff || item['status'] === 'incomplete'
      return [
        {
          is: 'call',
          id: stringOf(item['call_id']),
          name: stringOf(item['name']),
          arguments: textOfInput(item[isCustom ? 'input' : 'arguments']),
          item: isCustom ? null : stringOf(item['id']) || null,
          unfit: isCustom ? 'calls of custom tools are not supported' : wasCutOff ? CUT_OFF : null,
          more: isCustom
            ? moreOf(item, 'call_id', 'name', 'input', 'status')
            : moreOf(item, 'type', 'id', 'call_id', 'name', 'arguments', 'status'),
        },
      ]
    }
    default:
      return [{ is: 'other', value: asJson(item) }]
  }
}

/** A part of a message; what the message itself has more stands with its first one. */
function messagePart(part: Found, message: Found): ReplyPart {
  const { type, text, refusal } = part
  const outer = moreOf(message, 'type', 'id', 'role', 'status', 'content')
  if (type === 'output_text' && typeof text === 'string')
    return { is: 'text', text, more: joined(outer, moreOf(part, 'type', 'text', 'logprobs')) }
  if (type === 'refusal' && typeof refusal === 'string')
    return { is: 'text', text: refusal, more: { ...outer, type } }
  return { is: 'other', value: asJson(part) }
}

const joined = (outer: JsonObject | null, inner: JsonObject | null): JsonObject | null =>
  outer === null ? inner : { ...outer, ...inner }

function reasoningOf(item: Found): ReasoningItemModel {
  const { id, encrypted_content } = item
  const content = objectsOf(item['content']).map(({ text }) => stringOf(text))
  return {
    ...(typeof id === 'string' ? { id } : {}),
    summary: objectsOf(item['summary']).map(({ text }) => stringOf(text)),
    ...(content.length === 0 ? {} : { content }),
    ...(typeof encrypted_content === 'string' ? { encrypted_content } : {}),
  }
}
