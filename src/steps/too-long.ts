/** Recognizes the errors of all providers for a request that is too long for the model. */

import { ColloquyError, hasCode } from '../event/errors.ts'

/** Statuses for a wrong request; 429 mentions tokens too, but means the rate. */
const STATUSES: readonly unknown[] = [400, 413, 422]

const CODES: ReadonlySet<unknown> = new Set([
  // OpenAI, and many servers that speak its grammar.
  'context_length_exceeded',
  // Anthropic, for a body above its limit in bytes.
  'request_too_large',
  // llama.cpp.
  'exceed_context_size_error',
])

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

const NESTED_FIELDS = ['error', 'response', 'data', 'cause', 'lastError'] as const

const DEPTH = 5

/**
 * Returns the error `context_too_long` if an error or stream event reports an overlong request; else null.
 * O(1).
 * @example
 * tooLong({ status: 400, error: { code: 'context_length_exceeded' } }).code // 'context_too_long'
 */
export function tooLong(error: unknown): ColloquyError | null {
  if (hasCode(error, 'context_too_long')) return error
  if (typeof error !== 'object' || error === null) return null
  const isFailure = error instanceof Error || 'error' in error || eventOfFailure(error)
  if (!isFailure || !isTooLong(error, DEPTH)) return null
  return new ColloquyError(
    'context_too_long',
    'The request is too long for the model. Pass a condenser to the run.',
    {},
    { cause: error },
  )
}

const eventOfFailure = ({ type }: { readonly type?: unknown }): boolean =>
  type === 'error' || type === 'response.failed'

function isTooLong(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return SENTENCES.some((sentence) => sentence.test(value))
  if (depth === 0 || typeof value !== 'object' || value === null) return false
  const fields = value as Readonly<Record<string, unknown>>
  const status = fields['status'] ?? fields['statusCode']
  if (typeof status === 'number' && !STATUSES.includes(status)) return false
  if (CODES.has(fields['code']) || CODES.has(fields['type'])) return true
  if (isTooLong(fields['message'] ?? null, depth - 1)) return true
  return NESTED_FIELDS.some((key) => isTooLong(fields[key] ?? null, depth - 1))
}
