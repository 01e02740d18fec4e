import { isObject } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
import {
  CUSTOM,
  endingBy,
  endingsAs,
  failedWith,
  failureOf,
  moreOf,
  readParts,
  replyDelta,
  replyPart,
  replyReader,
} from '../reply.ts'
import type { Endings, Failure, ReadOptions, ReplyCollector, ReplyOutcome, ReplyPart } from '../reply.ts'
import {
  type RawObject,
  isWhitespace,
  joinArguments,
  objectOf,
  objectsOf,
  runsOf,
  stringOf,
  textOfArguments,
  textOfContents,
  textOfInput,
  withoutEmpty,
} from '../text.ts'
import { laterUsage } from '../reply-usage.ts'
import { collectStream, gather, joinPieces, joinValues } from '../stream.ts'
import { LIMITS, REASONING } from './blocks.ts'

/** A call while it is streamed. Some servers repeat its id, or only its name, in each chunk. */
interface StreamedCall {
  readonly rest: Record<string, unknown>
  readonly callType: 'function' | 'custom'
  id: string
  name: string
  readonly argumentPieces: string[]
  soFar: string
  isWhole: (piece: string) => boolean
}

/** Returns a function that reports after each piece whether a JSON text is complete. O(piece). */
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
      else if (letter === '}') isComplete = (depth -= 1) <= 0
    }
    return isComplete
  }
}

/**
 * Returns a collector for the stream chunks of `openai` (`stream: true`). Its `end` returns the same reply as
 * `fromOpenAIChat`, with usage if `stream_options.include_usage` was set. A reply without a finish reason is
 * `broken_off`, unless usage follows its complete content; after an `error`, it is `failed`. O(length).
 * @example
 * const stream = collectOpenAIChat()
 * stream.push({ id: 'c1', choices: [{ index: 0, delta: { content: 'hi' } }] })[0].content // 'hi'
 * stream.push({ id: 'c1', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
 * stream.end().outcome // { type: 'done' }
 */
