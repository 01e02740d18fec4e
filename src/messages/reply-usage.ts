/**
 * Reads what providers say a reply took, each in its own words, as counts that can be summed, and writes them short, as
 * they stand in every reply's record.
 */

import { isObject } from '../event/json.ts'
import type { ReplyRecord } from '../event/reply.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'

/** Tokens of one reply, by what they were for. */
export interface ReplyTokens {
  /** All that was sent, with what a cache gave and took. */
  readonly input: number
  /** All that came back, with the reasoning. */
  readonly output: number
  readonly cache_read: number
  readonly cache_write: number
  readonly reasoning: number
}

/** Where usages say each of them; of several places, the first that says a number above 0 counts. */
const PLACES: Readonly<Record<keyof ReplyTokens, readonly string[]>> = {
  input: ['input', 'input_tokens', 'prompt_tokens', 'promptTokenCount', 'inputTokens'],
  output: ['output', 'output_tokens', 'completion_tokens', 'candidatesTokenCount', 'outputTokens'],
  cache_read: [
    'cache_read',
    'cache_read_input_tokens',
    'input_tokens_details.cached_tokens',
    'prompt_tokens_details.cached_tokens',
    'prompt_cache_hit_tokens',
    'cachedContentTokenCount',
    'inputTokenDetails.cacheReadTokens',
  ],
  cache_write: [
    'cache_write',
    'cache_creation_input_tokens',
    'input_tokens_details.cache_write_tokens',
    'prompt_tokens_details.cache_write_tokens',
    'inputTokenDetails.cacheWriteTokens',
  ],
  reasoning: [
    'reasoning',
    'output_tokens_details.reasoning_tokens',
    'output_tokens_details.thinking_tokens',
    'completion_tokens_details.reasoning_tokens',
    'thoughtsTokenCount',
    'outputTokenDetails.reasoningTokens',
  ],
}

/** What stands beside the input or the output of some providers, where all others count it within. */
const BESIDE_INPUT = ['cache_read_input_tokens', 'cache_creation_input_tokens', 'toolUsePromptTokenCount']
const BESIDE_OUTPUT = ['thoughtsTokenCount']

/** Samplings within a reply of Anthropic that its own counts leave out. */
const APART: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message'])

/**
 * The counts of one reply's usage in the words of its provider. A
 * number that is none, or below 0, counts as 0. O(fields).
 *
 * @example
 * tokensOfReply({ input_tokens: 3, cache_read_input_tokens: 97, output_tokens: 5 }).input // 100
 */
export function tokensOfReply(usage: JsonObject): ReplyTokens {
  const { iterations } = usage
  const all = [usage]
  if (Array.isArray(iterations))
    all.push(...iterations.filter(isObject).filter(({ type }) => APART.has(type)))
  const sum = (count: keyof ReplyTokens, beside: readonly string[] = []): number =>
    all.reduce((total, each) => {
      const more = beside.reduce((added, path) => added + amount(at(each, path)), 0)
      return finite(total + first(each, PLACES[count]) + more)
    }, 0)
  return {
    input: sum('input', BESIDE_INPUT),
    output: sum('output', BESIDE_OUTPUT),
    cache_read: sum('cache_read'),
    cache_write: sum('cache_write'),
    reasoning: sum('reasoning'),
  }
}

/** What follows from the counts, or says nothing of the price that goes without saying. */
const KNOWN: ReadonlySet<string> = new Set([
  ...Object.values(PLACES).flat(),
  ...BESIDE_INPUT,
  ...BESIDE_OUTPUT,
  'iterations',
  'raw',
  'total_tokens',
  'totalTokens',
  'totalTokenCount',
  'prompt_cache_miss_tokens',
  'cache_creation.ephemeral_5m_input_tokens',
  'inputTokenDetails.noCacheTokens',
  'outputTokenDetails.textTokens',
  'prompt_tokens_details.text_tokens',
  'completion_tokens_details.text_tokens',
])
const ORDINARY: ReadonlySet<JsonValue> = new Set([
  'standard',
  'default',
  'auto',
  'not_available',
  'on_demand',
  'ON_DEMAND',
  'global',
  '',
])

/** What a record says of the tokens of its reply. */
export type RecordedUsage = Pick<ReplyRecord, 'tokens' | 'usage'>

/** The order in which a record counts. */
const COUNTS = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const

/**
 * A provider's usage as a record has it: the counts, and what it says beyond them (audio, searches, a dearer tier) in
 * its own words. `tokensIn` gives the same of it as `tokensOfReply` of what the provider said. O(size).
 */
export function shortUsage(usage: JsonObject): RecordedUsage {
  const counts = tokensOfReply(usage)
  const tokens = COUNTS.map((count) => counts[count])
  const last = tokens.findLastIndex((count) => count > 0)
  const more = beyond(usage, '')
  return {
    ...(last < 0 ? {} : { tokens: tokens.slice(0, last + 1) }),
    ...(Object.keys(more).length === 0 ? {} : { usage: more }),
  }
}

/**
 * The counts of one reply by its record, null where that says none. A number that is none, or below 0, counts as 0.
 * O(fields).
 *
 * @example
 * tokensIn({ tokens: [100, 5, 97] })?.cache_read // 97
 */
export function tokensIn({ tokens, usage }: RecordedUsage): ReplyTokens | null {
  if (Array.isArray(tokens)) {
    const [input, output, cache_read, cache_write, reasoning] = COUNTS.map((_, at) => amount(tokens[at]))
    return { input, output, cache_read, cache_write, reasoning } as ReplyTokens
  }
  return isObject(usage) ? tokensOfReply(usage) : null
}

function beyond(value: JsonObject, path: string): JsonObject {
  const kept = Object.entries(value).flatMap(([key, field]): [string, JsonValue][] => {
    const place = path + key
    if (KNOWN.has(place)) return []
    if (Array.isArray(field)) {
      const list = field.filter((each) => !isObject(each) || each['modality'] !== 'TEXT')
      return list.length === 0 ? [] : [[key, list]]
    }
    if (isObject(field)) {
      const inner = path === '' ? beyond(field, `${place}.`) : field
      return Object.keys(inner).length === 0 ? [] : [[key, inner]]
    }
    const isSaid = typeof field === 'string' ? !ORDINARY.has(field) : Boolean(field)
    return isSaid ? [[key, field]] : []
  })
  return Object.fromEntries(kept)
}

function first(usage: JsonObject, paths: readonly string[]): number {
  for (const path of paths) {
    const found = amount(at(usage, path))
    if (found > 0) return found
  }
  return 0
}

/** The value at a path of one or two names. */
function at(usage: JsonObject, path: string): JsonValue | undefined {
  const dot = path.indexOf('.')
  return dot < 0 ? fieldOf(usage, path) : fieldOf(fieldOf(usage, path.slice(0, dot)), path.slice(dot + 1))
}

const fieldOf = (value: JsonValue | undefined, key: string): JsonValue | undefined =>
  isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined

/** A number that counts something; 0 for any other value. */
export const amount = (value: JsonValue | undefined): number =>
  typeof value === 'number' && value > 0 ? finite(value) : 0

/** Sums of hostile numbers stay numbers that JSON can write. */
export const finite = (value: number): number => Math.min(value, Number.MAX_VALUE)
