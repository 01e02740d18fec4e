/** Reads what a step of the AI SDK has given as events, so that it can go back as it came. */

import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
import {
  CUT_OFF,
  frozenInput,
  type ReadOptions,
  reasoningDelta,
  type Reply,
  type ReplyCall,
  type ReplyCollector,
  replyEvents,
  type ReplyOutcome,
  type ReplyPart,
  textDelta,
  usageOf,
} from '../reply.ts'
import { type Found, objectOf, objectsOf, stringOf, textOfInput } from '../text.ts'
import type { RecordedUsage } from '../reply-usage.ts'
import { collectStream } from '../stream.ts'
import { LIMITS } from './blocks.ts'

/** A step of `generateText` or `streamText` of the `ai` package; what else it holds is read where it is there. */
export interface AiSdkStep {
  readonly content: readonly object[]
}

/**
 * The events of a step's reply, and what ended it. Reasoning, texts and calls go back in their order, each with what
 * its provider has added for itself (`providerMetadata` becomes `providerOptions`), and so do files, parts of a
 * provider's own kinds, and the calls that it executed itself with their results. A call that the SDK says is invalid
 * is not executed, nor is the last one of a reply that was cut off by a limit, nor a denied one, nor those of a
 * filtered reply. A call that the SDK has executed has its result behind it. Sources, citations and approvals stand in
 * `reply.metadata`: the SDK takes none of them back. Throws nothing. O(length).
 * @param step a `StepResult`, or the whole result where it has but one step
 * @example
 * const step = { content: [{ type: 'text', text: 'hi' }], finishReason: 'stop' }
 * const { events, outcome } = fromAiSdk(step)
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 * outcome // { type: 'done' }
 */
export const fromAiSdk = (step: AiSdkStep, options: ReadOptions = {}): Reply =>
  readReply(objectOf(step), options)

/** `broken`: how its stream ended, where that was no end of the reply. */
function readReply(found: Found, options: ReadOptions, broken: ReplyOutcome | null = null): Reply {
  const response = objectOf(found['response'])
  const content = objectsOf(found['content']).filter(saysSomething)
  const ending = broken ?? endingOf(found)
  const cut = ending?.type === 'truncated' ? content.at(-1) : undefined
  const about = aboutCalls(content)
  return replyEvents(
    {
      id: stringOf(response['id']),
      model: stringOf(response['modelId']) || stringOf(objectOf(found['model'])['modelId']),
      stopReason: reasonOf(found),
      usage: usageIn(found),
      reasoning: '',
      metadata: metadataOf(found, content),
      parts: content.flatMap((part) => partOf(part, part === cut, about)),
      ending,
    },
    LIMITS,
    options,
  )
}

/** The provider's own word for what ended the reply, where the SDK hands it on. */
const reasonOf = (step: Found): string => stringOf(step['rawFinishReason']) || stringOf(step['finishReason'])

function endingOf(step: Found): ReplyOutcome | null {
  const reason = reasonOf(step)
  if (reason === 'pause_turn') return { type: 'paused' }
  if (reason === 'refusal') return { type: 'refused', explanation: null }
  switch (step['finishReason']) {
    case 'length':
      return { type: 'truncated', reason }
    case 'content-filter':
      return { type: 'filtered', reason }
    case 'error':
      return { type: 'failed', explanation: reason === 'error' ? null : reason }
    default:
      return null
  }
}

/** The tokens, without the provider's own count of them, which says the same again. */
function usageIn(step: Found): RecordedUsage {
  const { raw: _, ...usage } = objectOf(step['usage'])
  return usageOf(usage)
}

/** What is said of the reply, and not in it. */
function metadataOf(step: Found, content: readonly Found[]): JsonObject | null {
  if (step['providerMetadata'] === undefined && !content.some(isAbout)) return null
  const texts = content.filter(({ type }) => type === 'text')
  const citations = texts.flatMap((part, text) =>
    objectsOf(part['citations']).length === 0 ? [] : [{ text, citations: part['citations'] }],
  )
  const said = {
    providerMetadata: optionsOf(step),
    sources: content.filter(({ type }) => type === 'source'),
    citations,
    approvals: content
      .filter(({ type }) => stringOf(type).startsWith('tool-approval-'))
      .map(({ toolCall, ...approval }) => ({ ...approval, toolCallId: objectOf(toolCall)['toolCallId'] })),
  }
  const kept = Object.entries(said).filter(([, value]) =>
    Array.isArray(value) ? value.length > 0 : value !== null,
  )
  return kept.length === 0 ? null : (plain(Object.fromEntries(kept)) as JsonObject | null)
}

/** Whether a part may say something of the reply; most steps have none. */
const isAbout = ({ type, citations }: Found): boolean =>
  citations !== undefined || type === 'source' || stringOf(type).startsWith('tool-approval-')

