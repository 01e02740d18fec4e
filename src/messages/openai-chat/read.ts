/** Reads replies of OpenAI Chat Completions, and of the many servers that speak its grammar, as events. */

import { isObject } from '../../event/json.ts'
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
import { type Found, isWhitespace, objectOf, objectsOf, stringOf, textOfInput } from '../text.ts'
import { laterUsage } from '../reply-usage.ts'
import { collectStream } from '../stream.ts'
import { LIMITS } from './blocks.ts'

/** A call on its way; servers that repeat its id in each chunk, or its name alone, mean the same one. */
interface StreamedCall {
  readonly rest: Record<string, unknown>
  readonly called: 'function' | 'custom'
  id: string
  name: string
  /** Joined at the end, so that the cost is linear. */
  readonly given: string[]
  /** Whether the arguments are a complete object. */
  readonly isWhole: (piece: string) => boolean
}

/** Follows the brackets of a JSON text: whether it is complete after each piece. O(piece). */
function objectEnds(): (piece: string) => boolean {
  let depth = 0
  let isText = false
  let isEscaped = false
  let isComplete = false
  return (piece) => {
    for (const letter of piece) {
      if (isEscaped) isEscaped = false
      else if (isText) {
        isEscaped = letter === '\\'
        isText = letter !== '"'
      } else if (letter === '"') isText = true
      else if (letter === '{') depth += 1
      else if (letter === '}') isComplete = (depth -= 1) === 0
    }
    return isComplete
  }
}

/** What has come of each field of an object, piece by piece; joined at the end, so that the cost is linear. */
type Pieces = Map<string, unknown[]>

/**
 * Collects the chunks of a stream, as the `openai` package gives them with `stream: true`. `push` gives what to
 * publish of each; `end` gives the reply, the same as `fromOpenAIChat` gives of the whole, its usage too where
 * `stream_options.include_usage` asked for it. A stream that ends without a finish reason has broken off, one with an
 * `error` has failed: then its events have what arrived, and no call is executed. Throws nothing. O(length).
 * @example
 * const stream = collectOpenAIChat()
 * stream.push({ id: 'c1', choices: [{ index: 0, delta: { content: 'hi' } }] })[0].content // 'hi'
 * stream.push({ id: 'c1', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
 * stream.end().outcome // { type: 'done' }
 */
export function collectOpenAIChat(options: ReadOptions = {}): ReplyCollector {
  let about: Found = {}
  let usage: JsonObject = {}
  let failure: Failure | null = null
  let reason = ''
  const fields: Pieces = new Map()
  const calls: StreamedCall[] = []
  const byIndex = new Map<number, StreamedCall>()

  const addCall = (piece: Found): void => {
    const { index } = piece
    const id = stringOf(piece['id'])
    const called = objectOf(piece['function'] ?? piece['custom'])
    const name = stringOf(called['name'])
    const latest = calls.at(-1)
    // Some servers give no index, and some the same one to all calls: then another id is another call.
    const known =
      typeof index === 'number' ? byIndex.get(index) : id === '' || id === latest?.id ? latest : undefined
    // A second name behind complete arguments is another call, too.
    const isOther =
      known !== undefined &&
      name !== '' &&
      ((id !== '' && known.id !== '' && id !== known.id) || known.isWhole(''))
    let call = isOther ? undefined : known
    if (call === undefined) {
      const { function: _, custom, ...rest } = piece
      call = {
        rest,
        called: custom === undefined ? 'function' : 'custom',
        id: '',
        name: '',
        given: [],
        isWhole: objectEnds(),
      }
      calls.push(call)
      if (typeof index === 'number') byIndex.set(index, call)
    }
    call.id ||= id
    call.name ||= name
    const given = givenIn(called['arguments']) + givenIn(called['input'])
    call.given.push(given)
    call.isWhole(given)
  }

  const take = (chunk: Found): readonly StreamingDeltaEvent[] => {
    failure = failureOf(chunk) ?? failure
    about = {
      id: about['id'] ?? chunk['id'],
      created: about['created'] ?? chunk['created'],
      model: about['model'] ?? chunk['model'],
    }
    const choice = objectsOf(chunk['choices']).find(({ index }) => (index ?? 0) === 0) ?? {}
    // Some servers say it of the choice.
    usage = laterUsage(usage, chunk['usage'] ?? choice['usage'])
    reason = stringOf(choice['finish_reason']) || reason
    const delta = objectOf(choice['delta'])
    const { tool_calls, ...rest } = delta
    objectsOf(tool_calls).forEach(addCall)
    gather(fields, rest)
    const { reasoning_content, reasoning, content, refusal } = rest
    return [
      ...reasoningDelta(stringOf(reasoning_content) || stringOf(reasoning) || thoughtIn(content)),
      ...textDelta(wordsIn(content) + stringOf(refusal)),
    ]
  }

  return collectStream({
    take,
    failure: () => failure,
    isComplete: () => reason !== '',
    read: (ending) => {
      const message = {
        ...Object.fromEntries([...fields].map(([field, values]) => [field, wholeField(field, values)])),
        tool_calls: calls.map(wholeCall),
      }
      return readReply({ ...about, usage, choices: [{ message, finish_reason: reason }] }, options, ending)
    },
  })
}

