/** What Google's Gemini takes, before a word of it is written; readers of its replies use it too. */

import { isObject } from '../../event/json.ts'
import type { JsonObject, RedactedThinkingBlock, ThinkingBlock } from '../../event/shapes.ts'
import type { Kinds } from '../blocks.ts'
import { type FileRef, isAddress, isPdf, typeOfUrl } from '../files.ts'
import type { AssistantMessage } from '../message.ts'
import { pairParts } from '../pairs.ts'
import type { PartTable, FieldRef, AssistantTurn, Limits, PairHalf } from '../limits.ts'
import { hasOwnParts, THINKING_KINDS, thinkingFirst } from '../reply-parts.ts'
import { boolean, object, open, string } from '../shape.ts'
import { isWellFormed } from '../text.ts'

/** The sounds that it reads. */
const AUDIO: ReadonlySet<string> = new Set(
  ['wav', 'mp3', 'mpeg', 'aiff', 'aac', 'ogg', 'flac'].map((name) => `audio/${name}`),
)

const PARTS: PartTable = { user: true, result: false, kinds: {}, write }

/** A PDF or a sound, by its bytes or by its address. */
function write(file: FileRef): JsonObject | null {
  const { from, mediaType } = file
  if ('id' in from) return null
  const mimeType = isPdf(file) ? 'application/pdf' : AUDIO.has(mediaType ?? '') ? mediaType : null
  if (mimeType === null) return null
  if ('data' in from) return { inlineData: { mimeType, data: from.data } }
  return isAddress(from.url, true) ? { fileData: { mimeType, fileUri: from.url } } : null
}

/** What any part may have beside its data; what the model has signed stands apart. */
const BESIDE = {
  thought: boolean,
  mediaProcessing: string,
  mediaResolution: object,
  partMetadata: object,
  speechMetadata: object,
  videoMetadata: object,
} as const

const MORE = { ...BESIDE, thoughtSignature: string } as const

const SIGNED = { side: 'assistant', in: 'part', signed: 'thoughtSignature', more: MORE } as const

export const KINDS = {
  text: { in: 'standard', side: 'both', more: MORE },
  functionCall: { in: 'standard', side: 'assistant', more: { ...MORE, functionCall: object } },
  functionResponse: { in: 'standard', side: 'user' },
  inlineData: {
    ...SIGNED,
    side: 'both',
    needs: { inlineData: open({ mimeType: string, data: string }) },
  },
  fileData: {
    ...SIGNED,
    side: 'both',
    needs: { fileData: open({ mimeType: string, fileUri: string }) },
  },
  executableCode: {
    ...SIGNED,
    needs: { executableCode: open({ language: string, code: string }) },
  },
  codeExecutionResult: { ...SIGNED, needs: { codeExecutionResult: open({ outcome: string }) } },
  toolCall: { ...SIGNED, needs: { toolCall: object } },
  toolResponse: { ...SIGNED, needs: { toolResponse: object } },
  /** The provider makes it, and takes none. */
  audioTranscription: { in: 'words', side: 'assistant' },
  thought: { in: 'standard', side: 'assistant' },
  thoughtSignature: { in: 'standard', side: 'assistant' },
  mediaProcessing: { in: 'standard', side: 'both' },
  mediaResolution: { in: 'standard', side: 'both' },
  partMetadata: { in: 'standard', side: 'both' },
  speechMetadata: { in: 'standard', side: 'both' },
  videoMetadata: { in: 'standard', side: 'both' },
} as const satisfies Kinds

/** The fields of which a part has exactly one. */
export const DATA: readonly string[] = /* @__PURE__ */ Object.keys(KINDS).filter(
  (field) => !Object.hasOwn(MORE, field),
)

export const LIMITS: Limits = {
  grammar: 'google',
  namedBy: 'field',
  origin: 'completion',
  table: KINDS,
  callId: { illegal: /[^!-~]/gu, maxLength: 128 },
  toolNameLength: 64,
  takesImage: (image) =>
    image.from === 'data'
      ? image.mediaType !== 'image/gif'
      : image.secure && typeOfUrl(image.url) !== 'image/gif',
  parts: PARTS,
  kinds: THINKING_KINDS,
  order: thinkingFirst,
  callsLast: false,
  isSigned: (message, ref) => signatureOf(message, ref) !== null,
  more: { text: KINDS.text.more, thinking: KINDS.text.more, call: KINDS.functionCall.more },
  pairOf,
  pairs: pairParts,
  says: (turn) => turn.bound > 0 || saysMore(turn) || thoughtsIn(turn.message).some(isTold),
  pauses: false,
  appends: false,
}

