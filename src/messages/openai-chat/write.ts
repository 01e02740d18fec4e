import type { JsonObject } from '../../event/shapes.ts'
import { isSealed, kindName, sentMore } from '../blocks.ts'
import { memoize } from '../digest.ts'
import { urlOf } from '../files.ts'
import type { AssistantMessage, NeutralMessage } from '../message.ts'
import { NO_ANSWER, NO_REASONING } from '../phrases.ts'
import { isText, joinTexts, moveParts, blockWriter } from '../pieces.ts'
import type { AssistantTurn, Call, Result, Turn } from '../limits.ts'
import { isOfModel, type Role, type WriteOptions } from '../prefix.ts'
import { argumentText } from '../text.ts'
import { replyBlocks, writeRequest } from '../write.ts'
import { LIMITS, REASONING } from './blocks.ts'
import type { ChatMessage, ChatPart, ChatToolCall } from './rules.ts'

const NAME = /^[\w-]{1,64}$/

interface ReplyPart {
  readonly content?: string
  readonly refused?: string
  readonly call?: ChatToolCall
  readonly reasoning_content?: string
}

/**
 * Writes the messages of a Chat Completions request. They are valid for any log (law M). Thinking and
 * reasoning items of other grammars are left out, because this grammar has no place for them. Server-specific
 * fields are sent back to the model that wrote them, but signed fields only while their reply's prefix is
 * unchanged. By default, `reasoning_content` is sent only in messages with calls. Images of tool results
 * follow in a user message. O(content).
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toOpenAIChat([{ role: 'user', content: [{ text: 'hi' }], name: null }]) // [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
 */
export function toOpenAIChat(messages: readonly NeutralMessage[], options: WriteOptions = {}): ChatMessage[] {
  const limits = options.callIds === undefined ? LIMITS : { ...LIMITS, callIds: options.callIds }
  const start = (list: ChatMessage[]) => startWriter(options, list)
  return writeRequest({ limits, start }, messages, options)
}

type ChatBlock = ChatPart | ChatMessage | ReplyPart

const startWriter = (options: WriteOptions, list: ChatMessage[]) => ({
  piece: partOf,
  reply(turn: AssistantTurn, keepsSigned: boolean) {
    const { model } = options
    const isOwn = model === undefined || isOfModel(turn.message, LIMITS.grammar, model)
    // A Gemini model requires the signatures of other Gemini models, too.
    const keepsFields = isOwn || /gemini/i.test(model)
    return replyBlocks<ReplyPart>(turn, keepsSigned, {
      text: ({ text }, more) =>
        text === '' ? null : more?.['type'] === 'refusal' ? { refused: text } : { content: text },
      call: (call, more) => ({ call: toolCall(call, more) }),
      other(value) {
        if (isSealed(LIMITS, value)) return keepsSigned ? withCallIds(value, turn.calls) : null
        return isOwn ? reasoningIn(value, turn.message, options) : null
      },
      more: ({ kind, more }) => sentMore(more, keepsFields ? LIMITS.more[kind] : LIMITS.more.text),
    })
  },
  result: ({ call, pieces }: Result): ChatBlock => ({
    role: 'tool',
    tool_call_id: call.id,
    content: joinTexts(pieces.filter(isText)),
  }),
  move: (turn: AssistantTurn) => moveParts(turn, () => true, 'any'),
  add(role: Role, blocks: ChatBlock[], turn: Turn | null) {
    if (role === 'result') list.push(...(blocks as ChatMessage[]))
    else if (role === 'assistant') list.push(assistantMessage(blocks as ReplyPart[], options))
    else {
      const isAnswered = options.answersResults === true && list.at(-1)?.role === 'tool'
      if (isAnswered) list.push({ role: 'assistant', content: NO_ANSWER })
      const parts = blocks as ChatPart[]
      const isPlain = options.plainText === true && parts.every((part) => part.type === 'text')
      const name = turn?.role === 'user' ? (turn.name ?? '') : ''
      list.push({
        // Servers that require an answer also refuse a system message after it.
        role: role === 'user' || isAnswered ? 'user' : 'system',
        content: isPlain ? joined(parts.map(({ text }) => text)) : parts,
        // System prompts have only texts, and no name.
        ...(NAME.test(name) && { name }),
      } as ChatMessage)
    }
  },
  request: (messages: ChatMessage[]) => messages,
})

function assistantMessage(
  parts: readonly ReplyPart[],
  { callContent, reasoning }: WriteOptions,
): ChatMessage {
  const texts = parts.flatMap(({ content }) => content ?? [])
  const refusals = parts.flatMap(({ refused }) => refused ?? [])
  const tool_calls = parts.flatMap(({ call }) => call ?? [])
  const all: ReplyPart = {}
  for (const part of parts) Object.assign(all, part)
  const { content: _, refused: __, call: ___, ...fields } = all
  const isCall = tool_calls.length > 0
  return {
    ...fields,
    ...(isCall && reasoning !== undefined && { reasoning_content: fields.reasoning_content || NO_REASONING }),
    role: 'assistant',
    ...(isCall && callContent !== undefined && { content: callContent }),
    ...(texts.length > 0 && { content: joined(texts) }),
    ...(refusals.length > 0 && { refusal: joined(refusals) }),
    ...(isCall && { tool_calls }),
  } as ChatMessage
}

const joined = (texts: readonly string[]): string => texts.join('\n')

const reasoningFields = /* @__PURE__ */ memoize(({ reasoning_content }: AssistantMessage) => {
  const text = (reasoning_content ?? '').toWellFormed()
  return Object.fromEntries(REASONING.map((field) => [field, { [field]: text }]))
})

function reasoningIn(value: JsonObject, message: AssistantMessage, options: WriteOptions): JsonObject | null {
  const field = kindName(value)
  if (!REASONING.includes(field)) return value
  const isWanted =
    field !== 'reasoning_content' || message.tool_calls.length > 0 || options.reasoning === 'all'
  if (!isWanted) return null
  return typeof value[field] === 'string' ? value : (reasoningFields(message)[field] ?? null)
}

/** Replaces call ids in reasoning with the ids in the request, because the server refuses an unknown id. */
function withCallIds(value: JsonObject, calls: readonly Call[]): JsonObject {
  const details = value['reasoning_details'] as JsonObject[] | undefined
  const renamed = calls.filter(({ id, source }) => id !== source.id)
  if (details === undefined || renamed.length === 0) return value
  const ids = new Map<unknown, JsonObject>(renamed.map(({ id, source }) => [source.id, { id }]))
  return { reasoning_details: details.map((each) => ({ ...each, ...ids.get(each['id']) })) }
}

function toolCall({ id, name, source }: Call, more: JsonObject | null): ChatToolCall {
  const { type, ...fields } = more ?? {}
  return type === 'custom'
    ? { ...fields, id, type, custom: { name, input: source.arguments.toWellFormed() } }
    : { ...fields, id, type: 'function', function: { name, arguments: argumentText(source.arguments) } }
}

const partOf = /* @__PURE__ */ blockWriter<ChatPart>(
  (text) => ({ type: 'text', text }),
  (image) => ({ type: 'image_url', image_url: { url: urlOf(image) } }),
)
