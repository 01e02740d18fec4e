/** What a provider's grammar is: one value, from which tools take all that they know of it. */

import type { JsonObject } from '../event/shapes.ts'
import type { MessageOptions, NeutralMessage } from './message.ts'
import type { WriteOptions } from './prefix.ts'
import type { ProviderGrammar, Sight } from './provider.ts'
import type { ReadOptions, Reply, ReplyCollector } from './reply.ts'
import type { Violation } from './rules.ts'
import type { Limits } from './limits.ts'

/** A provider's message format: how requests are written and judged, and replies read. */
export interface Grammar {
  /** The name in records of replies, such as `anthropic`. */
  readonly name: string
  /** The name for people. */
  readonly title: string
  /** The law that its requests are held to. */
  readonly law: string
  /** What the provider accepts: kinds of content, files, ids, names. */
  readonly limits: Limits
  /** Writes a request, or its list of messages. @throws ColloquyError `empty_view` when there are no messages. */
  readonly write: (messages: readonly NeutralMessage[], options?: WriteOptions) => object
  /** The field of a request that has the messages; null where the request is their list. */
  readonly list: string | null
  /** Reads a whole reply. */
  readonly reply: (reply: object, options?: ReadOptions) => Reply
  /** Collects a streamed reply. */
  readonly stream: (options?: ReadOptions) => ReplyCollector
  /** The rules that a request breaks; null where a package judges. */
  readonly rules: ((request: unknown, options?: MessageOptions) => readonly Violation[]) | null
  /** Fields that the writer leaves out where they would be empty. */
  readonly front: JsonObject
  /** A fake provider; null where none speaks the grammar. */
  readonly provider: ProviderGrammar | null
  /** What a provider that signs sees of requests. */
  readonly sight: Sight
}

/** A grammar as its folder declares it; the raw types of replies are its own. */
interface Declared<Raw extends object> extends Pick<
  Grammar,
  'name' | 'title' | 'law' | 'limits' | 'write' | 'stream'
> {
  readonly reply: (reply: Raw, options?: ReadOptions) => Reply
  readonly rules?: NonNullable<Grammar['rules']>
  readonly list?: string
  readonly front?: JsonObject
  readonly provider?: ProviderGrammar
  readonly sight?: Sight
}

/**
 * Declares a grammar. The registry needs a line for it, and nothing else.
 * @throws Error for a grammar without a sight: its own, or that of its provider.
 */
export function defineGrammar<Raw extends object>(declared: Declared<Raw>): Grammar {
  const {
    rules = null,
    list = null,
    front = {},
    provider = null,
    sight = provider?.sight,
    reply,
    ...rest
  } = declared
  if (sight === undefined) throw new Error(`The grammar ${declared.name} has neither a provider nor a sight.`)
  return { ...rest, reply: reply as Grammar['reply'], rules, list, front, provider, sight }
}
