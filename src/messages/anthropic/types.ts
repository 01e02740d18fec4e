/** The shapes of Anthropic Messages, as far as the log has something to say in them. */

import type { JsonObject } from '../../event/shapes.ts'
import type { CacheControl } from '../cache-marks.ts'
import type { ImageType } from '../images.ts'
import type { AnthropicPart, AnthropicResultPart } from './part-shapes.ts'

export interface AnthropicText extends CacheControl {
  readonly type: 'text'
  readonly text: string
}

export interface AnthropicImage extends CacheControl {
  readonly type: 'image'
  readonly source:
    | { readonly type: 'base64'; readonly media_type: ImageType; readonly data: string }
    | { readonly type: 'url'; readonly url: string }
}

export interface AnthropicThinking {
  readonly type: 'thinking'
  readonly thinking: string
  readonly signature: string
}

export interface AnthropicRedactedThinking {
  readonly type: 'redacted_thinking'
  readonly data: string
}

export interface AnthropicToolUse {
  readonly type: 'tool_use'
  readonly id: string
  readonly name: string
  readonly input: JsonObject
}

export interface AnthropicToolResult extends CacheControl {
  readonly type: 'tool_result'
  readonly tool_use_id: string
  readonly content?: (AnthropicText | AnthropicImage | AnthropicResultPart)[]
  readonly is_error?: true
}

export type AnthropicBlock =
  | AnthropicText
  | AnthropicImage
  | (AnthropicPart & CacheControl)
  | AnthropicThinking
  | AnthropicRedactedThinking
  | AnthropicToolUse
  | AnthropicToolResult

/** What the user or the model says. */
export interface AnthropicTurnMessage {
  readonly role: 'user' | 'assistant'
  readonly content: AnthropicBlock[]
}

/** A system prompt that came later, for models that take one behind a user message. */
export interface AnthropicSystemMessage {
  readonly role: 'system'
  readonly content: AnthropicText[]
}

/** A message that can be given to the `@anthropic-ai/sdk` package as a MessageParam. */
export type AnthropicMessage = AnthropicTurnMessage | AnthropicSystemMessage

/** The part of a Messages request that comes from the log. */
export interface AnthropicRequest {
  /** Left out when there is no system prompt: the provider refuses an empty one. */
  readonly system?: AnthropicText[]
  readonly messages: AnthropicMessage[]
  /** Where calls of the provider's own tools wait for the results at the end: the container in which they do. */
  readonly container?: string
}
