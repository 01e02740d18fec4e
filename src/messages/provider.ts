/**
 * What a fake provider of a grammar does: how it says a reply, whole and streamed, what it signs, and how it refuses.
 */

import { isObject } from '../event/json.ts'
import { hashText } from '../event/text.ts'
import type { ModelPart, ModelReply, RequestBody } from './model.ts'
import type { Violation } from './rules.ts'

/** A value as text: the order of keys, cache marks, and nulls at its top say nothing. */
export function seenText(value: unknown): string {
  const top = isObject(value) ? Object.entries(value).filter(([, field]) => field !== null) : null
  return (
    JSON.stringify(top === null ? value : Object.fromEntries(top), (key, field: unknown) => {
      if (key === 'cache_control') return undefined
      return isObject(field)
        ? Object.fromEntries(Object.entries(field).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : field
    }) ?? ''
  )
}

/** An empty text is none. */
export const isEmpty = ({ text, ...rest }: Wire): boolean =>
  text === '' && (rest['type'] === undefined || rest['type'] === 'text' || rest['type'] === 'output_text')

const hash = (...values: readonly string[]): string => hashText(JSON.stringify(values))

export const listOfParts = (value: unknown): readonly Wire[] =>
  (Array.isArray(value) ? (value as readonly Wire[]) : [{ type: 'text', text: value }]).filter(
    (part) => !isEmpty(part),
  )

/** How a provider that signs sees requests and its own replies. */
export interface Sight {
  /** What it sees of a request. `tools` are the tools of the request, where it does not contain them. */
  readonly see: (request: unknown, tools?: unknown) => Seen
  /** What it sees of one content of its own reply: a block, a part, an item. */
  readonly contentBlocks: (content: Wire) => SeenBlock[]
}

/** The sight of providers whose requests are messages with a list of parts. */
export const messageSight: Sight = {
  see(request, tools = null) {
    const { system = null, messages } = (Array.isArray(request) ? { messages: request } : request) as {
      readonly system?: unknown
      readonly messages: readonly Wire[]
    }
    return { front: seenText([system, tools]), blocks: messages.flatMap(messageBlocks) }
  },
  contentBlocks: (content) => (isEmpty(content) ? [] : [partBlock('assistant', content)]),
}

/** A message of Anthropic, OpenAI Chat or the AI SDK. */
function messageBlocks({ role, content, ...rest }: Wire): SeenBlock[] {
  const parts = content === undefined ? [] : listOfParts(content).map((part) => partBlock(String(role), part))
  return Object.keys(rest).length === 0
    ? parts
    : [...parts, { role: String(role), body: seenText(rest), token: null }]
}

function partBlock(role: string, part: Wire): SeenBlock {
  const { signature, data, providerOptions, ...said } = part
  const { anthropic } = (providerOptions ?? {}) as { readonly anthropic?: Wire }
  if (part['type'] === 'thinking') return { role, body: seenText(said), token: String(signature) }
  if (part['type'] === 'redacted_thinking') return { role, body: seenText(said), token: String(data) }
  if (anthropic !== undefined)
    return { role, body: seenText(said), token: String(anthropic['signature'] ?? anthropic['redactedData']) }
  return { role, body: seenText(part), token: null }
}

/**
 * The token under which the next part is given out, of which `body` is seen, behind all that the provider has seen
 * and said.
 */
export function sign({ front, blocks }: Seen, body: string): string {
  const before = blocks.filter(({ token }) => token === null).map(({ role, body: said }) => `${role} ${said}`)
  const last = blocks.findLast(({ token }) => token !== null)?.token ?? ''
  return `${hash(front, ...before)}.${hash(body)}.${hash(last)}.${hash(front, ...before, body, last)}`
}

/** Why a provider refuses a request: each signed part that is not what it was where it was. Empty when it takes it. */
export function refusals(seen: Seen): string[] {
  const out: string[] = []
  let last: string | null = null
  for (const [at, { token, body }] of seen.blocks.entries()) {
    if (token === null) continue
    const [prefix, said, before, whole] = sign({ ...seen, blocks: seen.blocks.slice(0, at) }, body).split('.')
    const [givenPrefix, givenSaid, givenBefore, givenWhole] = token.split('.')
    if (givenSaid !== said) out.push(`block ${at}: altered`)
    else if (givenPrefix !== prefix) out.push(`block ${at}: bound to a different conversation`)
    else if (last !== null && (givenBefore !== before || givenWhole !== whole))
      out.push(`block ${at}: a signed part before it was left out or moved`)
    last = token
  }
  return out
}

/** An object of the wire. */
export type Wire = Readonly<Record<string, unknown>>

/** What of a reply its contents do not say. */
export interface ReplyAbout {
  /** The number of the request. */
  readonly no: number
  readonly end: ModelReply['end'] | null
}

/** A block of a request, in the mouth of a role; `token` is what the provider has signed it with. */
export interface SeenBlock {
  readonly role: string
  readonly body: string
  readonly token: string | null
}

/** A request as the provider sees it. */
export interface Seen {
  /** The system prompt and the tools. */
  readonly front: string
  readonly blocks: readonly SeenBlock[]
}

/** Why a provider gives no reply. */
export type Refusal = 'invalid' | 'too_long' | 'rate_limited' | 'server_error'

export interface ProviderGrammar {
  /** Whether a request to this path asks for a stream; null for a path of another grammar. */
  readonly route: (path: string, body: RequestBody) => boolean | null
  readonly sight: Sight
  /** What of the grammar's rules a request breaks. */
  readonly judge: (request: RequestBody) => readonly Violation[]
  /** The parts of a reply to a request as the provider would give them. */
  readonly arrange: (says: readonly ModelPart[], request: RequestBody) => readonly ModelPart[]
  /** The contents of a part of a reply: blocks, items. `at` makes ids of it. */
  readonly contents: (part: ModelPart, at: string) => readonly Wire[]
  /** Whether it signs a content, of which `before` are the contents before it in its reply. */
  readonly signs: (content: Wire, before: readonly Wire[]) => boolean
  readonly signed: (content: Wire, token: string) => Wire
  /** What a reply begins with where the request ends with a paused one that waits for it. */
  readonly owed: (request: RequestBody) => readonly Wire[]
  readonly whole: (contents: readonly Wire[], about: ReplyAbout) => Wire
  /** The events of its stream, without the line that ends it. */
  readonly stream: (contents: readonly Wire[], about: ReplyAbout) => readonly Wire[]
  /** Whether events are named in the stream, and how it ends. */
  readonly named: boolean
  readonly last: string
  /** How many events at the end of a stream say how it ended. */
  readonly ends: number
  readonly error: (refusal: Refusal, message: string) => { readonly status: number; readonly body: Wire }
}

const isCall = (part: ModelPart): boolean => typeof part !== 'string' && 'call' in part

export const isThought = (part: ModelPart): boolean => typeof part !== 'string' && 'think' in part

/** Most providers give calls last. */
export const callsLast = (says: readonly ModelPart[]): readonly ModelPart[] => [
  ...says.filter((part) => !isCall(part)),
  ...says.filter(isCall),
]

/** A text in two pieces, as if it came while it is written. */
export function halves(text: string): readonly string[] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter((piece) => piece !== '')
}

/** Arguments as the text that the model writes. */
export const argumentText = (args: object | string = {}): string =>
  typeof args === 'string' ? args : JSON.stringify(args)

/** The same where only an object can be given. */
export function argumentObject(args: object | string = {}): object {
  if (typeof args !== 'string') return args
  try {
    const value: unknown = JSON.parse(args)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  } catch {
    return {}
  }
}
