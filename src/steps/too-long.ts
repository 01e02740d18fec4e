/** Recognises when a provider says that a request is too long for the model, in one table for all of them. */

import { ColloquyError, hasCode } from '../event/errors.ts'

/** With these statuses a request is refused for what it is; 429 speaks of tokens too, and means the rate. */
const STATUSES: readonly unknown[] = [400, 413, 422]

/** What providers call it. */
const CODES: ReadonlySet<unknown> = new Set([
  // OpenAI, and many servers that speak its grammar.
  'context_length_exceeded',
  // Anthropic, for a body above its limit in bytes.
  'request_too_large',
  // llama.cpp.
  'exceed_context_size_error',
])

/** What they say where they have no code of its own for it. */
const SENTENCES: readonly RegExp[] = [
  // Anthropic, and for `max_tokens` on top of the prompt.
  /prompt is too long/i,
  /input length and `max_tokens` exceed context limit/i,
  // OpenAI, vLLM, OpenRouter, DeepSeek, Mistral.
  /maximum context length/i,
  /exceeds? the (?:model's )?context (?:window|length|size)/i,
  // Google.
  /exceeds the maximum number of tokens allowed/i,
  // Bedrock.
  /input is too long for requested model/i,
  // xAI.
  /maximum prompt length is \d+/i,
  // Groq.
  /reduce the length of the messages/i,
  // Moonshot.
  /exceeded model token limit/i,
  // MiniMax.
  /context window exceeds limit/i,
  // GitHub Copilot.
  /prompt token count of \d+ exceeds/i,
  // LM Studio.
  /greater than the context length/i,
  // llama.cpp.
  /exceeds the available context size/i,
  // Alibaba.
  /range of input length should be/i,
  // Z.ai.
  /prompt exceeds max length/i,
]

/** Where errors and the error events of streams keep what the provider has said. */
const INSIDE = ['error', 'response', 'data', 'cause', 'lastError'] as const

const DEPTH = 5

/**
 * The error `context_too_long` where a thrown error or an event of a stream says that the request was too long; null
 * for any other. O(1).
 * @example
 * tooLong({ status: 400, error: { code: 'context_length_exceeded' } }).code // 'context_too_long'
 */
export function tooLong(given: unknown): ColloquyError | null {
  if (hasCode(given, 'context_too_long')) return given
  if (typeof given !== 'object' || given === null) return null
  const isFailure = given instanceof Error || 'error' in given || eventOfFailure(given)
  if (!isFailure || !saysSo(given, DEPTH)) return null
  return new ColloquyError(
    'context_too_long',
    'The provider says that what it was sent is too long for the model. A condenser, given to the run, makes it shorter.',
    {},
    { cause: given },
  )
}

const eventOfFailure = ({ type }: { readonly type?: unknown }): boolean =>
  type === 'error' || type === 'response.failed'

function saysSo(given: unknown, depth: number): boolean {
  if (typeof given === 'string') return SENTENCES.some((sentence) => sentence.test(given))
  if (depth === 0 || typeof given !== 'object' || given === null) return false
  const found = given as Readonly<Record<string, unknown>>
  const status = found['status'] ?? found['statusCode']
  if (typeof status === 'number' && !STATUSES.includes(status)) return false
  if (CODES.has(found['code']) || CODES.has(found['type'])) return true
  if (saysSo(found['message'] ?? null, depth - 1)) return true
  return INSIDE.some((key) => saysSo(found[key] ?? null, depth - 1))
}