/** Whether a reply says anything but what the model thought, whatever of it is signed. */
export const saysMore = (turn: AssistantTurn): boolean =>
  turn.calls.length > 0 || turn.texts.length > 0 || hasOwnParts(turn)

/** The thoughts of a reply: those of other models say nothing to this one, and it refuses their signatures. */
const thoughtsIn = ({ reply, thinking_blocks }: AssistantMessage) =>
  reply?.grammar === 'google' ? thinking_blocks : []

/** A thought of this model; null where there is none. */
export function thoughtAt(message: AssistantMessage, at: number): ThinkingBlock | null {
  const block = thoughtsIn(message)[at]
  return block !== undefined && 'thinking' in block ? block : null
}

/** Whether a thought that has no signature goes back. */
export const isTold = (block: ThinkingBlock | RedactedThinkingBlock): boolean =>
  'thinking' in block && !block.signature && block.thinking !== ''

/** The signature with which a part came, and goes back; null where it has none. */
export function signatureOf(message: AssistantMessage, { kind, at, more }: FieldRef): string | null {
  const block = kind === 'thinking' ? thoughtAt(message, at) : null
  const signature = kind === 'thinking' ? block?.signature : more?.['thoughtSignature']
  const isSound = typeof signature === 'string' && signature !== '' && isWellFormed(signature)
  return isSound && isWellFormed(block?.thinking ?? '') ? signature : null
}

/** What the provider has called or executed itself has an id in common with its result, where it has one. */
function pairOf({
  toolCall,
  toolResponse,
  executableCode,
  codeExecutionResult,
}: JsonObject): PairHalf | null {
  return (
    half('call', 'tool', toolCall) ??
    half('result', 'tool', toolResponse) ??
    half('call', 'code', executableCode) ??
    half('result', 'code', codeExecutionResult)
  )
}

function half(is: 'call' | 'result', of: string, value: unknown): PairHalf | null {
  const id = isObject(value as JsonObject) ? (value as JsonObject)['id'] : undefined
  return typeof id === 'string' ? { half: is, id: `${of} ${id}`, waits: true } : null
}

/** What the model has signed of its reasoning, on the part with which it came. */
export interface GoogleSignature {
  readonly thoughtSignature?: string
}

export interface GoogleText extends GoogleSignature {
  readonly text: string
  /** Whether it is what the model thought, not what it said. */
  readonly thought?: true
}

/** A file by its bytes in base64. */
export interface GoogleInlineData {
  readonly inlineData: { readonly mimeType: string; readonly data: string }
}

/** A file by its address. */
export interface GoogleFileData {
  readonly fileData: { readonly mimeType: string; readonly fileUri: string }
}

export interface GoogleFunctionCall extends GoogleSignature {
  readonly functionCall: { readonly id?: string; readonly name: string; readonly args?: JsonObject }
}

export interface GoogleFunctionResponse {
  readonly functionResponse: {
    readonly id?: string
    readonly name: string
    readonly response: { readonly output: string } | { readonly error: string }
    /** The images of the result. */
    readonly parts?: GoogleInlineData[]
  }
}

export type GooglePart =
  | GoogleText
  | GoogleInlineData
  | GoogleFileData
  | GoogleFunctionCall
  | GoogleFunctionResponse

export interface GoogleContent {
  readonly role: 'user' | 'model'
  readonly parts: GooglePart[]
}

/**
 * What is written of a `generateContent` request. In the `@google/genai` package `systemInstruction` stands in
 * `config`, in the HTTP interface beside `contents`.
 */
export interface GoogleRequest {
  /** Absent where there is no system prompt. */
  readonly systemInstruction?: { readonly parts: GoogleText[] }
  readonly contents: GoogleContent[]
}
