import type { JsonObject } from '../../event/shapes.ts'
import type { Kinds } from '../blocks.ts'
import { type FileRef, isAddress, isPdf, typeOfUrl } from '../files.ts'
import type { AssistantMessage, Thinking } from '../message.ts'
import { pairHalf, pairParts } from '../pairs.ts'
import type { AssistantTurn, Limits } from '../limits.ts'
import { THINKING_LIMITS, hasOwnParts, signatureOf } from '../reply-parts.ts'
import { boolean, object, open, string } from '../shape.ts'
import { objectOf } from '../text.ts'

export const AUDIO: ReadonlySet<string> = new Set(
  ['wav', 'mp3', 'mpeg', 'aiff', 'aac', 'ogg', 'flac'].map((name) => `audio/${name}`),
)

function write(file: FileRef): JsonObject | null {
  const { from, mediaType } = file
  if ('id' in from) return null
  const mimeType = isPdf(file) ? 'application/pdf' : AUDIO.has(mediaType ?? '') ? mediaType : null
  if (mimeType === null) return null
  if ('data' in from) return { inlineData: { mimeType, data: from.data } }
  return isAddress(from.url, true) ? { fileData: { mimeType, fileUri: from.url } } : null
}

export const MORE = {
  thought: boolean,
  mediaProcessing: string,
  mediaResolution: object,
  partMetadata: object,
  speechMetadata: object,
  videoMetadata: object,
  thoughtSignature: string,
} as const

const SIGNED = { side: 'assistant', in: 'part', signed: 'thoughtSignature', more: MORE } as const

export const KINDS = {
  text: { in: 'standard', side: 'both', more: MORE },
  functionCall: { in: 'standard', side: 'assistant', more: { ...MORE, functionCall: object } },
  functionResponse: { in: 'standard', side: 'user' },
  inlineData: { ...SIGNED, side: 'both', needs: { inlineData: open({ mimeType: string, data: string }) } },
  fileData: { ...SIGNED, side: 'both', needs: { fileData: open({ mimeType: string, fileUri: string }) } },
  executableCode: { ...SIGNED, needs: { executableCode: open({ language: string, code: string }) } },
  codeExecutionResult: { ...SIGNED, needs: { codeExecutionResult: open({ outcome: string }) } },
  toolCall: { ...SIGNED, needs: { toolCall: object } },
  toolResponse: { ...SIGNED, needs: { toolResponse: object } },
  /** The provider returns this kind, but does not accept it. */
  audioTranscription: { in: 'words', side: 'assistant' },
  thought: { in: 'standard', side: 'assistant' },
  thoughtSignature: { in: 'standard', side: 'assistant' },
  mediaProcessing: { in: 'standard', side: 'both' },
  mediaResolution: { in: 'standard', side: 'both' },
  partMetadata: { in: 'standard', side: 'both' },
  speechMetadata: { in: 'standard', side: 'both' },
  videoMetadata: { in: 'standard', side: 'both' },
} as const satisfies Kinds

export const DATA: readonly string[] = /* @__PURE__ */ Object.keys(KINDS).filter(
  (field) => !Object.hasOwn(MORE, field),
)

export const LIMITS: Limits = {
  ...THINKING_LIMITS,
  grammar: 'google',
  namedBy: 'field',
  table: KINDS,
  callId: { illegal: /[^!-~]/gu, maxLength: 128 },
  acceptsImage: (image) =>
    image.from === 'data'
      ? image.mediaType !== 'image/gif'
      : image.secure && typeOfUrl(image.url) !== 'image/gif',
  parts: { user: true, result: false, kinds: {}, write },
  isSigned: (message, ref) => signatureOf(message, ref, LIMITS, 'thoughtSignature') !== null,
  more: { text: KINDS.text.more, thinking: KINDS.text.more, call: KINDS.functionCall.more },
  pairOf: ({ toolCall, toolResponse, executableCode, codeExecutionResult }) =>
    pairHalf('call', 'tool', objectOf(toolCall)['id']) ??
    pairHalf('result', 'tool', objectOf(toolResponse)['id']) ??
    pairHalf('call', 'code', objectOf(executableCode)['id']) ??
    pairHalf('result', 'code', objectOf(codeExecutionResult)['id']),
  pairs: pairParts,
  hasOutput: (turn) => turn.bound > 0 || saysMore(turn) || hasUnsignedThought(turn.message),
}

export const saysMore = (turn: AssistantTurn): boolean =>
  turn.calls.length > 0 || turn.texts.length > 0 || hasOwnParts(turn)

const hasUnsignedThought = ({ reply, thinking_blocks }: AssistantMessage): boolean =>
  reply?.grammar === LIMITS.grammar && thinking_blocks.some(isUnsignedThought)

export const isUnsignedThought = (block: Thinking): boolean =>
  'thinking' in block && !block.signature && block.thinking !== ''
