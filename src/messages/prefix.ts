/**
 * Checks that a request still begins with what the model saw when it wrote a reply. Providers refuse or drop
 * reasoning after a changed prefix. A reply that fails the check is therefore sent without signed parts, and
 * so are later replies, until the recorded prefix of one of them matches.
 */

import { digitsOf, hashText } from '../event/text.ts'
import type { CacheTime } from './cache-marks.ts'
import type { ReplyRecord } from '../event/reply.ts'
import { type Digest, digestOf, digestOfAll, followedBy } from './digest.ts'
import type { AssistantMessage, RequestCache } from './message.ts'
import { ownDigest } from './reply-parts.ts'
import type { AssistantTurn, Limits, Result } from './limits.ts'
import { pieceDigest } from './pieces.ts'

export interface Written<Block> {
  readonly block: Block
  readonly digest: () => Digest
}

export type Role = 'front' | 'system' | 'user' | 'result' | 'assistant'

export const resultDigest = ({ call, pieces, isError }: Result): Digest =>
  digestOfAll(isError ? 'error' : 'result', digestOf(call.id), ...pieces.map(pieceDigest))

/** Options for writing messages in a provider's grammar. */
export interface WriteOptions {
  /** The request's tools. A reply requested with other tools loses its signed parts. Default: not checked. */
  readonly tools?: readonly object[]
  /** @internal Digest of the request's tools, for a caller that has only this recorded digest and not the tools. */
  readonly toolDigest?: string
  /**
   * Lifetime of the Anthropic request's own `cache_control`, which counts as one of at most 4 breakpoints.
   * Default: the request has no `cache_control`.
   */
  readonly cached?: CacheTime | null
  /** Model of the request. Replies of other models lose their signed parts. Default: not checked. */
  readonly model?: string
  /**
   * Whether Chat Completions gets text-only content as a string, for servers that reject lists. Default:
   * false.
   */
  readonly plainText?: boolean
  /**
   * Called once for each Chat Completions request. Returns a function that makes a legal and unique call id
   * from each call id in the log. With this option, `cache` is not used. Default: ids of the log, changed
   * only if illegal or repeated.
   */
  readonly callIds?: () => (input: string) => string
  /** Content of a Chat Completions message that has calls but no text. Default: the field is left out. */
  readonly callContent?: '' | null
  /**
   * Whether Chat Completions gets a fixed reply between results and a user message, as Mistral requires.
   * Default: false.
   */
  readonly answersResults?: boolean
  /**
   * `calls`: messages with calls begin with their reasoning, or with a space if they have no reasoning; this
   * also applies to Anthropic requests. `all`: in addition, other Chat Completions messages keep their
   * `reasoning_content`. Default: only messages that have both calls and reasoning have `reasoning_content`.
   */
  readonly reasoning?: 'calls' | 'all'
  /**
   * Whether the server signs all reasoning, as Anthropic and OpenAI do. If so, Anthropic requests lack unsigned
   * thinking, and Responses requests lack plain reasoning (`reasoning_text`). Otherwise both are sent back to
   * the model that wrote them. Default: true.
   */
  readonly signs?: boolean
  /** A cache from `requestCache()`, so that the next request writes only what is new. Default: none. */
  readonly cache?: RequestCache
  /** Called for each reply that loses its signed parts. `omitted` has the reason. */
  readonly onPrefix?: (omitted: LeftOut) => void
  /**
   * Whether a reply's signed parts are sent only if its record matches the request. `false` sends all signed
   * parts, for models that do not bind reasoning to its prefix. Default: true.
   */
  readonly prove?: boolean
}

/**
 * Why signed parts were left out. `prefix`: the request up to the reply changed. `tools`: the tool list
 * changed. `reply`: the reply changed, for example by redaction. `grammar`, `model`: the reply is from
 * another grammar or model. `earlier`: an earlier reply lost parts, and this reply has no recorded prefix.
 */
export type LeftOutReason = 'prefix' | 'tools' | 'reply' | 'grammar' | 'model' | 'earlier'

/** Signed parts that a writer left out of one message. */
export interface LeftOut {
  /** Index of the message. */
  readonly message: number
  readonly reason: LeftOutReason
  /** Number of signed parts left out. */
  readonly parts: number
}

/** Digests of a written request, for the record of the reply to it. */
export interface RequestRecord {
  readonly grammar: string
  readonly prefix: string
  readonly tools?: string
  readonly leftOut: readonly LeftOut[]
}

/** Increase this number when a grammar writes a turn differently, so that earlier records do not match. */
const VERSION = 2

/**
 * Makes a map that the writer of one request uses. A cache can undo changes to the map, to continue the
 * request from an earlier point.
 */
export type NewMap = <V>() => Map<unknown, V>

const RECORDS = new WeakMap<object, RequestRecord>()

