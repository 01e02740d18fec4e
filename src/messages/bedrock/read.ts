import type { JsonObject } from '../../event/shapes.ts'
import { endingBy, failedWith, moreOf, readParts, replyDelta, replyPart, replyReader } from '../reply.ts'
import type { Endings, ReadOptions, ReplyCollector, ReplyPart } from '../reply.ts'
import { base64Of } from '../text-files.ts'
import { addDelta, closeBlock, collectStream, itemsByIndex } from '../stream.ts'
import type { DeltaFields, StreamItem } from '../stream.ts'
import { type RawObject, objectOf, objectsOf, stringOf, textOfContents } from '../text.ts'
import { LIMITS, withoutBytes } from './blocks.ts'

/** A whole reply of the AWS client. Fields that are not declared here are read, too. */
export interface BedrockReply {
  readonly output: object | undefined
  readonly stopReason: string | undefined
}

/**
 * Reads a whole reply of Bedrock as events and an outcome. In later requests, reasoning, texts (with their
 * citations) and calls are sent back in order; files, and calls that the provider executed, are sent back
 * unchanged. A call at the end of a truncated reply and all calls of a filtered or failed reply are not
 * executed. The model is recorded from `options.request`, because replies do not name it. Never throws.
 * O(length).
 * @param reply a `ConverseResponse`
 * @example
 * const message = { role: 'assistant', content: [{ text: 'hi' }] }
 * const { events, outcome } = fromBedrock({ output: { message }, stopReason: 'end_turn' })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 * outcome // { type: 'done' }
 */
export const fromBedrock = replyReader<BedrockReply>(
  LIMITS,
  ['output', 'stopReason'],
  (raw, broken, options) => {
    const { output, stopReason, usage, $metadata, additionalModelResponseFields, trace } = raw
    const { content } = objectOf(objectOf(output)['message'])
    const contents = objectsOf(content).filter(({ text }) => text !== '')
    const ending = broken ?? endingBy(ENDINGS, stringOf(stopReason), stopReason)
    return {
      id: objectOf($metadata)['requestId'],
      model: objectOf(options.request)['modelId'],
      stopReason,
      usage,
      metadata: withoutBytes(moreOf({ additionalModelResponseFields, trace })) as JsonObject | null,
      parts: readParts(contents, ending, partOf),
      ending,
    }
  },
)

export const ENDINGS: Endings = {
  max_tokens: 'truncated',
  model_context_window_exceeded: 'truncated',
  guardrail_intervened: 'filtered',
  content_filtered: 'filtered',
  malformed_model_output: 'failed',
  malformed_tool_use: 'failed',
}

function partOf(content: RawObject, isCutOff: boolean): ReplyPart {
  const { text, toolUse, reasoningContent, citationsContent } = content
  if (typeof text === 'string') return replyPart.text(text, moreOf(content, 'text'))
  if (citationsContent !== undefined) {
    const { citations } = objectOf(citationsContent)
    return replyPart.text(textOfContents([objectOf(citationsContent)]), moreOf({ citations }))
  }
  const { reasoningText, redactedContent } = objectOf(reasoningContent)
  // Redacted reasoning is base64 over HTTP, bytes in the SDK, and pieces of bytes in a stream.
  const pieces: readonly unknown[] = Array.isArray(redactedContent) ? redactedContent : [redactedContent]
  const bytes = pieces.flatMap((piece) => (piece instanceof Uint8Array ? [...piece] : []))
  const data = bytes.length > 0 ? base64Of(Uint8Array.from(bytes)) : pieces[0]
  if (typeof data === 'string') return replyPart.redacted(data)
  const { text: thought = '', signature } = objectOf(reasoningText)
  if (reasoningText !== undefined && typeof thought === 'string')
    return replyPart.thinking(thought, signature || null)
  const { toolUseId, name, input, type } = objectOf(toolUse)
  return reasoningContent === undefined && toolUse !== undefined && type === undefined
    ? replyPart.call(toolUseId, name, withoutBytes(input), isCutOff)
    : replyPart.other(withoutBytes(content) as RawObject)
}

