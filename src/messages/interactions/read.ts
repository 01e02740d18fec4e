import type { JsonObject } from '../../event/shapes.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
import {
  callPart,
  failedWith,
  failureOf,
  moreOf,
  otherPart,
  type ReadOptions,
  readParts,
  reasoningDelta,
  type Reply,
  type ReplyCollector,
  replyEvents,
  type ReplyOutcome,
  type ReplyPart,
  textDelta,
  textPart,
  thinkingPart,
} from '../reply.ts'
import { laterUsage } from '../reply-usage.ts'
import { collectStream } from '../stream.ts'
import {
  type RawObject,
  objectOf,
  objectsOf,
  readArguments,
  stringOf,
  textOfContents,
  textOfInput,
} from '../text.ts'
import { isContent, LIMITS } from './blocks.ts'

/** A whole reply of the `@google/genai` package. Other fields are read if they are present. */
export interface InteractionsReply {
  readonly status: string
  readonly steps?: readonly object[] | undefined
}

/**
 * Reads a Gemini interaction: its events and outcome. Thoughts, texts and calls are sent back in order with
 * their signatures; files and steps of the provider's tools unchanged. Repeated input is ignored. The last
 * call of a truncated reply is not executed, nor are calls whose results are in the interaction. Never
 * throws. O(length).
 * @param reply an `Interaction`
 * @example
 * const content = [{ type: 'text', text: 'hi' }]
 * const { events, outcome } = fromInteractions({ status: 'completed', steps: [{ type: 'model_output', content }] })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 * outcome // { type: 'done' }
 */
export const fromInteractions = (reply: InteractionsReply, options: ReadOptions = {}): Reply =>
  readReply(objectOf(reply), options)

function readReply(raw: RawObject, options: ReadOptions, broken: ReplyOutcome | null = null): Reply {
  const all = objectsOf(raw['steps'])
  const steps = all.slice(all.findLastIndex(({ type }) => type === 'user_input') + 1)
  const ending = broken ?? failureOf(raw) ?? endingOf(raw, steps)
  const results = new Map(steps.filter(isResult).map((step) => [step['call_id'], step]))
  const messages = steps.filter((step) => !isResult(step))
  let isAfterOutput = false
  return replyEvents(
    {
      id: raw['id'],
      model: raw['model'],
      stopReason: raw['status'],
      usage: raw['usage'],
      metadata: aboutReply(raw),
      parts: readParts(messages, ending, (step, isCutOff) => {
        const followsOutput = isAfterOutput
        // A thought that is not sent must not join the outputs around it.
        if (step['type'] !== 'thought') isAfterOutput = step['type'] === 'model_output'
        return partsOf(step, results, isCutOff, followsOutput)
      }),
      ending,
    },
    LIMITS,
    options,
  )
}

const isResult = ({ type }: RawObject): boolean => type === 'function_result'

/** The other fields repeat the request. */
function aboutReply({ service_tier, continuation_token, agent }: RawObject): JsonObject | null {
  return moreOf({ service_tier, continuation_token, agent })
}

function endingOf({ status }: RawObject, steps: readonly RawObject[]): ReplyOutcome | null {
  switch (status) {
    case 'incomplete':
    case 'budget_exceeded':
    case 'requires_continuation':
      return { type: 'truncated', reason: status }
    case 'failed': {
      const error = steps.findLast((step) => step['error'])?.['error']
      return failedWith(objectOf(error)['message'])
    }
    // A background interaction that has not finished.
    case 'queued':
    case 'in_progress':
    case 'cancelled':
      return { type: 'broken_off', text: textOfContents(steps) }
    default:
      return null
  }
}

function partsOf(
  step: RawObject,
  results: ReadonlyMap<unknown, RawObject>,
  isCutOff: boolean,
  followsOutput: boolean,
): ReplyPart[] {
  switch (step['type']) {
    case 'model_output':
      return objectsOf(step['content'])
        .filter(isVisible)
        .map((content, index) => contentPart(content, followsOutput && index === 0))
    case 'thought':
      return [thoughtPart(step)]
    case 'function_call': {
      const { id, name, arguments: input } = step
      const result = results.get(id)
      return [
        callPart(id, name, input, isCutOff, {
          result: result === undefined ? null : resultOf(result),
          more: moreOf(step, 'type', 'id', 'name', 'arguments'),
        }),
      ]
    }
    default:
      return [otherPart(step)]
  }
}

const isVisible = ({ text, annotations }: RawObject): boolean => text !== '' || annotations !== undefined

const resultOf = ({ result, is_error }: RawObject) => ({
  text: textOfInput(result),
  isError: is_error === true,
})

function contentPart(content: RawObject, begins: boolean): ReplyPart {
  const { type, text } = content
  if (type !== 'text' || typeof text !== 'string') return otherPart(begins ? { ...content, begins } : content)
  const more = moreOf(content, 'type', 'text')
  return textPart(text, begins ? { ...more, begins } : more)
}

