/** The neutral messages: the content of a request before it is written in a provider's grammar. */

import type { CompletionOutcome } from '../event/completion.ts'
import { type ReplyRecord, replyOf } from '../event/reply.ts'
import type { State } from '../state/state.ts'
import type { Event } from '../event/types.ts'
import type {
  Content,
  MessageToolCall,
  ReasoningItemModel,
  RedactedThinkingBlock,
  TextContent,
  ThinkingBlock,
} from '../event/shapes.ts'

/**
 * A system prompt. By default, only the latest one is written, at the start of the request; see
 * `MessageOptions.system`.
 */
export interface SystemMessage {
  readonly role: 'system'
  readonly content: readonly TextContent[]
}

/**
 * A message with the role `user`: a user's text and images, a summary, or the completion of a background
 * call.
 */
export interface UserMessage {
  readonly role: 'user'
  readonly content: readonly Content[]
  readonly name: string | null
  readonly completes?: CompletedCall
}

/**
 * The background call that a message completes. The message's first part names the call; the other parts are
 * the call's output.
 */
export interface CompletedCall {
  readonly tool_call_id: string
  readonly name: string
  readonly outcome: CompletionOutcome
}

/** A call as the provider wrote it. Its result has the same id. */
export interface NeutralToolCall extends MessageToolCall {
  readonly responses_item_id: string | null
  /** OpenAI's reasoning item before this call. */
  readonly responses_reasoning_item: ReasoningItemModel | null
}

/** A reply of the model. The tool messages directly after it have a result for each of its calls. */
export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: readonly Content[]
  /** In log order; empty when the reply calls no tool. */
  readonly tool_calls: readonly NeutralToolCall[]
  readonly reasoning_content: string | null
  readonly thinking_blocks: readonly (ThinkingBlock | RedactedThinkingBlock)[]
  readonly responses_reasoning_item: ReasoningItemModel | null
  readonly reply?: ReplyRecord
}

export type Thinking = AssistantMessage['thinking_blocks'][number]

/** The result of a call: the tool's output, the reason for a rejection, or an error. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly content: readonly Content[]
  readonly tool_call_id: string
  readonly name: string
  /** Whether the call failed, was rejected, could not be executed, or has no result. */
  readonly is_error: boolean
  readonly working?: true
}

/** A message of any role, distinguished by `role`. It is also a valid `Message` of the log. */
export type NeutralMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/**
 * A cache of written messages and requests, made by `requestCache()`. With a cache, the writer writes only
 * the new part of the next request. The cache does not keep conversations in memory.
 */
export interface RequestCache {
  readonly messages: (state: State, options: MessageOptions) => NeutralMessage[]
  /**
   * Writes a request with a grammar's writer. Returns null if the cache cannot be used: with the option
   * `callIds`, or after a new system prompt in a grammar that accepts only one prompt.
   */
  readonly write: (writer: object, messages: readonly NeutralMessage[], options: object) => object | null
}

/**
 * How a call without a result is written. `omit` leaves out the call's whole batch: all calls of the same
 * reply, and their results. `refuse` throws `pending_calls`. `close` writes an error result with this text.
 */
export type PendingCallHandling = 'omit' | 'refuse' | { readonly close: string }

/** Options for writing a view as messages. */
export interface MessageOptions {
  /** How a call without a result is written. Default: `omit`. */
  readonly pending?: PendingCallHandling
  /** Maximum UTF-16 units of each result text. The middle of a longer text is removed. Default: unlimited. */
  readonly maxResultLength?: number
  /**
   * `replace` (default): only the latest system prompt is sent, at the start of the request, so a new prompt
   * changes the prefix. `append`: each prompt stays at its position, for models that accept later system
   * messages.
   */
  readonly system?: 'replace' | 'append'
}

export function withReply(event: Event): Pick<AssistantMessage, 'reply'> {
  const reply = replyOf(event)
  return reply === null ? {} : { reply }
}