export function collectOpenAIChat(options: ReadOptions = {}): ReplyCollector {
  let about: RawObject = {}
  let usage: JsonObject = {}
  let reason = ''
  /** Whether a chunk with only usage followed the answer. Some gateways send this chunk, but no finish reason. */
  let isCounted = false
  /** Whether an answer followed the reasoning, so that the reasoning is complete. */
  let isReasoned = false
  const fields = new Map<string, unknown[]>()
  /** The latest whole message. Some servers send one in each chunk, or at the end. */
  let latest: RawObject = {}
  const calls: StreamedCall[] = []
  /** The latest call for each index, for each id, and for each pair of index and id. */
  const byKey = new Map<string, StreamedCall>()

  const addCall = (piece: RawObject): void => {
    const { function: called, custom, ...rest } = piece
    const { name: named, arguments: args, input: customInput } = objectOf(called ?? custom)
    const [id, name] = [stringOf(piece['id']), stringOf(named)]
    const input = argumentPiece(args) + argumentPiece(customInput)
    const index = textOfInput(piece['index'] ?? '')
    // Some servers send no index, or the same index for all calls. Then a different id begins another call.
    const sameId = id === '' ? undefined : byKey.get(`${index} ${id}`)
    const sameIndex = index !== '' ? byKey.get(index) : id === '' ? calls.at(-1) : undefined
    const known = sameId ?? sameIndex
    // A second name after complete arguments begins another call, too.
    const isOther =
      known !== undefined &&
      name !== '' &&
      (isAnother(id, known.id) || isAnother(name, known.name) || known.isWhole(''))
    // After complete arguments, further complete ones replace them or belong to another call of the same
    // tool.
    const isRepeated =
      known !== undefined && name === '' && known.id !== '' && input.startsWith('{') && known.isWhole('')
    let call = isOther || isRepeated ? undefined : known
    if (call === undefined) {
      // Some servers end the list with an empty call.
      if (id + name + input === '') return
      const callType = custom === undefined ? 'function' : 'custom'
      const start = { rest, callType, id: '', name: '' } as const
      call = { ...(isRepeated ? known : start), argumentPieces: [], soFar: '', isWhole: objectEnds() }
      calls.push(call)
    }
    for (const key of [index, `${index} ${id}`, ` ${id}`]) byKey.set(key, call)
    call.id ||= id
    call.name ||= name
    // A piece that begins with the text so far repeats it.
    const repeats = input.length >= call.soFar.length && input.startsWith(call.soFar)
    if (repeats) call.isWhole = objectEnds()
    call.soFar = repeats ? input : call.soFar + input
    call.argumentPieces.push(input)
    call.isWhole(input)
  }

  const push = (chunk: RawObject): readonly StreamingDeltaEvent[] => {
    const { id, created, model } = chunk
    // The first chunk of Azure has empty texts.
    about = { ...withoutEmpty({ id, created, model }), ...about }
    const choices = objectsOf(chunk['choices'])
    const choice = choices.find(({ index }) => (index ?? 0) === 0) ?? {}
    // Some gateways send more chunks without choices after the usage, for example with the cost.
    if (choices.length > 0) isCounted = false
    else if (isObject(chunk['usage'])) isCounted = isReasoned
    // Some servers report the usage in the choice.
    usage = laterUsage(usage, chunk['usage'] ?? choice['usage'])
    reason = stringOf(choice['finish_reason']) || reason
    latest = { ...latest, ...withoutEmpty(objectOf(choice['message'])) }
    // A whole reply can be one chunk.
    const isFirst = fields.size === 0 && calls.length === 0
    const delta = objectOf(choice['delta'] ?? (isFirst && choice['message']))
    const { tool_calls, ...rest } = delta
    objectsOf(tool_calls).forEach(addCall)
    gather(fields, rest)
    const { content, refusal, thinking_blocks, reasoning_details } = rest
    const text = textIn(content) + stringOf(refusal)
    if (text !== '' || objectsOf(tool_calls).length > 0) isReasoned = true
    else if (objectsOf(thinking_blocks ?? reasoning_details).length > 0) isReasoned = false
    return [...replyDelta.reasoning(reasoningText(rest)), ...replyDelta.text(text)]
  }

  return collectStream(fromOpenAIChat, options, {
    push,
    failureIn: (chunk) => errorIn(chunk) ?? failureOf(objectsOf(chunk['choices'])[0] ?? {}),
    isComplete: () => reason !== '' || (isCounted && calls.every(({ isWhole }) => isWhole(''))),
    whole() {
      const isWhole = reason !== '' || isReasoned
      const message = {
        ...latest,
        ...Object.fromEntries(
          [...fields].map(([field, values]) => [field, wholeField(field, values, isWhole)]),
        ),
        ...(calls.length > 0 && { tool_calls: calls.map(wholeCall) }),
      }
      return { ...about, usage, choices: [{ message, finish_reason: reason }] }
    },
  })
}

/** Returns a chunk's error, or null. MiniMax sends a code in each chunk; old versions of vLLM send an error chunk. */
function errorIn(chunk: RawObject): Failure | null {
  const { status_code, status_msg } = objectOf(chunk['base_resp'])
  if (status_code) return failedWith(status_msg)
  return failureOf(chunk['object'] === 'error' ? { error: chunk } : chunk)
}

const isAnother = (one: string, other: string): boolean => one !== '' && other !== '' && one !== other

/**
 * Joins a field's values. Signed reasoning that broke off loses its last item, because half a signed or
 * encrypted value is invalid.
 */
function wholeField(field: string, values: readonly unknown[], isWhole: boolean): unknown {
  if (field === 'audio') return wholeObject(objectsOf(values))
  if (field !== 'thinking_blocks' && field !== 'reasoning_details') return joinValues(values)
  const pieces = values.flat()
  const items = field === 'thinking_blocks' ? wholeBlocks(objectsOf(pieces)) : wholeItems(pieces)
  return isWhole ? items : items.slice(0, -1)
}

/**
 * Joins the pieces that have the same type and index, because the provider refuses a signature without the
 * whole text that it signs. A piece with another id begins another item.
 */
