/**
 * Writes neutral messages for the AI SDK as ModelMessages of plain JSON, and proves of each reply that it stands behind
 * what it saw.
 */

import type { JsonObject } from '../../event/shapes.ts'
import { argumentObject } from '../arguments.ts'
import { type Digest, digestOf, followedBy } from '../digest.ts'
import { isSealed } from '../kinds.ts'
import type { AssistantMessage, NeutralMessage } from '../message.ts'
import { moveParts } from '../moved-parts.ts'
import { otherDigest } from '../other-parts.ts'
import { thinkingDigest } from '../own-digest.ts'
import { NO_ANSWER } from '../phrases.ts'
import { isText, joinTexts, type Piece, pieceDigest, type TextPiece, textPiece } from '../pieces.ts'
import { startProof, type WriteOptions } from '../prefix.ts'
import type { FieldRef, OtherRef, PartRef } from '../reply-parts.ts'
import { isWhitespace, wellFormed } from '../text.ts'
import { returnable } from '../thinking.ts'
import { textsOfPart } from '../thinking-parts.ts'
import { type AssistantTurn, type Call, type Result, turnsOf } from '../turns.ts'
import { callDigest, resultDigest, type Role, type Written } from '../written.ts'
import { LIMITS, optionsOf } from './limits.ts'
import type { AiSdkCustom, AiSdkPart } from './part-shapes.ts'
import type {
  AiSdkAssistantMessage,
  AiSdkImageData,
  AiSdkMessage,
  AiSdkReasoning,
  AiSdkText,
  AiSdkToolCall,
  AiSdkToolResult,
  AiSdkUserMessage,
} from './types.ts'

type AssistantPart = AiSdkAssistantMessage['content'][number]

/**
 * The messages for the AI SDK; valid whatever the log holds (law M). The SDK takes a leading system message only with
 * `allowSystemInMessages`; without, give its content as `instructions` and the others as `messages`. Thinking is sent
 * with what Anthropic needs to check it, as long as its reply stands behind what it saw; where a reply has none, its
 * reasoning text is. What a provider had added to the parts of a reply goes back with them in the same way. Reasoning
 * items of OpenAI's Responses grammar are left out: by default the SDK would send their ids alone. O(content).
 *
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * toAiSdk([{ role: 'user', content: [{ text: 'hi' }], name: null }]) // [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
 */
export function toAiSdk(messages: readonly NeutralMessage[], options: WriteOptions = {}): AiSdkMessage[] {
  const { system, turns } = turnsOf(messages, LIMITS)
  const proof = startProof(LIMITS.grammar, options)
  const out: AiSdkMessage[] = []
  const prove = (role: Role, pieces: readonly Piece[]): void => {
    for (const block of pieces) proof.add(role, { block, digest: () => pieceDigest(block) })
  }
  prove('front', system)
  if (system.length > 0) out.push({ role: 'system', content: joinTexts(system) })
  for (const turn of turns) {
    if (turn.role === 'system') continue
    if (turn.role === 'user') {
      prove('user', turn.pieces)
      out.push({ role: 'user', content: turn.pieces.map(userPart) })
      continue
    }
    const parts = replyParts(turn, proof.keeps(turn))
    for (const part of parts) proof.add('assistant', part)
    // The SDK refuses no message without parts, but providers do.
    if (parts.length > 0) out.push({ role: 'assistant', content: parts.map(({ block }) => block) })
    if (turn.results.length === 0) continue
    const moved = moveParts(turn, ({ image }) => image.from === 'web', 'words')
    for (const block of moved.results) proof.add('user', { block, digest: () => resultDigest(block) })
    out.push({ role: 'tool', content: moved.results.map(toolResult) })
    prove('user', moved.pieces)
    if (moved.pieces.length > 0) out.push({ role: 'user', content: moved.pieces.map(userPart) })
  }
  proof.record(out, out)
  return out
}

/**
 * The parts of a reply. Texts before its last signed part stay as they came, as that part is bound to them. A reply
 * that ends in reasoning has a fixed sentence behind it.
 */
function replyParts(turn: AssistantTurn, keeps: boolean): Written<AssistantPart>[] {
  const { refs, bound, message, calls } = turn
  const sealed = sealedIn(refs)
  const parts = refs.flatMap((ref, place): Written<AssistantPart>[] => {
    if (ref.kind === 'other') return keeps || !sealed.has(ref) ? [otherPart(ref, keeps)] : []
    const { kind, at } = ref
    const options = keeps ? optionsOf(ref) : null
    switch (kind) {
      case 'thinking':
        return reasoningPart(message.thinking_blocks[at], ref, keeps)
      case 'text': {
        const part = message.content[at]
        const pieces = part === undefined ? [] : textsOfPart(part, keeps && place < bound)
        return pieces.map((piece) => withOptions(textPart(piece), options))
      }
      case 'call': {
        const call = calls[at]
        return call === undefined ? [] : [withOptions(callPart(call), options)]
      }
      default:
        return []
    }
  })
  const told = reasoningText(message)
  const all = told === null ? parts : [told, ...parts]
  return endsInReasoning(turn, told !== null) ? [...all, textPart(textPiece(NO_ANSWER))] : all
}

type Thinking = AssistantMessage['thinking_blocks'][number]

/** Whether a block is sent: signed, or never signed at all; what was signed and cannot go back is not. */
const isTold = (block: Thinking): boolean => returnable(block) !== null || isUnsigned(block)

/** Whether a block says something, and never was signed. */
const isUnsigned = (block: Thinking): boolean =>
  'thinking' in block && !block.signature && !isWhitespace(block.thinking)

