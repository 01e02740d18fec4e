/** Reads replies of Anthropic Messages as events, so that they can go back as they came. */

import type { JsonObject } from '../../event/shapes.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
import { readArguments, type Found, objectOf, objectsOf, stringOf, textOfInput } from '../text.ts'
import {
  asJson,
  CUT_OFF,
  failedWith,
  type Failure,
  failureOf,
  frozenInput,
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
import { laterUsage } from '../reply-usage.ts'
import { LIMITS } from './blocks.ts'

/** A block on its way. */
interface StreamedBlock {
  readonly start: Found
  /** The texts that were added to a field; joined at the end, so that the cost is linear. */
  readonly added: Map<string, string[]>
  readonly citations: unknown[]
  readonly set: Record<string, unknown>
}

/**
 * Collects the events of a stream, as the `@anthropic-ai/sdk` package gives them with `stream: true`. `push` gives
 * what to publish of each; `end` gives the reply, the same as `fromAnthropic` gives of the whole. A stream that ends
 * without a stop reason has broken off, one with an `error` event has failed: then there are no events to append.
 * Throws nothing. O(length).
 * @example
 * const stream = collectAnthropic()
 * stream.push({ type: 'message_start', message: { id: 'msg_1', content: [] } })
 * stream.push({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
 * stream.push({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } })[0].content // 'hi'
 * stream.push({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectAnthropic(options: ReadOptions = {}): ReplyCollector {
  let message: Found = {}
  let usage: Found = {}
  let failure: Failure | null = null
  let isEnded = false
  const blocks = new Map<unknown, StreamedBlock>()

  const push = (given: object): readonly StreamingDeltaEvent[] => {
    const event = objectOf(given)
    switch (event['type']) {
      case 'message_start':
        message = { ...objectOf(event['message']) }
        usage = objectOf(message['usage'])
        break
      case 'content_block_start': {
        const start = objectOf(event['content_block'])
        blocks.set(event['index'], { start, added: new Map(), citations: [], set: {} })
        return deltaOf(stringOf(start['text']), stringOf(start['thinking']))
      }
      case 'content_block_delta': {
        const block = blocks.get(event['index'])
        if (block !== undefined) return addDelta(block, objectOf(event['delta']))
        break
      }
      case 'message_delta': {
        message = { ...message, ...said(objectOf(event['delta'])) }
        usage = laterUsage(usage, event['usage'])
        isEnded ||= typeof message['stop_reason'] === 'string'
        break
      }
      case 'message_stop':
        isEnded = true
        break
      case 'error':
        failure = failureOf(event) ?? failedWith(null)
        break
    }
    return []
  }

  return {
    push,
    end: () => {
      if (failure !== null) return { events: [], outcome: failure }
      const content = [...blocks.values()].map(closed)
      if (isEnded) return fromAnthropic({ ...message, usage, content } as { content: Found[] }, options)
      const texts = content.filter(({ type }) => type === 'text').map(({ text }) => stringOf(text))
      return { events: [], outcome: { type: 'broken_off', text: texts.join('') } }
    },
  }
}

/** The fields that are not null: a later event takes nothing back. */
const said = (value: Found): Found =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null && field !== undefined))

const deltaOf = (text: string, thinking: string): readonly StreamingDeltaEvent[] => [
  ...textDelta(text),
  ...reasoningDelta(thinking),
]

/** Adds a delta to its block: texts to the field that they continue, all else in place of what was there. */
function addDelta({ added, citations, set }: StreamedBlock, delta: Found): readonly StreamingDeltaEvent[] {
  if (delta['type'] === 'citations_delta') {
    citations.push(delta['citation'])
    return []
  }
  for (const [key, value] of Object.entries(delta)) {
    if (key === 'type') continue
    if (typeof value !== 'string') {
      set[key] = value
      continue
    }
    const texts = added.get(key)
    if (texts === undefined) added.set(key, [value])
    else texts.push(value)
  }
  return deltaOf(stringOf(delta['text']), stringOf(delta['thinking']))
}

/** The block as it would stand in a whole reply. Arguments that are no JSON stay the text that they are. */
function closed({ start, added, citations, set }: StreamedBlock): Found {
  const block: Record<string, unknown> = { ...start, ...said(set) }
  for (const [key, texts] of added) {
    if (key !== 'partial_json') block[key] = stringOf(start[key]) + texts.join('')
  }
  const json = added.get('partial_json')?.join('') ?? ''
  if (json !== '') block['input'] = readArguments(json) ?? json
  if (citations.length > 0)
    block['citations'] = [...(Array.isArray(start['citations']) ? start['citations'] : []), ...citations]
  return block
}

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
