import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
import { endingBy, failureOf, moreOf, readParts, replyDelta, replyPart, replyReader } from '../reply.ts'
import type { Endings, ReadOptions, ReplyCollector, ReplyPart } from '../reply.ts'
import { laterUsage } from '../reply-usage.ts'
import { addText, addValue, closeBlock, collectStream, itemsByIndex, newItem } from '../stream.ts'
import type { StreamItem } from '../stream.ts'
import { objectOf, objectsOf, stringOf, textOfContents, textOfInput } from '../text.ts'
import type { RawObject } from '../text.ts'
import { isContent, LIMITS } from './blocks.ts'

/** A whole reply of the `@google/genai` package. Other fields are read if they are present. */
export interface InteractionsReply {
  readonly status: string
  readonly steps?: readonly object[] | undefined
}

/**
 * Reads a Gemini interaction: its events and outcome. Thoughts, texts and calls are sent back in order with
 * their signatures; files, and steps of the provider's tools, are sent back unchanged. The steps that repeat
 * the request are ignored. A call at the end of a truncated interaction and all calls of a failed one are not
 * executed. A result in the interaction is read with its call. Never throws. O(length).
 * @param reply an `Interaction`
 * @example
 * const content = [{ type: 'text', text: 'hi' }]
 * const { events, outcome } = fromInteractions({ status: 'completed', steps: [{ type: 'model_output', content }] })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 * outcome // { type: 'done' }
 */
