import type { JsonObject } from '../event/shapes.ts'
import type { MessageOptions, NeutralMessage } from './message.ts'
import type { WriteOptions } from './prefix.ts'
import type { RequestBody } from './model.ts'
import { callsLast, MESSAGE_PARTS, sightOf } from './fake.ts'
import type { ProviderGrammar, SeenParts, Sight, SpokenProvider, Wire } from './fake.ts'
import type { ReadOptions, Reply, ReplyCollector } from './reply.ts'
import type { Violation } from './request-form.ts'
import type { Limits } from './limits.ts'

/** A provider's message format, with functions that write and check requests and read replies. */
export interface Grammar {
  readonly name: string
  readonly title: string
  readonly law: string
  readonly limits: Limits
  /** Writes a request, or its list of messages. @throws ColloquyError `empty_view` without messages. */
  readonly write: (messages: readonly NeutralMessage[], options?: WriteOptions) => object
  /** Name of the request field with the messages; null if the request itself is the list of messages. */
  readonly list: string | null
  readonly reply: (reply: object, options?: ReadOptions) => Reply
  readonly stream: (options?: ReadOptions) => ReplyCollector
  /** Returns the rules that a request breaks; null for the AI SDK, whose package checks requests itself. */
  readonly rules: ((request: unknown, options?: MessageOptions) => readonly Violation[]) | null
  /** Request fields that the writer leaves out when they are empty, each with its empty value. */
  readonly front: JsonObject
  readonly provider: ProviderGrammar | null
  readonly sight: Sight
}

interface Declared<Raw extends object> extends Pick<
  Grammar,
  'name' | 'title' | 'law' | 'limits' | 'write' | 'stream'
> {
  readonly reply: (reply: Raw, options?: ReadOptions) => Reply
  readonly rules?: Grammar['rules']
  /** Name of the request field with the system prompt. Default: `system`. */
  readonly prompt?: string
  readonly list?: Grammar['list']
  readonly front?: JsonObject
  readonly seen?: SeenParts
  readonly provider?: SpokenProvider
}

/** Defines a grammar, which must also be listed in `grammars.ts`. */
export function defineGrammar<Raw extends object>({
  rules = null,
  prompt = 'system',
  list = null,
  front = {},
  seen = MESSAGE_PARTS,
  provider,
  reply,
  ...rest
}: Declared<Raw>): Grammar {
  const sight = sightOf(prompt, list ?? 'messages', seen)
  const judge = (body: RequestBody): readonly Violation[] => {
    const fields = [prompt, list ?? ''].filter((name) => body[name] !== undefined)
    const request =
      list === null ? body['messages'] : Object.fromEntries(fields.map((name) => [name, body[name]]))
    return rules?.(request, { system: 'append' }) ?? []
  }
  return {
    ...rest,
    reply: reply as Grammar['reply'],
    rules,
    list,
    front,
    sight,
    provider:
      provider === undefined
        ? null
        : { arrange: callsLast, signed: withSignature, ...provider, sight, judge },
  }
}

const withSignature = (content: Wire, signature: string): Wire => ({ ...content, signature })