function wholeItems(pieces: readonly unknown[]): unknown[] {
  const items: { id: string; readonly pieces: unknown[] }[] = []
  const byKey = new Map<unknown, (typeof items)[0]>()
  for (const piece of pieces) {
    const key = keyOf(piece)
    const id = stringOf(objectOf(piece)['id'])
    const known = byKey.get(key)
    if (known === undefined || isAnother(id, known.id)) {
      const item = { id, pieces: [piece] }
      items.push(item)
      byKey.set(key, item)
    } else {
      known.id ||= id
      known.pieces.push(piece)
    }
  }
  return items.map((item) =>
    item.pieces.length === 1 ? item.pieces[0] : wholeObject(objectsOf(item.pieces)),
  )
}

/** Joins pieces into blocks. Pieces have no index; a signature or data completes a block. */
const wholeBlocks = (pieces: readonly RawObject[]): RawObject[] =>
  runsOf(pieces, ({ type, signature, data }, next) => type === next['type'] && !signature && !data).map(
    wholeObject,
  )

function keyOf(item: unknown): unknown {
  const { type, index } = objectOf(item)
  return Number.isInteger(index) ? `${stringOf(type)} ${String(index)}` : item
}

const wholeObject = (pieces: readonly RawObject[]): RawObject =>
  joinPieces(pieces, ['transcript', 'text', 'summary', 'data', 'thinking'])

const argumentPiece = (value: unknown): string => (isObject(value) ? textOfArguments(value) : stringOf(value))

function wholeCall({ rest, callType: called, id, name, argumentPieces: input }: StreamedCall): RawObject {
  const whole = called === 'custom' ? { input: input.join('') } : { arguments: joinArguments(input) }
  return { ...rest, id, [called]: { name, ...whole } }
}

/** A whole reply of the `openai` package. Fields that are not declared here are read, too. */
export interface ChatReply {
  readonly choices: readonly object[]
}

/**
 * Reads the first choice of a Chat Completions reply as events and an outcome. In later requests, plain
 * reasoning (`reasoning_content`, `reasoning` or `reasoning_text`) is sent back in the same field to the
 * model that wrote it; text of `thinking` parts is read, but not sent back. The last call of a truncated
 * reply and all calls of a refused, filtered, aborted or failed reply are not executed.
 *
 * A custom call cannot be executed. A refusal is read as text with `more: { type: 'refusal' }` in
 * `reply.parts`. Other content (annotations, signed reasoning …) is stored there as `other`. Additional
 * fields of calls (thought signatures) are stored there as `more`. All of this is sent back unchanged, except
 * audio, of which only the transcript is sent. Never throws. O(length).
 * @param reply a `ChatCompletion`
 * @example
 * const message = { role: 'assistant', content: 'hi' }
 * const { events } = fromOpenAIChat({ id: 'c1', choices: [{ message, finish_reason: 'stop' }] })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 */
export const fromOpenAIChat = replyReader<ChatReply>(LIMITS, ['choices'], (raw, broken) => {
  const [choice = {}] = objectsOf(raw['choices'])
  const message = objectOf(choice['message'])
  const ending = broken ?? endingOf(choice, message)
  const { content, refusal } = message
  const reasoning = reasoningText(message)
  const fields: JsonObject = {
    ...moreOf(message, ...KNOWN),
    // Fields with reasoning. A text that the events have as `reasoning_content` is stored as `true`.
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
    ...Object.entries(fields).map(([field, value]) => replyPart.other({ [field]: value })),
    ...readParts(objectsOf(message['tool_calls']), ending, readCall),
  ]
  return {
    id: idOf(raw),
    model: raw['model'],
    stopReason: choice['finish_reason'],
    usage: raw['usage'],
    reasoning,
    parts,
    ending,
  }
})

/** Returns the reply's id. Ollama has only a thousand ids, so the reply's time is appended to such an id. */
function idOf({ id, created }: RawObject): string {
  const responseId = stringOf(id)
  return /^chatcmpl-\d{1,3}$/.test(responseId) && typeof created === 'number'
    ? `${responseId}-${created}`
    : responseId
}

const KNOWN = ['role', 'content', 'refusal', 'tool_calls', ...REASONING]

const reasoningText = (message: RawObject): string =>
  REASONING.map((field) => stringOf(message[field])).find(Boolean) ?? thoughtIn(message['content'])

