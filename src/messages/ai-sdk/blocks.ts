/** What may be given to the AI SDK, before a word of it is written; readers of its replies use it too. */

import { isObject } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { type Kinds, sentMore } from '../blocks.ts'
import { type FileRef, type ImageType, isPdf } from '../files.ts'
import { pairParts } from '../pairs.ts'
import type { PartTable, FieldRef, Limits, PairHalf } from '../limits.ts'
import {
  base64,
  boolean,
  either,
  id,
  mapOf,
  mediaType,
  object,
  oneOf,
  open,
  optional,
  record,
  type ShapeOf,
  string,
  text,
  webUrl,
  where,
  words,
} from '../shape.ts'
import { hasOwnParts, isSignedThinking, THINKING_KINDS, thinkingFirst } from '../reply-parts.ts'
import { isWellFormed, isWhitespace } from '../text.ts'

/** What only one provider reads; any JSON that has bytes. */
const options = {
  providerOptions: optional(
    where(mapOf(object), (value) => {
      const text = JSON.stringify(value)
      return !/\\ud[89a-f]/.test(text) && isWellFormed(text)
    }),
  ),
}

const reference = where(mapOf(words), (value) => Object.keys(value).length > 0 && !('type' in value))

const held = either([
  record({ type: oneOf('data'), data: base64 }),
  record({ type: oneOf('text'), text: words }),
  record({ type: oneOf('reference'), reference }),
])

const file = { type: oneOf('file'), mediaType, filename: optional(text) }

/** The SDK takes an address as a URL object, which is no JSON, or as a bare text from users only. */
const userFile = record({ ...file, data: either([held, base64, webUrl]), ...options })

const custom = record({ type: oneOf('custom'), ...options })

/** A part beside text, as it stands in a request. */
export type AiSdkPart = ShapeOf<typeof userFile>

/** What only one provider understands of a result. */
export type AiSdkCustom = ShapeOf<typeof custom>

export const PARTS: PartTable = {
  user: true,
  result: false,
  kinds: {
    file: { user: true, result: false, fits: userFile },
    custom: { user: false, result: true, fits: custom },
  },
  write,
}

/** Any file of which the type is known. */
function write(file: FileRef): JsonObject | null {
  const { from, name } = file
  const type = file.mediaType ?? ('id' in from || isPdf(file) ? 'application/pdf' : null)
  if (type === null || !mediaType(type) || type === 'application/octet-stream') return null
  const data =
    'id' in from
      ? { type: 'reference', reference: { [from.provider]: from.id } }
      : 'data' in from
        ? { type: 'data', data: from.data }
        : from.url
  return { type: 'file', mediaType: type, data, ...(name === null ? {} : { filename: name }) }
}

/** What the SDK hands to a provider for itself, and has from it: signatures, ids of items. */
const OPTIONS = { providerOptions: object } as const

const KEPT = { in: 'part', side: 'assistant', signed: 'providerOptions' } as const

const ADDED = { providerOptions: optional(mapOf(object)) } as const

const FILE = {
  ...KEPT,
  needs: { data: base64, mediaType: mediaType, filename: optional(string), ...ADDED },
} as const

export const KINDS = {
  text: { in: 'standard', side: 'both', more: OPTIONS },
  reasoning: { in: 'standard', side: 'assistant', more: OPTIONS },
  /** One that the provider has executed itself is kept whole, and so is its result. */
  'tool-call': {
    ...KEPT,
    needs: { toolCallId: id, toolName: string, input: object, providerExecuted: optional(boolean), ...ADDED },
    more: OPTIONS,
  },
  'tool-result': {
    ...KEPT,
    needs: { toolCallId: id, toolName: string, output: open({ type: string }), ...ADDED },
  },
  /** It goes back as a result. */
  'tool-error': { in: 'standard', side: 'assistant' },
  file: FILE,
  'reasoning-file': FILE,
  custom: { ...KEPT, needs: { kind: string, ...ADDED } },
  source: { in: 'about', side: 'assistant' },
  'tool-approval-request': { in: 'about', side: 'assistant' },
  'tool-approval-response': { in: 'about', side: 'assistant' },
} as const satisfies Kinds

