import { attempt, isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
import {
  endingBy,
  failedWith,
  failureOf,
  moreOf,
  readParts,
  replyDelta,
  replyPart,
  replyReader,
} from '../reply.ts'
import type { Endings, ReadOptions, ReplyCall, ReplyCollector, ReplyOutcome, ReplyPart } from '../reply.ts'
import { type RawObject, objectOf, objectsOf, stringOf, withoutEmpty } from '../text.ts'
import { addDelta, closeBlock, collectStream, type DeltaFields, itemsByIndex, newItem } from '../stream.ts'
import { LIMITS } from './blocks.ts'

/**
 * A step of `generateText` or `streamText` of the `ai` package. Fields that are not declared here are read,
 * too.
 */
export interface AiSdkStep {
  readonly content: readonly object[]
}

/**
 * Reads a step of the AI SDK as events and an outcome. In later requests, reasoning, texts, calls, files and
 * provider-specific parts are sent back in order with provider data (`providerMetadata` becomes
 * `providerOptions`). Calls that the provider executed are also sent back, with their results.
 *
 * Invalid calls, denied calls, a call at the end of a truncated reply, and all calls of a refused, filtered
 * or failed reply are not executed. Calls that the SDK executed are read with their results.
 * Sources, citations and approvals are kept in `reply.metadata`, because the SDK rejects them in a request.
 * Never throws. O(length).
 * @param reply a `StepResult`, or the whole result if it has only one step
 * @example
 * const step = { content: [{ type: 'text', text: 'hi' }], finishReason: 'stop' }
 * const { events, outcome } = fromAiSdk(step)
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 * outcome // { type: 'done' }
 */
export const fromAiSdk = replyReader<AiSdkStep>(LIMITS, ['content', 'finishReason'], (raw, broken) => {
  const response = objectOf(raw['response'])
  const content = objectsOf(raw['content']).filter(isVisible)
  const ending = broken ?? endingOf(raw)
  const { raw: _, ...usage } = objectOf(raw['usage'])
  const callFacts = callFactsIn(content)
  return {
    id: response['id'],
    model: stringOf(response['modelId']) || stringOf(objectOf(raw['model'])['modelId']),
    stopReason: reasonOf(raw),
    usage,
    metadata: metadataOf(raw, content),
    parts: readParts(content, ending, (part, isCutOff) => partOf(part, isCutOff, callFacts)),
    ending,
  }
})

const reasonOf = (step: RawObject): string =>
  stringOf(step['rawFinishReason']) || stringOf(step['finishReason'])

const RAW_ENDINGS: Endings = { pause_turn: 'paused', refusal: 'refused' }
const ENDINGS: Endings = { length: 'truncated', 'content-filter': 'filtered', error: 'failed' }

function endingOf(step: RawObject): ReplyOutcome | null {
  const reason = reasonOf(step)
  const detail = reason === 'error' ? null : reason
  const ending = endingBy(RAW_ENDINGS, reason) ?? endingBy(ENDINGS, stringOf(step['finishReason']), detail)
  return ending !== null && 'reason' in ending ? { ...ending, reason } : ending
}

function metadataOf(step: RawObject, content: readonly RawObject[]): JsonObject | null {
  if (step['providerMetadata'] === undefined && !content.some(isAbout)) return null
  const texts = content.filter(({ type }) => type === 'text')
  const citations = texts.flatMap((part, text) =>
    objectsOf(part['citations']).length === 0 ? [] : [{ text, citations: part['citations'] }],
  )
  const facts = moreOf({
    providerMetadata: optionsOf(step),
    sources: content.filter(({ type }) => type === 'source'),
    citations,
    approvals: content
      .filter(({ type }) => stringOf(type).startsWith('tool-approval-'))
      .map(({ toolCall, ...approval }) => ({ ...approval, toolCallId: objectOf(toolCall)['toolCallId'] })),
  })
  return plain(facts) as JsonObject | null
}

const isAbout = ({ type, citations }: RawObject): boolean =>
  citations !== undefined || type === 'source' || stringOf(type).startsWith('tool-approval-')

/** False for an empty text or reasoning part that has no provider data. The SDK omits such parts, too. */
const isVisible = (part: RawObject): boolean =>
  (part['type'] !== 'text' && part['type'] !== 'reasoning') || part['text'] !== '' || optionsOf(part) !== null

type CallFacts = ReturnType<typeof callFactsIn>

function callFactsIn(content: readonly RawObject[]) {
  const results = new Map<string, ReplyCall['result']>()
  const denied = new Map<string, string>()
  for (const part of content) {
    const id = stringOf(part['toolCallId'])
    if (isOwnResult(part) && part['type'] === 'tool-result')
      results.set(id, { text: textOfResult(part['output']), isError: false })
    else if (isOwnResult(part) && part['type'] === 'tool-error')
      results.set(id, { text: errorMessage(part['error']), isError: true })
    else if (part['type'] === 'tool-approval-response' && part['approved'] === false)
      denied.set(stringOf(objectOf(part['toolCall'])['toolCallId']), stringOf(part['reason']))
  }
  return { results, denied }
}

const isOwnResult = (part: RawObject): boolean =>
  (part['type'] === 'tool-result' || part['type'] === 'tool-error') &&
  part['providerExecuted'] !== true &&
  part['preliminary'] !== true

function partOf(part: RawObject, isCutOff: boolean, about: CallFacts): ReplyPart[] {
  const { type, text, kind, toolCallId, toolName, providerExecuted } = part
  const ids = { toolCallId: stringOf(toolCallId), toolName: stringOf(toolName) }
  const more = moreOf({ providerOptions: optionsOf(part) })
  switch (type) {
    case 'text':
      if (typeof text !== 'string') break
      return [replyPart.text(text, more)]
    case 'reasoning':
      if (typeof text !== 'string') break
      return [reasoningPart(text, more)]
    case 'custom':
      return [replyPart.other({ type, kind: stringOf(kind), ...more })]
    case 'file':
    case 'reasoning-file': {
      const { base64, mediaType } = objectOf(part['file'])
      if (typeof base64 !== 'string' || typeof mediaType !== 'string') break
      return [replyPart.other({ type, data: base64, mediaType, ...more })]
    }
    case 'tool-call':
      if (providerExecuted !== true) return [readCall(part, isCutOff, about, more)]
      return [replyPart.other({ type, ...ids, input: plain(part['input']) ?? {}, providerExecuted, ...more })]
    case 'tool-result':
    case 'tool-error':
      if (providerExecuted !== true || part['preliminary'] === true) return []
      return [replyPart.other({ type: 'tool-result', ...ids, output: outputOf(part), ...more })]
    case 'source':
    case 'tool-approval-request':
    case 'tool-approval-response':
      return []
  }
  const value = plain(part)
  return isObject(value) ? [replyPart.other(value)] : []
}

/**
 * Reads reasoning. If the only provider data is Anthropic's signature or redacted data, returns a thinking
 * block. Otherwise all provider data is stored in `more`.
 */
function reasoningPart(thinking: string, more: JsonObject | null): ReplyPart {
  const options = objectOf(more?.['providerOptions'])
  const { signature, redactedData, ...rest } = objectOf(options['anthropic'])
  const isAlone = Object.keys(options).length === 1 && Object.keys(rest).length === 0
  const redacted = thinking === '' && signature === undefined ? stringOf(redactedData) : ''
  if (isAlone && stringOf(signature) !== '' && redactedData === undefined)
    return replyPart.thinking(thinking, signature)
  if (isAlone && redacted !== '') return replyPart.redacted(redacted)
  return replyPart.thinking(thinking, null, more)
}

function readCall(
  part: RawObject,
  isCutOff: boolean,
  { results, denied }: CallFacts,
  more: JsonObject | null,
): ReplyPart {
  const id = stringOf(part['toolCallId'])
  const denial = denied.has(id) ? denied.get(id) || 'it was denied' : null
  const invalid = errorMessage(part['error']) || 'its arguments do not fit the tool'
  return replyPart.call(id, part['toolName'], part['input'], isCutOff, {
    unfit: isCutOff ? null : part['invalid'] === true ? invalid : denial,
    result: results.get(id) ?? null,
    more,
  })
}

function optionsOf(part: RawObject): JsonObject | null {
  const options = plain(part['providerMetadata'])
  return isObject(options) && Object.keys(options).length > 0 ? options : null
}

function outputOf(part: RawObject): JsonObject {
  if (part['type'] === 'tool-error') return { type: 'error-json', value: plain(part['error']) }
  const { output } = part
  return typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: plain(output) }
}