/**
 * Returns the record of a request that this process wrote. Accepts the request, a copy with the same message
 * list, or the list itself. Returns null for other requests, and for requests written with `prove: false`.
 * O(fields).
 * @example
 * const request = toAnthropic([{ role: 'user', content: [{ text: 'hi' }], name: null }])
 * requestRecord({ model: 'any', ...request }).grammar // 'anthropic'
 */
export function requestRecord(request: object): RequestRecord | null {
  for (const key of [request, ...(Array.isArray(request) ? [] : Object.values(request))]) {
    const record = typeof key === 'object' && key !== null ? RECORDS.get(key as object) : undefined
    if (record !== undefined) return record
  }
  return null
}

/**
 * Returns the digest of a list of tools, ignoring the cache marks in each tool and in its `function` field.
 * O(size).
 * @example
 * digestOfTools([{ name: 'ls' }]) === digestOfTools([{ name: 'ls', cache_control: { type: 'ephemeral' } }]) // true
 */
export function digestOfTools(tools: readonly object[]): string {
  const marked = new Set<unknown>(
    tools.flatMap((tool) => [tool, (tool as { readonly function?: unknown } | null)?.function]),
  )
  const text = JSON.stringify(tools, function (this: unknown, key, value: unknown) {
    return key === 'cache_control' && marked.has(this) ? undefined : value
  })
  return hashText(text)
}

/** Returns a model's name; null for a value that is neither text nor a model of the AI SDK. */
export function modelName(model: unknown): string | null {
  const name = (model as { readonly modelId?: unknown } | null | undefined)?.modelId ?? model
  return typeof name === 'string' ? name : null
}

/** Removes a date from a model's name: providers may return `name` as `name-2026-11-25` or `name-20261125`. */
export const withoutDate = (model: string): string => model.replace(/[-@]\d{4}-?\d\d-?\d\d$/, '')

/** Returns the name under which a reply's model was requested; null if the record has no name. */
function requestedModel({ model, requested_model: requested = model }: ReplyRecord): string | null {
  return typeof requested === 'string' ? withoutDate(requested) : null
}

export const isOfModel = ({ reply = {} }: AssistantMessage, grammar: string, model = ''): boolean =>
  reply.grammar === grammar && model !== '' && requestedModel(reply) === withoutDate(model)

export function startProof(limits: Limits, options: WriteOptions) {
  const { tools, toolDigest, model, onPrefix, prove = true } = options
  if (!prove) return { add: () => undefined, keepsSigned: () => true, record: () => undefined }
  const { grammar } = limits
  const toolList = toolDigest ?? (tools === undefined ? null : digestOfTools(tools))
  const leftOut: LeftOut[] = []
  const state = {
    digest: digestOf(`${grammar} ${VERSION}`),
    /** False after a reply that failed a check, until a later reply's recorded prefix matches. */
    isProven: true,
    leftOut: 0,
  }

  const reasonAgainst = ({ message, refs, bound }: AssistantTurn): LeftOutReason | null => {
    const { reply = {} } = message
    const { grammar: made, prefix, tools: seen, digest, cuts } = reply
    const isOther = typeof made === 'string' && made !== grammar
    if (isOther) return bound > 0 ? 'grammar' : null
    const requested = bound > 0 ? requestedModel(reply) : null
    if (model !== undefined && requested !== null && requested !== withoutDate(model)) return 'model'
    if (typeof prefix === 'string' && prefix !== digitsOf(state.digest)) return 'prefix'
    if (typeof seen === 'string' && toolList !== null && seen !== toolList) return 'tools'
    if (typeof digest !== 'string') return null
    const written = ownDigest(message, { refs, bound }, limits)
    return written === digest || written === cuts?.[message.tool_calls.length - 1] ? null : 'reply'
  }

  return {
    state,
    add: (role: Role, block: Written<unknown>): void => {
      const digest = digestOfAll(role === 'result' ? 'user' : role, block.digest())
      state.digest = followedBy(state.digest, digest)
    },
    keepsSigned: (turn: AssistantTurn): boolean => {
      const reason = reasonAgainst(turn)
      const { grammar: made = grammar, prefix } = turn.message.reply ?? {}
      if (reason !== null) state.isProven = false
      else if (typeof prefix === 'string' && made === grammar) state.isProven = true
      if (state.isProven || turn.bound === 0) return state.isProven
      const omitted: LeftOut = { message: turn.index, reason: reason ?? 'earlier', parts: turn.signed }
      leftOut[state.leftOut++] = omitted
      onPrefix?.(omitted)
      return false
    },
    record: (request: object, list: object): void => {
      const record: RequestRecord = {
        grammar,
        prefix: digitsOf(state.digest),
        ...(toolList !== null && { tools: toolList }),
        leftOut: leftOut.slice(0, state.leftOut),
      }
      RECORDS.set(request, record).set(list, record)
    },
  }
}