/** The SDK itself sends no empty text, but for what its provider has added. */
const saysSomething = (part: Found): boolean =>
  (part['type'] !== 'text' && part['type'] !== 'reasoning') || part['text'] !== '' || optionsOf(part) !== null

/** What other parts say of calls, by the ids of these. */
interface AboutCalls {
  /** The results of calls that the SDK has executed. */
  readonly results: ReadonlyMap<string, ReplyCall['result']>
  /** Why calls were denied. */
  readonly denied: ReadonlyMap<string, string>
}

function aboutCalls(content: readonly Found[]): AboutCalls {
  const results = new Map<string, ReplyCall['result']>()
  const denied = new Map<string, string>()
  for (const part of content) {
    const id = stringOf(part['toolCallId'])
    if (isOwnResult(part) && part['type'] === 'tool-result')
      results.set(id, { text: textOfResult(part['output']), isError: false })
    else if (isOwnResult(part) && part['type'] === 'tool-error')
      results.set(id, { text: messageOf(part['error']), isError: true })
    else if (part['type'] === 'tool-approval-response' && part['approved'] === false)
      denied.set(stringOf(objectOf(part['toolCall'])['toolCallId']), stringOf(part['reason']))
  }
  return { results, denied }
}

/** Whether a part is the result of a call that the SDK has executed, and no preliminary one. */
const isOwnResult = (part: Found): boolean =>
  (part['type'] === 'tool-result' || part['type'] === 'tool-error') &&
  part['providerExecuted'] !== true &&
  part['preliminary'] !== true

/** A part as one of a reply, none where it is said elsewhere. One that lacks what its kind must have is kept whole. */
function partOf(part: Found, isCutOff: boolean, about: AboutCalls): ReplyPart[] {
  const { type, text, kind, toolCallId, toolName } = part
  const options = optionsOf(part)
  const provider = options === null ? {} : { providerOptions: options }
  const more = options === null ? null : { providerOptions: options }
  switch (type) {
    case 'text':
      if (typeof text !== 'string') break
      return [{ is: 'text', text, more }]
    case 'reasoning':
      if (typeof text !== 'string') break
      return [reasoningPart(text, options)]
    case 'custom':
      return [{ is: 'other', value: { type, kind: stringOf(kind), ...provider } }]
    case 'file':
    case 'reasoning-file': {
      const { base64, mediaType } = objectOf(part['file'])
      if (typeof base64 !== 'string' || typeof mediaType !== 'string') break
      return [{ is: 'other', value: { type, data: base64, mediaType, ...provider } }]
    }
    case 'tool-call':
      return part['providerExecuted'] === true
        ? [
            {
              is: 'other',
              value: {
                type,
                toolCallId: stringOf(toolCallId),
                toolName: stringOf(toolName),
                input: plain(part['input']) ?? {},
                providerExecuted: true,
                ...provider,
              },
            },
          ]
        : [callPart(part, isCutOff, about, more)]
    case 'tool-result':
    case 'tool-error': {
      if (part['providerExecuted'] !== true || part['preliminary'] === true) return []
      const ends = { type: 'tool-result', toolCallId: stringOf(toolCallId), toolName: stringOf(toolName) }
      return [{ is: 'other', value: { ...ends, output: outputOf(part), ...provider } }]
    }
    case 'source':
    case 'tool-approval-request':
    case 'tool-approval-response':
      return []
  }
  const value = plain(part)
  return isObject(value) ? [{ is: 'other', value }] : []
}

/** Under Anthropic's signature it is the thinking that all grammars know; what others sign it with stays beside it. */
function reasoningPart(thinking: string, options: JsonObject | null): ReplyPart {
  const { signature, redactedData, ...rest } = objectOf(options?.['anthropic'])
  const isAlone = Object.keys(options ?? {}).length === 1 && Object.keys(rest).length === 0
  if (isAlone && typeof signature === 'string' && signature !== '' && redactedData === undefined)
    return { is: 'thinking', block: { type: 'thinking', thinking, signature }, more: null }
  if (
    isAlone &&
    typeof redactedData === 'string' &&
    redactedData !== '' &&
    signature === undefined &&
    thinking === ''
  )
    return { is: 'thinking', block: { type: 'redacted_thinking', data: redactedData }, more: null }
  const more = options === null ? null : { providerOptions: options }
  return { is: 'thinking', block: { type: 'thinking', thinking }, more }
}

function callPart(
  part: Found,
  isCutOff: boolean,
  { results, denied }: AboutCalls,
  more: JsonObject | null,
): ReplyPart {
  const id = stringOf(part['toolCallId'])
  const reason = denied.get(id)
  const against =
    part['invalid'] === true
      ? messageOf(part['error']) || 'its arguments do not fit the tool'
      : reason === undefined
        ? null
        : reason || 'it was denied'
  return {
    is: 'call',
    id,
    name: stringOf(part['toolName']),
    arguments: textOfInput(part['input']),
    input: frozenInput(part['input']),
    item: null,
    unfit: isCutOff ? CUT_OFF : against,
    result: results.get(id) ?? null,
    more,
  }
}

