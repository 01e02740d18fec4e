import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { type Kinds, sentMore } from '../blocks.ts'
import { type FileRef, isPdf } from '../files.ts'
import { pairHalf, pairParts } from '../pairs.ts'
import type { PartTable, FieldRef, Limits, PairHalf } from '../limits.ts'
import {
  base64,
  boolean,
  byType,
  either,
  id,
  mapOf,
  mediaType,
  object,
  oneOf,
  open,
  optional,
  record,
  string,
  text,
  webUrl,
  where,
  visibleText,
} from '../shape.ts'
import type { Shape, ShapeOf, Typed } from '../shape.ts'
import { THINKING_LIMITS, isSignedThinking } from '../reply-parts.ts'
import { isWhitespace } from '../text.ts'
import { resumesPaused } from '../turns.ts'

const options = {
  providerOptions: optional(
    where(mapOf(object), (value) => {
      const text = JSON.stringify(value)
      return !/\\ud[89a-f]/.test(text) && text.isWellFormed()
    }),
  ),
}

const reference = where(mapOf(visibleText), (value) => Object.keys(value).length > 0 && !('type' in value))

const fileData = byType({ data: { data: base64 }, text: { text: visibleText }, reference: { reference } })

const file = { type: oneOf('file'), mediaType, filename: optional(text) }

/** A user's file. Its address can be a string; in other messages, the SDK requires a URL object. */
const userFile = record({ ...file, data: either([fileData, base64, webUrl]), ...options })

const custom = record({ type: oneOf('custom'), ...options })

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
  const isOther = 'id' in from && from.provider === 's3'
  if (isOther || type === null || !mediaType(type) || type === 'application/octet-stream') return null
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

const SPOKEN = { text: string, ...PROVIDER_OPTIONS } as const

const OUTPUT = open({ type: string }) as Shape<object> as Shape<AiSdkOutput>

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
    needs: { toolCallId: id, toolName: string, output: OUTPUT, ...PROVIDER_OPTIONS },
  },
  'tool-error': { in: 'standard', side: 'assistant' },
  file: FILE,
  'reasoning-file': FILE,
  custom: { ...WHOLE, needs: { kind: string as Shape<`${string}.${string}`>, ...PROVIDER_OPTIONS } },
  source: { in: 'about', side: 'assistant' },
  'tool-approval-request': { in: 'about', side: 'assistant' },
  'tool-approval-response': { in: 'about', side: 'assistant' },
} as const satisfies Kinds

/** The SDK passes ids, names and images to any provider, so the limits of the strictest provider apply. */
export const LIMITS: Limits = {
  ...THINKING_LIMITS,
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
    THINKING_LIMITS.hasOutput(turn) ||
    !isWhitespace(turn.message.reasoning_content ?? '') ||
    turn.message.thinking_blocks.some(
      (block) => 'thinking' in block && !block.signature && !isWhitespace(block.thinking),
    ),
  resumes: resumesPaused,
}

/**
 * Returns a part's provider data, or null. Like a signature, the data is sent only while the reply's prefix
 * is unchanged. The data can contain ids of items, and the provider refuses an item if the reasoning before
 * it was left out.
 */
export function optionsOf({ kind, more }: FieldRef): JsonObject | null {
  const options = sentMore(more, LIMITS.more[kind])?.['providerOptions']
  return isObject(options) && Object.values(options).every(isObject) ? options : null
}

function pairOf({ type, toolCallId }: JsonObject): PairHalf | null {
  if (type === 'tool-call') return pairHalf('call', 'tool', toolCallId)
  return type === 'tool-result' ? pairHalf('result', 'tool', toolCallId) : null
}

type Needs<K extends 'tool-call' | 'tool-result' | 'file' | 'reasoning-file' | 'custom'> = Typed<{
  [N in K]: (typeof KINDS)[N]['needs']
}>

export type AiSdkText = Typed<{ text: typeof SPOKEN }>
export type AiSdkReasoning = Typed<{ reasoning: typeof SPOKEN }>
export type AiSdkToolResult = Needs<'tool-result'>
export type AiSdkReplyPart =
  | AiSdkText
  | AiSdkReasoning
  | Needs<'tool-call' | 'tool-result' | 'file' | 'reasoning-file' | 'custom'>
export type AiSdkPart = AiSdkText | ShapeOf<typeof userFile>
/** A part of a tool result. A `custom` part is specific to one provider. */
export type AiSdkResultPart =
  | AiSdkText
  | { type: 'file'; mediaType: string; data: { type: 'data'; data: string } }
  | ShapeOf<typeof custom>
type AiSdkOutput =
  | { type: 'text' | 'error-text'; value: string }
  | { type: 'json' | 'error-json'; value: JsonValue }
  | { type: 'content'; value: AiSdkResultPart[] }
/** A ModelMessage of the `ai` package. */
export type AiSdkMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: AiSdkPart[] }
  | { role: 'assistant'; content: AiSdkReplyPart[] }
  | { role: 'tool'; content: AiSdkToolResult[] }
