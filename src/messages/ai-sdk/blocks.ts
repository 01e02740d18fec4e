/** The AI SDK: kinds of parts, limits and types, for writer and readers. */

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
  visibleText,
} from '../shape.ts'
import { COMMON_LIMITS, isSignedThinking } from '../reply-parts.ts'
import { isWellFormed, isWhitespace } from '../text.ts'

const options = {
  providerOptions: optional(
    where(mapOf(object), (value) => {
      const text = JSON.stringify(value)
      return !/\\ud[89a-f]/.test(text) && isWellFormed(text)
    }),
  ),
}

const reference = where(mapOf(visibleText), (value) => Object.keys(value).length > 0 && !('type' in value))

const fileData = either([
  record({ type: oneOf('data'), data: base64 }),
  record({ type: oneOf('text'), text: visibleText }),
  record({ type: oneOf('reference'), reference }),
])

const file = { type: oneOf('file'), mediaType, filename: optional(text) }

/** The SDK accepts a URL object, which JSON lacks, or, from users only, a string. */
const userFile = record({ ...file, data: either([fileData, base64, webUrl]), ...options })

const custom = record({ type: oneOf('custom'), ...options })

/** A part of a user's message, in addition to text. */
export type AiSdkPart = ShapeOf<typeof userFile>

/** A part of a result for one provider. */
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

const OPTIONS = { providerOptions: object } as const

const WHOLE = { in: 'part', side: 'assistant', signed: 'providerOptions' } as const

const PROVIDER_OPTIONS = { providerOptions: optional(mapOf(object)) } as const

const FILE = {
  ...WHOLE,
  needs: { data: base64, mediaType: mediaType, filename: optional(string), ...PROVIDER_OPTIONS },
} as const

export const KINDS = {
  text: { in: 'standard', side: 'both', more: OPTIONS },
  reasoning: { in: 'standard', side: 'assistant', more: OPTIONS },
  /** A call that the provider executed is stored whole, and so is its result. */
  'tool-call': {
    ...WHOLE,
    needs: {
      toolCallId: id,
      toolName: string,
      input: object,
      providerExecuted: optional(boolean),
      ...PROVIDER_OPTIONS,
    },
    more: OPTIONS,
  },
  'tool-result': {
    ...WHOLE,
    needs: { toolCallId: id, toolName: string, output: open({ type: string }), ...PROVIDER_OPTIONS },
  },
  'tool-error': { in: 'standard', side: 'assistant' },
  file: FILE,
  'reasoning-file': FILE,
  custom: { ...WHOLE, needs: { kind: string, ...PROVIDER_OPTIONS } },
  source: { in: 'about', side: 'assistant' },
  'tool-approval-request': { in: 'about', side: 'assistant' },
  'tool-approval-response': { in: 'about', side: 'assistant' },
} as const satisfies Kinds

/** The SDK passes ids, names and images to any provider, so the strictest limits apply. */
export const LIMITS: Limits = {
  ...COMMON_LIMITS,
  grammar: 'ai-sdk',
  table: KINDS,
  callId: { illegal: /[^\w-]/gu, maxLength: 40 },
  acceptsImage: (image) => image.from === 'data' || image.secure,
  parts: PARTS,
  isSigned: (message, ref) => optionsOf(ref) !== null || isSignedThinking(message, ref),
  more: { text: KINDS.text.more, thinking: KINDS.reasoning.more, call: KINDS['tool-call'].more },
  pairOf,
  pairs: pairParts,
  hasOutput: (turn) =>
    COMMON_LIMITS.hasOutput(turn) ||
    !isWhitespace(turn.message.reasoning_content ?? '') ||
    turn.message.thinking_blocks.some(
      (block) => 'thinking' in block && !block.signature && !isWhitespace(block.thinking),
    ),
  pauses: true,
}

/**
 * Provider data of a part, or null. Bound to the unchanged reply like a signature: item ids are refused
 * without their reasoning.
 */
export function optionsOf({ kind, more }: FieldRef): JsonObject | null {
  const options = sentMore(more, LIMITS.more[kind])?.['providerOptions']
  return isObject(options) && Object.values(options).every(isObject) ? options : null
}

function pairOf({ type, toolCallId }: JsonObject): PairHalf | null {
  if (typeof toolCallId !== 'string') return null
  if (type === 'tool-call') return { half: 'call', id: toolCallId, waits: true }
  return type === 'tool-result' ? { half: 'result', id: toolCallId, waits: true } : null
}

type AiSdkJson = null | string | number | boolean | AiSdkJson[] | { [key: string]: AiSdkJson | undefined }

interface AiSdkOptions {
  readonly providerOptions?: Record<string, { [key: string]: AiSdkJson | undefined }>
}

export interface AiSdkText extends AiSdkOptions {
  readonly type: 'text'
  readonly text: string
}

export interface AiSdkImageData {
  readonly type: 'file'
  readonly mediaType: ImageType
  readonly data: { readonly type: 'data'; readonly data: string }
}

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
  /** True if the provider executed it; its result follows in the same message. */
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

interface AiSdkFile extends AiSdkOptions {
  readonly type: 'file' | 'reasoning-file'
  readonly data: string
  readonly mediaType: string
}

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

/** A ModelMessage of the `ai` package. */
export type AiSdkMessage = AiSdkSystemMessage | AiSdkUserMessage | AiSdkAssistantMessage | AiSdkToolMessage