export const ENDINGS: Endings = {
  // Reasons of OpenAI, Mistral and GLM, and of Anthropic and Gemini where servers pass these on.
  ...endingsAs('truncated', 'length model_length model_context_window_exceeded max_tokens MAX_TOKENS'),
  ...endingsAs('filtered', 'content_filter sensitive SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII'),
  // Reasons of DeepSeek, GLM and Gemini.
  ...endingsAs('failed', 'insufficient_system_resource network_error MALFORMED_FUNCTION_CALL'),
  refusal: 'refused',
  // A reason of vLLM.
  abort: 'broken_off',
}

function endingOf(choice: RawObject, { content, refusal }: RawObject): ReplyOutcome | null {
  const reason = stringOf(choice['finish_reason'])
  // With this reason, a proxy reports that its server failed in the middle of the reply.
  if (reason === 'error') return failureOf(choice) ?? failedWith(null)
  const isRefused = typeof refusal === 'string' && refusal !== ''
  const detail = ENDINGS[reason] === 'broken_off' ? textIn(content) : stringOf(refusal) || reason
  return endingBy(ENDINGS, reason, detail) ?? (isRefused ? { type: 'refused', explanation: refusal } : null)
}

/** Returns the parts of a content. A list that was collected from a stream can contain plain strings, too. */
const partsIn = (content: unknown): readonly unknown[] =>
  Array.isArray(content) ? content.flat() : typeof content === 'string' ? [content] : []

const textIn = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : partsIn(content)
        .flatMap(contentPart)
        .map((part) => (part.is === 'text' ? part.text : ''))
        .join('')

const thoughtIn = (content: unknown): string =>
  partsIn(content)
    .map(objectOf)
    .filter(isThinking)
    .map(({ thinking }) =>
      typeof thinking === 'string' ? thinking : textOfContents([{ content: thinking }]),
    )
    .join('')

const isThinking = ({ type, thinking }: RawObject): boolean =>
  type === 'thinking' && (typeof thinking === 'string' || Array.isArray(thinking))

/** Returns a text part, or none for an empty string, which many servers send when there is no text. */
const plainText = (text: string): ReplyPart[] => (text === '' ? [] : [replyPart.text(text)])

const refusalPart = (text: string): ReplyPart[] =>
  text === '' ? [] : [replyPart.text(text, { type: 'refusal' })]

function contentPart(part: unknown): ReplyPart[] {
  if (typeof part === 'string') return plainText(part)
  const raw = objectOf(part)
  const { type, text, refusal } = raw
  if (type === 'text' && typeof text === 'string') {
    const more = moreOf(raw, 'type', 'text')
    return more === null ? plainText(text) : [replyPart.text(text, more)]
  }
  if (isThinking(raw)) {
    const more = moreOf(raw, 'type', 'thinking', 'closed')
    return more === null ? [] : [replyPart.other({ thinking: more })]
  }
  return typeof refusal === 'string' ? refusalPart(refusal) : [replyPart.other(raw)]
}

/** Reads content parts, and joins adjacent texts. Texts around a thought stay separate, even if it is not stored. */
function contentParts(content: readonly unknown[]): ReplyPart[] {
  const parts = content.flatMap((part) =>
    isThinking(objectOf(part)) ? [null, ...contentPart(part)] : contentPart(part),
  )
  const runs = runsOf(parts, (one, next) => plainTextOf(one) !== null && plainTextOf(next) !== null)
  return runs.flatMap(([first, ...others]) => {
    if (!first) return []
    return plainTextOf(first) === null ? [first] : plainText([first, ...others].map(plainTextOf).join(''))
  })
}

const plainTextOf = (part: ReplyPart | null): string | null =>
  part?.is === 'text' && part.more === null ? part.text : null

function readCall(call: RawObject, isCutOff: boolean): ReplyPart {
  const isCustom = call['type'] === 'custom'
  const { name: named, input, arguments: args } = objectOf(call[isCustom ? 'custom' : 'function'])
  // vLLM can leave control tokens of gpt-oss after the name.
  const [name] = stringOf(named).split('<|', 1)
  const more = moreOf(call, 'id', 'function', 'index', 'custom', ...(isCustom ? [] : ['type']))
  return isCustom
    ? replyPart.call(call['id'], name, input, isCutOff, { input: null, unfit: CUSTOM, more })
    : replyPart.call(call['id'], name, args, isCutOff, { more })
}
