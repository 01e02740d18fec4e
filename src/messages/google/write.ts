/** Writes neutral messages for Google's Gemini, and proves of each reply that it stands behind what it saw. */

import { argumentObject } from '../arguments.ts'
import { isObject } from '../../event/json.ts'
import { digestOf, digestOfAll } from '../digest.ts'
import type { Image } from '../images.ts'
import { sentMore } from '../kinds.ts'
import type { NeutralMessage } from '../message.ts'
import { moveParts } from '../moved-parts.ts'
import { otherDigest } from '../other-parts.ts'
import { thinkingDigest } from '../own-digest.ts'
import { NO_ANSWER } from '../phrases.ts'
import { isText, joinTexts, type Piece, pieceDigest, type TextPiece, textPiece } from '../pieces.ts'
import { startProof, type WriteOptions } from '../prefix.ts'
import type { FieldRef, OtherRef } from '../reply-parts.ts'
import { wellFormed } from '../text.ts'
import { textsOfPart } from '../thinking-parts.ts'
import { type AssistantTurn, type Call, type Result, turnsOf } from '../turns.ts'
import { callDigest, resultDigest, type Role, type Written } from '../written.ts'
import { isTold, LIMITS, saysMore, signatureOf, thoughtAt, typeOfUrl } from './limits.ts'
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
    const moved = moveParts({ ...turn, results: inOrder(turn) }, ({ image }) => image.from === 'web', 'any')
    const nameless = withoutId(turn)
    add(
      'user',
      moved.results.map((result) => resultPart(result, !nameless.has(result.call))),
    )
    say(moved.pieces)
  }
  const request: GoogleRequest = {
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system.map(({ text }) => ({ text })) } }),
    contents,
  }
  proof.record(request, contents)
  return request
}

/** The results in the order in which their calls are written, as the provider may tell them apart by that alone. */
function inOrder({ results, calls, refs }: AssistantTurn): readonly Result[] {
  const written = refs.flatMap(({ kind, at }) => (kind === 'call' ? [calls[at]] : []))
  const places = new Map(written.map((call, place) => [call, place]))
  return results.toSorted((one, other) => (places.get(one.call) ?? 0) - (places.get(other.call) ?? 0))
}

/** The calls that came without an id: neither they nor their results have one. */
const withoutId = ({ refs, calls }: AssistantTurn): ReadonlySet<Call | undefined> =>
  new Set(refs.flatMap((ref) => (ref.kind === 'call' && lacks(ref, 'id') ? [calls[ref.at]] : [])))

/** Whether a call came without one of its fields. */
function lacks({ more }: FieldRef, field: 'id' | 'args'): boolean {
  const call = more?.['functionCall']
  return isObject(call) && call[field] === null
}

/**
 * The parts of a reply. Texts before its last signed part stay as they came. A reply that says nothing but what the
 * model thought has a fixed sentence behind it.
 */
function replyParts(turn: AssistantTurn, keeps: boolean): Written<GooglePart>[] {
  const { refs, bound, message, calls } = turn
  const first = refs.find(({ kind }) => kind === 'call')
  const parts = refs.flatMap((ref, place): Written<GooglePart>[] => {
    if (ref.kind === 'other') return [otherPart(ref, keeps)]
    const { kind, at } = ref
    const signature = keeps ? signatureOf(message, ref) : null
    switch (kind) {
      case 'thinking': {
        const block = thoughtAt(message, at)
        if (block === null || (signature === null && !isTold(block))) return []
        const written = { text: wellFormed(block.thinking), thought: true } as const
        return [withMore({ block: written, digest: () => thinkingDigest(block) }, ref, signature)]
      }
      case 'text': {
        const part = message.content[at]
        const pieces = part === undefined ? [] : textsOfPart(part, keeps && place < bound)
        return pieces.map((piece) => withMore(textPart(piece), ref, signature))
      }
      case 'call': {
        const call = calls[at]
        if (call === undefined) return []
        return [withMore(callPart(call, ref), ref, signature ?? (ref === first ? NO_SIGNATURE : null))]
      }
      default:
        return []
    }
  })
  return saysMore(turn) ? parts : [...parts, textPart(textPiece(NO_ANSWER))]
}

/** A part with what else it came with, under its signature where it has one. */
function withMore<Part extends GooglePart>(
  written: Written<Part>,
  { kind, more }: FieldRef,
  signature: string | null,
): Written<Part & GoogleSignature> {
  const { thoughtSignature: _, functionCall: __, ...rest } = sentMore(more, LIMITS.more[kind]) ?? {}
  const sent = { ...rest, ...(signature === null ? {} : { thoughtSignature: signature }) }
  return {
    block: { ...written.block, ...sent },
    digest: () => digestOfAll(written.digest(), digestOf(JSON.stringify(sent))),
  }
}

/**
 * A part of another kind, as the provider made it, or the words for it. An image that had a signature is refused
 * without one, as a call is.
 */
function otherPart({ value, placeholder }: OtherRef, keeps: boolean): Written<GooglePart> {
  if (placeholder !== null) return textPart(textPiece(placeholder))
  const { thoughtSignature, ...unsigned } = value
  const isImage = thoughtSignature !== undefined && 'inlineData' in value
  const block = keeps ? value : isImage ? { ...unsigned, thoughtSignature: NO_SIGNATURE } : unsigned
  return { block: block as unknown as GooglePart, digest: () => otherDigest(block) }
}

const textPart = (piece: TextPiece): Written<GoogleText> => ({
  block: { text: piece.text },
  digest: () => pieceDigest(piece),
})

function callPart(call: Call, ref: FieldRef): Written<GoogleFunctionCall> {
  const { id, source } = call
  const args = argumentObject(source.arguments)
  const isBare = lacks(ref, 'args') && Object.keys(args).length === 0
  return {
    block: {
      functionCall: {
        ...(lacks(ref, 'id') ? {} : { id }),
        name: functionName(source.name),
        ...(isBare ? {} : { args }),
      },
    },
    digest: () => callDigest(call),
  }
}

/** The images stand behind the words, wherever among them the tool has put them. */
function resultPart(result: Result, isNamed: boolean): Written<GoogleFunctionResponse> {
  const { call, pieces, isError } = result
  const text = joinTexts(pieces.filter(isText))
  const images = pieces.flatMap((piece) =>
    piece.type === 'image' && piece.image.from === 'data' ? [inlineData(piece.image)] : [],
  )
  return {
    block: {
      functionResponse: {
        ...(isNamed ? { id: call.id } : {}),
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
  // The table of parts has made it.
  if (piece.type === 'block')
    return {
      block: { ...piece.block } as object as GoogleInlineData | GoogleFileData,
      digest: () => pieceDigest(piece),
    }
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
