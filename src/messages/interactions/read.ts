import type { JsonObject } from '../../event/shapes.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
import { endingBy, failureOf, moreOf, readParts, replyDelta, replyPart, replyReader } from '../reply.ts'
import type { Endings, ReadOptions, ReplyCollector, ReplyPart } from '../reply.ts'
import { addUsage, laterUsage } from '../reply-usage.ts'
import { closeBlock, collectStream, itemsByIndex, joinPieces, newItem, piecesAt } from '../stream.ts'
import type { DeltaFields, StreamItem } from '../stream.ts'
import { objectOf, objectsOf, runsOf, stringOf, textOfContents, textOfInput, withoutEmpty } from '../text.ts'
import type { RawObject } from '../text.ts'
import { isContent, LIMITS } from './blocks.ts'

/** A whole reply of the `@google/genai` package. Fields that are not declared here are read, too. */
export interface InteractionsReply {
  readonly status: string
  readonly steps?: readonly object[] | undefined
}

/**
 * Reads a Gemini interaction as events and an outcome. In later requests, thoughts, texts and calls are sent
 * back in order with their signatures; files, and steps of the provider's tools, are sent back unchanged. The
 * steps that repeat the request are ignored. A call at the end of a truncated interaction and all calls of a
 * failed or unfinished interaction are not executed. A call whose result is in the interaction is read with
 * this result. Never throws. O(length).
 * @param reply an `Interaction`
 * @example
 * const content = [{ type: 'text', text: 'hi' }]
 * const { events, outcome } = fromInteractions({ status: 'completed', steps: [{ type: 'model_output', content }] })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 * outcome // { type: 'done' }
 */
export const fromInteractions = replyReader<InteractionsReply>(LIMITS, ['status', 'steps'], (raw, broken) => {
  // The other fields repeat the request.
  const { id, model, status, usage, service_tier, continuation_token, agent } = raw
  const steps = ownSteps(objectsOf(raw['steps']))
  const error = objectOf(steps.findLast((step) => step['error'])?.['error'])
  const detail = status === 'failed' ? error['message'] : textOfContents(steps)
  const ending = broken ?? endingBy(ENDINGS, stringOf(status), detail)
  const results = steps.filter(({ type }) => type === 'function_result')
  const byCall = new Map(results.map((step) => [step['call_id'], step]))
  let before: unknown
  const parts = readParts(steps, ending, (step, isCutOff) => {
    const { type } = step
    if (type === 'function_result') return []
    // If the thought is not sent, the outputs around it must stay separate.
    if (type === 'thought') return thoughtPart(step)
    const followsOutput = before === 'model_output'
    before = type
    if (type === 'function_call') return readCall(step, isCutOff, byCall.get(step['id']))
    return type === 'model_output' ? outputParts(step, followsOutput) : replyPart.other(step)
  })
  const metadata = moreOf({ service_tier, continuation_token, agent })
  return { id, model, stopReason: status, usage, metadata, parts, ending }
})

export const ENDINGS: Endings = {
  incomplete: 'truncated',
  budget_exceeded: 'truncated',
  requires_continuation: 'truncated',
  failed: 'failed',
  // A background interaction that has not finished.
  queued: 'broken_off',
  in_progress: 'broken_off',
  cancelled: 'broken_off',
}

/** Returns the steps after the last user input, because an interaction can repeat its input. */
const ownSteps = (steps: readonly RawObject[]): readonly RawObject[] =>
  steps.slice(steps.findLastIndex(({ type }) => type === 'user_input') + 1)

const readCall = (step: RawObject, isCutOff: boolean, result?: RawObject): ReplyPart =>
  replyPart.call(step['id'], step['name'], step['arguments'], isCutOff, {
    result: result ? { text: textOfInput(result['result']), isError: result['is_error'] === true } : null,
    more: moreOf(step, 'type', 'id', 'name', 'arguments'),
  })

const outputParts = ({ content }: RawObject, followsOutput: boolean): ReplyPart[] =>
  objectsOf(content)
    .filter(({ text, annotations }) => text !== '' || annotations !== undefined)
    .map((each, index) => {
      const part = followsOutput && index === 0 ? { ...each, begins: true } : each
      const { type, text } = each
      return type === 'text' && typeof text === 'string'
        ? replyPart.text(text, moreOf(part, 'type', 'text'))
        : replyPart.other(part)
    })

/** Reads a thought. A summary that is not one plain text is stored whole, in addition to its text. */
function thoughtPart(step: RawObject): ReplyPart {
  const summary = objectsOf(step['summary'])
  const thinking = textOfContents([{ content: summary }])
  const isPlain =
    summary.length < 2 && summary.every((text) => thinking !== '' && moreOf(text, 'type', 'text') === null)
  const more = moreOf(step, 'type', 'signature', ...(isPlain ? ['summary'] : []))
  return replyPart.thinking(thinking, step['signature'] || null, more)
}

/** For each type of step: the field that lists its contents, and a function that converts a text to deltas. */
const LISTS = new Map<unknown, readonly [list: string, publish: (text: string) => StreamingDeltaEvent[]]>([
  ['model_output', ['content', replyDelta.text]],
  ['thought', ['summary', replyDelta.reasoning]],
])

/** The deltas of a stream. The delta of a text or a file has the form of a content part. */
export const DELTAS: DeltaFields = {
  text: { type: 'text', to: 'content.0.text', as: 'text' },
  content: { type: 'thought_summary', to: 'summary', as: 'list' },
  signature: { type: 'thought_signature', to: 'signature', as: 'value' },
  arguments: { type: 'arguments_delta', to: 'arguments', as: 'json' },
}

