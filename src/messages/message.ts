/** The neutral messages: what a model is told, before any provider's grammar. One interface for each role, with the names of the wire. */

import type {
  Content,
  MessageToolCall,
  ReasoningItemModel,
  RedactedThinkingBlock,
  TextContent,
  ThinkingBlock,
} from '../event/shapes.ts'

/** The one system message of a list; it stands first. */
export interface SystemMessage {
  readonly role: 'system'
  readonly content: readonly TextContent[]
}

/** What the model is told by the user or in the user's place: messages, summaries, images. */
export interface UserMessage {
  readonly role: 'user'
  readonly content: readonly Content[]
  readonly name: string | null
}

/** A call as the provider wrote it, under the id that its result carries too. */
export interface NeutralToolCall extends MessageToolCall {
  readonly responses_item_id: string | null
  /** The reasoning item of OpenAI's Responses grammar that led to this call. */
  readonly responses_reasoning_item: ReasoningItemModel | null
}

/** One reply of the model. Each of its calls is answered by one of the tool messages directly behind it. */
export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: readonly Content[]
  /** In log order; empty when the reply calls no tool. */
  readonly tool_calls: readonly NeutralToolCall[]
  readonly reasoning_content: string | null
  readonly thinking_blocks: readonly (ThinkingBlock | RedactedThinkingBlock)[]
  /** The reasoning item of a reply without calls; calls carry their own. */
  readonly responses_reasoning_item: ReasoningItemModel | null
}

/** The result of one call: what a tool said, why the call was refused, or what went wrong. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly content: readonly Content[]
  readonly tool_call_id: string
  /** Name of the tool. */
  readonly name: string
  /** Whether the tool failed, the scaffold could not run it, or the call was refused or never answered. */
  readonly is_error: boolean
}

/** A message of any role, told apart by `role`; each can be read as a wire Message. */
export type NeutralMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** What to do with calls that nothing has answered yet (design U4). */
export type PendingCalls =
  /** Leave out the whole reply that made them. */
  | 'omit'
  /** Throw. */
  | 'refuse'
  /** Answer each with an error result that gives this reason. */
  | { readonly close: string }

/** How a view is written as messages. */
export interface MessageOptions {
  /** Default: `omit`. */
  readonly pending?: PendingCalls
  /**
   * Longest text of a tool result, in UTF-16 units; longer ones lose their middle and say so. Applies to each text of a result.
   * Default: no limit, since a text cut here cannot be read again by the model.
   */
  readonly maxResultLength?: number
}

/** Whether a part of content holds images; the two kinds are told apart by their fields, as `type` may be absent. */
export const isImage = (part: Content): part is Exclude<Content, TextContent> => 'image_urls' in part