const textOfResult = (output: unknown): string =>
  typeof output === 'string' ? output : JSON.stringify(plain(output))

const errorMessage = (error: unknown): string => {
  const { message } = objectOf(error)
  return typeof message === 'string' ? message : typeof error === 'string' ? error : textOfResult(error)
}

/** Returns a value as JSON; null for a value that JSON cannot represent. A tool may return such a value. */
const plain = (value: unknown): JsonValue =>
  attempt(() => JSON.parse(JSON.stringify(value ?? null)) as JsonValue, null)

const TEXT_EVENT = /^(text|reasoning)-(start|delta|end)$/
const WHOLE_PART =
  /^(?:custom|source|(?:reasoning-)?file|tool-(?:call|result|error|approval-(?:request|response)))$/

/** The metadata of an unfinished part is dropped: only a part's last metadata has all encrypted reasoning. */
const DELTAS: DeltaFields = {
  text: { to: 'text', as: 'text' },
  providerMetadata: { to: 'providerMetadata', as: 'value', onlyWhole: true },
  citations: { to: 'citations', as: 'value' },
}

/** Whether the SDK made a `finish-step` itself: the provider sent neither a stop reason nor token counts. */
const isMade = (end: RawObject): boolean =>
  /^(?:other|unknown)$/.test(reasonOf(end)) && !Object.values(objectOf(end['usage'])).some(Number.isFinite)

