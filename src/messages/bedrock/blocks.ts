/** The content blocks of Amazon Bedrock's Converse, and what the provider accepts; readers of its replies use it too. */

import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Kinds } from '../blocks.ts'
import { type FileRef, isBase64, isPdf } from '../files.ts'
import { base64Of, bytesOf } from '../text-files.ts'
import type { FieldRef, Limits, PairHalf, PartTable } from '../limits.ts'
import type { AssistantMessage } from '../message.ts'
import { pairParts } from '../pairs.ts'
import { hasOwnParts, isSignedThinking, THINKING_KINDS, thinkingFirst } from '../reply-parts.ts'
import { base64, object, objects, oneOf, open, string } from '../shape.ts'

const MEDIA = /* @__PURE__ */ open({ format: string, source: object })
const IMAGE = /* @__PURE__ */ open({
  format: oneOf('png', 'jpeg', 'gif', 'webp'),
  source: open({ bytes: open({ $bytes: base64 }) }),
})
const USERS = { in: 'standard', side: 'user' } as const

export const KINDS = {
  text: { in: 'standard', side: 'both', more: { citations: objects } },
  reasoningContent: { in: 'standard', side: 'assistant' },
  citationsContent: { in: 'standard', side: 'assistant' },
  /** Kept whole where the provider executes the call. */
  toolUse: {
    in: 'standard',
    side: 'assistant',
    needs: { toolUse: open({ toolUseId: string, name: string, input: object, type: string }) },
  },
  toolResult: {
    in: 'standard',
    side: 'both',
    needs: { toolResult: open({ toolUseId: string, content: objects, type: string }) },
  },
  image: { in: 'part', side: 'both', needs: { image: IMAGE } },
  audio: { in: 'part', side: 'both', needs: { audio: MEDIA } },
  video: { in: 'part', side: 'both', needs: { video: MEDIA } },
  document: USERS,
  searchResult: USERS,
  guardContent: USERS,
  cachePoint: USERS,
  toolAddition: USERS,
  toolRemoval: USERS,
} as const satisfies Kinds

/** A PDF by its bytes; the writer names it, since no two documents of a request may share a name. */
function writeFile(file: FileRef): JsonObject | null {
  return 'data' in file.from && isPdf(file)
    ? { document: { format: 'pdf', name: '', source: { bytes: { $bytes: file.from.data } } } }
    : null
}

const PARTS: PartTable = { user: true, result: false, kinds: {}, write: writeFile }

export const LIMITS: Limits = {
  grammar: 'bedrock',
  namedBy: 'field',
  origin: 'completion',
  table: KINDS,
  callId: { illegal: /[^a-zA-Z0-9_-]/gu, maxLength: 64 },
  toolNameLength: 64,
  takesImage: (image) => image.from === 'data',
  parts: PARTS,
  kinds: THINKING_KINDS,
  order: thinkingFirst,
  callsLast: true,
  isSigned,
  more: { text: KINDS.text.more },
  pairOf,
  pairs: pairParts,
  says: (turn) => turn.bound > 0 || turn.texts.length > 0 || hasOwnParts(turn),
  pauses: false,
  appends: false,
}

/** Whether reasoning is signed, or redacted, by a model behind this provider. */
export function isSigned(message: AssistantMessage, ref: FieldRef): boolean {
  if (message.reply?.grammar !== LIMITS.grammar || !isSignedThinking(message, ref)) return false
  const block = message.thinking_blocks[ref.at]
  return block !== undefined && ('thinking' in block || isBase64(block.data))
}

/** A tool of the provider has an id in common with its result. */
function pairOf({ toolUse, toolResult }: JsonObject): PairHalf | null {
  const [half, held] =
    toolUse === undefined ? (['result', toolResult] as const) : (['call', toolUse] as const)
  const id = isObject(held) ? held['toolUseId'] : undefined
  return typeof id === 'string' ? { half, id, waits: true } : null
}

/** A value with bytes, as JSON has them and the provider's client takes them. */
export function withBytes(value: JsonValue | undefined): unknown {
  if (Array.isArray(value)) return value.map((item: JsonValue) => withBytes(item))
  if (!isObject(value)) return value
  const { $bytes } = value
  if (typeof $bytes === 'string' && isBase64($bytes) && Object.keys(value).length === 1)
    return bytesOf($bytes)
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withBytes(field)]))
}

/** The same as JSON. */
export function withoutBytes(value: unknown): unknown {
  if (value instanceof Uint8Array) return { $bytes: base64Of(value) }
  if (Array.isArray(value)) return value.map(withoutBytes)
  if (!isObject(value as JsonValue)) return value
  return Object.fromEntries(Object.entries(value as object).map(([key, field]) => [key, withoutBytes(field)]))
}

export type BedrockBlock =
  | { readonly text: string }
  | { readonly image: { readonly format: 'png' | 'jpeg' | 'gif' | 'webp'; readonly source: BedrockBytes } }
  | { readonly document: { readonly format: 'pdf'; readonly name: string; readonly source: BedrockBytes } }
  | { readonly toolUse: { readonly toolUseId: string; readonly name: string; readonly input: JsonObject } }
  | {
      readonly toolResult: {
        readonly toolUseId: string
        readonly content: BedrockResultBlock[]
        readonly status: 'success' | 'error'
      }
    }
  | { readonly reasoningContent: BedrockReasoning }
  | {
      readonly citationsContent: {
        readonly content: { readonly text: string }[]
        readonly citations: object[]
      }
    }

export type BedrockResultBlock = Extract<BedrockBlock, { readonly text: string } | { readonly image: object }>

export interface BedrockBytes {
  readonly bytes: Uint8Array
}

export type BedrockReasoning =
  | { readonly reasoningText: { readonly text: string; readonly signature: string } }
  | { readonly redactedContent: Uint8Array }

export interface BedrockMessage {
  readonly role: 'user' | 'assistant'
  readonly content: BedrockBlock[]
}

/** What is written of a `Converse` request. */
export interface BedrockRequest {
  /** Absent where there is no system prompt. */
  readonly system?: { readonly text: string }[]
  readonly messages: BedrockMessage[]
}
