/** The shapes of the AI SDK's messages, as far as the log has something to say in them. */

import type { JsonObject } from '../../event/shapes.ts'
import type { ImageType } from '../images.ts'
import type { AiSdkCustom, AiSdkPart } from './part-shapes.ts'

/** A JSON value as the SDK has it. */
export type AiSdkJson =
  | null
  | string
  | number
  | boolean
  | AiSdkJson[]
  | { [key: string]: AiSdkJson | undefined }

/** What a provider has added to a part for itself, by its name: signatures, ids of items. */
export interface AiSdkOptions {
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
export interface AiSdkImageUrl {
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
export interface AiSdkFile extends AiSdkOptions {
  readonly type: 'file' | 'reasoning-file'
  readonly data: string
  readonly mediaType: string
}

/** A part of a kind that only its provider knows. */
export interface AiSdkCustomPart extends AiSdkOptions {
  readonly type: 'custom'
  readonly kind: `${string}.${string}`
}

export interface AiSdkSystemMessage {
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

export interface AiSdkToolMessage {
  readonly role: 'tool'
  readonly content: AiSdkToolResult[]
}

/** A message that can be given to the `ai` package as a ModelMessage. */
export type AiSdkMessage = AiSdkSystemMessage | AiSdkUserMessage | AiSdkAssistantMessage | AiSdkToolMessage
