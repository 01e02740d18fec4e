/** The shapes of OpenAI Responses, as far as the log has something to say in them. */

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
  readonly content: (ResponsesText | ResponsesImage)[]
}

/** A system prompt that came later. */
export interface ResponsesDeveloperMessage {
  readonly type: 'message'
  readonly role: 'developer'
  readonly content: ResponsesText[]
}

/** A reply in the short form, its text as a string: the long form needs an id that the log does not have. */
export interface ResponsesAssistantMessage {
  readonly type: 'message'
  readonly role: 'assistant'
  readonly content: string
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
  readonly output: string | (ResponsesText | ResponsesImage)[]
}

/** An item that can be given to the `openai` package as a ResponseInputItem. */
export type ResponsesItem =
  | ResponsesUserMessage
  | ResponsesDeveloperMessage
  | ResponsesAssistantMessage
  | ResponsesReasoning
  | ResponsesFunctionCall
  | ResponsesFunctionCallOutput

/** The part of a Responses request that comes from the log. */
export interface ResponsesRequest {
  readonly instructions: string | null
  readonly input: ResponsesItem[]
}
