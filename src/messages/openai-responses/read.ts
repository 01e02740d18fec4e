/**
 * Reads replies of OpenAI Responses as events, so that reasoning, words and calls can go back in the order in which
 * they came.
 */

import type { JsonObject } from '../../event/shapes.ts'
import {
  asJson,
  failedWith,
  failureOf,
  type Found,
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
import { askedOf } from './client-calls.ts'
import { LIMITS } from './limits.ts'
import { readReasoning } from './reasoning.ts'

/** A whole reply, as the `openai` package gives it; what else it holds is read where it is there. */
export interface ResponsesReply {
  readonly output: readonly object[]
}

/**
 * The events of a reply, and what ended it. A reasoning item stands on the call that it led to, or on the message; it
 * goes back where it has its encrypted content (`include: ['reasoning.encrypted_content']`). A call that was cut off
 * by a limit is not executed, nor are those of a filtered reply.
 *
 * A refusal is read as the words that it is, with `more: { type: 'refusal' }` in `reply.parts`. Items of other kinds
 * (searches, MCP, compaction …), and reasoning that no call is left for, stand there as `other`; annotations and the
 * phase of a message, and its id where its words alone would not give it back, as `more`. All of it goes back as it
 * came, but for log probabilities. A call that the client is to execute in another form (`shell_call`,
 * `local_shell_call`, `apply_patch_call`, `computer_call`) is read as a call of the tool `shell`, `local_shell`,
 * `apply_patch` or `computer`; a custom call as one that cannot be executed. Throws nothing. O(length).
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
  const ending = failureOf(found) ?? endingOf(found, reason, items)
  if (ending?.type === 'broken_off') return { events: [], outcome: ending }
  const isCutOff = ending?.type === 'truncated'
  const outputs = items.filter(({ type }) => stringOf(type).endsWith('_output'))
  const done: ReadonlySet<unknown> =
    outputs.length === 0 ? NONE : new Set(outputs.map(({ call_id }) => call_id))
  return replyEvents(
    {
      id: stringOf(found['id']),
      model: stringOf(found['model']),
      stopReason: reason || stringOf(found['status']),
      usage: usageOf(found['usage']),
      reasoning: '',
      parts: items.flatMap((item, at) =>
        partsOf(item, isCutOff && at === items.length - 1, items[at - 1]?.['type'] === 'message', done),
      ),
      ending,
    },
    LIMITS,
    options,
  )
}

const NONE: ReadonlySet<unknown> = new Set()

function endingOf(reply: Found, reason: string, items: readonly Found[]): ReplyOutcome | null {
  switch (reply['status']) {
    case 'incomplete':
      return { type: reason === 'content_filter' ? 'filtered' : 'truncated', reason }
    case 'failed':
      return failedWith(null)
    // One that is made in the background is not there yet.
    case 'queued':
    case 'in_progress':
    case 'cancelled':
      return { type: 'broken_off', text: textOf(items) }
    default: {
      const refusal = refusalIn(items)
      return refusal === undefined
        ? null
        : { type: 'refused', explanation: stringOf(refusal['refusal']) || null }
    }
  }
}

const textOf = (items: readonly Found[]): string =>
  items.flatMap(({ content }) => objectsOf(content).map(({ text }) => stringOf(text))).join('')

function refusalIn(items: readonly Found[]): Found | undefined {
  for (const { content } of items)
    for (const part of objectsOf(content)) if (part['type'] === 'refusal') return part
  return undefined
}

const CALL = ['type', 'id', 'call_id', 'name', 'arguments', 'status']
const ASKED = ['call_id', 'name', 'status', 'input', 'action', 'actions', 'operation']

/** The parts of an item; `done` has the ids of calls that the provider has executed itself. */
function partsOf(item: Found, isCutOff: boolean, isNext: boolean, done: ReadonlySet<unknown>): ReplyPart[] {
  switch (item['type']) {
    case 'message':
      return messageParts(item, isNext)
    case 'reasoning':
      return [
        {
          is: 'reasoning',
          item: readReasoning(item),
          value: asJson(item),
          more: moreOf(item, 'type', 'id', 'summary', 'content', 'encrypted_content', 'status'),
        },
      ]
    case 'function_call':
      return [
        {
          is: 'call',
          id: stringOf(item['call_id']),
          name: stringOf(item['name']),
          arguments: textOfInput(item['arguments']),
          item: stringOf(item['id']) || null,
          unfit: isCutOff || item['status'] === 'incomplete' ? CUT_OFF : null,
          more: moreOf(item, ...CALL, ...direct(item)),
        },
      ]
    default: {
      const asked = done.has(item['call_id']) ? null : askedOf(item)
      if (asked === null) return [{ is: 'other', value: asJson(item) }]
      const isCustom = item['type'] === 'custom_tool_call'
      return [
        {
          ...asked,
          is: 'call',
          id: stringOf(item['call_id']),
          item: null,
          unfit: isCustom ? 'calls of custom tools are not supported' : isCutOff ? CUT_OFF : null,
          more: moreOf(item, ...ASKED, ...direct(item)),
        },
      ]
    }
  }
}

/**
 * The parts of a message. What the message itself has more stands with its first one: its phase, and where its words
 * alone would not give it back, or would be one with those of the message before it, its id too.
 */
function messageParts(item: Found, isNext: boolean): ReplyPart[] {
  const parts = objectsOf(item['content'])
  const inner = parts.map((part) =>
    part['type'] === 'refusal' ? { type: 'refusal' } : moreOf(part, 'type', 'text', 'logprobs'),
  )
  const isPlain = !isNext && parts.length === 1 && inner[0] === null && item['status'] !== 'incomplete'
  const outer = moreOf(
    item,
    'type',
    'role',
    'content',
    ...(isPlain ? ['id'] : []),
    ...(item['status'] === 'incomplete' ? [] : ['status']),
  )
  return parts.map((part, at) => messagePart(part, joined(at === 0 ? outer : null, inner[at] ?? null)))
}

function messagePart(part: Found, more: JsonObject | null): ReplyPart {
  const { type, text, refusal } = part
  if (type === 'output_text' && typeof text === 'string') return { is: 'text', text, more }
  if (type === 'refusal' && typeof refusal === 'string') return { is: 'text', text: refusal, more }
  return { is: 'other', value: asJson(part) }
}

const joined = (outer: JsonObject | null, inner: JsonObject | null): JsonObject | null =>
  outer === null ? inner : { ...outer, ...inner }

/** That the model itself has called is the default, which goes without saying. */
const direct = (item: Found): string[] => (objectOf(item['caller'])['type'] === 'direct' ? ['caller'] : [])
