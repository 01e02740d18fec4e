/** The shapes of the AI SDK's messages, as far as the log has something to say in them. */

import type { JsonObject } from '../../event/shapes.ts'
import type { ImageType } from '../images.ts'
import type { AiSdkCustom, AiSdkPart } from './part-schema.ts'

export interface AiSdkText {
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

export interface AiSdkReasoning {
  readonly type: 'reasoning'
  readonly text: string
  /** For Anthropic: the signature, or the data of a redacted block. */
  readonly providerOptions?: {
    readonly anthropic: { readonly signature: string } | { readonly redactedData: string }
  }
}

export interface AiSdkToolCall {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly toolName: string
  readonly input: JsonObject
}

export interface AiSdkToolResult {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly output:
    | { readonly type: 'text' | 'error-text'; readonly value: string }
    | { readonly type: 'content'; readonly value: (AiSdkText | AiSdkImageData | AiSdkCustom)[] }
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
  readonly content: (AiSdkText | AiSdkReasoning | AiSdkToolCall)[]
}

export interface AiSdkToolMessage {
  readonly role: 'tool'
  readonly content: AiSdkToolResult[]
}

/** A message that can be given to the `ai` package as a ModelMessage. */
export type AiSdkMessage = AiSdkSystemMessage | AiSdkUserMessage | AiSdkAssistantMessage | AiSdkToolMessage
