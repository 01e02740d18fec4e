import type { StreamingDeltaEvent } from '../../event/types.ts'
import { type RawObject, objectOf, objectsOf, stringOf, withoutEmpty } from '../text.ts'
import {
  defaultCaller,
  endingBy,
  failureOf,
  moreOf,
  readParts,
  replyDelta,
  replyPart,
  replyReader,
} from '../reply.ts'
import type { Endings, ReadOptions, ReplyCollector, ReplyPart } from '../reply.ts'
import { laterUsage } from '../reply-usage.ts'
import { addDelta, closeBlock, collectStream, type DeltaFields, itemsByIndex } from '../stream.ts'
import { LIMITS } from './blocks.ts'

const TEXT = { as: 'text', begins: { type: 'text', text: '' } } as const
const THINKING = { as: 'text', begins: { type: 'thinking', thinking: '' } } as const

/** Deltas of blocks. A delta with `begins` begins its block if the block's start is missing. */
export const DELTAS: DeltaFields = {
  text: { ...TEXT, type: 'text_delta', to: 'text', publish: replyDelta.text },
  citation: { ...TEXT, type: 'citations_delta', to: 'citations', as: 'list' },
  thinking: { ...THINKING, type: 'thinking_delta', to: 'thinking', publish: replyDelta.reasoning },
  signature: { ...THINKING, type: 'signature_delta', to: 'signature', onlyWhole: true },
  partial_json: { type: 'input_json_delta', to: 'input', as: 'json' },
}

const BEGINS: ReadonlyMap<unknown, RawObject | undefined> = new Map(
  Object.values(DELTAS).map(({ type, begins }) => [type, begins]),
)

/**
 * Returns a collector for the stream events of `@anthropic-ai/sdk` (`stream: true`). Its `end` returns the
 * same reply as `fromAnthropic`. Without a stop reason and without `message_stop`, the reply is `broken_off`;
 * with an `error` event, it is `failed`. O(length).
 * @example
 * const stream = collectAnthropic()
 * stream.push({ type: 'message_start', message: { id: 'msg_1', content: [] } })
 * stream.push({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
 * stream.push({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } })[0].content // 'hi'
 * stream.push({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectAnthropic(options: ReadOptions = {}): ReplyCollector {
  let message: RawObject = {}
  let usage: RawObject = {}
  let isComplete = false
  const { all, byIndex, open, end, find } = itemsByIndex(kindOf, 'call')

  const take = (event: RawObject): readonly StreamingDeltaEvent[] => {
    switch (event['type']) {
      case 'message_start':
        message = { ...objectOf(event['message']) }
        usage = objectOf(message['usage'])
        break
      case 'content_block_start': {
        const { start } = open(event['index'], objectOf(event['content_block']))
        return [
          ...replyDelta.text(stringOf(start['text'])),
          ...replyDelta.reasoning(stringOf(start['thinking'])),
        ]
      }
      case 'content_block_delta': {
        const delta = objectOf(event['delta'])
        const begins = BEGINS.get(delta['type'])
        const kind = delta['type'] === 'input_json_delta' ? 'call' : begins?.['type']
        const known = kind === undefined ? byIndex.get(event['index']) : find(event['index'], kind)
        const item = known ?? (begins && open(event['index'], begins))
        return item === undefined ? [] : addDelta(item, delta, DELTAS)
      }
      case 'content_block_stop':
        end(event['index'])
        break
      case 'message_delta': {
        message = { ...message, ...withoutEmpty(objectOf(event['delta'])) }
        // Some servers first report all input tokens, and at the end only the uncached ones, which can be 0.
        const { input_tokens, cache_read_input_tokens: cached } = objectOf(event['usage'])
        const isAllCached = input_tokens === 0 && Boolean(cached) && !usage['cache_read_input_tokens']
        usage = laterUsage(isAllCached ? { ...usage, input_tokens } : usage, event['usage'])
        isComplete ||= typeof message['stop_reason'] === 'string'
        break
      }
      case 'message_stop':
        isComplete = true
        break
    }
    return []
  }

  return collectStream(fromAnthropic, options, {
    push: take,
    failureIn: (event) => (event['type'] === 'error' ? failureOf({ error: event['error'] || event }) : null),
    isComplete: () => isComplete,
    whole: () => {
      const content = all.map((item) => closeBlock(item, DELTAS, isComplete))
      // Some proxies send the whole reply in the first event.
      return { content, ...message, usage, ...(content.length > 0 && { content }) }
    },
  })
}

const kindOf = ({ type }: RawObject): unknown => (type === 'text' || type === 'thinking' ? type : 'call')

/** A whole reply of the `@anthropic-ai/sdk` package. Fields that are not declared here are read, too. */
export interface AnthropicReply {
  readonly content: readonly object[]
}

/**
 * Reads a whole reply of Anthropic as events and an outcome. In later requests, thinking, texts and calls are
 * sent back byte for byte. Blank texts are left out, because the provider rejects them. Blank texts before a
 * signed part are kept, because its signature covers them. A call at the end of a truncated reply and all
 * calls of a refused or failed reply are not executed.
 *
 * Other blocks (server tools and their results, compaction …) are stored in `reply.parts` as `other`.
 * Additional fields of texts and calls (citations, callers) are stored there as `more`. These blocks and
 * fields are sent back unchanged. All content is sent back in order, but calls are moved to the end, because
 * the provider rejects other content after a call. A call before signed thinking can keep its place. Signed
 * thinking is left out if a block before it has an unknown kind. Never throws. O(length).
 * @param reply a `Message`
 * @example
 * const content = [{ type: 'text', text: 'hi' }]
 * const { events, outcome } = fromAnthropic({ id: 'msg_1', content, stop_reason: 'end_turn' })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 * outcome // { type: 'done' }
 */
export const fromAnthropic = replyReader<AnthropicReply>(
  LIMITS,
  ['content', 'stop_reason'],
  (raw, broken) => {
    const stop = objectOf(raw['stop_details'])
    const ending = broken ?? endingBy(ENDINGS, stringOf(raw['stop_reason']), stop['explanation'])
    return {
      id: raw['id'],
      model: raw['model'],
      stopReason: raw['stop_reason'],
      usage: raw['usage'],
      metadata: moreOf({ stop_details: raw['stop_details'], diagnostics: raw['diagnostics'] }),
      container: objectOf(raw['container'])['id'],
      parts: readParts(objectsOf(raw['content']), ending, partOf),
      ending,
    }
  },
)

export const ENDINGS: Endings = {
  max_tokens: 'truncated',
  model_context_window_exceeded: 'truncated',
  pause_turn: 'paused',
  compaction: 'paused',
  refusal: 'refused',
}

/** Reads a block. A block that lacks required fields is stored whole. */
function partOf(block: RawObject, isCutOff: boolean): ReplyPart {
  const { type, text, thinking, signature, data, id, name, input } = block
  if (type === 'text' && typeof text === 'string') return replyPart.text(text, moreOf(block, 'type', 'text'))
  if (type === 'thinking' && typeof thinking === 'string')
    return replyPart.thinking(thinking, signature, moreOf(block, 'type', 'thinking', 'signature'))
  if (type === 'redacted_thinking' && typeof data === 'string')
    return replyPart.redacted(data, moreOf(block, 'type', 'data'))
  return type === 'tool_use'
    ? replyPart.call(id, name, input, isCutOff, {
        more: moreOf(block, 'type', 'id', 'name', 'input', ...defaultCaller(block)),
      })
    : replyPart.other(block)
}
