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
import { addText, addValue, closeItem, collectStream, newItem, setValue, type StreamItem } from '../stream.ts'
import { type RawObject, objectOf, objectsOf, readArguments, stringOf } from '../text.ts'
import { LIMITS, withoutBytes } from './blocks.ts'

/** A whole reply of the AWS client. Other fields are read if they are present. */
export interface BedrockReply {
  readonly output: object | undefined
  readonly stopReason: string | undefined
}

/**
 * Reads a whole reply of Bedrock: its events and outcome. Reasoning, texts with citations, and calls are
 * sent back in order; files and calls that the provider executed unchanged. The model is recorded from the
 * request, because replies do not name it. Never throws. O(length).
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

/**
 * Reads the stream events of the AWS client's `converseStream`, and returns the same reply as `fromBedrock`.
 * Without `messageStop` it is `broken_off`; with an exception, `failed`. O(length).
 * @example
 * const stream = collectBedrock()
 * stream.push({ contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'hi' } } })[0].content // 'hi'
 * stream.push({ messageStop: { stopReason: 'end_turn' } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectBedrock(options: ReadOptions = {}): ReplyCollector {
  let about: RawObject = {}
  const blocks = new Map<unknown, StreamItem>()
  const blockAt = (index: unknown, start: RawObject = {}): StreamItem => {
    const block = blocks.get(index) ?? newItem(start)
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
    push,
    failureIn: (event) => {
      const [name, value] = Object.entries(event).find(([key]) => key.endsWith('Exception')) ?? []
      return name === undefined ? null : failedWith(objectOf(value)['message'] ?? name)
    },
    isComplete: () => typeof about['stopReason'] === 'string',
    read: (ending) =>
      readReply(
        { ...about, output: { message: { content: [...blocks.values()].map(wholeBlock) } } },
        options,
        ending,
      ),
  })
}

/** A thought can have no text. */
const NO_THOUGHT: RawObject = { reasoningContent: { reasoningText: { text: '' } } }

function addDelta(
  block: StreamItem,
  { text, citation, toolResult, ...rest }: RawObject,
): readonly StreamingDeltaEvent[] {
  if (typeof text === 'string') addText(block, 'text', text)
  if (citation !== undefined) addValue(block, 'citationsContent.citations', objectOf(citation))
  if (toolResult !== undefined) setValue(block, 'toolResult.content', toolResult)
  for (const [kind, fields] of Object.entries(rest))
    for (const [field, value] of Object.entries(objectOf(fields))) {
      const isThought = kind === 'reasoningContent' && field !== 'redactedContent'
      if (isThought) block.start = NO_THOUGHT
      const path = isThought ? `${kind}.reasoningText.${field}` : `${kind}.${field}`
      if (typeof value === 'string' && /^(?:text|input)$/.test(field)) addText(block, path, value)
      else setValue(block, path, value)
    }
  const { text: thought } = objectOf(rest['reasoningContent'])
  return [...textDelta(stringOf(text)), ...reasoningDelta(stringOf(thought))]
}

/** Returns the block in the form of an unstreamed reply. Invalid JSON arguments remain text, so the call is not executed. */
function wholeBlock(item: StreamItem): RawObject {
  const { text, ...block } = closeItem(item)
  const { toolUse, toolResult, citationsContent } = block
  const { input, ...call } = objectOf(toolUse)
  if (toolUse !== undefined) return { toolUse: { ...call, input: readArguments(stringOf(input)) ?? input } }
  if (toolResult !== undefined) {
    const result = objectOf(toolResult)
    return { toolResult: { ...result, content: objectsOf(result['content']) } }
  }
  if (citationsContent !== undefined)
    return { citationsContent: { content: [{ text: stringOf(text) }], ...objectOf(citationsContent) } }
  return Object.keys(block).length > 0 ? block : { text: stringOf(text) }
}
