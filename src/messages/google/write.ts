/** Writes neutral messages for Google's Gemini, and proves of each reply that it stands behind what it saw. */

import { isObject } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { sentMore } from '../blocks.ts'
import { keptBeside } from '../digest.ts'
import { type Image, typeOfUrl } from '../files.ts'
import type { NeutralMessage } from '../message.ts'
import { isText, joinTexts, moveParts, pieceDigest, textPiece } from '../pieces.ts'
import type { Piece, FieldRef, AssistantTurn, Call, Result } from '../limits.ts'
import { NO_ANSWER } from '../phrases.ts'
import type { WriteOptions, Written } from '../prefix.ts'
import { argumentObject, functionName, wellFormed } from '../text.ts'
import { replyBlocks, writeConversation } from '../write.ts'
import {
  type GoogleContent,
  type GoogleFileData,
  type GoogleFunctionResponse,
  type GoogleInlineData,
  type GooglePart,
  type GoogleRequest,
  type GoogleText,
  isTold,
  LIMITS,
  saysMore,
  signatureOf,
  thoughtAt,
} from './blocks.ts'

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
  const contents: GoogleContent[] = []
  let front: GooglePart[] = []
  /** The content that more of what a user says joins; never one with results. */
  let open: GoogleContent | null = null
  const { record } = writeConversation<GooglePart>(messages, options, {
    limits: LIMITS,
    piece: pieceBlock,
    reply,
    result: resultBlock,
    move: (turn) =>
      moveParts({ ...turn, results: inOrder(turn) }, ({ image }) => image.from === 'web', 'any'),
    add(role, parts) {
      if (role === 'front') front = parts
      else if (role === 'user' && open !== null) open.parts.push(...parts)
      else {
        const content: GoogleContent = { role: role === 'assistant' ? 'model' : 'user', parts }
        contents.push(content)
        open = role === 'user' ? content : null
      }
    },
  })
  const request: GoogleRequest = {
    ...(front.length === 0 ? {} : { systemInstruction: { parts: front as GoogleText[] } }),
    contents,
  }
  record(request, contents)
  return request
}

/** The results in the order in which their calls are written, as the provider may tell them apart by that alone. */
function inOrder({ results, calls, refs }: AssistantTurn): readonly Result[] {
  const written = refs.flatMap(({ kind, at }) => (kind === 'call' ? [calls[at]] : []))
  const places = new Map(written.map((call, place) => [call, place]))
  return results.toSorted((one, other) => (places.get(one.call) ?? 0) - (places.get(other.call) ?? 0))
}

/** The calls that came without an id: neither they nor their results have one. */
const withoutId = /* @__PURE__ */ keptBeside(
  ({ refs, calls }: AssistantTurn): ReadonlySet<Call | undefined> =>
    new Set(refs.flatMap((ref) => (ref.kind === 'call' && lacks(ref, 'id') ? [calls[ref.at]] : []))),
)

/** Whether a call came without one of its fields. */
function lacks({ more }: FieldRef, field: 'id' | 'args'): boolean {
  const call = more?.['functionCall']
  return isObject(call) && call[field] === null
}

/** The parts of a reply. One that says nothing but what the model thought has a fixed sentence behind it. */
function reply(turn: AssistantTurn, keeps: boolean): Written<GooglePart>[] {
  const { refs, message } = turn
  const first = refs.find(({ kind }) => kind === 'call')
  const parts = replyBlocks<GooglePart>(turn, keeps, {
    text: ({ text }, more) => ({ text, ...more }),
    thinking(_, more, { at }) {
      const block = thoughtAt(message, at)
      const isSent = block !== null && (more?.['thoughtSignature'] !== undefined || isTold(block))
      return isSent ? { text: wellFormed(block.thinking), thought: true, ...more } : null
    },
    call({ id, source }, more, ref) {
      const args = argumentObject(source.arguments)
      const isBare = lacks(ref, 'args') && Object.keys(args).length === 0
      return {
        functionCall: {
          ...(lacks(ref, 'id') ? {} : { id }),
          name: functionName(source.name, LIMITS.toolNameLength),
          ...(isBare ? {} : { args }),
        },
        ...more,
      }
    },
    other: (value) => (keeps ? value : withoutSignature(value)),
    more(ref) {
      const {
        thoughtSignature: _,
        functionCall: __,
        ...rest
      } = sentMore(ref.more, LIMITS.more[ref.kind]) ?? {}
      const signature = (keeps ? signatureOf(message, ref) : null) ?? (ref === first ? NO_SIGNATURE : null)
      const sent = { ...rest, ...(signature === null ? {} : { thoughtSignature: signature }) }
      return Object.keys(sent).length === 0 ? null : sent
    },
  })
  if (saysMore(turn)) return parts
  const piece = textPiece(NO_ANSWER)
  return [...parts, { block: { text: piece.text }, digest: () => pieceDigest(piece) }]
}

/** A part of another kind without its signature. An image that had one is refused without one, as a call is. */
function withoutSignature({ thoughtSignature, ...rest }: JsonObject): JsonObject {
  const isImage = thoughtSignature !== undefined && 'inlineData' in rest
  return isImage ? { ...rest, thoughtSignature: NO_SIGNATURE } : rest
}

/** The images stand behind the words, wherever among them the tool has put them. */
function resultBlock({ call, pieces, isError }: Result, turn: AssistantTurn): GoogleFunctionResponse {
  const text = joinTexts(pieces.filter(isText))
  const images = pieces.flatMap((piece) =>
    piece.type === 'image' && piece.image.from === 'data' ? [inlineData(piece.image)] : [],
  )
  return {
    functionResponse: {
      ...(withoutId(turn).has(call) ? {} : { id: call.id }),
      name: functionName(call.source.name, LIMITS.toolNameLength),
      response: isError ? { error: text } : { output: text },
      ...(images.length === 0 ? {} : { parts: images }),
    },
  }
}

function pieceBlock(piece: Piece): GooglePart {
  if (piece.type === 'text') return { text: piece.text }
  // The table of parts has made it.
  if (piece.type === 'block') return { ...piece.block } as object as GoogleInlineData | GoogleFileData
  const { image } = piece
  return image.from === 'web' ? fileData(image) : inlineData(image)
}

const inlineData = ({ mediaType, data }: Image & { readonly from: 'data' }): GoogleInlineData => ({
  inlineData: { mimeType: mediaType, data },
})

const fileData = ({ url }: Image & { readonly from: 'web' }): GoogleFileData => ({
  fileData: { mimeType: typeOfUrl(url), fileUri: url },
})