/** Adds what a piece says of an object; a null says nothing. */
function gather(fields: Pieces, piece: Found): void {
  for (const [field, value] of Object.entries(piece)) {
    if (value === null || value === undefined) continue
    const known = fields.get(field)
    if (known === undefined) fields.set(field, [value])
    else known.push(value)
  }
}

/** A field of a message as it would stand in a whole one. */
function wholeField(field: string, values: readonly unknown[]): unknown {
  if (field === 'audio') return wholeObject(objectsOf(values))
  if (field === 'thinking_blocks') return wholeBlocks(objectsOf(values.flat()))
  return field === 'reasoning_details' ? wholeItems(values.flat()) : joined(values)
}

/** Texts are joined and lists grow; a list that texts stand among holds these too. Of all else the last counts. */
function joined(values: readonly unknown[]): unknown {
  if (values.some(Array.isArray)) return values.flat()
  const last = values.at(-1)
  return typeof last === 'string' ? values.map(stringOf).join('') : last
}

/** Items of one type and one index are pieces of the same: a signature is refused without the whole of its text. */
const wholeItems = (items: readonly unknown[]): unknown[] =>
  [...Map.groupBy(items, keyOf).values()].map((same) =>
    same.length === 1 ? same[0] : wholeObject(objectsOf(same)),
  )

/** Blocks without an index: one of them is complete with its signature. */
function wholeBlocks(pieces: readonly Found[]): Found[] {
  const blocks: Found[][] = []
  for (const piece of pieces) {
    const open = blocks.at(-1)
    const isOpen = open?.every(({ type, signature, data }) => type === piece['type'] && !signature && !data)
    if (open !== undefined && isOpen === true) open.push(piece)
    else blocks.push([piece])
  }
  return blocks.map(wholeObject)
}

function keyOf(item: unknown): unknown {
  const { type, index } = objectOf(item)
  return Number.isInteger(index) ? `${stringOf(type)} ${String(index)}` : item
}

/** The fields of an object that come in pieces: of what is heard, and of what is reasoned. */
const CUT: ReadonlySet<string> = new Set(['transcript', 'text', 'summary', 'data', 'thinking'])

/** An object of its pieces: of a field that is not cut into pieces the last value counts. */
function wholeObject(pieces: readonly Found[]): Found {
  const fields: Pieces = new Map()
  for (const piece of pieces) gather(fields, piece)
  const whole = [...fields].map(([field, values]) => [field, CUT.has(field) ? joined(values) : values.at(-1)])
  return { ...pieces[0], ...Object.fromEntries(whole) }
}