export const fromInteractions = replyReader<InteractionsReply>(LIMITS, (raw, broken) => {
  // The other fields repeat the request.
  const { id, model, status, usage, service_tier, continuation_token, agent } = raw
  const steps = ownSteps(objectsOf(raw['steps']))
  const error = objectOf(steps.findLast((step) => step['error'])?.['error'])
  const detail = status === 'failed' ? error['message'] : textOfContents(steps)
  const ending = broken ?? failureOf(raw) ?? endingBy(ENDINGS, stringOf(status), detail)
  const { results = [], others = [] } = Object.groupBy(steps, ({ type }) =>
    type === 'function_result' ? 'results' : 'others',
  )
  const byCall = new Map(results.map((step) => [step['call_id'], step]))
  let isAfterOutput = false
  const parts = readParts(others, ending, (step, isCutOff) => {
    const { type } = step
    const followsOutput = isAfterOutput
    // A thought that is not sent must not join the outputs around it.
    if (type !== 'thought') isAfterOutput = type === 'model_output'
    if (type === 'thought') return thoughtPart(step)
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
    result:
      result === undefined
        ? null
        : { text: textOfInput(result['result']), isError: result['is_error'] === true },
    more: moreOf(step, 'type', 'id', 'name', 'arguments'),
  })

const outputParts = ({ content }: RawObject, followsOutput: boolean): ReplyPart[] =>
  objectsOf(content)
    .filter(({ text, annotations }) => text !== '' || annotations !== undefined)
    .map((each, index) => {
      const begins = followsOutput && index === 0 ? { begins: true } : null
      const { type, text } = each
      if (type !== 'text' || typeof text !== 'string') return replyPart.other({ ...each, ...begins })
      const more = moreOf(each, 'type', 'text')
      return replyPart.text(text, begins === null ? more : { ...more, ...begins })
    })

/** Reads a thought as its summary's text. A summary that is not one plain text is also stored whole. */
function thoughtPart(step: RawObject): ReplyPart {
  const { signature } = step
  const summary = objectsOf(step['summary'])
  const thinking = textOfContents([{ content: summary }])
  const isPlain =
    summary.length < 2 && summary.every((text) => thinking !== '' && moreOf(text, 'type', 'text') === null)
  const more = moreOf(step, 'type', 'signature', ...(isPlain ? ['summary'] : []))
  return replyPart.thinking(thinking, signature || null, more)
}

/**
 * Returns a collector for the stream events of `interactions.create` of `@google/genai`. Its `end` returns
 * the same reply as `fromInteractions`. A delta without a start begins a step. If the stream ends early the
 * reply is `broken_off`; with an `error`, `failed`. O(length).
 * @example
 * const stream = collectInteractions()
 * stream.push({ event_type: 'step.delta', index: 0, delta: { type: 'text', text: 'hi' } })[0].content // 'hi'
 * stream.push({ event_type: 'interaction.completed', interaction: { status: 'completed' } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectInteractions(options: ReadOptions = {}): ReplyCollector {
  let about: RawObject = { status: 'in_progress' }
  const { all: steps, byIndex, open, find } = itemsByIndex(typeOf, 'function_call')
  /** The current interaction. The SDK continues a long reply in another, whose indexes begin at 0. */
  let current: { readonly start: number; readonly usage: JsonObject } = { start: 0, usage: {} }
  const extend = (step: StreamItem, fields: RawObject, contents: unknown, args = '') => {
    step.start = { ...step.start, ...withoutEmpty(fields) }
    addText(step, 'arguments', args)
    const publish = typeOf(step.start) === 'thought' ? replyDelta.reasoning : replyDelta.text
    return objectsOf(contents).flatMap((part) => {
      addValue(step, 'content', part)
      return part['type'] === 'text' ? publish(stringOf(part['text'])) : []
    })
  }
  const begin = (step: StreamItem, { content, summary, ...fields }: RawObject) =>
    extend(step, fields, content ?? summary)
  /** Adds what was missing in the stream. The last event repeats all steps in full. */
  const addWhole = (whole: readonly RawObject[]): readonly StreamingDeltaEvent[] => {
    let position = current.start
    return whole.flatMap((step) => {
      const isSame = (each: StreamItem, at: number): boolean =>
        at >= position &&
        typeOf(each.start) === step['type'] &&
        [step['id'], undefined].includes(each.start['id'])
      const known = steps.findIndex(isSame)
      const match = steps[known] ?? newItem({})
      if (known < 0) steps.splice(position, 0, match)
      position = (known < 0 ? position : known) + 1
      const { content, summary, ...fields } = step
      const isCounted = match.pieces.has('content')
      const { arguments: args, ...rest } = match.start
      match.start = { ...fields, ...rest, ...(textOfInput(args) !== '{}' && { arguments: args }) }
      return isCounted ? [] : extend(match, {}, content ?? summary)
    })
  }
  return collectStream(fromInteractions, options, {
    push(event) {
      const { event_type: kind, index, status, usage, continuation_token } = event
      const { steps: whole, ...rest } = objectOf(event['interaction'])
      if (kind === 'interaction.created' && steps.length > 0) {
        current = { start: steps.length, usage: addUsage(current.usage, about['usage']) }
        about = { ...about, usage: {}, continuation_token: null }
        byIndex.clear()
      }
      const counted = laterUsage(laterUsage(about['usage'], usage), rest['usage'])
      about = { ...about, ...withoutEmpty({ status, continuation_token, ...rest }), usage: counted }
      const step = objectOf(event['step'])
      if (kind === 'step.start') {
        const known = byIndex.get(index)
        const isAgain = known !== undefined && known.start['id'] === step['id'] && step['id'] !== undefined
        return begin(isAgain ? known : open(index, {}), step)
      }
      if (kind === 'step.delta') {
        const delta = objectOf(event['delta'])
        const { type, arguments: args } = delta
        const [fields, contents] = isContent(delta)
          ? outputOf(delta)
          : (ADDITIONS.get(type)?.(delta) ?? [delta])
        const { type: kind } = fields
        const known = byIndex.get(index)
        const isOther = known === undefined || begins(kind, typeOf(known.start))
        const step = isOther ? (find(index, kind) ?? open(index, {})) : known
        return extend(
          step,
          { ...fields, type: typeOf(step.start) ?? kind },
          contents,
          type === 'arguments_delta' ? stringOf(args) : '',
        )
      }
      return kind === 'interaction.completed' ? addWhole(ownSteps(objectsOf(whole))) : []
    },
    failureIn: (event) => failureOf(event) ?? failureOf(objectOf(event['interaction'])),
    // An early end is in the status.
    isComplete: () => true,
    whole: () => ({
      ...about,
      usage: addUsage(current.usage, about['usage']),
      steps: steps.map(wholeStep),
    }),
  })
}

const typeOf = ({ type }: RawObject): unknown => type

const SPOKEN: ReadonlySet<unknown> = new Set(['model_output', 'thought', 'function_call'])

/** Whether a delta of `type` begins a step after type `known`. A call can have a thought's signature. */
const begins = (type: unknown, known: unknown): boolean =>
  type !== known &&
  SPOKEN.has(type) &&
  SPOKEN.has(known) &&
  !(type === 'thought' && known === 'function_call')

/** Adds the usages of two interactions. */
function addUsage(before: JsonObject, after: unknown): JsonObject {
  const sum: Record<string, JsonValue> = laterUsage(before, after)
  for (const [key, count] of Object.entries(before)) {
    const more = objectOf(after)[key]
    if (typeof count === 'number' && typeof more === 'number') sum[key] = count + more
  }
  return sum
}

type Addition = readonly [fields: RawObject, contents?: readonly unknown[]]

/**
 * Fields and contents that a delta adds to its step, by the delta's type. They include the step's type, in
 * case its start is missing.
 */
const ADDITIONS = new Map<unknown, (delta: RawObject) => Addition>([
  ['thought_summary', ({ content }) => [{ type: 'thought' }, [content]]],
  ['thought_signature', (delta) => [{ ...delta, type: 'thought' }]],
  ['text_annotation_delta', ({ annotations }) => outputOf({ type: 'text', annotations })],
  ['arguments_delta', () => [{ type: 'function_call' }]],
])

const outputOf = (content: RawObject): Addition => [{ type: 'model_output' }, [content]]

/** Merges the contents of a step, and parses arguments. */
function wholeStep(item: StreamItem): RawObject {
  const whole = closeBlock(item, { arguments: { to: 'arguments', as: 'json' } }, true)
  if (!item.pieces.has('content')) return whole
  const { content, ...step } = whole
  return { ...step, [step['type'] === 'thought' ? 'summary' : 'content']: joinTexts(objectsOf(content)) }
}

const withoutEmpty = (value: RawObject): RawObject =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => (field ?? '') !== ''))

/** Joins adjacent texts, and their annotations. */
function joinTexts(pieces: readonly RawObject[]): RawObject[] {
  const runs: RawObject[][] = []
  for (const piece of pieces)
    if (piece['type'] === 'text' && runs.at(-1)?.[0]?.['type'] === 'text') runs.at(-1)?.push(piece)
    else runs.push([piece])
  return runs.map((run) => {
    const annotations = run.flatMap((piece) => objectsOf(piece['annotations']))
    return {
      ...run[0],
      ...(run[0]?.['type'] === 'text' && { text: textOfContents([{ content: run }]) }),
      ...(annotations.length > 0 && { annotations }),
    }
  })
}
