/** Reads each provider's token usage as counts, and shortens it for the reply's record. */

import { isObject } from '../event/json.ts'
import type { ReplyRecord } from '../event/reply.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'

/** Tokens of one reply. `input` includes the cache's tokens, `output` those of reasoning. */
export interface ReplyTokens {
  readonly input: number
  readonly output: number
  readonly cache_read: number
  readonly cache_write: number
  readonly reasoning: number
}

/** Order of the counts in a record. */
const COUNTS = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const

/** Paths of each count in usages, the preferred one first; the first number above 0 wins. */
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
    'cachedContentTokenCount',
    'inputTokenDetails.cacheReadTokens',
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
    'total_thought_tokens',
  ],
}

/** Fields that some providers count in addition to the input or output, where others include them. */
const BESIDE_INPUT = [
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'toolUsePromptTokenCount',
  'total_tool_use_tokens',
  'cacheReadInputTokens',
  'cacheWriteInputTokens',
]
const BESIDE_OUTPUT = ['thoughtsTokenCount', 'total_thought_tokens']

/** Samplings in a reply of Anthropic that its own counts exclude. */
const APART: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message'])

/**
 * Returns the tokens in a provider's usage. An invalid or negative number counts as 0. O(fields).
 * @example
 * tokensOfReply({ input_tokens: 3, cache_read_input_tokens: 97, output_tokens: 5 }).input // 100
 */
export function tokensOfReply(usage: JsonObject): ReplyTokens {
  const [input, output, cache_read, cache_write, reasoning] = countsIn(usage)
  return { input, output, cache_read, cache_write, reasoning }
}

type Counts = [number, number, number, number, number]

interface CountPath {
  readonly count: number
  readonly rank: number | null
}

interface Field {
  readonly paths: CountPath[]
  readonly inner: Map<string, CountPath[]>
}

const FIELDS = fieldsOf()

function fieldsOf(): ReadonlyMap<string, Field> {
  const fields = new Map<string, Field>()
  const add = (name: string, path: CountPath): void => {
    const [outer = '', within] = name.split('.')
    const field = fields.get(outer) ?? { paths: [], inner: new Map<string, CountPath[]>() }
    fields.set(outer, field)
    if (within === undefined) field.paths.push(path)
    else field.inner.set(within, [...(field.inner.get(within) ?? []), path])
  }
  for (const [count, name] of COUNTS.entries())
    for (const [rank, path] of PATHS[name].entries()) add(path, { count, rank })
  for (const path of BESIDE_INPUT) add(path, { count: 0, rank: null })
  for (const path of BESIDE_OUTPUT) add(path, { count: 1, rank: null })
  return fields
}

function countsIn(usage: JsonObject): Counts {
  const counts: Counts = [0, 0, 0, 0, 0]
  addCounts(usage, counts)
  const { iterations } = usage
  if (Array.isArray(iterations))
    for (const each of iterations) if (isObject(each) && APART.has(each['type'])) addCounts(each, counts)
  return counts
}

function addCounts(usage: JsonObject, counts: Counts): void {
  const first: First = { values: [0, 0, 0, 0, 0], ranks: [LAST, LAST, LAST, LAST, LAST] }
  const isWithin = usage['prompt_tokens'] !== undefined
  for (const name of Object.keys(usage)) {
    const field = FIELDS.get(name)
    if (field === undefined) continue
    const value = usage[name]
    // A proxy that adds Anthropic's cache counts includes them in the prompt too.
    const places = isWithin && BESIDE_INPUT.includes(name) ? field.paths.filter(isRanked) : field.paths
    if (!isObject(value)) addField(places, value, counts, first)
    else if (field.inner.size > 0)
      for (const inner of Object.keys(value)) {
        const places = field.inner.get(inner)
        if (places !== undefined) addField(places, value[inner], counts, first)
      }
  }
  for (let count = 0; count < counts.length; count += 1)
    counts[count] = finite((counts[count] ?? 0) + (first.values[count] ?? 0))
  // xAI counts reasoning in addition to the completion; only the total shows it.
  const [input, output, , , reasoning] = first.values
  const isBeside = usage['total_thought_tokens'] !== undefined
  if (reasoning > 0 && !isBeside && usage['total_tokens'] === input + output + reasoning)
    counts[1] = finite(counts[1] + reasoning)
}