/** What a provider has added for itself; null where that is nothing. */
function optionsOf(part: Found): JsonObject | null {
  const options = plain(part['providerMetadata'])
  return isObject(options) && Object.keys(options).length > 0 ? options : null
}

/** The output of a provider's own tool, as the SDK writes it. */
function outputOf(part: Found): JsonObject {
  if (part['type'] === 'tool-error') return { type: 'error-json', value: plain(part['error']) }
  const { output } = part
  return typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: plain(output) }
}

const textOfResult = (output: unknown): string =>
  typeof output === 'string' ? output : JSON.stringify(plain(output))

const messageOf = (error: unknown): string => {
  const { message } = objectOf(error)
  return typeof message === 'string' ? message : typeof error === 'string' ? error : textOfResult(error)
}

/** A value as JSON; null where it has none. The results of tools are whatever their authors return. */
function plain(value: unknown): JsonValue {
  if (value === undefined || value === null) return null
  try {
    return JSON.parse(JSON.stringify(value)) as JsonValue
  } catch {
    return null
  }
}

/** A part on its way. */
interface StreamedPart {
  readonly rest: Record<string, unknown>
  /** The texts of which it is made; joined at the end, so that the cost is linear. */
  readonly texts: string[]
}

/**
 * Collects the parts of a step, as `fullStream` of `streamText` gives them, up to its `finish-step`; what comes behind
 * that is another step, and passed over. `push` gives what to publish of each; `end` gives the reply, the same as
 * `fromAiSdk` gives of the whole. A stream that ends without `finish-step`, or was aborted, has broken off, one with an
 * `error` has failed: then its events have what arrived, and no call without a result is executed. Throws nothing.
 * O(length).
 * @example
 * const stream = collectAiSdk()
 * stream.push({ type: 'text-start', id: '0' })
 * stream.push({ type: 'text-delta', id: '0', text: 'hi' })[0].content // 'hi'
 * stream.push({ type: 'finish-step', finishReason: 'stop' })
 * stream.end().outcome // { type: 'done' }
 */
export function collectAiSdk(options: ReadOptions = {}): ReplyCollector {
  let finish: Found | null = null
  let failure: string | null = null
  let isAborted = false
  const parts: StreamedPart[] = []
  /** The parts that are not at their end, by kind and id. */
  const open = new Map<string, StreamedPart>()

  const take = (event: Found): readonly StreamingDeltaEvent[] => {
    if (finish !== null) return []
    const { type } = event
    switch (type) {
      case 'text-start':
      case 'reasoning-start':
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-end':
      case 'reasoning-end':
        return addText(event, ...(type.split('-') as ['text' | 'reasoning', string]))
      case 'custom':
      case 'source':
      case 'file':
      case 'reasoning-file':
      case 'tool-call':
      case 'tool-result':
      case 'tool-error':
      case 'tool-approval-request':
      case 'tool-approval-response':
        parts.push({ rest: event, texts: [] })
        return []
      case 'finish-step':
        finish = event
        return []
      case 'abort':
        isAborted = true
        return []
      case 'error':
        failure = textOfError(event['error'])
    }
    return []
  }

  const addText = (
    event: Found,
    type: 'text' | 'reasoning',
    what: string,
  ): readonly StreamingDeltaEvent[] => {
    const key = `${type} ${stringOf(event['id'])}`
    let part = open.get(key)
    if (part === undefined || what === 'start') {
      part = { rest: { type }, texts: [] }
      parts.push(part)
      open.set(key, part)
    }
    const { providerMetadata, citations } = event
    // The latest that says something counts, as in the SDK.
    if (providerMetadata !== undefined && providerMetadata !== null)
      part.rest['providerMetadata'] = providerMetadata
    if (citations !== undefined && citations !== null) part.rest['citations'] = citations
    if (what === 'end') open.delete(key)
    if (what !== 'delta') return []
    const text = stringOf(event['text'])
    part.texts.push(text)
    return type === 'text' ? textDelta(text) : reasoningDelta(text)
  }

  return collectStream({
    take,
    failure: () => (failure === null ? null : { type: 'failed', explanation: failure || null }),
    isComplete: () => finish !== null && !isAborted,
    read: (ending) => {
      const content = parts.map(({ rest, texts }) =>
        rest['type'] === 'text' || rest['type'] === 'reasoning' ? { ...rest, text: texts.join('') } : rest,
      )
      return readReply({ ...finish, content }, options, ending)
    },
  })
}

function textOfError(error: unknown): string {
  const { message } = objectOf(error)
  return typeof message === 'string' ? message : stringOf(error)
}
