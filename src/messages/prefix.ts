/**
 * Proves for each reply that what is written before it is what the model saw, since providers refuse or drop reasoning
 * whose prefix has changed; a reply of which that is not so goes back without its signed parts.
 */

import {
  isImagePart,
  isTextPart,
  type ReasoningItemModel,
  type RedactedThinkingBlock,
  type ThinkingBlock,
} from '../event/shapes.ts'
import type { CacheTime } from './cache-marks.ts'
import {
  type Digest,
  digestBeside,
  digestOf,
  digestOfAll,
  followedBy,
  nameOf,
  otherDigest,
} from './digest.ts'
import type { AssistantMessage } from './message.ts'
import { reasoningItems } from './reply-parts.ts'
import type { FieldRef, PartRef, PartsInOrder, AssistantTurn, Call, Result } from './limits.ts'
import { pieceDigest } from './pieces.ts'

/** A block of a request. */
export interface Written<Block> {
  readonly block: Block
  /** Made only where it is asked for. */
  readonly digest: () => Digest
}

/** Who says a block: `front` is the system prompt before all messages; results are the user's. */
export type Role = 'front' | 'system' | 'user' | 'result' | 'assistant'

/** Digest of a role's block. O(1). */
const roleDigest = (role: Role, digest: Digest): Digest =>
  digestOfAll(role === 'result' ? 'user' : role, digest)

/**
 * The digest of a call as it is sent; `item` is the id that the provider gave it in its own list, where that is sent
 * too.
 */
export const callDigest = ({ id, name, source }: Call, item = ''): Digest =>
  digestOfAll('call', digestOf(id), digestOf(name), digestBeside(source, 0, source.arguments), digestOf(item))

/** The digest of a result as it is sent. */
export const resultDigest = ({ call, pieces, isError }: Result): Digest =>
  digestOfAll(isError ? 'error' : 'result', digestOf(call.id), ...pieces.map(pieceDigest))

/** The digest of parts of a reply as the log has them. O(parts) where they were seen before, else O(length). */
const ownDigestOf = (message: AssistantMessage, refs: readonly PartRef[]): Digest =>
  digestOfAll('own', ...refs.map((ref) => partDigest(message, ref)))

/**
 * The digest that a reply's record keeps as `own`: of what its last signed part is bound to within it, in the order
 * that its `reply.parts` give. A reader makes the message of the reply first, then this. O(length).
 */
export const ownDigest = (message: AssistantMessage, { refs, bound }: PartsInOrder): string =>
  nameOf(ownDigestOf(message, refs.slice(0, bound)))

/** The digest of one part as the log has it, with what its standard field lacks. */
function partDigest(message: AssistantMessage, ref: PartRef): Digest {
  if (ref.kind === 'other')
    return ref.placeholder === null ? otherDigest(ref.value) : digestOf(ref.placeholder)
  const digest = fieldDigest(message, ref)
  return ref.more === null ? digest : followedBy(digest, otherDigest(ref.more))
}

function fieldDigest(message: AssistantMessage, { kind, at }: FieldRef): Digest {
  switch (kind) {
    case 'thinking': {
      const block = message.thinking_blocks[at]
      return block === undefined ? digestOf('absent') : thinkingDigest(block)
    }
    case 'text': {
      const part = message.content[at]
      if (part === undefined) return digestOf('absent')
      if (isTextPart(part)) return digestOfAll('text', digestBeside(kept(part), 0, part.text))
      if (isImagePart(part)) return digestOfAll('image', ...part.image_urls.map(digestOf))
      return digestOfAll('part', digestOf(JSON.stringify(part)))
    }
    case 'call': {
      const call = message.tool_calls[at]
      if (call === undefined) return digestOf('absent')
      const { id, name, arguments: given, responses_item_id } = call
      return digestOfAll(
        'call',
        digestOf(id),
        digestOf(name),
        digestBeside(call, 0, given),
        digestOf(responses_item_id ?? ''),
      )
    }
    case 'reasoning': {
      const item = reasoningItems(message)[at]
      return item === undefined ? digestOf('absent') : reasoningDigest(item)
    }
  }
}

/** What stands in a log is asked for again; a reply that is being read is not. */
const kept = <T extends object>(part: T): T | null => (Object.isFrozen(part) ? part : null)