/**
 * Returns a collector for the stream events of `interactions.create` of `@google/genai`. Its `end` returns
 * the same reply as `fromInteractions`. A delta begins a step if the step has no start event. If the stream
 * ends early, the reply is `broken_off`; after an `error` event, the reply is `failed`. O(length).
 * @example
 * const stream = collectInteractions()
 * stream.push({ event_type: 'step.delta', index: 0, delta: { type: 'text', text: 'hi' } })[0].content // 'hi'
 * stream.push({ event_type: 'interaction.completed', interaction: { status: 'completed' } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectInteractions(options: ReadOptions = {}): ReplyCollector {
  let about: RawObject = { status: 'in_progress' }
  const { all: steps, byIndex, open, end, find } = itemsByIndex(({ type }) => type, 'function_call')
  /**
   * Number of steps, and usage, of the earlier interactions of this reply. The SDK continues a long reply in
   * a new interaction, whose indexes begin at 0.
   */
  let earlier: { readonly steps: number; readonly usage: JsonObject } = { steps: 0, usage: {} }
  const begin = (index: unknown, step: RawObject) => addPart(open(index, {}, step['id']), step)
  const extend = (index: unknown, delta: RawObject): readonly StreamingDeltaEvent[] => {
    const part = partOf(delta, byIndex.get(index))
    const step = find(index, part['type']) ?? open(index, {})
    if (delta['type'] === 'arguments_delta')
      piecesAt(step, 'arguments').texts.push(stringOf(delta['arguments']))
    return addPart(step, part)
  }
  /** Adds the steps and fields of `whole` that earlier events lacked. The last event repeats all steps in full. */
  const complete = (whole: readonly RawObject[]): readonly StreamingDeltaEvent[] => {
    let position = earlier.steps
    return whole.flatMap((step) => {
      const isSame = ({ start }: StreamItem, index: number): boolean =>
        index >= position && start['type'] === step['type'] && [step['id'], undefined].includes(start['id'])
      const match = steps.find(isSame) ?? newItem({})
      if (!steps.includes(match)) steps.splice(position, 0, match)
      position = steps.indexOf(match) + 1
      const { arguments: args, ...fields } = match.start
      const contents = match.pieces.has(listOf(step)) && { [listOf(step)]: [] }
      const started = textOfInput(args) !== '{}' && { arguments: args }
      match.start = {}
      return addPart(match, { ...step, ...contents, ...fields, ...started })
    })
  }
  return collectStream(fromInteractions, options, {
    push(event) {
      const { event_type: kind, index, status, usage, continuation_token } = event
      const interaction = objectOf(event['interaction'])
      const { steps: whole, ...rest }: RawObject = { status, usage, continuation_token, ...interaction }
      if (kind === 'interaction.created' && steps.length > 0) {
        earlier = { steps: steps.length, usage: addUsage(earlier.usage, about['usage']) }
        about = { ...about, usage: {}, continuation_token: null }
        byIndex.clear()
      }
      about = { ...about, ...withoutEmpty(rest), usage: laterUsage(about['usage'], rest['usage']) }
      if (kind === 'step.start') return begin(index, objectOf(event['step']))
      if (kind === 'step.stop') end(index)
      if (kind === 'step.delta') return extend(index, objectOf(event['delta']))
      return kind === 'interaction.completed' ? complete(ownSteps(objectsOf(whole))) : []
    },
    failureIn: (event) => failureOf(event) ?? failureOf(objectOf(event['interaction'])),
    // An early end is in the status.
    isComplete: () => true,
    whole: () => ({ ...about, usage: addUsage(earlier.usage, about['usage']), steps: steps.map(wholeStep) }),
  })
}

const listOf = ({ type }: RawObject): string => LISTS.get(type)?.[0] ?? ''

function addPart(item: StreamItem, part: RawObject): readonly StreamingDeltaEvent[] {
  const [list = '', publish = replyDelta.text] = LISTS.get(part['type']) ?? []
  const { [list]: contents, ...fields } = part
  item.start = { ...item.start, ...fields, ...withoutEmpty(item.start), ...withoutEmpty(fields) }
  return objectsOf(contents).flatMap((content) => {
    piecesAt(item, list).list.push(content)
    return content['type'] === 'text' ? publish(stringOf(content['text'])) : []
  })
}

/** Returns a delta as a partial step. A delta of a provider's tool gets the type of its step (`known`). */
function partOf(delta: RawObject, known?: StreamItem): RawObject {
  const { type, content, annotations } = delta
  const kind = known?.isEnded === false ? known.start['type'] : undefined
  const tool = LISTS.has(kind) ? undefined : kind
  if (isContent(delta)) return { type: 'model_output', content: [delta] }
  switch (type) {
    case 'text_annotation_delta':
      return { type: 'model_output', content: [{ type: 'text', text: '', annotations }] }
    case 'thought_summary':
      return { type: 'thought', summary: [content] }
    case 'thought_signature':
      return { ...delta, type: tool ?? 'thought' }
    case 'arguments_delta':
      return { type: tool ?? 'function_call' }
    default:
      return { ...delta, type: kind ?? type }
  }
}

function wholeStep(item: StreamItem): RawObject {
  const step = closeBlock(item, DELTAS, true)
  const list = listOf(step)
  if (!item.pieces.has(list)) return step
  const runs = runsOf(objectsOf(step[list]), ({ type }, next) => type === 'text' && next['type'] === 'text')
  return { ...step, [list]: runs.map((run) => joinPieces(run, ['text', 'annotations'])) }
}