/** A part with what its provider has added for itself. */
function withOptions<Part extends AssistantPart>(
  written: Written<Part>,
  options: JsonObject | null,
): Written<Part> {
  if (options === null) return written
  return {
    block: { ...written.block, providerOptions: options },
    digest: () => followedBy(written.digest(), otherDigest(options)),
  }
}

/**
 * The parts of other kinds that are left out with the signed parts of their reply: those with what only their provider
 * knows, but for files, which go without that, and of a call and its result both.
 */
function sealedIn(refs: readonly PartRef[]): ReadonlySet<PartRef> {
  const others = refs.filter((ref) => ref.kind === 'other' && ref.placeholder === null) as OtherRef[]
  const ids = new Set(others.filter(isSealedPart).flatMap(({ value }) => value['toolCallId'] ?? []))
  return new Set(others.filter((ref) => isSealedPart(ref) || ids.has(ref.value['toolCallId'] ?? null)))
}

const isSealedPart = ({ value }: OtherRef): boolean => value['type'] !== 'file' && isSealed(LIMITS, value)

/** A part of another kind, or the words for it. */
function otherPart({ value, placeholder }: OtherRef, keeps: boolean): Written<AssistantPart> {
  if (placeholder !== null) return textPart(textPiece(placeholder))
  const { providerOptions: _, ...bare } = value
  const sent = keeps ? value : bare
  return { block: sent as unknown as AssistantPart, digest: () => otherDigest(sent) }
}

function reasoningPart(
  block: Thinking | undefined,
  ref: FieldRef,
  keeps: boolean,
): Written<AiSdkReasoning>[] {
  const options = optionsOf(ref)
  if (block !== undefined && options !== null && 'thinking' in block && !block.signature) {
    if (!keeps) return []
    const text = wellFormed(block.thinking)
    return [withOptions({ block: { type: 'reasoning', text }, digest: () => thinkingDigest(block) }, options)]
  }
  if (block === undefined || !isTold(block)) return []
  const sent = returnable(block)
  if (sent === null) {
    const text = 'thinking' in block ? wellFormed(block.thinking) : ''
    return [{ block: { type: 'reasoning', text }, digest: () => thinkingDigest(block) }]
  }
  if (!keeps) return []
  const part: AiSdkReasoning =
    'data' in sent
      ? { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: sent.data } } }
      : {
          type: 'reasoning',
          text: sent.thinking,
          providerOptions: { anthropic: { signature: sent.signature } },
        }
  return [{ block: part, digest: () => thinkingDigest(block) }]
}

/** The reasoning text of a reply without thinking that could be sent. */
function reasoningText({
  thinking_blocks,
  reasoning_content,
}: AssistantMessage): Written<AiSdkReasoning> | null {
  if (isWhitespace(reasoning_content ?? '') || thinking_blocks.some(isTold)) return null
  const text = wellFormed(reasoning_content ?? '')
  return { block: { type: 'reasoning', text }, digest: (): Digest => digestOf(text) }
}

/** Whether the last part that says something is reasoning, with all parts or without those that may be left out. */
function endsInReasoning({ message, refs }: AssistantTurn, told: boolean): boolean {
  const sealed = sealedIn(refs)
  const says = (ref: PartRef, all: boolean): boolean => {
    if (ref.kind === 'other') return all || !sealed.has(ref)
    const { kind, at } = ref
    const [text, block] = [message.content[at], message.thinking_blocks[at]]
    if (kind === 'text') return text !== undefined && textsOfPart(text, false).length > 0
    if (kind === 'call' || block === undefined) return kind === 'call'
    return all ? optionsOf(ref) !== null || isTold(block) : isUnsigned(block)
  }
  return [true, false].some((all) => {
    const last = refs.findLast((ref) => says(ref, all))
    return last === undefined ? told : last.kind === 'thinking'
  })
}

const textPart = (piece: TextPiece): Written<AiSdkText> => ({
  block: { type: 'text', text: piece.text },
  digest: () => pieceDigest(piece),
})

function callPart(call: Call): Written<AiSdkToolCall> {
  const { id, name, source } = call
  const input = argumentObject(source.arguments)
  return {
    block: { type: 'tool-call', toolCallId: id, toolName: name, input },
    digest: () => callDigest(call),
  }
}

function toolResult({ call, pieces, isError }: Result): AiSdkToolResult {
  const ends = { type: 'tool-result', toolCallId: call.id, toolName: call.name } as const
  if (pieces.every(isText)) {
    return { ...ends, output: { type: isError ? 'error-text' : 'text', value: joinTexts(pieces) } }
  }
  return { ...ends, output: { type: 'content', value: pieces.map(resultPart) } }
}

function userPart(piece: Piece): AiSdkUserMessage['content'][number] {
  if (piece.type === 'text') return { type: 'text', text: piece.text }
  // The table of parts has proved its shape.
  if (piece.type === 'block') return { ...piece.block } as object as AiSdkPart
  const { image } = piece
  if (image.from === 'web') return { type: 'file', mediaType: 'image', data: image.url }
  return { type: 'file', mediaType: image.mediaType, data: { type: 'data', data: image.data } }
}

/** A web address has moved into a user message before: in a result it would have to be a URL object. */
function resultPart(piece: Piece): AiSdkText | AiSdkImageData | AiSdkCustom {
  if (piece.type === 'text') return { type: 'text', text: piece.text }
  if (piece.type === 'block') return { ...piece.block } as object as AiSdkCustom
  const { image } = piece
  if (image.from === 'web') return { type: 'text', text: image.url }
  return { type: 'file', mediaType: image.mediaType, data: { type: 'data', data: image.data } }
}
