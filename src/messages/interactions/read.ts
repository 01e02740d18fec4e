/** Reads replies of Gemini's Interactions as events, so that they can go back as they came. */

import type { JsonObject } from '../../event/shapes.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
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
import { type Found, objectOf, objectsOf, stringOf, textOfInput } from '../text.ts'
import { isContent, LIMITS } from './blocks.ts'

/** A whole reply, as the `@google/genai` package gives it; other fields are read where they are there. */
export interface InteractionsReply {
  readonly status: string
  readonly steps?: readonly object[] | undefined
}

/**
 * The events of an interaction, and what ended it. Thoughts, texts and calls go back in their order, each under the
 * signature that it came with; steps of the provider's own tools, and files, as they are. Of steps that repeat the
 * input none is read. The last call of a reply that was cut off is not executed, nor one whose result the interaction
 * has. Throws nothing. O(length).
 * @param reply an `Interaction`
 * @example
 * const content = [{ type: 'text', text: 'hi' }]
 * const { events, outcome } = fromInteractions({ status: 'completed', steps: [{ type: 'model_output', content }] })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 * outcome // { type: 'done' }
 */
export const fromInteractions = (reply: InteractionsReply, options: ReadOptions = {}): Reply =>
  readReply(objectOf(reply), options)

/** `broken`: how its stream ended, where that was no end of the reply. */
function readReply(found: Found, options: ReadOptions, broken: ReplyOutcome | null = null): Reply {
  const all = objectsOf(found['steps'])
  const steps = all.slice(all.findLastIndex(({ type }) => type === 'user_input') + 1)
  const ending = broken ?? failureOf(found) ?? endingOf(found, steps)
  const results = new Map(steps.filter(isResult).map((step) => [step['call_id'], step]))
  const said = steps.filter((step) => !isResult(step))
  const isCutOff = ending?.type === 'truncated'
  return replyEvents(
    {
      id: stringOf(found['id']),
      model: stringOf(found['model']),
      stopReason: stringOf(found['status']),
      usage: usageOf(found['usage']),
      reasoning: '',
      metadata: aboutReply(found),
      parts: said.flatMap((step, at) =>
        partsOf(step, results, isCutOff && at === said.length - 1, said[at - 1]?.['type'] === 'model_output'),
      ),
      ending,
    },
    LIMITS,
    options,
  )
}

const isResult = ({ type }: Found): boolean => type === 'function_result'

/** The rest repeats the request. */
function aboutReply({ service_tier, continuation_token, agent }: Found): JsonObject | null {
  return moreOf({ service_tier, continuation_token, agent })
}

function endingOf({ status }: Found, steps: readonly Found[]): ReplyOutcome | null {
  switch (status) {
    case 'incomplete':
    case 'budget_exceeded':
    case 'requires_continuation':
      return { type: 'truncated', reason: status }
    case 'failed': {
      const error = steps.findLast((step) => step['error'])?.['error']
      return failedWith(objectOf(error)['message'])
    }
    // One that is made in the background is not there yet.
    case 'queued':
    case 'in_progress':
    case 'cancelled':
      return { type: 'broken_off', text: wordsOf(steps) }
    default:
      return null
  }
}

const wordsOf = (steps: readonly Found[]): string =>
  steps.flatMap(({ content }) => objectsOf(content).map(({ text }) => stringOf(text))).join('')

function partsOf(
  step: Found,
  results: ReadonlyMap<unknown, Found>,
  isCutOff: boolean,
  isNext: boolean,
): ReplyPart[] {
  switch (step['type']) {
    case 'model_output': {
      const contents = objectsOf(step['content']).filter(saysSomething)
      const hasText = contents.some(({ type }) => type === 'text')
      if (isNext && !hasText && contents.length > 0) return [{ is: 'other', value: asJson(step) }]
      return contents.map((content, at) => contentPart(content, isNext && at === 0))
    }
    case 'thought':
      return [thoughtPart(step)]
    case 'function_call': {
      const { id, name, arguments: input } = step
      const result = results.get(id)
      return [
        {
          is: 'call',
          id: stringOf(id),
          name: stringOf(name),
          arguments: textOfInput(input),
          input: frozenInput(input),
          item: null,
          unfit: isCutOff ? CUT_OFF : null,
          result: result === undefined ? null : resultOf(result),
          more: moreOf(step, 'type', 'id', 'name', 'arguments'),
        },
      ]
    }
    default:
      return [{ is: 'other', value: asJson(step) }]
  }
}

const saysSomething = ({ text, annotations }: Found): boolean => text !== '' || annotations !== undefined

const resultOf = ({ result, is_error }: Found) => ({ text: textOfInput(result), isError: is_error === true })

function contentPart(content: Found, begins: boolean): ReplyPart {
  const { type, text } = content
  if (type !== 'text' || typeof text !== 'string') return { is: 'other', value: asJson(content) }
  const more = moreOf(content, 'type', 'text')
  return { is: 'text', text, more: begins ? { ...more, begins } : more }
}

/** A summary of one text, or of none, is the thinking itself; any other one is kept beside it. */
function thoughtPart(step: Found): ReplyPart {
  const { signature } = step
  const summary = objectsOf(step['summary'])
  const thinking = summary.map(({ text }) => stringOf(text)).join('')
  const [first] = summary
  const isPlain =
    first === undefined || (summary.length === 1 && thinking !== '' && moreOf(first, 'type', 'text') === null)
  return {
    is: 'thinking',
    block: {
      type: 'thinking',
      thinking,
      ...(typeof signature === 'string' && signature !== '' ? { signature } : {}),
    },
    more: moreOf(step, 'type', 'signature', ...(isPlain ? ['summary'] : [])),
  }
}