/** A piece of arguments; some servers give them whole, as what they are. */
const givenIn = (value: unknown): string => (isObject(value) ? JSON.stringify(value) : stringOf(value))

function wholeCall({ rest, called, id, name, given }: StreamedCall): Found {
  const text = given.join('')
  return { ...rest, id, [called]: called === 'custom' ? { name, input: text } : { name, arguments: text } }
}

/** A whole reply, as the `openai` package gives it; what else it holds is read where it is there. */
export interface ChatReply {
  readonly choices: readonly object[]
}

/**
 * The events of a reply's first choice, and what ended it. Reasoning that servers add as text (`reasoning_content`,
 * `reasoning`, `thinking` parts of the content) is kept; a field of it goes back to its model as it came. The last call of a reply that was cut off
 * by a limit is not executed, nor are those of a refused or filtered one.
 *
 * A refusal is read as the words that it is, with `more: { type: 'refusal' }` in `reply.parts`; a custom call as a
 * call that cannot be executed. What else of content a message holds (annotations, signed reasoning …) stands there as
 * `other`, and what a server adds to a call (thought signatures) as `more`; all of it goes back as it came, but for
 * audio, whose transcript does. Throws nothing. O(length).
 * @param reply a `ChatCompletion`
 * @example
 * const message = { role: 'assistant', content: 'hi' }
 * const { events } = fromOpenAIChat({ id: 'c1', choices: [{ message, finish_reason: 'stop' }] })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 */
export const fromOpenAIChat = (reply: ChatReply, options: ReadOptions = {}): Reply =>
  readReply(objectOf(reply), options)

/** `broken`: how its stream ended, where that was no end of the reply. */
function readReply(found: Found, options: ReadOptions, broken: ReplyOutcome | null = null): Reply {
  const choice = objectsOf(found['choices'])[0] ?? {}
  const message = objectOf(choice['message'])
  const ending = broken ?? failureOf(found) ?? endingOf(choice, message)
  const calls = objectsOf(message['tool_calls'])
  const { content, refusal, reasoning_content } = message
  const reasoning = stringOf(reasoning_content) || stringOf(message['reasoning']) || thoughtIn(content)
  const fields: JsonObject = {
    ...moreOf(message, ...KNOWN),
    // The fields in which it came, empty or not: its text is in the field that all events have.
    ...Object.fromEntries(
      REASONING.flatMap((field) => {
        const text = message[field]
        return typeof text === 'string' ? [[field, (text === reasoning && !isWhitespace(text)) || text]] : []
      }),
    ),
  }
  const parts: ReplyPart[] = [
    ...contentParts(partsIn(content)),
    ...(typeof refusal === 'string' ? refusalPart(refusal) : []),
    ...Object.entries(fields).map(([field, value]) => ({ is: 'other' as const, value: { [field]: value } })),
    ...calls.map((call, at) => callPart(call, ending?.type === 'truncated' && at === calls.length - 1)),
  ]
  return replyEvents(
    {
      id: idOf(found),
      model: stringOf(found['model']),
      stopReason: stringOf(choice['finish_reason']),
      usage: usageOf(found['usage']),
      reasoning,
      parts,
      ending,
    },
    LIMITS,
    options,
  )
}

/** Ollama draws its ids from a thousand numbers, so that two replies of a conversation often have the same. */
function idOf({ id, created }: Found): string {
  const given = stringOf(id)
  return /^chatcmpl-\d{1,3}$/.test(given) && typeof created === 'number' ? `${given}-${created}` : given
}

const REASONING = ['reasoning_content', 'reasoning'] as const

const KNOWN = ['role', 'content', 'refusal', 'tool_calls', 'reasoning_content', 'reasoning'] as const