/** The digest of a thinking block, signature and all. */
export function thinkingDigest(block: ThinkingBlock | RedactedThinkingBlock): Digest {
  if (!('thinking' in block)) return digestOfAll('redacted', digestBeside(kept(block), 0, block.data))
  const { thinking, signature } = block
  const beside = kept(block)
  return digestOfAll('thinking', digestBeside(beside, 0, thinking), digestBeside(beside, 1, signature ?? ''))
}

/** The digest of what is sent of a reasoning item. */
export function reasoningDigest(item: ReasoningItemModel): Digest {
  const { id, encrypted_content, summary } = item
  const beside = kept(item)
  return digestOfAll(
    'reasoning',
    digestOf(id ?? ''),
    digestBeside(beside, 0, encrypted_content ?? ''),
    ...(summary ?? []).map((text, slot) => digestBeside(beside, slot + 1, text)),
  )
}

/** How a list of messages is written in a provider's grammar. */
export interface WriteOptions {
  /**
   * The tool list of the request, as it is given to the provider. Where it is known, replies made under another one
   * lose their signed parts; where it is not, that is not checked.
   */
  readonly tools?: readonly object[]
  /**
   * For how long the `cache_control` asks that the request has itself, for all of it: Anthropic counts it among the
   * four that it takes. Default: it has none.
   */
  readonly cached?: CacheTime | null
  /**
   * The name of the model that is asked. Where it is known, replies of another model lose their signed parts, which it
   * might refuse; where it is not, that is not checked.
   */
  readonly model?: string
  /**
   * Whether Chat Completions are given what is nothing but texts as one text, in place of a list: for the many servers
   * that take no lists. Default: no.
   */
  readonly plainText?: boolean
  /** Makes the giver of call ids for one request of Chat Completions: legal, and never the same twice. */
  readonly callIds?: () => (given: string) => string
  /** Content of messages of Chat Completions that contain calls and no text. Default: the field is left out. */
  readonly callContent?: '' | null
  /**
   * Which messages of Chat Completions contain `reasoning_content`. `calls`: each one with calls, empty where there was
   * none. `all`: each one that came with it. Default: those with calls that came with it.
   */
  readonly reasoning?: 'calls' | 'all'
  /** Called with each reply whose signed parts are left out, and why. */
  readonly onPrefix?: (left: LeftOut) => void
  /**
   * Whether replies are held against what their records say. Default: yes. With `false` all signed parts are sent, and
   * no digest is made: for models that bind no reasoning to what stands before it.
   */
  readonly prove?: boolean
}

/**
 * Why signed parts are left out. `prefix`: what stands before the reply is not what it saw. `tools`: the tool list is
 * another. `own`: the reply itself was changed, as by redaction. `grammar`: it was made in another grammar. `model`:
 * another model made it. `earlier`: one of these is so of a reply before it, and it has no record of its own that would
 * prove it.
 */
export type LeftOutReason = 'prefix' | 'tools' | 'own' | 'grammar' | 'model' | 'earlier'

/** A reply whose signed parts are left out. */
export interface LeftOut {
  /** Index of the reply in the list of neutral messages. */
  readonly message: number
  readonly reason: LeftOutReason
  /** How many signed parts it has. */
  readonly parts: number
}

/** What is known of a request that was written here, for the record of the reply that it gets. */
export interface RequestRecord {
  readonly grammar: string
  /** Digest of the system prompt and of all messages. */
  readonly prefix: string
  /** Digest of the tool list, where that was given. */
  readonly tools?: string
  /** The replies whose signed parts are left out. */
  readonly leftOut: readonly LeftOut[]
}

/**
 * Changes whenever a grammar writes the same turn in another way: what was recorded before then proves nothing any
 * more.
 */
const VERSION = 2

/** The digest of what has been written so far, and what it proves. */
export interface Proof {
  /** A block has been written. */
  readonly add: (role: Role, block: Written<unknown>) => void
  /** Whether the signed parts of the reply that is to be written next may be sent. */
  readonly keeps: (turn: AssistantTurn) => boolean
  /** Keeps the record beside the request, and beside its list of messages. */
  readonly record: (request: object, list: object) => void
}

const RECORDS = new WeakMap<object, RequestRecord>()

/**
 * The record of a request that one of the grammars wrote, or of its list of messages: also of an object that was spread
 * from it, as long as it has the same list of messages. Null for any other, and where nothing was
 * proved. O(1).
 * @example
 * const request = toAnthropic([{ role: 'user', content: [{ text: 'hi' }], name: null }])
 * requestRecord({ model: 'any', ...request }).grammar // 'anthropic'
 */
