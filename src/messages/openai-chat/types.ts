/** The shapes of OpenAI Chat Completions, as far as the log has something to say in them. */

import type { ChatPart } from './part-shapes.ts'

export interface ChatText {
  readonly type: 'text'
  readonly text: string
}

export interface ChatImage {
  readonly type: 'image_url'
  readonly image_url: { readonly url: string }
}

export type ChatToolCall =
  | {
      readonly id: string
      readonly type: 'function'
      readonly function: { readonly name: string; readonly arguments: string }
    }
  /** A call in free text. */
  | {
      readonly id: string
      readonly type: 'custom'
      readonly custom: { readonly name: string; readonly input: string }
    }

export interface ChatSystemMessage {
  readonly role: 'system'
  /** A text where that is asked for (`plainText`). */
  readonly content: ChatText[] | string
}

export interface ChatUserMessage {
  readonly role: 'user'
  /** A text where that is asked for (`plainText`), and nothing but texts is said. */
  readonly content: (ChatText | ChatImage | ChatPart)[] | string
  readonly name?: string
}

export interface ChatAssistantMessage {
  readonly role: 'assistant'
  readonly content?: string
  readonly refusal?: string
  readonly tool_calls?: ChatToolCall[]
}

export interface ChatToolMessage {
  readonly role: 'tool'
  readonly tool_call_id: string
  readonly content: string
}

/** A message that can be given to the `openai` package as a ChatCompletionMessageParam. */
export type ChatMessage = ChatSystemMessage | ChatUserMessage | ChatAssistantMessage | ChatToolMessage
