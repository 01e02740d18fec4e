/** Reads replies of Amazon Bedrock's Converse as events. */

import type { StreamingDeltaEvent } from '../../event/types.ts'
import {
  callPart,
  failedWith,
  moreOf,
  otherPart,
  type ReadOptions,
  readParts,
  reasoningDelta,
  redactedPart,
  type Reply,
  type ReplyCollector,
  replyEvents,
  type ReplyOutcome,
  type ReplyPart,
  textDelta,
  textPart,
  thinkingPart,
} from '../reply.ts'
import { base64Of } from '../text-files.ts'
import { collectStream } from '../stream.ts'
import { type RawObject, objectOf, objectsOf, stringOf } from '../text.ts'
import { LIMITS, withoutBytes } from './blocks.ts'

/** A whole reply of the AWS client; its other fields are read if present. */
export interface BedrockReply {
  readonly output: object | undefined
  readonly stopReason: string | undefined
}

/**
 * Returns a reply's events and outcome. Reasoning, texts with citations and calls are sent back in order;
 * files and provider-executed calls unchanged. Records the request's model, as replies name none. Never
 * throws. O(length).
 * @param reply a `ConverseResponse`
 * @example
 * const message = { role: 'assistant', content: [{ text: 'hi' }] }
 * const { events, outcome } = fromBedrock({ output: { message }, stopReason: 'end_turn' })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 * outcome // { type: 'done' }
 */
export const fromBedrock = (reply: BedrockReply, options: ReadOptions = {}): Reply =>
  readReply(objectOf(reply), options)

function readReply(raw: RawObject, options: ReadOptions, broken: ReplyOutcome | null = null): Reply {
  const { output, stopReason, usage, $metadata, additionalModelResponseFields, trace } = raw
  const contents = objectsOf(objectOf(objectOf(output)['message'])['content']).filter(
    ({ text }) => text !== '',
  )
  const ending = broken ?? endingOf(stringOf(stopReason))
  return replyEvents(
    {
      id: objectOf($metadata)['requestId'],
      model: objectOf(options.request)['modelId'],
      stopReason,
      usage,
      metadata: moreOf({ additionalModelResponseFields, trace }),
      parts: readParts(contents, ending, partOf),
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

function partOf(content: RawObject, isCutOff: boolean): ReplyPart {
  const { text, toolUse, reasoningContent, citationsContent } = content
  if (typeof text === 'string') return textPart(text, moreOf(content, 'text'))
  if (citationsContent !== undefined) {
    const { content: texts, citations } = objectOf(citationsContent)
    return textPart(
      objectsOf(texts)
        .map((each) => stringOf(each['text']))
        .join(''),
      moreOf({ citations }),
    )
  }
  if (reasoningContent !== undefined) return reasoningPart(content, objectOf(reasoningContent))
  const { toolUseId, name, input, type } = objectOf(toolUse)
  if (toolUse === undefined || type !== undefined) return otherPart(withoutBytes(content) as RawObject)
  return callPart(toolUseId, name, input, isCutOff)
}

/** Redacted reasoning is recorded as base64, as in the HTTP interface. */
function reasoningPart(content: RawObject, { reasoningText, redactedContent }: RawObject): ReplyPart {
  const data = redactedContent instanceof Uint8Array ? base64Of(redactedContent) : redactedContent
  if (typeof data === 'string') return redactedPart(data)
  const { text, signature } = objectOf(reasoningText)
  if (typeof text !== 'string') return otherPart(withoutBytes(content) as RawObject)
  return thinkingPart(text, signature || null)
}

/** An incomplete block; pieces are joined once, at linear cost. */
interface StreamedBlock {
  readonly start: RawObject
  readonly texts: string[]
  readonly args: string[]
  readonly thoughts: string[]
  readonly citations: RawObject[]
  readonly fields: Record<string, unknown>
}

/**
 * Collects stream events of the AWS client's `converseStream`. `push` returns deltas, `end` the same reply as
 * `fromBedrock`. Without `messageStop` it has broken off; with an exception, failed: content is kept, no call
 * executed. Never throws. O(length).
 * @example
 * const stream = collectBedrock()
 * stream.push({ contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'hi' } } })[0].content // 'hi'
 * stream.push({ messageStop: { stopReason: 'end_turn' } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectBedrock(options: ReadOptions = {}): ReplyCollector {
  let about: RawObject = {}
  const blocks = new Map<unknown, StreamedBlock>()
  const blockAt = (index: unknown, start: RawObject = {}): StreamedBlock => {
    const block = blocks.get(index) ?? { start, texts: [], args: [], thoughts: [], citations: [], fields: {} }
    blocks.set(index, block)
    return block
  }
  const push = (event: RawObject): readonly StreamingDeltaEvent[] => {
    const { contentBlockStart, contentBlockDelta, messageStop, metadata } = event
    if (messageStop !== undefined) about = { ...about, ...objectOf(messageStop) }
    if (metadata !== undefined) about = { ...about, ...objectOf(metadata) }
    const { contentBlockIndex: first, start } = objectOf(contentBlockStart)
    if (start !== undefined) blockAt(first, objectOf(start))
    const { contentBlockIndex, delta } = objectOf(contentBlockDelta)
    return delta === undefined ? [] : addDelta(blockAt(contentBlockIndex), objectOf(delta))
  }
  return collectStream({
    push: push,
    failureIn: (event) => {
      const [name, value] = Object.entries(event).find(([key]) => key.endsWith('Exception')) ?? []
      return name === undefined ? null : failedWith(objectOf(value)['message'] ?? name)
    },
    isComplete: () => typeof about['stopReason'] === 'string',
    read: (ending) => {
      const content = [...blocks.values()].map(wholeBlock).filter(({ text }) => text !== '')
      return readReply({ ...about, output: { message: { content } } }, options, ending)
    },
  })
}

function addDelta(block: StreamedBlock, delta: RawObject): readonly StreamingDeltaEvent[] {
  const { text, toolUse, reasoningContent, citation, ...rest } = delta
  if (typeof text === 'string') block.texts.push(text)
  if (toolUse !== undefined) block.args.push(stringOf(objectOf(toolUse)['input']))
  if (citation !== undefined) block.citations.push(objectOf(citation))
  const { text: thought, ...others } = objectOf(reasoningContent)
  if (typeof thought === 'string') block.thoughts.push(thought)
  Object.assign(block.fields, others, rest)
  return [...textDelta(stringOf(text)), ...reasoningDelta(stringOf(thought))]
}

function wholeBlock({ start, texts, args, thoughts, citations, fields }: StreamedBlock): RawObject {
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

/** Parses arguments; invalid JSON remains text, so that the call is not executed. */
function parsed(text: string): unknown {
  try {
    return text === '' ? {} : (JSON.parse(text) as unknown)
  } catch {
    return text
  }
}
