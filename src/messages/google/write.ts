/** Writes neutral messages for Google's Gemini, and proves of each reply that it stands behind what it saw. */

import { argumentObject } from '../arguments.ts'
import { digestOf, digestOfAll } from '../digest.ts'
import type { Image } from '../images.ts'
import type { NeutralMessage } from '../message.ts'
import { moveImages } from '../moved-images.ts'
import { thinkingDigest } from '../own-digest.ts'
import { NO_ANSWER } from '../phrases.ts'
import { isText, joinTexts, type Piece, pieceDigest, type TextPiece, textPiece } from '../pieces.ts'
import { startProof, type WriteOptions } from '../prefix.ts'
import { isWhitespace, wellFormed } from '../text.ts'
import { textsOfPart } from '../thinking-parts.ts'
import { type AssistantTurn, type Call, type Result, turnsOf } from '../turns.ts'
import { callDigest, resultDigest, type Role, type Written } from '../written.ts'
import { LIMITS, signatureOf, thoughtsOf, typeOfUrl } from './limits.ts'
import type {
  GoogleContent,
  GoogleFileData,
  GoogleFunctionCall,
  GoogleFunctionResponse,
  GoogleInlineData,
  GooglePart,
  GoogleRequest,
  GoogleSignature,
  GoogleText,
} from './types.ts'

/** What the provider takes in place of a signature, where a call was made by another model or lost its own. */
export const NO_SIGNATURE = 'skip_thought_signature_validator'

/**
 * The system instruction and the contents of a `generateContent` request; valid whatever the log holds (law M). A
 * reply goes back as it came, each signature on its own part, as long as it stands behind what it saw; otherwise
 * without its signatures. The first call of a reply without one carries the provider's own word for that, as newer
 * models refuse it otherwise. Results of one reply are one content, and nothing else stands in it; their images are
 * parts of the result, which takes Gemini 3 or later. O(content).
 *
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * const { contents } = toGoogle([{ role: 'user', content: [{ text: 'hi' }], name: null }])
 * contents // [{ role: 'user', parts: [{ text: 'hi' }] }]
 */
export function toGoogle(messages: readonly NeutralMessage[], options: WriteOptions = {}): GoogleRequest {
  const { system, turns } = turnsOf(messages, LIMITS)
  const proof = startProof(LIMITS.grammar, options)
  const contents: GoogleContent[] = []
  /** The content that more of what a user says joins; never one with results. */
  let open: GoogleContent | null = null
  const add = (role: Role, parts: readonly Written<GooglePart>[]): GoogleContent => {
    for (const written of parts) proof.add(role, written)
    const content: GoogleContent = {
      role: role === 'assistant' ? 'model' : 'user',
      parts: parts.map(({ block }) => block),
    }
    contents.push(content)
    return content
  }
  const say = (pieces: readonly Piece[]): void => {
    if (pieces.length === 0) return
    const parts = pieces.map(piecePart)
    if (open === null) open = add('user', parts)
    else {
      for (const written of parts) proof.add('user', written)
      open.parts.push(...parts.map(({ block }) => block))
    }
  }
  for (const block of system) proof.add('front', { block, digest: () => pieceDigest(block) })
  for (const turn of turns) {
    if (turn.role === 'system') continue
    if (turn.role === 'user') {
      say(turn.pieces)
      continue
    }
    add('assistant', replyParts(turn, proof.keeps(turn)))
    open = null
    if (turn.results.length === 0) continue
    const moved = moveImages(turn.results, ({ image }) => image.from === 'web')
    add('user', inOrder(moved.results, turn.calls).map(resultPart))
    say(moved.pieces)
  }
  const request: GoogleRequest = {
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system.map(({ text }) => ({ text })) } }),
    contents,
  }
  proof.record(request, contents)
  return request
}

/** The results in the order of their calls, as the provider may tell them apart by that alone. */
function inOrder(results: readonly Result[], calls: readonly Call[]): readonly Result[] {
  const places = new Map(calls.map(({ id }, at) => [id, at]))
  const placeOf = ({ call }: Result): number => places.get(call.id) ?? 0
  return results.toSorted((one, other) => placeOf(one) - placeOf(other))
}

