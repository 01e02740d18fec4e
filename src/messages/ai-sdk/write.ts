import type { JsonObject } from '../../event/shapes.ts'
import { isSealed } from '../blocks.ts'
import { digestOf } from '../digest.ts'
import type { AssistantMessage, NeutralMessage, Thinking } from '../message.ts'
import { isText, joinTexts, moveParts, blockWriter } from '../pieces.ts'
import type { Piece, FieldRef, OtherRef, PartRef, AssistantTurn, Result } from '../limits.ts'
import type { Role, WriteOptions, Written } from '../prefix.ts'
import { returnable, textsOfPart } from '../reply-parts.ts'
import { argumentObject, isWhitespace } from '../text.ts'
import { replyBlocks, withAnswer, writeRequest } from '../write.ts'
import { LIMITS, optionsOf } from './blocks.ts'
import type {
  AiSdkMessage,
  AiSdkPart,
  AiSdkReasoning,
  AiSdkReplyPart,
  AiSdkResultPart,
  AiSdkText,
  AiSdkToolResult,
} from './blocks.ts'

/**
 * Writes messages for the AI SDK. They are valid for any log (law M). If they begin with system messages,
 * pass `allowSystemInMessages` to the SDK, or pass the system messages separately as its `instructions`.
 * Provider data, and thinking with Anthropic's signature, are sent only while their reply's prefix is
 * unchanged. Unsigned thinking is sent as a reasoning part without provider data. If a reply has no thinking,
 * its `reasoning_content` is sent in this way. OpenAI's reasoning items are left out, because the SDK would
 * send only their ids. O(content).
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toAiSdk([{ role: 'user', content: [{ text: 'hi' }], name: null }]) // [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
 */
export function toAiSdk(messages: readonly NeutralMessage[], options: WriteOptions = {}): AiSdkMessage[] {
  return writeRequest({ limits: LIMITS, start }, messages, options)
}

const start = (list: AiSdkMessage[]) => ({
  piece: blockOf,
  reply,
  result: resultBlock,
  move: (turn: AssistantTurn) => moveParts(turn, ({ image }) => image.from === 'web', 'words'),
  add(role: Role, parts: Part[]) {
    if (role === 'front')
      list.push({ role: 'system', content: (parts as AiSdkText[]).map(({ text }) => text).join('\n') })
    else list.push({ role: role === 'result' ? 'tool' : role, content: parts } as AiSdkMessage)
  },
  request: (messages: AiSdkMessage[]) => messages,
})

type Part = AiSdkReplyPart | AiSdkPart

function reply(turn: AssistantTurn, keepsSigned: boolean): Written<Part>[] {
  const { refs, message } = turn
  const sealed = sealedIn(refs)
  const parts = replyBlocks<Part>(turn, keepsSigned, {
    text: ({ text }, more) => ({ type: 'text', text, ...more }),
    thinking: (block, more, ref) => reasoning(block, more, ref, keepsSigned),
    call: ({ id, name, source }, more) => ({
      type: 'tool-call',
      toolCallId: id,
      toolName: name,
      input: argumentObject(source.arguments),
      ...more,
    }),
    other(value, ref) {
      const { providerOptions: _, ...bare } = value
      return keepsSigned ? value : sealed.has(ref) ? null : bare
    },
    more(ref) {
      const block = ref.kind === 'thinking' ? message.thinking_blocks[ref.index] : undefined
      const providerOptions = keepsSigned && !(block !== undefined && isSigned(block)) ? optionsOf(ref) : null
      return providerOptions === null ? null : { providerOptions }
    },
  })
  const plainReasoning = reasoningText(message)
  const all = plainReasoning === null ? parts : [plainReasoning, ...parts]
  const ends = endsInReasoning(turn, plainReasoning !== null)
  return ends ? withAnswer(all, (text) => ({ type: 'text', text })) : all
}

const isSendable = (block: Thinking): boolean => returnable(block) !== null || isUnsigned(block)

