/** A provider's grammar as one value, which all tools read. */

import type { JsonObject } from '../event/shapes.ts'
import type { MessageOptions, NeutralMessage } from './message.ts'
import type { WriteOptions } from './prefix.ts'
import type { ProviderGrammar, Sight } from './provider.ts'
import type { ReadOptions, Reply, ReplyCollector } from './reply.ts'
import type { Violation } from './rules.ts'
import type { Limits } from './limits.ts'

/** A provider's message format: writes and checks requests, and reads replies. */
export interface Grammar {
  readonly name: string
  readonly title: string
  readonly law: string
  readonly limits: Limits
  /** Writes a request, or its list of messages. @throws ColloquyError `empty_view` without messages. */
  readonly write: (messages: readonly NeutralMessage[], options?: WriteOptions) => object
  /** Field of a request that contains the messages; null if the request is the list. */
  readonly list: string | null
  readonly reply: (reply: object, options?: ReadOptions) => Reply
  readonly stream: (options?: ReadOptions) => ReplyCollector
  /** Returns the rules that a request breaks; null if a package checks them. */
  readonly rules: ((request: unknown, options?: MessageOptions) => readonly Violation[]) | null
  /** Fields that the writer leaves out when they would be empty. */
  readonly front: JsonObject
  readonly provider: ProviderGrammar | null
  readonly sight: Sight
}

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
 * Declares a grammar. It also needs a line in the registry.
 * @throws Error for a grammar without a sight, neither its own nor its provider's.
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
