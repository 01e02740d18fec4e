import { isObject } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { sentMore } from '../blocks.ts'
import { memoize } from '../digest.ts'
import { type Image, typeOfUrl } from '../files.ts'
import type { NeutralMessage } from '../message.ts'
import { isText, joinTexts, moveParts, blockWriter } from '../pieces.ts'
import type { FieldRef, AssistantTurn, Call, Result } from '../limits.ts'
import type { Role, WriteOptions, Written } from '../prefix.ts'
import { argumentObject, functionName } from '../text.ts'
import { extend, replyBlocks, withAnswer, writeRequest } from '../write.ts'
import { NO_SIGNATURE, signatureOf, thoughtAt } from '../reply-parts.ts'
import { isUnsignedThought, LIMITS, saysMore } from './blocks.ts'
import type { GoogleContent, GooglePart, GoogleRequest } from './rules.ts'

/**
 * Writes the system instruction and the contents of a `generateContent` request. They are valid for any log
 * (law M). If a reply's prefix is unchanged, the reply is sent back unchanged, with each signature on its
 * part. After a change of the prefix, the reply is sent without signatures. If the first call of a reply has
 * no signature, the call gets the provider's placeholder signature, because newer models require one. The
 * tool results of a reply form one content. Images in results require Gemini 3 or later. O(content).
 * @throws ColloquyError `empty_view` when there are no messages.
 * @example
 * const { contents } = toGoogle([{ role: 'user', content: [{ text: 'hi' }], name: null }])
 * contents // [{ role: 'user', parts: [{ text: 'hi' }] }]
 */
export function toGoogle(messages: readonly NeutralMessage[], options: WriteOptions = {}): GoogleRequest {
  return writeRequest({ limits: LIMITS, start }, messages, options)
}

function start(list: GoogleContent[]) {
  let front: GooglePart[] = []
  const state = { isOpen: false }
  return {
    state,
    piece: blockOf,
    reply,
    result: resultBlock,
    move: (turn: AssistantTurn) =>
      moveParts({ ...turn, results: resultsInOrder(turn) }, ({ image }) => image.from === 'web', 'any'),
    add(role: Role, parts: GooglePart[]) {
      if (role === 'front') front = parts
      else if (role === 'user' && state.isOpen) extend(list, 'parts', parts)
      else {
        list.push({ role: role === 'assistant' ? 'model' : 'user', parts })
        state.isOpen = role === 'user'
      }
    },
    request: (contents: GoogleContent[]): GoogleRequest => ({
      ...(front.length === 0 ? {} : { systemInstruction: { parts: front as { text: string }[] } }),
      contents,
    }),
  }
}

/** Sorts the results in the order of their calls, because the provider may match them by order alone. */
function resultsInOrder({ results, calls, refs }: AssistantTurn): readonly Result[] {
  const written = refs.flatMap(({ kind, index }) => (kind === 'call' ? [calls[index]] : []))
  const positions = new Map(written.map((call, position) => [call, position]))
  return results.toSorted((one, other) => (positions.get(one.call) ?? 0) - (positions.get(other.call) ?? 0))
}

const withoutId = /* @__PURE__ */ memoize(
  ({ refs, calls }: AssistantTurn): ReadonlySet<Call | undefined> =>
    new Set(refs.flatMap((ref) => (ref.kind === 'call' && lacks(ref, 'id') ? [calls[ref.index]] : []))),
)

function lacks({ more }: FieldRef, field: 'id' | 'args'): boolean {
  const call = more?.['functionCall']
  return isObject(call) && call[field] === null
}

function reply(turn: AssistantTurn, keepsSigned: boolean): Written<GooglePart>[] {
  const { refs, message } = turn
  const first = refs.find(({ kind }) => kind === 'call')
  const parts = replyBlocks<GooglePart>(turn, keepsSigned, {
    text: ({ text }, more) => ({ text, ...more }),
    thinking(_, more, { index }) {
      const block = thoughtAt(message, LIMITS.grammar, index)
      const isSent = block !== null && (more?.['thoughtSignature'] !== undefined || isUnsignedThought(block))
      return isSent ? { text: block.thinking.toWellFormed(), thought: true, ...more } : null
    },
    call({ id, source }, more, ref) {
      const args = argumentObject(source.arguments)
      const isBare = lacks(ref, 'args') && Object.keys(args).length === 0
      return {
        functionCall: {
          ...(lacks(ref, 'id') ? {} : { id }),
          name: functionName(source.name),
          ...(isBare ? {} : { args }),
        },
        ...more,
      }
    },
    other: (value) => (keepsSigned ? value : withoutSignature(value)),
    more(ref) {
      const {
        thoughtSignature: _,
        functionCall: __,
        ...rest
      } = sentMore(ref.more, LIMITS.more[ref.kind]) ?? {}
      const signature =
        (keepsSigned ? signatureOf(message, ref, LIMITS, 'thoughtSignature') : null) ??
        (ref === first ? NO_SIGNATURE : null)
      const sent = { ...rest, ...(signature === null ? {} : { thoughtSignature: signature }) }
      return Object.keys(sent).length === 0 ? null : sent
    },
  })
  return saysMore(turn) ? parts : withAnswer(parts, (text) => ({ text }))
}

/**
 * Removes a part's signature. The signature of an image is replaced by the provider's placeholder signature,
 * because the provider would refuse the image without a signature.
 */
function withoutSignature({ thoughtSignature, ...rest }: JsonObject): JsonObject {
  const isImage = thoughtSignature !== undefined && 'inlineData' in rest
  return isImage ? { ...rest, thoughtSignature: NO_SIGNATURE } : rest
}

/** Writes a result. Images follow the text, even if the tool returned an image first. */
function resultBlock({ call, pieces, isError }: Result, turn: AssistantTurn): GooglePart {
  const text = joinTexts(pieces.filter(isText))
  const images = pieces.flatMap((piece) =>
    piece.type === 'image' && piece.image.from === 'data' ? [inlineData(piece.image)] : [],
  )
  return {
    functionResponse: {
      ...(withoutId(turn).has(call) ? {} : { id: call.id }),
      name: functionName(call.source.name),
      response: isError ? { error: text } : { output: text },
      ...(images.length === 0 ? {} : { parts: images }),
    },
  }
}

const blockOf = /* @__PURE__ */ blockWriter<GooglePart>(
  (text) => ({ text }),
  (image) =>
    image.from === 'data'
      ? inlineData(image)
      : { fileData: { mimeType: typeOfUrl(image.url), fileUri: image.url } },
)

const inlineData = ({ mediaType, data }: Image & { readonly from: 'data' }) => ({
  inlineData: { mimeType: mediaType, data },
})
