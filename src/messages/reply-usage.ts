import { isObject } from '../event/json.ts'
import type { ReplyRecord } from '../event/reply.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'

/** Tokens of one reply. `input` includes cached tokens, and `output` includes reasoning tokens. */
export interface ReplyTokens {
  readonly input: number
  readonly output: number
  readonly cache_read: number
  readonly cache_write: number
  readonly reasoning: number
}

/** Names of the token counts, in the order in which a reply's record lists the counts. */
const COUNTS = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const

/**
 * Paths of each count in the usage objects of providers, the preferred path first. The first number above 0
 * is used.
 */
const PATHS: Readonly<Record<keyof ReplyTokens, readonly string[]>> = {
  input: ['input', 'input_tokens', 'prompt_tokens', 'promptTokenCount', 'inputTokens', 'total_input_tokens'],
  output: [
    'output',
    'output_tokens',
    'completion_tokens',
    'candidatesTokenCount',
    'outputTokens',
    'total_output_tokens',
  ],
  cache_read: [
    'cache_read',
    'cache_read_input_tokens',
    'input_tokens_details.cached_tokens',
    'prompt_tokens_details.cached_tokens',
    'prompt_cache_hit_tokens',
    'cached_tokens',
    'cachedContentTokenCount',
    'inputTokenDetails.cacheReadTokens',
    'cachedInputTokens',
    'total_cached_tokens',
    'cacheReadInputTokens',
  ],
  cache_write: [
    'cache_write',
    'cache_creation_input_tokens',
    'input_tokens_details.cache_write_tokens',
    'prompt_tokens_details.cache_write_tokens',
    'inputTokenDetails.cacheWriteTokens',
    'cacheWriteInputTokens',
  ],
  reasoning: [
    'reasoning',
    'output_tokens_details.reasoning_tokens',
    'output_tokens_details.thinking_tokens',
    'completion_tokens_details.reasoning_tokens',
    'thoughtsTokenCount',
    'outputTokenDetails.reasoningTokens',
    'reasoningTokens',
    'total_thought_tokens',
  ],
}

/** Counts that some providers exclude from the input count, so they are added to it. */
const BESIDE_INPUT = [
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'toolUsePromptTokenCount',
  'total_tool_use_tokens',
  'cacheReadInputTokens',
  'cacheWriteInputTokens',
]
const BESIDE_OUTPUT = ['thoughtsTokenCount', 'total_thought_tokens']

/** Types of Anthropic's `usage.iterations` whose tokens are not in the usage's own counts. */
const APART: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message'])

/**
 * Returns the token counts of a provider's usage object. An invalid or negative number counts as 0.
 * O(fields).
 * @example
 * tokensOfReply({ input_tokens: 3, cache_read_input_tokens: 97, output_tokens: 5 }).input // 100
 */
export const tokensOfReply = (usage: JsonObject): ReplyTokens => tokensFrom(countsIn(usage))

function tokensFrom(counts: readonly number[]): ReplyTokens {
  const [input = 0, output = 0, cache_read = 0, cache_write = 0, reasoning = 0] = counts
  return { input, output, cache_read, cache_write, reasoning }
}

const NAMES = COUNTS.map((count) => PATHS[count].map((path) => path.split('.') as [string, string?]))

function countsIn(usage: JsonObject): readonly number[] {
  const { iterations } = usage
  const apart = (Array.isArray(iterations) ? iterations : []).filter(isObject)
  return apart
    .filter(({ type }) => APART.has(type))
    .map(countsOf)
    .reduce(addCounts, countsOf(usage))
}

const addCounts = (sum: readonly number[], more: readonly number[]): readonly number[] =>
  sum.map((count, index) => finite(count + (more[index] ?? 0)))

function countsOf(usage: JsonObject): readonly number[] {
  const sumOf = (fields: readonly string[]): number =>
    fields.reduce((sum, field) => finite(sum + amount(usage[field])), 0)
  const [input = 0, output = 0, cacheRead = 0, cacheWrite = 0, reasoning = 0] = NAMES.map((paths) => {
    const amounts = paths.map(([name, inner]) => {
      const value = usage[name]
      return amount(inner === undefined ? value : isObject(value) ? value[inner] : undefined)
    })
    return amounts.find((count) => count > 0) ?? 0
  })
  // A proxy that reports Anthropic's cache counts includes them in `prompt_tokens` too.
  const cached = usage['prompt_tokens'] === undefined ? sumOf(BESIDE_INPUT) : 0
  // xAI excludes reasoning from the completion count; only the total shows this.
  const isBeside =
    usage['total_thought_tokens'] === undefined && usage['total_tokens'] === input + output + reasoning
  const beside = sumOf(BESIDE_OUTPUT) + (isBeside ? reasoning : 0)
  return [finite(input + cached), finite(output + beside), cacheRead, cacheWrite, reasoning]
}

