import type { JsonObject } from '../../event/shapes.ts'
import { isSealed, sentMore } from '../blocks.ts'
import { cacheMarks, type CacheTime, type Mark, type MarkState } from '../cache-marks.ts'
import type { NeutralMessage } from '../message.ts'
import { NO_REASONING } from '../phrases.ts'
import { blockWriter, moveParts, placeholderOf, textPiece } from '../pieces.ts'
import type { Piece, AssistantTurn, Result } from '../limits.ts'
import { isOfModel, type NewMap, type Role, type WriteOptions, type Written } from '../prefix.ts'
import { callsLast, endsInThinking, returnable, thinkingDigest } from '../reply-parts.ts'
import { argumentObject, objectOf, trimTrailing } from '../text.ts'
import { isPaused } from '../turns.ts'
import { extend, replyBlocks, withAnswer, writeRequest } from '../write.ts'
import {
  type AnthropicBlock,
  type AnthropicMessage,
  type AnthropicRequest,
  type AnthropicText,
  type AnthropicToolResult,
  LIMITS,
} from './blocks.ts'

/**
 * Writes the system prompt and the messages of a Messages request. They are valid for any log (law M). A
 * reply is sent back unchanged, with its thinking byte for byte, while everything before the reply is
 * unchanged. After a change before the reply, the reply is sent without signed parts. If `signs` is false,
 * unsigned thinking is sent back to the model that wrote it. Adjacent messages with the same role are merged.
 * The first parts with `cache_prompt` become cache breakpoints, up to the provider's maximum of four. The
 * breakpoints of the options `tools` and `cached` count, too. O(content).
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toAnthropic([{ role: 'user', content: [{ text: 'hi' }], name: null }]) // { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] }
 */
export function toAnthropic(
  messages: readonly NeutralMessage[],
  options: WriteOptions = {},
): AnthropicRequest {
  const start = (list: OpenMessage[], newMap: NewMap) => startWriter(options, list, newMap)
  return writeRequest({ limits: LIMITS, start }, messages, options)
}

interface AnthropicState extends MarkState {
  /** Whether documents have citations enabled; null before the first document. */
  cites: boolean | null
  /**
   * System blocks to write before the next reply or at the end, because the provider accepts system messages
   * only there.
   */
  waiting: AnthropicBlock[]
  last: AssistantTurn | undefined
}

interface OpenMessage {
  readonly role: AnthropicMessage['role']
  readonly content: AnthropicBlock[]
}

function startWriter(options: WriteOptions, list: OpenMessage[], newMap: NewMap) {
  const state: AnthropicState = { remaining: 0, mayBeLong: true, cites: null, waiting: [], last: undefined }
  const mark = cacheMarks(state, options.tools, options.cached)
  const cite = citing(state)
  const tools: readonly { readonly name?: unknown }[] = options.tools ?? [{}]
  // Every tool counts as known if the list is unknown, or contains a tool set without a name.
  const hasTool = (name: unknown): boolean => tools.some((tool) => (tool.name ?? name) === name)
  const callers = newMap<true>()
  let front: AnthropicBlock[] = []
  const close = (): void => {
    if (state.waiting.length > 0) list.push({ role: 'system', content: state.waiting })
    state.waiting = []
  }
  return {
    state,
    piece: (piece: Piece) => ({ ...cite(blockOf(piece)), ...mark(piece.cache, timeOf(piece)) }),
    reply(turn: AssistantTurn, keepsSigned: boolean) {
      state.last = turn
      return reply(turn, keepsSigned, mark, callers, options)
    },
    move: (turn: AssistantTurn) => moveParts(turn, () => false, 'words'),
    // A mark on a part of a result marks the whole result.
    result: (result: Result) => ({
      ...resultBlock(result, cite, hasTool),
      ...mark(
        result.pieces.some(({ cache }) => cache),
        result.pieces.map(timeOf).find((time) => time !== null),
      ),
    }),
    add(source: Role, blocks: AnthropicBlock[]) {
      const role = source === 'assistant' ? source : 'user'
      if (source === 'front') front = blocks
      else if (source === 'system') state.waiting = [...state.waiting, ...blocks]
      else if (list.at(-1)?.role === role && (role === 'user' || state.waiting.length === 0))
        extend(list, 'content', blocks)
      else {
        if (role === 'assistant') close()
        list.push({ role, content: blocks })
      }
    },
    close,
    request(messages: OpenMessage[]): AnthropicRequest {
      const container = state.last?.waits === true && state.last.message.reply?.container
      return {
        // System messages have only texts.
        ...(front.length > 0 && { system: front as AnthropicText[] }),
        messages: messages as AnthropicMessage[],
        ...(typeof container === 'string' && { container }),
      }
    },
  }
}

