/**
 * The neutral messages: what a model is sent, before any provider's grammar. One interface for each role, with the
 * names of the wire.
 */

import type { CompletionOutcome } from '../event/completion.ts'
import { type ReplyRecord, replyOf } from '../event/reply.ts'
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
 * A system prompt. The latest one stands first; with `system: 'append'` the first one does, and later ones where they
 * came.
 */
export interface SystemMessage {
  readonly role: 'system'
  readonly content: readonly TextContent[]
}

/** What the model is sent by the user or in the user's place: messages, summaries, images. */
export interface UserMessage {
  readonly role: 'user'
  readonly content: readonly Content[]
  readonly name: string | null
  /** The working call that the message completes, with the result as the tool gave it. */
  readonly completes?: CompletedCall
}

/** A call that is completed behind its reply. */
export interface CompletedCall {
  /** The id under which the call and its working result are sent. */
  readonly tool_call_id: string
  readonly name: string
  readonly outcome: CompletionOutcome
  /** The content without the frame. */
  readonly content: readonly Content[]
}

/** A call as the provider wrote it, under the id that its result carries too. */
export interface NeutralToolCall extends MessageToolCall {
  readonly responses_item_id: string | null
  /** The reasoning item of OpenAI's Responses grammar that led to this call. */
  readonly responses_reasoning_item: ReasoningItemModel | null
}

/** One reply of the model. Each of its calls has its result in one of the tool messages directly behind it. */
export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: readonly Content[]
  /** In log order; empty when the reply calls no tool. */
  readonly tool_calls: readonly NeutralToolCall[]
  readonly reasoning_content: string | null
  readonly thinking_blocks: readonly (ThinkingBlock | RedactedThinkingBlock)[]
  /** The reasoning item of a reply without calls; calls carry their own. */
  readonly responses_reasoning_item: ReasoningItemModel | null
  /** What is known of how the reply was made; absent where nothing is. */
  readonly reply?: ReplyRecord
}

/** The result of one call: what a tool said, why the call was refused, or what went wrong. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly content: readonly Content[]
  readonly tool_call_id: string
  /** Name of the tool. */
  readonly name: string
  /** Whether the tool failed, the scaffold could not run it, or the call was refused or has no result. */
  readonly is_error: boolean
  /** Whether the call works on, and this is what the model is told meanwhile. */
  readonly working?: true
}

/** A message of any role, told apart by `role`; each can be read as a wire Message. */
export type NeutralMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** What to do with pending calls (design U4). */
export type PendingCallHandling =
  /** Leave out the whole reply that made them. */
  | 'omit'
  /** Throw. */
  | 'refuse'
  /** Give each an error result with this reason. */
  | { readonly close: string }

/** How a view is written as messages. */
export interface MessageOptions {
  /** Default: `omit`. */
  readonly pending?: PendingCallHandling
  /**
   * Longest text of a tool result, in UTF-16 units; longer ones lose their middle and say so. Applies to each text of a
   * result. Default: no limit, since a text cut here cannot be read again by the model.
   */
  readonly maxResultLength?: number
  /**
   * What becomes of a system prompt that replaces another. `replace` (default): the latest stands first, which changes
   * the prefix of every message. `append`: the first one stays, and later ones stand where they came, for models that
   * take system messages there.
   */
  readonly system?: 'replace' | 'append'
}

/** The record of the reply that an event came in, as a field of its message. */
export function withReply(event: Event): Pick<AssistantMessage, 'reply'> {
  const reply = replyOf(event)
  return reply === null ? {} : { reply }
}