function endingOf(choice: Found, { refusal }: Found): ReplyOutcome | null {
  const reason = stringOf(choice['finish_reason'])
  // A proxy says so where its server failed in the middle.
  if (reason === 'error') return failureOf(choice) ?? failedWith(null)
  if (reason === 'length') return { type: 'truncated', reason }
  if (reason === 'content_filter') return { type: 'filtered', reason }
  return typeof refusal === 'string' && refusal !== '' ? { type: 'refused', explanation: refusal } : null
}

/** What stands in content: a text, or a list of parts; a list that was collected has texts among its parts. */
const partsIn = (content: unknown): readonly unknown[] =>
  Array.isArray(content) ? content.flat() : typeof content === 'string' ? [content] : []

/** The words in content, or in a piece of it. O(length). */
export const wordsIn = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : partsIn(content)
        .flatMap(contentPart)
        .map((part) => (part.is === 'text' ? part.text : ''))
        .join('')

/** The reasoning in content, or in a piece of it. O(length). */
export const thoughtIn = (content: unknown): string =>
  partsIn(content)
    .map((part) => thoughtOf(objectOf(part)))
    .join('')

/** What a part of content thinks: a text, or the texts of a list. */
function thoughtOf(part: Found): string {
  const { thinking } = part
  if (!isThinking(part)) return ''
  if (typeof thinking === 'string') return thinking
  return objectsOf(thinking)
    .map(({ text }) => stringOf(text))
    .join('')
}

const isThinking = ({ type, thinking }: Found): boolean =>
  type === 'thinking' && (typeof thinking === 'string' || Array.isArray(thinking))

/** An empty text is how many servers write that there is none. */
const textPart = (text: string): ReplyPart[] => (text === '' ? [] : [{ is: 'text', text, more: null }])

const refusalPart = (text: string): ReplyPart[] =>
  text === '' ? [] : [{ is: 'text', text, more: { type: 'refusal' } }]

function contentPart(part: unknown): ReplyPart[] {
  if (typeof part === 'string') return textPart(part)
  const found = objectOf(part)
  const { type, text, refusal } = found
  if (type === 'text' && typeof text === 'string') {
    const more = moreOf(found, 'type', 'text')
    return more === null ? textPart(text) : [{ is: 'text', text, more }]
  }
  if (isThinking(found)) return unthought(moreOf(found, 'type', 'thinking', 'closed'))
  return typeof refusal === 'string' ? refusalPart(refusal) : [{ is: 'other', value: asJson(found) }]
}

/** What a thinking part holds beside its text, such as a signature; it is in the record alone. */
const unthought = (more: JsonObject | null): ReplyPart[] =>
  more === null ? [] : [{ is: 'other', value: { thinking: more } }]

/** The parts of content but for its thinking. Plain texts that touch are one: a stream cuts them anywhere. */
function contentParts(content: readonly unknown[]): ReplyPart[] {
  const out: ReplyPart[] = []
  let run: string[] = []
  const close = (): void => {
    out.push(...textPart(run.join('')))
    run = []
  }
  for (const part of content) {
    if (isThinking(objectOf(part))) close()
    for (const found of contentPart(part)) {
      if (found.is === 'text' && found.more === null) run.push(found.text)
      else {
        close()
        out.push(found)
      }
    }
  }
  close()
  return out
}

function callPart(call: Found, isCutOff: boolean): ReplyPart {
  const isCustom = call['type'] === 'custom'
  const called = objectOf(call[isCustom ? 'custom' : 'function'])
  return {
    is: 'call',
    id: stringOf(call['id']),
    name: stringOf(called['name']),
    arguments: textOfInput(called[isCustom ? 'input' : 'arguments']),
    input: isCustom ? null : frozenInput(called['arguments']),
    item: null,
    unfit: isCustom ? 'calls of custom tools are not supported' : isCutOff ? CUT_OFF : null,
    more: moreOf(call, 'id', 'function', 'index', 'custom', ...(isCustom ? [] : ['type'])),
  }
}
