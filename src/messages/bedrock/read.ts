/** Reads replies of Amazon Bedrock's Converse as events, so that they can go back as they came. */

import type { StreamingDeltaEvent } from '../../event/types.ts'
import {
  asJson,
  CUT_OFF,
  failedWith,
  type Failure,
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
import { base64Of } from '../text-files.ts'
import { collectStream } from '../stream.ts'
import { type Found, objectOf, objectsOf, stringOf, textOfInput } from '../text.ts'
import { LIMITS, withoutBytes } from './blocks.ts'

/** A whole reply, as the AWS client gives it; other fields are read where they are there. */
export interface BedrockReply {
  readonly output: object | undefined
  readonly stopReason: string | undefined
}

/**
 * The events of a reply, and what ended it. Reasoning, texts with their citations and calls go back in their order;
 * calls that the provider executed itself, and files, as they are. A reply does not name its model: that of the request
 * is recorded. Throws nothing. O(length).
 * @param reply a `ConverseResponse`
 * @example
 * const message = { role: 'assistant', content: [{ text: 'hi' }] }
 * const { events, outcome } = fromBedrock({ output: { message }, stopReason: 'end_turn' })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 * outcome // { type: 'done' }
 */
export const fromBedrock = (reply: BedrockReply, options: ReadOptions = {}): Reply =>
  readReply(objectOf(reply), options)

/** `broken`: how its stream ended, where that was no end of the reply. */
function readReply(found: Found, options: ReadOptions, broken: ReplyOutcome | null = null): Reply {
  const { output, stopReason, usage, $metadata, additionalModelResponseFields, trace } = found
  const contents = objectsOf(objectOf(objectOf(output)['message'])['content']).filter(
    ({ text }) => text !== '',
  )
  const ending = broken ?? endingOf(stringOf(stopReason))
  return replyEvents(
    {
      id: stringOf(objectOf($metadata)['requestId']),
      model: stringOf(objectOf(options.request)['modelId']),
      stopReason: stringOf(stopReason),
      usage: usageOf(usage),
      reasoning: '',
      metadata: moreOf({ additionalModelResponseFields, trace }),
      parts: contents.map((content, at) =>
        partOf(content, ending?.type === 'truncated' && at === contents.length - 1),
      ),
      ending,
    },
    LIMITS,
    options,
  )
}

function endingOf(reason: string): ReplyOutcome | null {
  switch (reason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return { type: 'truncated', reason }
    case 'guardrail_intervened':
    case 'content_filtered':
      return { type: 'filtered', reason }
    case 'malformed_model_output':
    case 'malformed_tool_use':
      return failedWith(reason)
    default:
      return null
  }
}

function partOf(content: Found, isCutOff: boolean): ReplyPart {
  const { text, toolUse, reasoningContent, citationsContent } = content
  if (typeof text === 'string') return { is: 'text', text, more: moreOf(content, 'text') }
  if (citationsContent !== undefined) {
    const { content: texts, citations } = objectOf(citationsContent)
    return {
      is: 'text',
      text: objectsOf(texts)
        .map((each) => stringOf(each['text']))
        .join(''),
      more: moreOf({ citations }),
    }
  }
  if (reasoningContent !== undefined) return reasoningPart(content, objectOf(reasoningContent))
  const { toolUseId, name, input, type } = objectOf(toolUse)
  if (toolUse === undefined || type !== undefined)
    return { is: 'other', value: asJson(withoutBytes(content) as Found) }
  return {
    is: 'call',
    id: stringOf(toolUseId),
    name: stringOf(name),
    arguments: textOfInput(input),
    input: frozenInput(input),
    item: null,
    unfit: isCutOff ? CUT_OFF : null,
    more: null,
  }
}

/** Bytes of redacted reasoning are recorded in base64, as the HTTP interface has them. */
function reasoningPart(content: Found, { reasoningText, redactedContent }: Found): ReplyPart {
  const data = redactedContent instanceof Uint8Array ? base64Of(redactedContent) : redactedContent
  if (typeof data === 'string')
    return { is: 'thinking', block: { type: 'redacted_thinking', data }, more: null }
  const { text, signature } = objectOf(reasoningText)
  if (typeof text !== 'string') return { is: 'other', value: asJson(withoutBytes(content) as Found) }
  const signed = typeof signature === 'string' && signature !== '' ? { signature } : {}
  return { is: 'thinking', block: { type: 'thinking', thinking: text, ...signed }, more: null }
}

/** A block on its way: what it began with, and its pieces, joined at the end so that the cost is linear. */
interface StreamedBlock {
  readonly start: Found
  readonly texts: string[]
  readonly args: string[]
  readonly thoughts: string[]
  readonly citations: Found[]
  readonly fields: Record<string, unknown>
}

/**
 * Collects the events of a stream, as `converseStream` of the AWS client gives them. `push` gives what to publish of each;
 * `end` gives the reply, the same as `fromBedrock` gives of the whole. A stream that ends before its `messageStop` has
 * broken off, one with an exception has failed: then there are no events to append. Throws nothing. O(length).
 * @example
 * const stream = collectBedrock()
 * stream.push({ contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'hi' } } })[0].content // 'hi'
 * stream.push({ messageStop: { stopReason: 'end_turn' } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectBedrock(options: ReadOptions = {}): ReplyCollector {
  let about: Found = {}
  let failure: Failure | null = null
  const blocks = new Map<unknown, StreamedBlock>()
  const blockAt = (index: unknown, start: Found = {}): StreamedBlock => {
    const block = blocks.get(index) ?? { start, texts: [], args: [], thoughts: [], citations: [], fields: {} }
    blocks.set(index, block)
    return block
  }
  const take = (event: Found): readonly StreamingDeltaEvent[] => {
    const { contentBlockStart, contentBlockDelta, messageStop, metadata } = event
    for (const [name, value] of Object.entries(event))
      if (name.endsWith('Exception')) failure = failedWith(objectOf(value)['message'] ?? name)
    if (messageStop !== undefined) about = { ...about, ...objectOf(messageStop) }
    if (metadata !== undefined) about = { ...about, ...objectOf(metadata) }
    const { contentBlockIndex: first, start } = objectOf(contentBlockStart)
    if (start !== undefined) blockAt(first, objectOf(start))
    const { contentBlockIndex, delta } = objectOf(contentBlockDelta)
    return delta === undefined ? [] : addDelta(blockAt(contentBlockIndex), objectOf(delta))
  }
  return collectStream({
    take,
    failure: () => failure,
    isComplete: () => typeof about['stopReason'] === 'string',
    read: (ending) => {
      const content = [...blocks.values()].map(closed).filter(({ text }) => text !== '')
      return readReply({ ...about, output: { message: { content } } }, options, ending)
    },
  })
}

function addDelta(block: StreamedBlock, delta: Found): readonly StreamingDeltaEvent[] {
  const { text, toolUse, reasoningContent, citation, ...rest } = delta
  if (typeof text === 'string') block.texts.push(text)
  if (toolUse !== undefined) block.args.push(stringOf(objectOf(toolUse)['input']))
  if (citation !== undefined) block.citations.push(objectOf(citation))
  const { text: thought, ...others } = objectOf(reasoningContent)
  if (typeof thought === 'string') block.thoughts.push(thought)
  Object.assign(block.fields, others, rest)
  return [...textDelta(stringOf(text)), ...reasoningDelta(stringOf(thought))]
}

/** The block as it would be in a whole reply. */
function closed({ start, texts, args, thoughts, citations, fields }: StreamedBlock): Found {
  const { signature, redactedContent, ...rest } = fields
  const text = texts.join('')
  if (start['toolUse'] !== undefined)
    return { toolUse: { ...objectOf(start['toolUse']), input: parsed(args.join('')) } }
  if (redactedContent !== undefined) return { reasoningContent: { redactedContent } }
  if (thoughts.length > 0 || signature !== undefined)
    return {
      reasoningContent: {
        reasoningText: { text: thoughts.join(''), ...(signature === undefined ? {} : { signature }) },
      },
    }
  if (citations.length > 0) return { citationsContent: { content: [{ text }], citations } }
  if (start['toolResult'] !== undefined)
    return { toolResult: { ...objectOf(start['toolResult']), content: objectsOf(rest['toolResult']) } }
  if (start['image'] !== undefined)
    return { image: { ...objectOf(start['image']), ...objectOf(rest['image']) } }
  return { text }
}

/** The arguments; the text itself where that is no JSON, so that the call is not executed. */
function parsed(text: string): unknown {
  try {
    return text === '' ? {} : (JSON.parse(text) as unknown)
  } catch {
    return text
  }
}