/** Fields that a record's `usage` omits: counts, sums of counts, and fields that do not affect the price. */
const KNOWN_COUNTS: ReadonlySet<string> = new Set([
  ...Object.values(PATHS).flat(),
  ...BESIDE_INPUT,
  ...BESIDE_OUTPUT,
  'iterations',
  'raw',
  'total_tokens',
  'initial_input_tokens',
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

/** The usage in the record of a reply. */
export type RecordedUsage = Pick<ReplyRecord, 'tokens' | 'usage'>

/**
 * Returns the part of a usage object that a reply's record stores: counts, and further fields (audio, searches,
 * a higher tier). `tokensIn` of the result equals `tokensOfReply(usage)`, or is null for an empty result. O(size).
 */
export function shortUsage(usage: JsonObject): RecordedUsage {
  const tokens = countsIn(usage)
  const last = tokens.findLastIndex((count) => count > 0)
  const more = beyond(usage, '')
  const recorded: { tokens?: readonly number[]; usage?: JsonObject } = {}
  if (last >= 0) recorded.tokens = tokens.slice(0, last + 1)
  if (more !== NOTHING) recorded.usage = more
  return recorded
}

/**
 * Returns the token counts in a reply's record; null if the record has no usage. An invalid or negative
 * number counts as 0. O(fields).
 * @example
 * tokensIn({ tokens: [100, 5, 97] })?.cache_read // 97
 */
export function tokensIn({ tokens, usage }: RecordedUsage): ReplyTokens | null {
  if (Array.isArray(tokens)) return tokensFrom(tokens.map((count: JsonValue) => amount(count)))
  return isObject(usage) ? tokensOfReply(usage) : null
}

/**
 * Merges a later usage of a reply into an earlier one. Later counts replace earlier ones, because counts are
 * cumulative; 0, null and empty text never replace a value. O(size).
 * @example
 * laterUsage({ input_tokens: 27, output_tokens: 1 }, { input_tokens: 0, output_tokens: 47 }).input_tokens // 27
 */
export function laterUsage(before: unknown, after: unknown, depth = 8): JsonObject {
  const merged: Record<string, JsonValue> = isObject(before) ? { ...before } : {}
  if (!isObject(after)) return merged
  for (const [key, value] of Object.entries(after)) {
    const known = merged[key] ?? null
    const isSilent = value === 0 || value === '' || (value ?? null) === null
    if (depth > 0 && isObject(known) && isObject(value)) merged[key] = laterUsage(known, value, depth - 1)
    else if (known === null || !isSilent) merged[key] = value
  }
  return merged
}

export function addUsage(before: JsonObject, after: unknown): JsonObject {
  const sum: Record<string, JsonValue> = laterUsage(before, after)
  for (const [key, count] of Object.entries(before)) {
    const more = isObject(after) ? after[key] : null
    if (typeof count === 'number' && typeof more === 'number') sum[key] = count + more
  }
  return sum
}

function beyond(value: JsonObject, prefix: string): JsonObject {
  const fields: [string, JsonValue][] = []
  for (const key of Object.keys(value)) {
    const path = prefix + key
    const field = value[key]
    if (field === undefined || KNOWN_COUNTS.has(path)) continue
    if (Array.isArray(field)) {
      const list = field.filter((each) => !isObject(each) || !isText(each['modality']))
      if (list.length > 0) fields.push([key, list])
    } else if (isObject(field)) {
      const inner = prefix === '' ? beyond(field, `${path}.`) : field
      if (Object.keys(inner).length > 0) fields.push([key, inner])
    } else if (typeof field === 'string' ? !ORDINARY.has(field) : Boolean(field)) fields.push([key, field])
  }
  return fields.length === 0 ? NOTHING : Object.fromEntries(fields)
}

const isText = (modality?: JsonValue): boolean => typeof modality === 'string' && /^text$/i.test(modality)

const NOTHING: JsonObject = Object.freeze({})

export const amount = (value: unknown): number => (typeof value === 'number' && value > 0 ? finite(value) : 0)

/** Limits hostile sums to numbers that JSON can represent. */
export const finite = (value: number): number => Math.min(value, Number.MAX_VALUE)
