/**
 * Reads replies of OpenAI Responses as events, so that reasoning, words and calls can go back in the order in which
 * they came.
 */

import type { JsonObject } from '../../event/shapes.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
import {
  asJson,
  CUT_OFF,
  failedWith,
  type Failure,
  failureOf,
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
import { type Found, objectOf, objectsOf, stringOf, textOfInput } from '../text.ts'
import {
  addText,
  closeItem,
  collectStream,
  CONTRADICTED,
  newItem,
  setValue,
  type StreamItem,
} from '../stream.ts'
import { askedOf, LIMITS, readReasoning } from './blocks.ts'

/**
 * Collects the events of a stream, as the `openai` package gives them with `stream: true`. `push` gives what to
 * publish of each; `end` gives the reply, the same as `fromOpenAIResponses` gives of the whole. A stream that ends
 * before the provider says that the response has ended has broken off, one with an `error` has failed: then its events
 * have what arrived, and no call is executed. Pieces and whole items are united by their ids. Throws nothing. O(length).
 * @example
 * const stream = collectOpenAIResponses()
 * stream.push({ type: 'response.output_text.delta', delta: 'hi' })[0].content // 'hi'
 * const output = [{ type: 'message', content: [{ type: 'output_text', text: 'hi' }] }]
 * stream.push({ type: 'response.completed', response: { id: 'resp_1', status: 'completed', output } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectOpenAIResponses(options: ReadOptions = {}): ReplyCollector {
  const items = streamedItems()
  let response: Found | null = null
  let failure: Failure | null = null

  const take = (event: Found): readonly StreamingDeltaEvent[] => {
    const { type } = event
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        response = { ...objectOf(event['response']), status: 'in_progress' }
        break
      case 'response.output_item.added':
      case 'response.output_item.done':
        items.add(event)
        break
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        response = objectOf(event['response'])
        objectsOf(response['output']).forEach(items.addLast)
        break
      case 'error':
        failure = failureOf(event) ?? failedWith(event['message'])
        break
      default: {
        const piece = PIECES.get(type)
        if (piece !== undefined) return piece(items.of(event), event)
      }
    }
    return []
  }

  return collectStream({
    take,
    failure: () => failure,
    isComplete: () => response !== null && response['status'] !== 'in_progress',
    read: (ending) => readReply({ ...response, output: items.all() }, options, ending),
  })
}

type Piece = (item: (kind: string) => StreamItem, event: Found) => readonly StreamingDeltaEvent[]

/** A text of a part in a list of an item, such as `content`. */
const textPiece =
  (
    kind: string,
    list: string,
    index: string,
    part: string,
    publish: (text: string) => StreamingDeltaEvent[],
  ): Piece =>
  (itemOf, event) => {
    const item = itemOf(kind)
    const at = `${list}.${typeof event[index] === 'number' ? event[index] : partOf(item, list, part)}`
    const field = part === 'refusal' ? 'refusal' : 'text'
    setValue(item, `${at}.type`, part)
    if (typeof event['delta'] !== 'string') {
      // The whole text; what was streamed of it is published already.
      setValue(item, `${at}.${field}`, event[field])
      return []
    }
    addText(item, `${at}.${field}`, event['delta'])
    return publish(event['delta'])
  }

/** The index of the part that a piece without an index continues: the latest of its type, else a new one. */
function partOf({ pieces }: StreamItem, list: string, part: string): number {
  let index = 0
  for (let type; (type = pieces.get(`${list}.${index}.type`)?.whole) !== undefined; index += 1)
    if (type === part) return index
  return index
}

/** The arguments or the input of a call. */
const callPiece =
  (kind: string, field: string): Piece =>
  (itemOf, event) => {
    const item = itemOf(kind)
    if (typeof event['delta'] === 'string') addText(item, field, event['delta'])
    else setValue(item, field, event[field])
    return []
  }

const OUTPUT_TEXT = textPiece('message', 'content', 'content_index', 'output_text', textDelta)
const REFUSAL = textPiece('message', 'content', 'content_index', 'refusal', textDelta)
const SUMMARY = textPiece('reasoning', 'summary', 'summary_index', 'summary_text', reasoningDelta)
const REASONING = textPiece('reasoning', 'content', 'content_index', 'reasoning_text', reasoningDelta)
const ARGUMENTS = callPiece('function_call', 'arguments')
const INPUT = callPiece('custom_tool_call', 'input')

/** The events that bring a piece of an item. */
const PIECES: ReadonlyMap<unknown, Piece> = new Map([
  ['response.output_text.delta', OUTPUT_TEXT],
  ['response.output_text.done', OUTPUT_TEXT],
  ['response.refusal.delta', REFUSAL],
  ['response.refusal.done', REFUSAL],
  ['response.reasoning_summary_text.delta', SUMMARY],
  ['response.reasoning_summary_text.done', SUMMARY],
  ['response.reasoning_text.delta', REASONING],
  ['response.reasoning_text.done', REASONING],
  ['response.function_call_arguments.delta', ARGUMENTS],
  ['response.function_call_arguments.done', ARGUMENTS],
  ['response.custom_tool_call_input.delta', INPUT],
  ['response.custom_tool_call_input.done', INPUT],
])

/** The items of a stream: an event names one by its id, or where that is new by its index and kind. */
function streamedItems() {
  const items: StreamItem[] = []
  const byId = new Map<string, StreamItem>()
  const byIndex = new Map<unknown, StreamItem>()
  const find = (id: string, index: unknown, item: Found): StreamItem => {
    const known = byId.get(id) ?? byIndex.get(index)
    const call = stringOf(item['call_id'])
    const knownCall = known === undefined ? '' : callIdOf(known)
    const isSame =
      known !== undefined &&
      typeOf(known) === item['type'] &&
      (call === '' || knownCall === '' || call === knownCall)
    const found = isSame ? known : newItem(item, typeof index === 'number' ? index : items.length)
    if (!isSame) items.push(found)
    if (id !== '') byId.set(id, found)
    byIndex.set(index ?? items.length - 1, found)
    return found
  }
  /** The place of the latest item of the last event. */
  let order = -1
  const matched = new Set<StreamItem>()
  return {
    add: ({ output_index, item }: Found): void => {
      const given = objectOf(item)
      const found = find(stringOf(given['id']), output_index, given)
      found.whole = united(given, found)
    },
    /** An item of the last event, which has them all, or none, or some. */
    addLast: (item: Found): void => {
      const [id, call] = [stringOf(item['id']), stringOf(item['call_id'])]
      const isFree = (each: StreamItem): boolean => !matched.has(each) && typeOf(each) === item['type']
      const named = byId.get(id)
      let found =
        named !== undefined && isFree(named)
          ? named
          : items.find(
              (each) =>
                isFree(each) && (call === '' ? id === '' || idOf(each) === '' : callIdOf(each) === call),
            )
      if (found === undefined) items.push((found = newItem(item, order + 0.5)))
      found.whole = united(item, found)
      matched.add(found)
      order = found.order
    },
    of:
      ({ item_id, output_index }: Found) =>
      (type: string): StreamItem => {
        const id = stringOf(item_id)
        return find(id, output_index, id === '' ? { type } : { type, id })
      },
    all: (): Found[] =>
      items
        .toSorted((a, b) => a.order - b.order)
        .map(closeItem)
        .filter(isNamed),
  }
}

const typeOf = ({ start, whole }: StreamItem): unknown => (whole ?? start)['type']
const idOf = ({ start, whole }: StreamItem): string => stringOf((whole ?? start)['id'])
const callIdOf = ({ start, whole }: StreamItem): string =>
  stringOf(whole?.['call_id']) || stringOf(start['call_id'])

/** The later account of an item; of its fields that are empty the earlier one. */
const united = (later: Found, { whole }: StreamItem): Found =>
  whole === null
    ? later
    : {
        ...later,
        ...Object.fromEntries(
          Object.entries(whole).filter(([key]) => !later[key] || isEmptyList(later[key])),
        ),
      }

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** A call of which nothing but arguments arrived calls nothing. */
const isNamed = ({ type, name }: Found): boolean =>
  (type !== 'function_call' && type !== 'custom_tool_call') || stringOf(name) !== ''

/** A whole reply, as the `openai` package gives it; what else it holds is read where it is there. */
export interface ResponsesReply {
  readonly output: readonly object[]
}

/**
 * The events of a reply, and what ended it. A reasoning item stands on the call that it led to, or on the message; it
 * goes back where it has its encrypted content (`include: ['reasoning.encrypted_content']`). A call that was cut off
 * by a limit is not executed, nor are those of a filtered reply.
 *
 * A refusal is read as the words that it is, with `more: { type: 'refusal' }` in `reply.parts`. Items of other kinds
 * (searches, MCP, compaction …), and reasoning that no call is left for, stand there as `other`; annotations and the
 * phase of a message, and its id where its words alone would not give it back, as `more`. All of it goes back as it
 * came, but for log probabilities. A call that the client is to execute in another form (`shell_call`,
 * `local_shell_call`, `apply_patch_call`, `computer_call`) is read as a call of the tool `shell`, `local_shell`,
 * `apply_patch` or `computer`; a custom call as one that cannot be executed. Throws nothing. O(length).
 * @param reply a `Response`
 * @example
 * const content = [{ type: 'output_text', text: 'hi' }]
 * const { events } = fromOpenAIResponses({ id: 'resp_1', output: [{ type: 'message', content }] })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 */
export const fromOpenAIResponses = (reply: ResponsesReply, options: ReadOptions = {}): Reply =>
  readReply(objectOf(reply), options)

/** `broken`: how its stream ended, where that was no end of the reply. */
function readReply(found: Found, options: ReadOptions, broken: ReplyOutcome | null = null): Reply {
  const items = objectsOf(found['output'])
  const reason = stringOf(objectOf(found['incomplete_details'])['reason'])
  const ending = broken ?? failureOf(found) ?? endingOf(found, reason, items)
  const isCutOff = ending?.type === 'truncated'
  const outputs = items.filter(({ type }) => stringOf(type).endsWith('_output'))
  const done: ReadonlySet<unknown> =
    outputs.length === 0 ? NONE : new Set(outputs.map(({ call_id }) => call_id))
  return replyEvents(
    {
      id: stringOf(found['id']),
      model: stringOf(found['model']),
      stopReason: reason || stringOf(found['status']),
      usage: usageOf(found['usage']),
      reasoning: '',
      parts: items.flatMap((item, at) =>
        partsOf(item, isCutOff && at === items.length - 1, NAMED_BEHIND.has(items[at - 1]?.['type']), done),
      ),
      ending,
    },
    LIMITS,
    options,
  )
}

const NONE: ReadonlySet<unknown> = new Set()

/** Items behind which a message keeps its id: one that would join it, and reasoning that names what follows it. */
const NAMED_BEHIND: ReadonlySet<unknown> = new Set(['message', 'reasoning'])

function endingOf(reply: Found, reason: string, items: readonly Found[]): ReplyOutcome | null {
  switch (reply['status']) {
    case 'incomplete':
      return { type: reason === 'content_filter' ? 'filtered' : 'truncated', reason }
    case 'failed':
      return failedWith(null)
    // One that is made in the background is not there yet.
    case 'queued':
    case 'in_progress':
    case 'cancelled':
      return { type: 'broken_off', text: textOf(items) }
    default: {
      const refusal = refusalIn(items)
      return refusal === undefined
        ? null
        : { type: 'refused', explanation: stringOf(refusal['refusal']) || null }
    }
  }
}

const textOf = (items: readonly Found[]): string =>
  items.flatMap(({ content }) => objectsOf(content).map(({ text }) => stringOf(text))).join('')

function refusalIn(items: readonly Found[]): Found | undefined {
  for (const { content } of items)
    for (const part of objectsOf(content)) if (part['type'] === 'refusal') return part
  return undefined
}

const CALL = ['type', 'id', 'call_id', 'name', 'arguments', 'status']
const ASKED = ['call_id', 'name', 'status', 'input', 'action', 'actions', 'operation']

/** The parts of an item; `done` has the ids of calls that the provider has executed itself. */
function partsOf(item: Found, isCutOff: boolean, isNamed: boolean, done: ReadonlySet<unknown>): ReplyPart[] {
  switch (item['type']) {
    case 'message':
      return messageParts(item, isNamed)
    case 'reasoning':
      return [
        {
          is: 'reasoning',
          item: readReasoning(item),
          value: asJson(item),
          more: moreOf(item, 'type', 'id', 'summary', 'content', 'encrypted_content', 'status'),
        },
      ]
    case 'function_call':
      return [
        {
          is: 'call',
          id: stringOf(item['call_id']),
          name: stringOf(item['name']),
          arguments: textOfInput(item['arguments']),
          item: stringOf(item['id']) || null,
          unfit:
            isCutOff || item['status'] === 'incomplete'
              ? CUT_OFF
              : Object.hasOwn(item, CONTRADICTED)
                ? 'its arguments differ between two events of the reply'
                : null,
          more: moreOf(item, ...CALL, ...direct(item)),
        },
      ]
    default: {
      const asked = done.has(item['call_id']) ? null : askedOf(item)
      if (asked === null) return [{ is: 'other', value: asJson(item) }]
      const isCustom = item['type'] === 'custom_tool_call'
      return [
        {
          ...asked,
          is: 'call',
          id: stringOf(item['call_id']),
          item: null,
          unfit: isCustom ? 'calls of custom tools are not supported' : isCutOff ? CUT_OFF : null,
          more: moreOf(item, ...ASKED, ...direct(item)),
        },
      ]
    }
  }
}

/**
 * The parts of a message. What the message itself has more stands with its first one: its phase, and its id where
 * `isNamed`, or where its text alone would not give it back.
 */
function messageParts(item: Found, isNamed: boolean): ReplyPart[] {
  const parts = objectsOf(item['content'])
  const inner = parts.map((part) =>
    part['type'] === 'refusal' ? { type: 'refusal' } : moreOf(part, 'type', 'text', 'logprobs'),
  )
  const isPlain = !isNamed && parts.length === 1 && inner[0] === null && item['status'] !== 'incomplete'
  const outer = moreOf(
    item,
    'type',
    'role',
    'content',
    ...(isPlain ? ['id'] : []),
    ...(item['status'] === 'incomplete' ? [] : ['status']),
  )
  return parts.map((part, at) => messagePart(part, joined(at === 0 ? outer : null, inner[at] ?? null)))
}

function messagePart(part: Found, more: JsonObject | null): ReplyPart {
  const { type, text, refusal } = part
  if (type === 'output_text' && typeof text === 'string') return { is: 'text', text, more }
  if (type === 'refusal' && typeof refusal === 'string') return { is: 'text', text: refusal, more }
  return { is: 'other', value: asJson(part) }
}

const joined = (outer: JsonObject | null, inner: JsonObject | null): JsonObject | null =>
  outer === null ? inner : { ...outer, ...inner }

/** That the model itself has called is the default, which goes without saying. */
const direct = (item: Found): string[] => (objectOf(item['caller'])['type'] === 'direct' ? ['caller'] : [])