export function requestRecord(request: object): RequestRecord | null {
  for (const key of [request, ...Object.values(request)]) {
    const record = typeof key === 'object' && key !== null ? RECORDS.get(key as object) : undefined
    if (record !== undefined) return record
  }
  return null
}

/**
 * The digest of a tool list. Cache marks count for nothing: those of a tool, and of the function that it wraps; deeper
 * down, as in a schema, such a field is one that the model reads. O(size).
 * @example
 * digestOfTools([{ name: 'ls' }]) === digestOfTools([{ name: 'ls', cache_control: { type: 'ephemeral' } }]) // true
 */
export function digestOfTools(tools: readonly object[]): string {
  const marked = new Set<unknown>(tools.flatMap((tool) => [tool, (tool as ChatTool | null)?.function]))
  const text = JSON.stringify(tools, function (this: unknown, key, value: unknown) {
    return key === 'cache_control' && marked.has(this) ? undefined : value
  })
  return nameOf(digestOf(text))
}

/** A tool of OpenAI's Chat Completions, which is an object in another. */
interface ChatTool {
  readonly function?: unknown
}

/** The name of a model as a request has it: a text, or a model of the AI SDK. Null where there is none. O(1). */
export function modelName(model: unknown): string | null {
  const name = (model as { readonly modelId?: unknown } | null | undefined)?.modelId ?? model
  return typeof name === 'string' ? name : null
}

/** A provider may call `name` also `name-2026-11-25` or `name-20261125` in its reply. */
export const undated = (model: string): string => model.replace(/[-@]\d{4}-?\d\d-?\d\d$/, '')

/**
 * Whether a reply was made in this grammar by the model that is asked, so that its unsigned reasoning goes back. False
 * where one of the two names is not known. O(1).
 */
export function isOfModel({ reply = {} }: AssistantMessage, grammar: string, model = ''): boolean {
  const { model: named, asked = named } = reply
  return reply.grammar === grammar && model !== '' && undated(String(asked)) === undated(model)
}

/** The proof of one request, as its blocks are written. */
export function startProof(grammar: string, { tools, model, onPrefix, prove = true }: WriteOptions): Proof {
  if (!prove) return { add: () => undefined, keeps: () => true, record: () => undefined }
  const toolList = tools === undefined ? null : digestOfTools(tools)
  const leftOut: LeftOut[] = []
  let digest = digestOf(`${grammar} ${VERSION}`)
  /** Whether the latest reply stands where its record says, or no reply so far says otherwise. */
  let isProven = true

  /** Why the record of a reply does not prove that it may be sent as it was; null where it does, or says nothing. */
  const reasonAgainst = ({ message, refs, bound }: AssistantTurn): LeftOutReason | null => {
    const { grammar: made, model: named, asked = named, prefix, tools: seen, own, cuts } = message.reply ?? {}
    const isOther = typeof made === 'string' && made !== grammar
    if (isOther) return bound > 0 ? 'grammar' : null
    if (typeof asked === 'string' && bound > 0 && undated(asked) !== undated(model ?? asked)) return 'model'
    if (typeof prefix === 'string' && prefix !== nameOf(digest)) return 'prefix'
    if (typeof seen === 'string' && toolList !== null && seen !== toolList) return 'tools'
    if (typeof own !== 'string') return null
    const written = nameOf(ownDigestOf(message, refs.slice(0, bound)))
    return written === own || written === cuts?.[message.tool_calls.length - 1] ? null : 'own'
  }

  return {
    add: (role, block) => {
      digest = followedBy(digest, roleDigest(role, block.digest()))
    },
    keeps: (turn) => {
      const reason = reasonAgainst(turn)
      const { grammar: made, prefix } = turn.message.reply ?? {}
      if (reason !== null) isProven = false
      else if (typeof prefix === 'string' && (made ?? grammar) === grammar) isProven = true
      if (isProven || turn.bound === 0) return isProven
      const left: LeftOut = { message: turn.at, reason: reason ?? 'earlier', parts: turn.signed }
      leftOut.push(left)
      onPrefix?.(left)
      return false
    },
    record: (request, list) => {
      const known = toolList === null ? {} : { tools: toolList }
      const record: RequestRecord = { grammar, prefix: nameOf(digest), ...known, leftOut }
      RECORDS.set(request, record).set(list, record)
    },
  }
}