/**
 * Returns a collector for one step in the `fullStream` of `streamText`. It ignores parts after this step. Its
 * `end` returns the same reply as `fromAiSdk`. The reply is `broken_off` after an `abort` part, or if the
 * provider did not end it. After an `error` part, the reply is `failed`. O(length).
 * @example
 * const stream = collectAiSdk()
 * stream.push({ type: 'text-start', id: '0' })
 * stream.push({ type: 'text-delta', id: '0', text: 'hi' })[0].content // 'hi'
 * stream.push({ type: 'finish-step', finishReason: 'stop' })
 * stream.end().outcome // { type: 'done' }
 */
export function collectAiSdk(options: ReadOptions = {}): ReplyCollector {
  let finish: RawObject | null = null
  let isAborted = false
  const { all, open, end, find } = itemsByIndex(({ type }) => type, 'tool-call')
  const isComplete = (): boolean => finish !== null && !isAborted && !isMade(finish)

  /** Merges an event into its part. The latest non-null metadata wins, as in the SDK. */
  const addEvent = (event: RawObject, type: string, phase: string): readonly StreamingDeltaEvent[] => {
    const { id, providerMetadata, citations } = event
    const index = `${type} ${stringOf(id)}`
    const known = phase === 'start' ? undefined : find(index, type)
    const text = phase === 'delta' ? stringOf(event['text']) : ''
    const delta = withoutEmpty({ providerMetadata, citations, text })
    addDelta(known ?? open(index, { type, text: '' }), delta, DELTAS)
    if (phase === 'end') end(index)
    return type === 'text' ? replyDelta.text(text) : replyDelta.reasoning(text)
  }

  return collectStream(fromAiSdk, options, {
    push(event) {
      const type = finish === null ? stringOf(event['type']) : ''
      const [, kind, phase] = TEXT_EVENT.exec(type) ?? []
      if (kind !== undefined && phase !== undefined) return addEvent(event, kind, phase)
      if (WHOLE_PART.test(type)) all.push(newItem(event))
      else if (type === 'finish-step') finish = event
      else if (type === 'abort') isAborted = true
      return []
    },
    failureIn: (event) =>
      event['type'] === 'error' && finish === null ? (failureOf(event) ?? failedWith(null)) : null,
    isComplete,
    whole: () => ({ ...finish, content: all.map((part) => closeBlock(part, DELTAS, isComplete())) }),
  })
}
