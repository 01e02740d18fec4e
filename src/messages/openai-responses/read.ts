/**
 * Reads replies of OpenAI Responses as events, so that reasoning, words and calls can go back in the order in which
 * they came.
 */

import type { JsonObject } from '../../event/shapes.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
import {
  asJson,
  CUT_OFF,
  failedWith,
  type Failure,
  failureOf,
  moreOf,
  type ReadOptions,
  reasoningDelta,
  type Reply,
  type ReplyCollector,
  replyEvents,
  type ReplyOutcome,
  type ReplyPart,
  textDelta,
  usageOf,
} from '../reply.ts'
import { type Found, objectOf, objectsOf, stringOf, textOfInput } from '../text.ts'
import { askedOf, LIMITS, readReasoning } from './blocks.ts'

/**
 * Collects the events of a stream, as the `openai` package gives them with `stream: true`. `push` gives what to
 * publish of each; `end` gives the reply, the same as `fromOpenAIResponses` gives of the whole. A stream that ends
 * before the provider says that the response has ended has broken off, one with an `error` has failed: then there are
 * no events to append. Throws nothing. O(length).
 * @example
 * const stream = collectOpenAIResponses()
 * stream.push({ type: 'response.output_text.delta', delta: 'hi' })[0].content // 'hi'
 * const output = [{ type: 'message', content: [{ type: 'output_text', text: 'hi' }] }]
 * stream.push({ type: 'response.completed', response: { id: 'resp_1', status: 'completed', output } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectOpenAIResponses(options: ReadOptions = {}): ReplyCollector {
  /** Finished items by their index: some servers leave them out of the response at the end. */
  const items = new Map<number, Found>()
  const texts: string[] = []
  let response: Found | null = null
  let failure: Failure | null = null

  const push = (given: object): readonly StreamingDeltaEvent[] => {
    const event = objectOf(given)
    switch (event['type']) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        texts.push(stringOf(event['delta']))
        return textDelta(stringOf(event['delta']))
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return reasoningDelta(stringOf(event['delta']))
      case 'response.output_item.done': {
        const { output_index } = event
        items.set(typeof output_index === 'number' ? output_index : items.size, objectOf(event['item']))
        break
      }
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        response = objectOf(event['response'])
        break
      case 'error':
        failure = failureOf(event) ?? failedWith(event['message'])
        break
    }
    return []
  }

  return {
    push,
    end: () => {
      if (failure !== null) return { events: [], outcome: failure }
      if (response === null) return { events: [], outcome: { type: 'broken_off', text: texts.join('') } }
      const given = objectsOf(response['output'])
      const inOrder = [...items].toSorted(([a], [b]) => a - b).map(([, item]) => item)
      const output = [given, inOrder].find(({ length }) => length > 0) ?? messageOf(texts.join(''))
      return fromOpenAIResponses({ ...response, output }, options)
    },
  }
}

/** The words of a stream that gave no item. */
const messageOf = (text: string): Found[] =>
  text === '' ? [] : [{ type: 'message', content: [{ type: 'output_text', text }] }]

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
        partsOf(item, isCutOff && at === items.length - 1, NAMED_BEHIND.has(items[at - 1]?.['type']), done),
      ),
      ending,
    },
    LIMITS,
    options,
  )
}

const NONE: ReadonlySet<unknown> = new Set()

/** Items behind which a message keeps its id: one that would join it, and reasoning that names what follows it. */
const NAMED_BEHIND: ReadonlySet<unknown> = new Set(['message', 'reasoning'])

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
function partsOf(item: Found, isCutOff: boolean, isNamed: boolean, done: ReadonlySet<unknown>): ReplyPart[] {
  switch (item['type']) {
    case 'message':
      return messageParts(item, isNamed)
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
 * The parts of a message. What the message itself has more stands with its first one: its phase, and its id where
 * `isNamed`, or where its text alone would not give it back.
 */
function messageParts(item: Found, isNamed: boolean): ReplyPart[] {
  const parts = objectsOf(item['content'])
  const inner = parts.map((part) =>
    part['type'] === 'refusal' ? { type: 'refusal' } : moreOf(part, 'type', 'text', 'logprobs'),
  )
  const isPlain = !isNamed && parts.length === 1 && inner[0] === null && item['status'] !== 'incomplete'
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
