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
import { addText, addValue, closeItem, collectStream, newItem, setValue, type StreamItem } from '../stream.ts'
import { LIMITS } from './blocks.ts'

/** The blocks that begin with a delta whose `content_block_start` did not arrive. */
const STARTS: ReadonlyMap<unknown, Found> = new Map([
  ['text_delta', { type: 'text', text: '' }],
  ['citations_delta', { type: 'text', text: '' }],
  ['thinking_delta', { type: 'thinking', thinking: '' }],
  ['signature_delta', { type: 'thinking', thinking: '' }],
])

/**
 * Collects the events of a stream, as the `@anthropic-ai/sdk` package gives them with `stream: true`. `push` gives
 * what to publish of each; `end` gives the reply, the same as `fromAnthropic` gives of the whole. A stream that ends
 * without a stop reason has broken off, one with an `error` event has failed: then its events have what arrived, and
 * no call is executed. Throws nothing. O(length).
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
  let isComplete = false
  const items: StreamItem[] = []
  /** The latest block of each index: some servers give all blocks the same one. */
  const byIndex = new Map<unknown, StreamItem>()
  const open = (index: unknown, start: Found): StreamItem => {
    const item = newItem(start)
    items.push(item)
    byIndex.set(index, item)
    return item
  }

  const take = (event: Found): readonly StreamingDeltaEvent[] => {
    switch (event['type']) {
      case 'message_start':
        message = { ...objectOf(event['message']) }
        usage = objectOf(message['usage'])
        break
      case 'content_block_start': {
        const start = objectOf(event['content_block'])
        open(event['index'], start)
        return deltaOf(stringOf(start['text']), stringOf(start['thinking']))
      }
      case 'content_block_delta': {
        const delta = objectOf(event['delta'])
        const start = STARTS.get(delta['type'])
        const known = byIndex.get(event['index'])
        const isOther = known !== undefined && start !== undefined && known.start['type'] !== start['type']
        const item =
          (known === undefined || isOther) && start !== undefined ? open(event['index'], start) : known
        return item === undefined ? [] : addDelta(item, delta)
      }
      case 'message_delta': {
        message = { ...message, ...said(objectOf(event['delta'])) }
        usage = laterUsage(usage, event['usage'])
        isComplete ||= typeof message['stop_reason'] === 'string'
        break
      }
      case 'message_stop':
        isComplete = true
        break
      case 'error':
        failure = failureOf(event) ?? failedWith(null)
        break
    }
    return []
  }

  return collectStream({
    take,
    failure: () => failure,
    isComplete: () => isComplete,
    read: (ending) => readReply({ ...message, usage, content: items.map(closed) }, options, ending),
  })
}

/** The fields that are not null: a later event takes nothing back. */
const said = (value: Found): Found =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null && field !== undefined))

const deltaOf = (text: string, thinking: string): readonly StreamingDeltaEvent[] => [
  ...textDelta(text),
  ...reasoningDelta(thinking),
]

/** Adds a delta to its block: texts continue a field, other values replace it. */
function addDelta(item: StreamItem, delta: Found): readonly StreamingDeltaEvent[] {
  if (delta['type'] === 'citations_delta') {
    addValue(item, 'citations', delta['citation'])
    return []
  }
  for (const [key, value] of Object.entries(delta)) {
    if (key === 'type') continue
    if (typeof value === 'string') addText(item, key, value)
    else setValue(item, key, value)
  }
  return deltaOf(stringOf(delta['text']), stringOf(delta['thinking']))
}

/** The block as a whole reply has it. Arguments that are no JSON stay the text that they are. */
function closed(item: StreamItem): Found {
  const { partial_json, ...block } = closeItem(item)
  const json = stringOf(partial_json)
  return json === '' ? block : { ...block, input: readArguments(json) ?? json }
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
export const fromAnthropic = (reply: AnthropicReply, options: ReadOptions = {}): Reply =>
  readReply(objectOf(reply), options)

/** `broken`: how its stream ended, where that was no end of the reply. */
function readReply(found: Found, options: ReadOptions, broken: ReplyOutcome | null = null): Reply {
  const blocks = objectsOf(found['content'])
  const ending = broken ?? failureOf(found) ?? endingOf(found)
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
