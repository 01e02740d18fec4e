/** The shapes of the AI SDK's messages for user interfaces (`UIMessage`), as far as the log has something to say. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'

/** A text; `streaming` while it comes. */
export interface UITextPart {
  readonly type: 'text'
  readonly text: string
  readonly state?: 'streaming' | 'done'
}

/** The model's reasoning, as far as it can be read. Its id is its place among the parts, borders not counted. */
export interface UIReasoningPart {
  readonly type: 'reasoning'
  readonly id: string
  readonly text: string
  readonly state: 'streaming' | 'done'
}

/** An image or another file, by its address or as a data URL. */
export interface UIFilePart {
  readonly type: 'file'
  readonly mediaType: string
  readonly filename?: string
  readonly url: string
}

/** The border before each reply, and before each part of the log's own that is no mark of a pause or interruption. */
export interface UIStepPart {
  readonly type: 'step-start'
}

/** What became of a call, in the words of the AI SDK; `approval.id` is the id of the call's event. */
export type UIToolState =
  | { readonly state: 'input-available' }
  | { readonly state: 'approval-requested'; readonly approval: { readonly id: string } }
  | {
      readonly state: 'approval-responded'
      readonly approval: { readonly id: string; readonly approved: true }
    }
  | { readonly state: 'output-available'; readonly output: JsonValue }
  | { readonly state: 'output-error'; readonly errorText: string }
  | {
      readonly state: 'output-denied'
      readonly approval: { readonly id: string; readonly approved: false; readonly reason: string }
    }

/** A tool call under the id of its event, which no other call has. */
export type UIToolPart = {
  readonly type: `tool-${string}`
  readonly toolCallId: string
  readonly input: JsonObject
} & UIToolState

/**
 * What the log says beside replies: `data-message` (words of the environment), `data-condensation`, `data-error`,
 * `data-pause` and `data-interrupt`, under the id of the event.
 */
export interface UIDataPart {
  readonly type: `data-${string}`
  readonly id: string
  readonly data: JsonObject
}

export type UIPart = UITextPart | UIReasoningPart | UIFilePart | UIStepPart | UIToolPart | UIDataPart

/** A message that can be given to the `ai` package as a UIMessage. */
export interface AiSdkUIMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly parts: UIPart[]
}

/** A piece of a message on its way to the `ai` package, which calls it a UIMessageChunk. */
export type UIChunk =
  | { readonly type: 'start'; readonly messageId: string }
  | { readonly type: 'start-step' | 'reset-step' }
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | { readonly type: 'file'; readonly mediaType: string; readonly url: string }
  | {
      readonly type: 'tool-input-available'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: JsonObject
    }
  | { readonly type: 'tool-approval-request'; readonly approvalId: string; readonly toolCallId: string }
  | {
      readonly type: 'tool-approval-response'
      readonly approvalId: string
      readonly approved: boolean
      readonly reason?: string
    }
  | { readonly type: 'tool-output-available'; readonly toolCallId: string; readonly output: JsonValue }
  | { readonly type: 'tool-output-error'; readonly toolCallId: string; readonly errorText: string }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | UIDataPart
  | { readonly type: 'error'; readonly errorText: string }
  | {
      readonly type: 'finish'
      readonly finishReason: 'stop' | 'tool-calls' | 'error' | 'interrupted' | 'other'
    }