/** The SDK hands ids, names and images on to any provider, so they keep to the strictest. */
export const LIMITS: Limits = {
  grammar: 'ai-sdk',
  namedBy: 'type',
  origin: 'completion',
  table: KINDS,
  callId: { illegal: /[^a-zA-Z0-9_-]/gu, maxLength: 40 },
  toolNameLength: 64,
  takesImage: (image) => image.from === 'data' || image.secure,
  parts: PARTS,
  kinds: THINKING_KINDS,
  order: thinkingFirst,
  callsLast: false,
  isSigned: (message, ref) => optionsOf(ref) !== null || isSignedThinking(message, ref),
  more: { text: KINDS.text.more, thinking: KINDS.reasoning.more, call: KINDS['tool-call'].more },
  pairOf,
  pairs: pairParts,
  says: (turn) =>
    turn.texts.length > 0 ||
    turn.bound > 0 ||
    hasOwnParts(turn) ||
    !isWhitespace(turn.message.reasoning_content ?? '') ||
    turn.message.thinking_blocks.some(
      (block) => 'thinking' in block && !block.signature && !isWhitespace(block.thinking),
    ),
  pauses: true,
  appends: false,
}

/**
 * What a provider has added to a part for itself; null where it has not. It is bound to the reply as it came, as much
 * as a signature is: an id of an item is refused without the reasoning that it was made with.
 */
export function optionsOf({ kind, more }: FieldRef): JsonObject | null {
  const options = sentMore(more, LIMITS.more[kind])?.['providerOptions']
  return isObject(options) && Object.values(options).every(isObject) ? options : null
}

/** A call that the provider has executed itself, and its result, which stands in a reply too. */
function pairOf({ type, toolCallId }: JsonObject): PairHalf | null {
  if (typeof toolCallId !== 'string') return null
  if (type === 'tool-call') return { half: 'call', id: toolCallId, waits: true }
  return type === 'tool-result' ? { half: 'result', id: toolCallId, waits: true } : null
}

/** A JSON value as the SDK has it. */
type AiSdkJson = null | string | number | boolean | AiSdkJson[] | { [key: string]: AiSdkJson | undefined }

/** What a provider has added to a part for itself, by its name: signatures, ids of items. */
interface AiSdkOptions {
  readonly providerOptions?: Record<string, { [key: string]: AiSdkJson | undefined }>
}

export interface AiSdkText extends AiSdkOptions {
  readonly type: 'text'
  readonly text: string
}

/** An image by its bytes in base64. */
export interface AiSdkImageData {
  readonly type: 'file'
  readonly mediaType: ImageType
  readonly data: { readonly type: 'data'; readonly data: string }
}

/** An image by its address; a string, as a URL object is no JSON. */
interface AiSdkImageUrl {
  readonly type: 'file'
  readonly mediaType: 'image'
  readonly data: string
}

export interface AiSdkReasoning extends AiSdkOptions {
  readonly type: 'reasoning'
  readonly text: string
}

export interface AiSdkToolCall extends AiSdkOptions {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly toolName: string
  readonly input: JsonObject
  /** True where the provider has executed it itself; its result stands behind it in the same message. */
  readonly providerExecuted?: boolean
}

export interface AiSdkToolResult extends AiSdkOptions {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly output:
    | { readonly type: 'text' | 'error-text'; readonly value: string }
    | { readonly type: 'json' | 'error-json'; readonly value: AiSdkJson }
    | { readonly type: 'content'; readonly value: (AiSdkText | AiSdkImageData | AiSdkCustom)[] }
}

/** A file that the model has made, by its bytes in base64. */
interface AiSdkFile extends AiSdkOptions {
  readonly type: 'file' | 'reasoning-file'
  readonly data: string
  readonly mediaType: string
}

/** A part of a kind that only its provider knows. */
interface AiSdkCustomPart extends AiSdkOptions {
  readonly type: 'custom'
  readonly kind: `${string}.${string}`
}

interface AiSdkSystemMessage {
  readonly role: 'system'
  readonly content: string
}

export interface AiSdkUserMessage {
  readonly role: 'user'
  readonly content: (AiSdkText | AiSdkImageData | AiSdkImageUrl | AiSdkPart)[]
}

export interface AiSdkAssistantMessage {
  readonly role: 'assistant'
  readonly content: (
    | AiSdkText
    | AiSdkReasoning
    | AiSdkToolCall
    | AiSdkToolResult
    | AiSdkFile
    | AiSdkCustomPart
  )[]
}

interface AiSdkToolMessage {
  readonly role: 'tool'
  readonly content: AiSdkToolResult[]
}

/** A message that can be given to the `ai` package as a ModelMessage. */
export type AiSdkMessage = AiSdkSystemMessage | AiSdkUserMessage | AiSdkAssistantMessage | AiSdkToolMessage