/** A step on its way: texts in pieces, joined at the end, so that the cost is linear. */
interface StreamedStep {
  readonly fields: Record<string, unknown>
  readonly list: StreamedContent[]
  readonly args: string[]
}

interface StreamedContent {
  readonly fields: Found
  readonly texts: string[]
  annotations: unknown[]
}

/** The step that a piece without a beginning belongs to. */
const STEP_OF: ReadonlyMap<string, string> = new Map([
  ['thought_summary', 'thought'],
  ['thought_signature', 'thought'],
  ['arguments_delta', 'function_call'],
  ['text_annotation_delta', 'model_output'],
])

/**
 * Collects the events of a stream, as `interactions.create` of the `@google/genai` package gives them. `push` gives what
 * to publish of each; `end` gives the reply, the same as `fromInteractions` gives of the whole. A piece without a
 * beginning begins a step. A stream that ends before the interaction does has broken off, one with an `error` has
 * failed: then there are no events to append. Throws nothing. O(length).
 * @example
 * const stream = collectInteractions()
 * stream.push({ event_type: 'step.delta', index: 0, delta: { type: 'text', text: 'hi' } })[0].content // 'hi'
 * stream.push({ event_type: 'interaction.completed', interaction: { status: 'completed' } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectInteractions(options: ReadOptions = {}): ReplyCollector {
  let about: Found = { status: 'in_progress' }
  let failure: Failure | null = null
  const steps = new Map<unknown, StreamedStep>()

  const begin = (index: unknown, step: Found): readonly StreamingDeltaEvent[] => {
    const { content, summary, ...fields } = step
    const open = steps.get(index) ?? { fields: {}, list: [], args: [] }
    steps.set(index, open)
    Object.assign(open.fields, said(fields))
    return objectsOf(content ?? summary).flatMap((each) => addContent(open, each))
  }

  const addPiece = (index: unknown, delta: Found): readonly StreamingDeltaEvent[] => {
    const type = stringOf(delta['type'])
    let open = steps.get(index)
    if (open === undefined) {
      begin(index, { type: isContent(delta) ? 'model_output' : (STEP_OF.get(type) ?? type) })
      open = steps.get(index) as StreamedStep
    }
    if (type === 'thought_summary') return addContent(open, objectOf(delta['content']))
    if (isContent(delta)) return addContent(open, delta as Found)
    const { type: _, annotations, arguments: args, ...fields } = delta
    if (type === 'arguments_delta') open.args.push(stringOf(args))
    else if (type === 'text_annotation_delta') open.list.at(-1)?.annotations.push(...objectsOf(annotations))
    else Object.assign(open.fields, said({ ...fields, arguments: args }))
    return []
  }

  return {
    push(given) {
      const event = objectOf(given)
      const interaction = objectOf(event['interaction'])
      failure = failureOf(event) ?? failureOf(interaction) ?? failure
      const { steps: whole, ...rest } = interaction
      const { status, usage, continuation_token, index } = event
      const counted = laterUsage(laterUsage(about['usage'], usage), rest['usage'])
      about = { ...about, ...said({ status, continuation_token }), ...said(rest), usage: counted }
      switch (event['event_type']) {
        case 'step.start':
          return begin(index, objectOf(event['step']))
        case 'step.delta':
          return addPiece(index, objectOf(event['delta']))
        case 'interaction.completed':
          // What came in pieces is known already.
          return objectsOf(whole).flatMap((step, at) => (steps.has(at) ? [] : begin(at, step)))
        default:
          return []
      }
    },
    end: () => readReply({ ...about, steps: [...steps.values()].map(closed) }, options, failure),
  }
}

/** Adds a content; texts that follow each other in pieces are one. */
function addContent(
  { fields, list }: StreamedStep,
  { text, annotations, ...rest }: Found,
): readonly StreamingDeltaEvent[] {
  const last = list.at(-1)
  const isPiece = rest['type'] === 'text' && last?.fields['type'] === 'text'
  if (isPiece) last.texts.push(stringOf(text))
  else list.push({ fields: rest, texts: [stringOf(text)], annotations: [] })
  list.at(-1)?.annotations.push(...objectsOf(annotations))
  if (rest['type'] !== 'text') return []
  return fields['type'] === 'thought' ? reasoningDelta(stringOf(text)) : textDelta(stringOf(text))
}

/** The fields that say something: a later event takes nothing back. */
const said = (value: Found): Found =>
  Object.fromEntries(
    Object.entries(value).filter(([, field]) => field !== null && field !== undefined && field !== ''),
  )

/** The step as it would be in a whole reply. */
function closed({ fields, list, args }: StreamedStep): Found {
  const contents = list.map(({ fields: content, texts, annotations }) => ({
    ...content,
    ...(content['type'] === 'text' ? { text: texts.join('') } : {}),
    ...(annotations.length === 0 ? {} : { annotations }),
  }))
  const text = args.join('')
  return {
    ...fields,
    ...(contents.length === 0 ? {} : { [fields['type'] === 'thought' ? 'summary' : 'content']: contents }),
    ...(text === '' ? {} : { arguments: parsed(text) }),
  }
}

/** The arguments; the text itself where that is no JSON, so that the call is not executed. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
