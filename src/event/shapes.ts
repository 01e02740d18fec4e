/** Any JSON value. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject

/** An object whose values are JSON. */
export interface JsonObject {
  readonly [key: string]: JsonValue
}

/** The sources of events. */
export const SOURCES = ['agent', 'user', 'environment', 'hook'] as const

/** Source of an event. */
export type Source = (typeof SOURCES)[number]

export const HOOK_EVENT_TYPES = [
  'PreToolUse',
  'PostToolUse',
  'UserPromptSubmit',
  'SessionStart',
  'SessionEnd',
  'Stop',
] as const

/** A text. `cache_prompt` marks the end of a prefix that the provider should cache. */
export interface TextContent {
  readonly type?: 'text'
  readonly text: string
  readonly cache_prompt?: boolean
}

/** One or more images, as URLs or data URLs. */
export interface ImageContent {
  readonly type?: 'image'
  readonly image_urls: readonly string[]
  readonly cache_prompt?: boolean
}

/** A part that is neither text nor images, such as a document. Its provider defines the other fields. */
export interface OpenPart {
  readonly type: string
  readonly [field: string]: unknown
}

/**
 * A part of a message or tool result. Without `type`, a part with `image_urls` contains images, and any other
 * part is a text. See `isTextPart`, `isImagePart` and `isOpenPart`.
 */
export type Content = TextContent | ImageContent | OpenPart

/** A model's reasoning, with its signature if it has one. It is sent back byte for byte or not at all. */
export interface ThinkingBlock {
  readonly type?: 'thinking'
  readonly thinking: string
  readonly signature?: string | null
}

/** Reasoning that the provider returned only in encrypted form. */
export interface RedactedThinkingBlock {
  readonly type?: 'redacted_thinking'
  readonly data: string
}

/** A reasoning item of OpenAI Responses. `encrypted_content` is stored and sent back, but never shown. */
export interface ReasoningItemModel {
  readonly id?: string | null
  readonly summary?: readonly string[]
  readonly content?: readonly string[] | null
  readonly encrypted_content?: string | null
  readonly status?: string | null
}

/** A tool call as the provider wrote it. `arguments` may be invalid JSON. */
export interface MessageToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly origin: 'completion' | 'responses'
  readonly responses_item_id?: string | null
}

/** A message to or from a model. */
export interface Message {
  readonly role: 'user' | 'system' | 'assistant' | 'tool'
  readonly content?: readonly Content[]
  readonly tool_calls?: readonly MessageToolCall[] | null
  readonly tool_call_id?: string | null
  readonly name?: string | null
  readonly reasoning_content?: string | null
  readonly thinking_blocks?: readonly (ThinkingBlock | RedactedThinkingBlock)[]
  readonly responses_reasoning_item?: ReasoningItemModel | null
}

/** A user's message to a model. */
export type UserMessage = Message & { readonly role: 'user' }

/** Estimated danger of a call: LOW < MEDIUM < HIGH, or UNKNOWN. */
export type SecurityRisk = 'UNKNOWN' | 'LOW' | 'MEDIUM' | 'HIGH'

/** A critic's rating, with a `score` from 0 to 1. */
export interface CriticResult {
  readonly score: number
  readonly message?: string | null
  readonly metadata?: JsonObject | null
}

/** A tool as the request described it to the model. `kind` is the tool's class, `action_type` its actions' `kind`. */
export interface ToolDefinition {
  readonly kind?: string
  readonly title?: string | null
  readonly description: string
  readonly action_type: string
  readonly observation_type?: string | null
  readonly annotations?: JsonObject | null
  readonly meta?: JsonObject | null
}

/** The arguments of a tool call. `kind` and the other fields depend on the tool; see `isAction`. */
export interface Action {
  readonly kind: string
  readonly [field: string]: unknown
}

/** A tool's result. The tool may add other fields. */
export interface Observation {
  readonly kind: string
  readonly content?: readonly Content[]
  readonly is_error?: boolean
  readonly [field: string]: unknown
}

/**
 * Whether a part is neither text nor images. O(1).
 * @example
 * isOpenPart({ type: 'document', source: {} }) // true
 */
export const isOpenPart = (part: Content): part is OpenPart =>
  part.type !== undefined && part.type !== 'text' && part.type !== 'image'

/**
 * Whether a part contains images. The part can have other fields too, such as `text`. O(1).
 * @example
 * isImagePart({ image_urls: ['https://example.com/a.png'] }) // true
 */
export const isImagePart = (part: Content): part is ImageContent =>
  !isOpenPart(part) && Object.hasOwn(part, 'image_urls')

/**
 * Whether a part is a text. O(1).
 * @example
 * isTextPart({ text: 'hi' }) // true
 */
export const isTextPart = (part: Content): part is TextContent =>
  !isOpenPart(part) && !Object.hasOwn(part, 'image_urls')

const TEXT_FIELDS: ReadonlySet<string> = new Set(['text', 'title', 'filename', 'context'])

/**
 * Returns the texts of an open part (titles, file names, texts and plain text documents) in the order of its
 * fields. O(size).
 * @example
 * wordsIn({ type: 'document', source: { type: 'base64', data: 'JVBERi0=' }, title: 'Plan' }) // ['Plan']
 */
export function wordsIn(part: OpenPart): string[] {
  const texts: string[] = []
  const read = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const isPlain =
      !Array.isArray(value) && Object.entries(value).some(([key, of]) => key === 'type' && of === 'text')
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner !== 'string') read(inner)
      else if (!Array.isArray(value) && (TEXT_FIELDS.has(key) || (isPlain && key === 'data')))
        texts.push(inner)
    }
  }
  read(part)
  return texts
}