/**
 * Returns a collector for the stream events of the AWS client's `converseStream`. Its `end` returns the same
 * reply as `fromBedrock`. Without `messageStop` the reply is `broken_off`; with an exception event, it is
 * `failed`. O(length).
 * @example
 * const stream = collectBedrock()
 * stream.push({ contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'hi' } } })[0].content // 'hi'
 * stream.push({ messageStop: { stopReason: 'end_turn' } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectBedrock(options: ReadOptions = {}): ReplyCollector {
  let about: RawObject = {}
  const { all, open, end, find } = itemsByIndex(kindOf, 'toolUse')
  const isComplete = (): boolean => typeof about['stopReason'] === 'string'
  return collectStream(fromBedrock, options, {
    push({ contentBlockStart, contentBlockDelta, contentBlockStop, messageStop, metadata }) {
      about = { ...about, ...objectOf(messageStop), ...objectOf(metadata) }
      const { contentBlockIndex: first, start } = objectOf(contentBlockStart)
      if (kindOf(objectOf(start)) !== undefined) open(first, objectOf(start))
      end(objectOf(contentBlockStop)['contentBlockIndex'])
      const { contentBlockIndex, delta = {} } = objectOf(contentBlockDelta)
      const kind = kindOf(objectOf(delta))
      if (kind === undefined) return []
      const block = find(contentBlockIndex, kind)
      const { text: thought, signature = thought } = objectOf(objectOf(delta)['reasoningContent'])
      // A thought may lack text.
      const inner = signature === undefined ? {} : { reasoningText: {} }
      const missing = { [kind]: kind === 'text' ? '' : inner }
      return addDelta(block ?? open(contentBlockIndex, missing), objectOf(delta), DELTAS)
    },
    failureIn(event) {
      const [name, value] = Object.entries(event).find(([key]) => key.endsWith('Exception')) ?? []
      return name === undefined ? null : failedWith(objectOf(value)['message'] ?? name)
    },
    isComplete,
    whole: () => ({
      ...about,
      output: { message: { content: all.map((block) => wholeBlock(block, isComplete())) } },
    }),
  })
}

function kindOf(block: RawObject): string | undefined {
  const [field] = Object.keys(block)
  return field === 'citation' ? 'text' : field
}

const REASONING = 'reasoningContent.reasoningText'
const REDACTED = 'reasoningContent.redactedContent'

export const DELTAS: DeltaFields = {
  text: { to: 'text', as: 'text', publish: replyDelta.text },
  citation: { to: 'citationsContent.citations', as: 'list' },
  'reasoningContent.text': { to: `${REASONING}.text`, as: 'text', publish: replyDelta.reasoning },
  'reasoningContent.signature': { to: `${REASONING}.signature`, as: 'text', onlyWhole: true },
  'reasoningContent.redactedContent': { to: REDACTED, as: 'list', onlyWhole: true },
  'toolUse.input': { to: 'toolUse.input', as: 'json' },
  toolResult: { to: 'toolResult.content', as: 'value' },
}

function wholeBlock(item: StreamItem, isComplete: boolean): RawObject {
  const { text, ...block } = closeBlock(item, DELTAS, isComplete)
  const { toolUse, toolResult, citationsContent } = block
  const [{ input = {}, ...call }, { content = [], ...result }] = [objectOf(toolUse), objectOf(toolResult)]
  if (toolUse !== undefined) return { toolUse: { ...call, input } }
  if (toolResult !== undefined) return { toolResult: { ...result, content } }
  if (citationsContent !== undefined)
    return { citationsContent: { content: [{ text: stringOf(text) }], ...objectOf(citationsContent) } }
  return text === undefined && Object.keys(block).length > 0 ? block : { text: stringOf(text), ...block }
}