/** Writes a reply. Thinking must not end a message, so a fixed sentence follows thinking at the end. */
function reply(
  turn: AssistantTurn,
  keepsSigned: boolean,
  mark: Mark,
  callers: Map<unknown, true>,
  { model = '', signs = true, reasoning }: WriteOptions,
): Written<AnthropicBlock>[] {
  const refs = keepsSigned ? turn.refs : callsLast(turn.refs)
  const blocks = replyBlocks<AnthropicBlock>({ ...turn, refs }, keepsSigned, {
    text: ({ text, cache }, more) => ({ type: 'text', text, ...mark(cache), ...more }),
    thinking(block) {
      const isUnsigned = 'thinking' in block && !block.signature
      const { outcome, interrupted, digest: ownValue } = turn.message.reply ?? {}
      // Interrupted or redacted thinking may lack its signature.
      const isWhole = outcome === undefined && interrupted !== true && ownValue === undefined
      if (!signs && isUnsigned && isWhole && isOfModel(turn.message, LIMITS.grammar, model)) {
        const { type, thinking, signature } = block
        return {
          type,
          thinking: thinking.toWellFormed(),
          ...(signature === '' && { signature }),
        } as AnthropicBlock
      }
      const sent = keepsSigned ? returnable(block) : null
      return sent && ('data' in sent ? { type: 'redacted_thinking', ...sent } : { type: 'thinking', ...sent })
    },
    call: ({ id, name, source }, more) => ({
      type: 'tool_use',
      id,
      name,
      input: argumentObject(source.arguments),
      ...more,
    }),
    other(value) {
      if (!keepsSigned && isSealed(LIMITS, value)) return null
      const sent = withKnownCaller(value, callers)
      if (value['type'] === 'server_tool_use') callers.set(value['id'], true)
      return sent
    },
    more: ({ kind, more }) => sentMore(more && withKnownCaller(more, callers), LIMITS.more[kind]),
  })
  const isUnthought = blocks[0]?.block.type.endsWith('thinking') !== true
  if (reasoning !== undefined && turn.calls.length > 0 && isUnthought) blocks.unshift(noThinking())
  if (endsInThinking(turn.message, refs)) return withAnswer(blocks, (text) => ({ type: 'text', text }))
  return isPaused(turn, LIMITS) ? trimmedAtEnd(blocks) : blocks
}

/** Returns a placeholder for missing thinking, for servers that require thinking in every reply with calls. */
function noThinking(): Written<AnthropicBlock> {
  const block = { type: 'thinking', thinking: NO_REASONING } as const
  return { block: block as AnthropicBlock, digest: () => thinkingDigest(block) }
}

/**
 * Trims the end of a paused reply, because the provider refuses trailing white space in a final message.
 * Trims earlier paused replies too, so that the prefix stays the same.
 */
function trimmedAtEnd(blocks: Written<AnthropicBlock>[]): Written<AnthropicBlock>[] {
  const last = blocks.at(-1)
  if (last?.block.type !== 'text') return blocks
  const text = trimTrailing(last.block.text)
  return text === '' ? blocks : blocks.with(blocks.length - 1, { ...last, block: { ...last.block, text } })
}

function withKnownCaller(value: JsonObject, callers: ReadonlyMap<unknown, true>): JsonObject {
  const { caller, ...rest } = value
  const { tool_id } = objectOf(caller)
  return tool_id === undefined || callers.has(tool_id) ? value : rest
}

function resultBlock(
  { call, pieces, isError }: Result,
  cite: Cite,
  hasTool: (tool: unknown) => boolean,
): AnthropicToolResult {
  const content = pieces.map((piece) => cite(blockOf(withKnownTool(piece, hasTool)))) as NonNullable<
    AnthropicToolResult['content']
  >
  return {
    type: 'tool_result',
    tool_use_id: call.id,
    ...(content.length > 0 && { content }),
    ...(isError && { is_error: true }),
  }
}

/** Writes a placeholder for a reference to a tool that the request lacks: the provider refuses such a reference. */
const withKnownTool = (piece: Piece, hasTool: (tool: unknown) => boolean): Piece =>
  piece.type !== 'block' || piece.block['type'] !== 'tool_reference' || hasTool(piece.block['tool_name'])
    ? piece
    : textPiece(placeholderOf(piece.source))

const blockOf = /* @__PURE__ */ blockWriter<AnthropicBlock>(
  (text) => ({ type: 'text', text }),
  (image) => ({
    type: 'image',
    source:
      image.from === 'web'
        ? { type: 'url', url: image.url }
        : { type: 'base64', media_type: image.mediaType, data: image.data },
  }),
)

function timeOf(piece: Piece): CacheTime | null {
  const { ttl } = objectOf(piece.type === 'block' && (piece.source as JsonObject)['cache_control'])
  return ttl === '1h' || ttl === '5m' ? ttl : null
}

type Cite = (block: AnthropicBlock) => AnthropicBlock

/**
 * Enables citations for all documents of a request or for none, as the provider requires. All documents
 * have the setting of the first one, so that a longer history changes no earlier block. O(1) per block.
 */
const citing =
  (state: AnthropicState): Cite =>
  (block) => {
    if (block.type !== 'document' && block.type !== 'search_result') return block
    const { citations, ...rest } = block
    const isCited = citations?.enabled === true
    state.cites ??= isCited
    return isCited === state.cites ? block : { ...rest, ...(state.cites && { citations: { enabled: true } }) }
  }
