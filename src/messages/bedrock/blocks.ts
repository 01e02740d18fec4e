/** Amazon Bedrock's Converse: kinds of blocks, limits and types, for writer and readers. */

import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Kinds } from '../blocks.ts'
import { type FileRef, isBase64, isPdf } from '../files.ts'
import { base64Of, decodeBase64 } from '../text-files.ts'
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
  /** Stored whole if the provider executes the call. */
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

/** Writes a PDF from its bytes; the writer assigns the name, which must be unique in the request. */
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
  callId: { illegal: /[^\w-]/gu, maxLength: 64 },
  toolNameLength: 64,
  acceptsImage: (image) => image.from === 'data',
  parts: PARTS,
  kinds: THINKING_KINDS,
  order: thinkingFirst,
  callsLast: true,
  isSigned,
  more: { text: KINDS.text.more },
  pairOf,
  pairs: pairParts,
  hasOutput: (turn) => turn.bound > 0 || turn.texts.length > 0 || hasOwnParts(turn),
  pauses: false,
  appends: false,
}

/** Whether reasoning was signed, or redacted, by a model of this provider. */
export function isSigned(message: AssistantMessage, ref: FieldRef): boolean {
  if (message.reply?.grammar !== LIMITS.grammar || !isSignedThinking(message, ref)) return false
  const block = message.thinking_blocks[ref.index]
  return block !== undefined && ('thinking' in block || isBase64(block.data))
}

function pairOf({ toolUse, toolResult }: JsonObject): PairHalf | null {
  const [half, block] =
    toolUse === undefined ? (['result', toolResult] as const) : (['call', toolUse] as const)
  const id = isObject(block) ? block['toolUseId'] : undefined
  return typeof id === 'string' ? { half, id, waits: true } : null
}

export function withBytes(value: JsonValue | undefined): unknown {
  if (Array.isArray(value)) return value.map((item: JsonValue) => withBytes(item))
  if (!isObject(value)) return value
  const { $bytes } = value
  if (typeof $bytes === 'string' && isBase64($bytes) && Object.keys(value).length === 1)
    return decodeBase64($bytes)
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withBytes(field)]))
}

export function withoutBytes(value: unknown): unknown {
  if (value instanceof Uint8Array) return { $bytes: base64Of(value) }
  if (Array.isArray(value)) return value.map(withoutBytes)
  if (!isObject(value as JsonValue)) return value
  return Object.fromEntries(Object.entries(value as object).map(([key, field]) => [key, withoutBytes(field)]))
}

/** A content block of a Converse request. */
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

/** A content block of a tool result. */
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

/** The fields of a `Converse` request that are written from the log. */
export interface BedrockRequest {
  readonly system?: { readonly text: string }[]
  readonly messages: BedrockMessage[]
}