/** A summary of at most one plain text is the thinking itself; any other is stored next to it. */
function thoughtPart(step: RawObject): ReplyPart {
  const { signature } = step
  const summary = objectsOf(step['summary'])
  const thinking = summary.map(({ text }) => stringOf(text)).join('')
  const [first] = summary
  const isPlain =
    first === undefined || (summary.length === 1 && thinking !== '' && moreOf(first, 'type', 'text') === null)
  const more = moreOf(step, 'type', 'signature', ...(isPlain ? ['summary'] : []))
  return thinkingPart(thinking, signature || null, more)
}

interface StreamedStep {
  readonly fields: Record<string, unknown>
  readonly list: { readonly fields: RawObject; readonly texts: string[]; annotations: unknown[] }[]
  readonly args: string[]
}

const STEP_OF: ReadonlyMap<string, string> = new Map([
  ['thought_summary', 'thought'],
  ['thought_signature', 'thought'],
  ['arguments_delta', 'function_call'],
  ['text_annotation_delta', 'model_output'],
])

/**
 * Reads the stream events of `interactions.create` of `@google/genai`, and returns the same reply as
 * `fromInteractions`. A delta without a start begins a step. If the stream ends early it is `broken_off`;
 * with an `error`, `failed`. O(length).
 * @example
 * const stream = collectInteractions()
 * stream.push({ event_type: 'step.delta', index: 0, delta: { type: 'text', text: 'hi' } })[0].content // 'hi'
 * stream.push({ event_type: 'interaction.completed', interaction: { status: 'completed' } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectInteractions(options: ReadOptions = {}): ReplyCollector {
  let about: RawObject = { status: 'in_progress' }
  const steps = new Map<unknown, StreamedStep>()

  const begin = (index: unknown, step: RawObject): readonly StreamingDeltaEvent[] => {
    const { content, summary, ...fields } = step
    const open = steps.get(index) ?? { fields: {}, list: [], args: [] }
    steps.set(index, open)
    Object.assign(open.fields, withoutEmpty(fields))
    return objectsOf(content ?? summary).flatMap((each) => addContent(open, each))
  }

  const addPiece = (index: unknown, delta: RawObject): readonly StreamingDeltaEvent[] => {
    const type = stringOf(delta['type'])
    let open = steps.get(index)
    if (open === undefined) {
      begin(index, { type: isContent(delta) ? 'model_output' : (STEP_OF.get(type) ?? type) })
      open = steps.get(index) as StreamedStep
    }
    if (type === 'thought_summary') return addContent(open, objectOf(delta['content']))
    if (isContent(delta)) return addContent(open, delta as RawObject)
    const { type: _, annotations, arguments: args, ...fields } = delta
    if (type === 'arguments_delta') open.args.push(stringOf(args))
    else if (type === 'text_annotation_delta') open.list.at(-1)?.annotations.push(...objectsOf(annotations))
    else Object.assign(open.fields, withoutEmpty({ ...fields, arguments: args }))
    return []
  }

  return collectStream({
    push(event) {
      const { steps: whole, ...rest } = objectOf(event['interaction'])
      const { status, usage, continuation_token, index } = event
      const counted = laterUsage(laterUsage(about['usage'], usage), rest['usage'])
      about = {
        ...about,
        ...withoutEmpty({ status, continuation_token }),
        ...withoutEmpty(rest),
        usage: counted,
      }
      switch (event['event_type']) {
        case 'step.start':
          return begin(index, objectOf(event['step']))
        case 'step.delta':
          return addPiece(index, objectOf(event['delta']))
        case 'interaction.completed':
          // Steps that arrived in pieces are known already.
          return objectsOf(whole).flatMap((step, index) => (steps.has(index) ? [] : begin(index, step)))
        default:
          return []
      }
    },
    failureIn: (event) => failureOf(event) ?? failureOf(objectOf(event['interaction'])),
    // An early end is in the status.
    isComplete: () => true,
    read: (ending) => readReply({ ...about, steps: [...steps.values()].map(wholeStep) }, options, ending),
  })
}

function addContent(
  { fields, list }: StreamedStep,
  { text, annotations, ...rest }: RawObject,
): readonly StreamingDeltaEvent[] {
  const last = list.at(-1)
  const isPiece = rest['type'] === 'text' && last?.fields['type'] === 'text'
  if (isPiece) last.texts.push(stringOf(text))
  else list.push({ fields: rest, texts: [stringOf(text)], annotations: [] })
  list.at(-1)?.annotations.push(...objectsOf(annotations))
  if (rest['type'] !== 'text') return []
  return fields['type'] === 'thought' ? reasoningDelta(stringOf(text)) : textDelta(stringOf(text))
}

const withoutEmpty = (value: RawObject): RawObject =>
  Object.fromEntries(
    Object.entries(value).filter(([, field]) => field !== null && field !== undefined && field !== ''),
  )

function wholeStep({ fields, list, args }: StreamedStep): RawObject {
  const contents = list.map(({ fields: content, texts, annotations }) => ({
    ...content,
    ...(content['type'] === 'text' ? { text: texts.join('') } : {}),
    ...(annotations.length === 0 ? {} : { annotations }),
  }))
  const text = args.join('')
  return {
    ...fields,
    ...(contents.length === 0 ? {} : { [fields['type'] === 'thought' ? 'summary' : 'content']: contents }),
    ...(text === '' ? {} : { arguments: readArguments(text) ?? text }),
  }
}