const isUnsigned = (block: Thinking): boolean =>
  'thinking' in block && !block.signature && !isWhitespace(block.thinking)

const isSigned = (block: Thinking): boolean => !('thinking' in block) || !!block.signature

/**
 * Returns the parts to leave out when a reply is sent without signed parts. These are the parts, except
 * files, that are stored whole and have provider data. Files are sent without this data. A call and its
 * result are left out together.
 */
function sealedIn(refs: readonly PartRef[]): ReadonlySet<PartRef> {
  const others = refs.filter((ref) => ref.kind === 'other' && ref.placeholder === null) as OtherRef[]
  const ids = new Set(others.filter(isSealedPart).flatMap(({ value }) => value['toolCallId'] ?? []))
  return new Set(others.filter((ref) => isSealedPart(ref) || ids.has(ref.value['toolCallId'] ?? null)))
}

const isSealedPart = ({ value }: OtherRef): boolean => value['type'] !== 'file' && isSealed(LIMITS, value)

function reasoning(
  block: Thinking,
  more: JsonObject | null,
  ref: FieldRef,
  keepsSigned: boolean,
): AiSdkReasoning | null {
  const text = 'thinking' in block ? block.thinking.toWellFormed() : ''
  if (optionsOf(ref) !== null && !isSigned(block))
    return keepsSigned ? { type: 'reasoning', text, ...more } : null
  const sent = returnable(block)
  if (sent === null) return isUnsigned(block) ? { type: 'reasoning', text } : null
  if (!keepsSigned) return null
  return 'data' in sent
    ? { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: sent.data } } }
    : {
        type: 'reasoning',
        text: sent.thinking,
        providerOptions: { anthropic: { signature: sent.signature } },
      }
}

function reasoningText({
  thinking_blocks,
  reasoning_content,
}: AssistantMessage): Written<AiSdkReasoning> | null {
  if (isWhitespace(reasoning_content ?? '') || thinking_blocks.some(isSendable)) return null
  const text = (reasoning_content ?? '').toWellFormed()
  return { block: { type: 'reasoning', text }, digest: () => digestOf(text) }
}

function endsInReasoning({ message, refs }: AssistantTurn, hasPlainReasoning: boolean): boolean {
  const sealed = sealedIn(refs)
  const isVisible = (ref: PartRef, all: boolean): boolean => {
    if (ref.kind === 'other') return all || !sealed.has(ref)
    const { kind, index } = ref
    const [text, block] = [message.content[index], message.thinking_blocks[index]]
    if (kind === 'text') return text !== undefined && textsOfPart(text, false).length > 0
    if (kind === 'call' || block === undefined) return kind === 'call'
    return all ? optionsOf(ref) !== null || isSendable(block) : isUnsigned(block)
  }
  return [true, false].some((all) => {
    const last = refs.findLast((ref) => isVisible(ref, all))
    return last === undefined ? hasPlainReasoning : last.kind === 'thinking'
  })
}

function resultBlock({ call, pieces, isError }: Result): AiSdkToolResult {
  const ends = { type: 'tool-result', toolCallId: call.id, toolName: call.name } as const
  if (pieces.every(isText))
    return { ...ends, output: { type: isError ? 'error-text' : 'text', value: joinTexts(pieces) } }
  return { ...ends, output: { type: 'content', value: pieces.map(resultPart) } }
}

const blockOf = /* @__PURE__ */ blockWriter<AiSdkPart>(
  (text) => ({ type: 'text', text }),
  (image) =>
    image.from === 'web'
      ? { type: 'file', mediaType: 'image', data: image.url }
      : { type: 'file', mediaType: image.mediaType, data: { type: 'data', data: image.data } },
)

/** Writes a piece of a result. Web images, which need URL objects in a result, are in a user message instead. */
const resultPart = (piece: Piece): AiSdkResultPart =>
  piece.type === 'image' && piece.image.from === 'web'
    ? { type: 'text', text: piece.image.url }
    : (blockOf(piece) as AiSdkResultPart)
