/** Reads what providers say a reply took, each in its own words, as counts that can be summed. */

import { isObject } from '../event/json.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'

/** Tokens by what they were for, under the names of the wire. */
export interface TokenCounts {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  readonly reasoning_tokens: number
  /** The widest context window, not a sum. */
  readonly context_window: number
}

/** Where usages say a number; of several places, the first that says one counts. */
const INPUT = ['input_tokens', 'prompt_tokens', 'promptTokenCount', 'inputTokens']
const OUTPUT = ['output_tokens', 'completion_tokens', 'candidatesTokenCount', 'outputTokens']
const CACHE_READ = [
  'input_tokens_details.cached_tokens',
  'prompt_tokens_details.cached_tokens',
  'cachedContentTokenCount',
  'inputTokenDetails.cacheReadTokens',
]
const CACHE_WRITE = [
  'input_tokens_details.cache_write_tokens',
  'prompt_tokens_details.cache_write_tokens',
  'inputTokenDetails.cacheWriteTokens',
]
const REASONING = [
  'output_tokens_details.reasoning_tokens',
  'output_tokens_details.thinking_tokens',
  'completion_tokens_details.reasoning_tokens',
  'thoughtsTokenCount',
  'outputTokenDetails.reasoningTokens',
]

/** Samplings within a reply of Anthropic that its own counts leave out. */
const APART: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message'])

/**
 * The counts of one reply's usage (`reply.usage`), in whatever grammar it was made: the prompt includes what a cache
 * gave and took, the completion includes the reasoning. A number that is none, or below 0, counts as 0. O(fields).
 *
 * @example
 * tokensOfReply({ input_tokens: 3, cache_read_input_tokens: 97, output_tokens: 5 }).prompt_tokens // 100
 */
export function tokensOfReply(usage: JsonObject): TokenCounts {
  const { iterations } = usage
  const apart = Array.isArray(iterations)
    ? iterations.filter(isObject).filter(({ type }) => APART.has(type))
    : []
  const all = [usage, ...apart]
  const sum = (count: (usage: JsonObject) => number): number =>
    all.reduce((total, each) => finite(total + count(each)), 0)
  const cache_read_tokens = sum((each) => read(each) || first(each, CACHE_READ))
  const cache_write_tokens = sum((each) => written(each) || first(each, CACHE_WRITE))
  return {
    prompt_tokens: sum(
      (each) => first(each, INPUT) + read(each) + written(each) + amount(each['toolUsePromptTokenCount']),
    ),
    // Gemini counts thoughts beside the words.
    completion_tokens: sum((each) => first(each, OUTPUT) + amount(each['thoughtsTokenCount'])),
    cache_read_tokens,
    cache_write_tokens,
    reasoning_tokens: sum((each) => first(each, REASONING)),
    context_window: 0,
  }
}

/** What Anthropic's cache gave and took: these two stand beside its input, where all others count them within. */
const read = (usage: JsonObject): number => amount(usage['cache_read_input_tokens'])
const written = (usage: JsonObject): number => amount(usage['cache_creation_input_tokens'])

function first(usage: JsonObject, paths: readonly string[]): number {
  for (const path of paths) {
    const found = amount(path.split('.').reduce(fieldOf, usage))
    if (found > 0) return found
  }
  return 0
}

const fieldOf = (value: JsonValue | undefined, key: string): JsonValue | undefined =>
  isObject(value) && Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined

/** A number that counts something; 0 for any other value. */
export const amount = (value: JsonValue | undefined): number =>
  typeof value === 'number' && value > 0 ? finite(value) : 0

/** Sums of hostile numbers stay numbers that JSON can write. */
export const finite = (value: number): number => Math.min(value, Number.MAX_VALUE)
