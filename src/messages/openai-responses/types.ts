/** The shapes of OpenAI Responses, as far as the log has something to say in them. */

import type { ResponsesPart } from './part-shapes.ts'

export interface ResponsesText {
  readonly type: 'input_text'
  readonly text: string
}

export interface ResponsesImage {
  readonly type: 'input_image'
  readonly image_url: string
  readonly detail: 'auto'
}

export interface ResponsesUserMessage {
  readonly type: 'message'
  readonly role: 'user'
  readonly content: (ResponsesText | ResponsesImage | ResponsesPart)[]
}

/** A system prompt that came later. */
export interface ResponsesDeveloperMessage {
  readonly type: 'message'
  readonly role: 'developer'
  readonly content: ResponsesText[]
}

export type ResponsesPhase = 'commentary' | 'final_answer'

/** What the model says in the short form, its text as a string: the long form needs an id. */
export interface ResponsesAssistantMessage {
  readonly type: 'message'
  readonly role: 'assistant'
  readonly content: string
  readonly phase?: ResponsesPhase
}

export type ResponsesOutputPart =
  | { readonly type: 'output_text'; readonly text: string; readonly annotations: never[] }
  | { readonly type: 'refusal'; readonly refusal: string }

/** What the model says in the form that it came in, where the short one would lose something. */
export interface ResponsesOutputMessage {
  readonly type: 'message'
  readonly id: string
  readonly role: 'assistant'
  readonly status: 'completed' | 'incomplete'
  readonly content: ResponsesOutputPart[]
  readonly phase?: ResponsesPhase
}

export interface ResponsesReasoning {
  readonly type: 'reasoning'
  readonly id: string
  readonly summary: { readonly type: 'summary_text'; readonly text: string }[]
  readonly encrypted_content: string
}

export interface ResponsesFunctionCall {
  readonly type: 'function_call'
  readonly id?: string
  readonly call_id: string
  readonly name: string
  readonly arguments: string
}

export interface ResponsesFunctionCallOutput {
  readonly type: 'function_call_output'
  readonly call_id: string
  readonly output: string | (ResponsesText | ResponsesImage | ResponsesPart)[]
}

/**
 * An item that can be given to the `openai` package as a ResponseInputItem. Items of other kinds stand among them as
 * the provider made them.
 */
export type ResponsesItem =
  | ResponsesUserMessage
  | ResponsesDeveloperMessage
  | ResponsesAssistantMessage
  | ResponsesOutputMessage
  | ResponsesReasoning
  | ResponsesFunctionCall
  | ResponsesFunctionCallOutput

/** The part of a Responses request that comes from the log. */
export interface ResponsesRequest {
  readonly instructions: string | null
  readonly input: ResponsesItem[]
}
