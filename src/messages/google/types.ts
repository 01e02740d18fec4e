/** The shapes of a request to Google's Gemini, as far as the log has something to say in them. */

import type { JsonObject } from '../../event/shapes.ts'

/** What the model has signed of its reasoning, on the part with which it came. */
export interface GoogleSignature {
  readonly thoughtSignature?: string
}

export interface GoogleText extends GoogleSignature {
  readonly text: string
  /** Whether it is what the model thought, not what it said. */
  readonly thought?: true
}

/** A file by its bytes in base64. */
export interface GoogleInlineData {
  readonly inlineData: { readonly mimeType: string; readonly data: string }
}

/** A file by its address. */
export interface GoogleFileData {
  readonly fileData: { readonly mimeType: string; readonly fileUri: string }
}

export interface GoogleFunctionCall extends GoogleSignature {
  readonly functionCall: { readonly id?: string; readonly name: string; readonly args?: JsonObject }
}

export interface GoogleFunctionResponse {
  readonly functionResponse: {
    readonly id?: string
    readonly name: string
    readonly response: { readonly output: string } | { readonly error: string }
    /** The images of the result. */
    readonly parts?: GoogleInlineData[]
  }
}

export type GooglePart =
  | GoogleText
  | GoogleInlineData
  | GoogleFileData
  | GoogleFunctionCall
  | GoogleFunctionResponse

export interface GoogleContent {
  readonly role: 'user' | 'model'
  readonly parts: GooglePart[]
}

/**
 * What is written of a `generateContent` request. In the `@google/genai` package `systemInstruction` stands in
 * `config`, in the HTTP interface beside `contents`.
 */
export interface GoogleRequest {
  /** Absent where there is no system prompt. */
  readonly systemInstruction?: { readonly parts: GoogleText[] }
  readonly contents: GoogleContent[]
}