/**
 * The parts of a reply. Texts before its last signed part stay as they came. A reply that says nothing but what the
 * model thought has a fixed sentence behind it.
 */
function replyParts(turn: AssistantTurn, keeps: boolean): Written<GooglePart>[] {
  const { refs, bound, message, calls, texts } = turn
  const parts = refs.flatMap((ref, place): Written<GooglePart>[] => {
    const { kind, at } = ref
    const signature = keeps && ref.kind !== 'other' ? signatureOf(message, ref) : null
    switch (kind) {
      case 'thinking':
        return thoughtPart(turn, at, signature)
      case 'text': {
        const part = message.content[at]
        return part === undefined ? [] : textsOfPart(part, keeps && place < bound).map(textPart)
      }
      case 'call': {
        const call = calls[at]
        return call === undefined ? [] : [callPart(call, signature ?? (at === 0 ? NO_SIGNATURE : null))]
      }
      case 'other':
        return ref.placeholder === null ? [] : [textPart(textPiece(ref.placeholder))]
      default:
        return []
    }
  })
  return calls.length + texts.length > 0 ? parts : [...parts, textPart(textPiece(NO_ANSWER))]
}

/** A thought as it came; a signed one only under its signature. */
function thoughtPart(
  { message }: AssistantTurn,
  at: number,
  signature: string | null,
): Written<GoogleText>[] {
  const block = thoughtsOf(message)[at]
  if (block === undefined || !('thinking' in block)) return []
  if (signature === null && (block.signature || isWhitespace(block.thinking))) return []
  const text = wellFormed(block.thinking)
  return [{ block: { text, thought: true, ...signed(signature) }, digest: () => thinkingDigest(block) }]
}

const signed = (signature: string | null): GoogleSignature =>
  signature === null ? {} : { thoughtSignature: signature }

const textPart = (piece: TextPiece): Written<GoogleText> => ({
  block: { text: piece.text },
  digest: () => pieceDigest(piece),
})

function callPart(call: Call, signature: string | null): Written<GoogleFunctionCall> {
  const { id, source } = call
  const args = argumentObject(source.arguments)
  return {
    block: {
      functionCall: { id, name: functionName(source.name), args },
      ...signed(signature),
    },
    digest: () => digestOfAll(callDigest(call), digestOf(signature ?? '')),
  }
}

/** The images stand behind the words, wherever among them the tool has put them. */
function resultPart(result: Result): Written<GoogleFunctionResponse> {
  const { call, pieces, isError } = result
  const text = joinTexts(pieces.filter(isText))
  const images = pieces.flatMap((piece) =>
    piece.type === 'image' && piece.image.from === 'data' ? [inlineData(piece.image)] : [],
  )
  return {
    block: {
      functionResponse: {
        id: call.id,
        name: functionName(call.source.name),
        response: isError ? { error: text } : { output: text },
        ...(images.length === 0 ? {} : { parts: images }),
      },
    },
    digest: () => resultDigest(result),
  }
}

/** The provider takes some names that others refuse, and demands of each that no digit or dash leads it. */
function functionName(given: string): string {
  const legal = given.replace(/[^a-zA-Z0-9_.:-]/gu, '_') || 'tool'
  return (/^[a-zA-Z_]/.test(legal) ? legal : `_${legal}`).slice(0, LIMITS.toolNameLength)
}

function piecePart(piece: Piece): Written<GooglePart> {
  if (piece.type === 'text') return textPart(piece)
  const { image } = piece
  return {
    block: image.from === 'web' ? fileData(image) : inlineData(image),
    digest: () => pieceDigest(piece),
  }
}

const inlineData = ({ mediaType, data }: Image & { readonly from: 'data' }): GoogleInlineData => ({
  inlineData: { mimeType: mediaType, data },
})

const fileData = ({ url }: Image & { readonly from: 'web' }): GoogleFileData => ({
  fileData: { mimeType: typeOfUrl(url), fileUri: url },
})