interface First {
  readonly values: Counts
  readonly ranks: Counts
}

const isRanked = ({ rank }: CountPath): boolean => rank !== null

const LAST = 99

function addField(
  places: readonly CountPath[],
  field: JsonValue | undefined,
  counts: Counts,
  first: First,
): void {
  const value = amount(field)
  if (value === 0) return
  for (const { count, rank } of places) {
    if (rank === null) counts[count] = finite((counts[count] ?? 0) + value)
    else if (rank < (first.ranks[count] ?? 0)) {
      first.ranks[count] = rank
      first.values[count] = value
    }
  }
}

/** Fields that follow from the counts, or have no influence on the price. */
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
 * Returns usage as recorded: counts, and further fields (audio, searches, a higher tier). Its `tokensIn`
 * equals the usage's `tokensOfReply`. O(size).
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
 * Returns the tokens in a reply's record, or null. An invalid or negative number counts as 0. O(fields).
 * @example
 * tokensIn({ tokens: [100, 5, 97] })?.cache_read // 97
 */
export function tokensIn({ tokens, usage }: RecordedUsage): ReplyTokens | null {
  if (Array.isArray(tokens)) {
    const [input, output, cache_read, cache_write, reasoning] = COUNTS.map((_, index) =>
      amount(tokens[index]),
    )
    return { input, output, cache_read, cache_write, reasoning } as ReplyTokens
  }
  return isObject(usage) ? tokensOfReply(usage) : null
}

/**
 * Merges a later usage of a reply. Counts are cumulative; 0, null and empty text never replace a value.
 * O(size).
 * @example
 * laterUsage({ input_tokens: 27, output_tokens: 1 }, { input_tokens: 0, output_tokens: 47 }).input_tokens // 27
 */
export function laterUsage(before: unknown, after: unknown): JsonObject {
  const merged: Record<string, JsonValue> = isObject(before) ? { ...before } : {}
  if (!isObject(after)) return merged
  for (const [key, value] of Object.entries(after)) {
    const known = merged[key] ?? null
    const isSilent = value === 0 || value === '' || (value ?? null) === null
    if (isObject(known) && isObject(value)) merged[key] = laterUsage(known, value)
    else if (known === null || !isSilent) merged[key] = value
  }
  return merged
}

function beyond(value: JsonObject, prefix: string): JsonObject {
  const fields: [string, JsonValue][] = []
  for (const key of Object.keys(value)) {
    const path = prefix + key
    const field = value[key]
    if (field === undefined || KNOWN_COUNTS.has(path)) continue
    if (Array.isArray(field)) {
      const list = field.filter((each) => !isObject(each) || !/^text$/i.test(String(each['modality'])))
      if (list.length > 0) fields.push([key, list])
    } else if (isObject(field)) {
      const inner = prefix === '' ? beyond(field, `${path}.`) : field
      if (Object.keys(inner).length > 0) fields.push([key, inner])
    } else if (typeof field === 'string' ? !ORDINARY.has(field) : Boolean(field)) fields.push([key, field])
  }
  return fields.length === 0 ? NOTHING : Object.fromEntries(fields)
}

const NOTHING: JsonObject = Object.freeze({})

export const amount = (value: JsonValue | undefined): number =>
  typeof value === 'number' && value > 0 ? finite(value) : 0

/** Limits hostile sums to numbers that JSON can represent. */
export const finite = (value: number): number => Math.min(value, Number.MAX_VALUE)
