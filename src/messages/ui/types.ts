/** Message types of the AI SDK for user interfaces (`UIMessage`), as far as a log can fill them. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'

/** A text, which is `streaming` until it is complete. */
export interface UITextPart {
  readonly type: 'text'
  readonly text: string
  readonly state?: 'streaming' | 'done'
}

/** The model's readable reasoning. Its id is its index among the parts, not counting step parts. */
export interface UIReasoningPart {
  readonly type: 'reasoning'
  readonly id: string
  readonly text: string
  readonly state: 'streaming' | 'done'
}

/** An image or another file, by address or as a data URL. */
export interface UIFilePart {
  readonly type: 'file'
  readonly mediaType: string
  readonly filename?: string
  readonly url: string
}

/** Begins a step, which is a reply or a data part. A pause or interrupt belongs to the previous step, if any. */
export interface UIStepPart {
  readonly type: 'step-start'
}

/** State of a call, named as in the AI SDK; `approval.id` is the id of the call's event. */
export type UIToolState =
  | { readonly state: 'input-available' }
  | { readonly state: 'approval-requested'; readonly approval: { readonly id: string } }
  | {
      readonly state: 'approval-responded'
      readonly approval: { readonly id: string; readonly approved: true }
    }
  | {
      readonly state: 'output-available'
      readonly output: JsonValue
      /** The call is working; `output` is `{ content, progress? }`. */
      readonly preliminary?: true
    }
  | { readonly state: 'output-error'; readonly errorText: string }
  | {
      readonly state: 'output-denied'
      readonly approval: { readonly id: string; readonly approved: false; readonly reason: string }
    }

/** A tool call. `toolCallId` is the id of the call's event, which is unique. */
export type UIToolPart = {
  readonly type: `tool-${string}`
  readonly toolCallId: string
  readonly input: JsonObject
} & UIToolState

/**
 * A log item that is not part of a reply, with its event's id: `data-message` (from the environment),
 * `data-condensation`, `data-error`, `data-pause` or `data-interrupt`. A `data-progress` part reports on a
 * call of an earlier turn, and has the id of this call.
 */
export interface UIDataPart {
  readonly type: `data-${string}`
  readonly id: string
  readonly data: JsonObject
}

/** A part of a message, distinguished by `type`. */
export type UIPart = UITextPart | UIReasoningPart | UIFilePart | UIStepPart | UIToolPart | UIDataPart

/** A UIMessage of the `ai` package. */
export interface AiSdkUIMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly parts: UIPart[]
}

/** A piece of a message for the `ai` package, which calls it UIMessageChunk. */
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
  | {
      readonly type: 'tool-output-available'
      readonly toolCallId: string
      readonly output: JsonValue
      readonly preliminary?: true
    }
  | { readonly type: 'tool-output-error'; readonly toolCallId: string; readonly errorText: string }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | UIDataPart
  | { readonly type: 'error'; readonly errorText: string }
  | {
      readonly type: 'finish'
      readonly finishReason: 'stop' | 'tool-calls' | 'error' | 'interrupted' | 'other'
    }
