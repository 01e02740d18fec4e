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

/** The order in which a record counts. */
const COUNTS = ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const

/** Where usages say each of them; of several places, the first that says a number above 0 counts. */
const PLACES: Readonly<Record<keyof ReplyTokens, readonly string[]>> = {
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

/** What stands beside the input or the output of some providers, where all others count it within. */
const BESIDE_INPUT = [
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'toolUsePromptTokenCount',
  'total_tool_use_tokens',
  'cacheReadInputTokens',
  'cacheWriteInputTokens',
]
const BESIDE_OUTPUT = ['thoughtsTokenCount', 'total_thought_tokens']

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
  const [input, output, cache_read, cache_write, reasoning] = countsIn(usage)
  return { input, output, cache_read, cache_write, reasoning }
}

/** One number for each of {@link COUNTS}. */
type Counts = [number, number, number, number, number]

/** Which count a field is of, and how early its place is looked at; null where it is added to what that says. */
interface Place {
  readonly count: number
  readonly rank: number | null
}

/** What a field says by itself, and what the fields in it do. */
interface Field {
  readonly places: Place[]
  readonly inner: Map<string, Place[]>
}

const FIELDS = fieldsOf()

function fieldsOf(): ReadonlyMap<string, Field> {
  const fields = new Map<string, Field>()
  const put = (path: string, place: Place): void => {
    const [name = '', within] = path.split('.')
    const field = fields.get(name) ?? { places: [], inner: new Map<string, Place[]>() }
    fields.set(name, field)
    if (within === undefined) field.places.push(place)
    else field.inner.set(within, [...(field.inner.get(within) ?? []), place])
  }
  for (const [count, name] of COUNTS.entries())
    for (const [rank, path] of PLACES[name].entries()) put(path, { count, rank })
  for (const path of BESIDE_INPUT) put(path, { count: 0, rank: null })
  for (const path of BESIDE_OUTPUT) put(path, { count: 1, rank: null })
  return fields
}

/** Looks at what a usage has, and not for all that it might have: most have few fields. */
function countsIn(usage: JsonObject): Counts {
  const counts: Counts = [0, 0, 0, 0, 0]
  addCounts(usage, counts)
  const { iterations } = usage
  if (Array.isArray(iterations))
    for (const each of iterations) if (isObject(each) && APART.has(each['type'])) addCounts(each, counts)
  return counts
}

function addCounts(usage: JsonObject, counts: Counts): void {
  const first: First = { found: [0, 0, 0, 0, 0], ranks: [LAST, LAST, LAST, LAST, LAST] }
  const isWithin = usage['prompt_tokens'] !== undefined
  for (const name of Object.keys(usage)) {
    const field = FIELDS.get(name)
    if (field === undefined) continue
    const value = usage[name]
    // A proxy that adds Anthropic's counts of the cache has them in the prompt's as well.
    const places = isWithin && BESIDE_INPUT.includes(name) ? field.places.filter(isRanked) : field.places
    if (!isObject(value)) see(places, value, counts, first)
    else if (field.inner.size > 0)
      for (const inner of Object.keys(value)) {
        const places = field.inner.get(inner)
        if (places !== undefined) see(places, value[inner], counts, first)
      }
  }
  for (let count = 0; count < counts.length; count += 1)
    counts[count] = finite((counts[count] ?? 0) + (first.found[count] ?? 0))
  // xAI counts reasoning beside the completion, which only the total tells.
  const [input, output, , , reasoning] = first.found
  const isBeside = usage['total_thought_tokens'] !== undefined
  if (reasoning > 0 && !isBeside && usage['total_tokens'] === input + output + reasoning)
    counts[1] = finite(counts[1] + reasoning)
}

/** The number of each count whose place is looked at first, and how early that is. */
interface First {
  readonly found: Counts
  readonly ranks: Counts
}

const isRanked = ({ rank }: Place): boolean => rank !== null

/** Behind every place that a count is looked for at. */
const LAST = 99

function see(places: readonly Place[], value: JsonValue | undefined, counts: Counts, first: First): void {
  const found = amount(value)
  if (found === 0) return
  for (const { count, rank } of places) {
    if (rank === null) counts[count] = finite((counts[count] ?? 0) + found)
    else if (rank < (first.ranks[count] ?? 0)) {
      first.ranks[count] = rank
      first.found[count] = found
    }
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

/** What a record says of the tokens of its reply. */
export type RecordedUsage = Pick<ReplyRecord, 'tokens' | 'usage'>

/**
 * A provider's usage as a record has it: the counts, and what it says beyond them (audio, searches, a dearer tier) in
 * its own words. `tokensIn` gives the same of it as `tokensOfReply` of what the provider said. O(size).
 */
export function shortUsage(usage: JsonObject): RecordedUsage {
  const tokens = countsIn(usage)
  const last = tokens.findLastIndex((count) => count > 0)
  const more = beyond(usage, '')
  const said: { tokens?: readonly number[]; usage?: JsonObject } = {}
  if (last >= 0) said.tokens = tokens.slice(0, last + 1)
  if (more !== NOTHING) said.usage = more
  return said
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

/**
 * A usage with what a later event of the same reply says of it. Counts are cumulative; 0, null and an empty text say
 * nothing where there is a value. O(size).
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

function beyond(value: JsonObject, path: string): JsonObject {
  const kept: [string, JsonValue][] = []
  for (const key of Object.keys(value)) {
    const place = path === '' ? key : path + key
    const field = value[key]
    if (field === undefined || KNOWN.has(place)) continue
    if (Array.isArray(field)) {
      const list = field.filter((each) => !isObject(each) || !/^text$/i.test(String(each['modality'])))
      if (list.length > 0) kept.push([key, list])
    } else if (isObject(field)) {
      const inner = path === '' ? beyond(field, `${place}.`) : field
      if (Object.keys(inner).length > 0) kept.push([key, inner])
    } else if (typeof field === 'string' ? !ORDINARY.has(field) : Boolean(field)) kept.push([key, field])
  }
  return kept.length === 0 ? NOTHING : Object.fromEntries(kept)
}

const NOTHING: JsonObject = Object.freeze({})

/** A number that counts something; 0 for any other value. */
export const amount = (value: JsonValue | undefined): number =>
  typeof value === 'number' && value > 0 ? finite(value) : 0

/** Sums of hostile numbers stay numbers that JSON can write. */
export const finite = (value: number): number => Math.min(value, Number.MAX_VALUE)
