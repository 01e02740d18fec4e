/** The common part of all grammars' fake providers. It reads requests, and writes replies and streams. */

import { isObject } from '../event/json.ts'
import { hashText } from '../event/text.ts'
import type { ModelPart, ModelReply, RequestBody } from './model.ts'
import type { Violation } from './request-form.ts'
import type { Endings } from './reply.ts'
import { type DeltaField, type DeltaFields, valueAt, withValue } from './stream.ts'
import { readArguments } from './text.ts'

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

export const isTextBlank = ({ text, ...rest }: Wire): boolean =>
  text === '' && (rest['type'] === undefined || rest['type'] === 'text' || rest['type'] === 'output_text')

const hash = (...values: readonly string[]): string => hashText(JSON.stringify(values))

export const listOfParts = (value: unknown): readonly Wire[] =>
  (Array.isArray(value) ? (value as readonly Wire[]) : [{ type: 'text', text: value }]).filter(
    (part) => !isTextBlank(part),
  )

/** How a fake provider reads requests and its own replies, to sign parts and check signatures. */
export interface Sight {
  readonly see: (request: unknown, tools?: unknown) => Seen
  readonly contentBlocks: (content: Wire) => readonly SeenBlock[]
}

export interface SeenParts {
  readonly items: (item: Wire) => readonly SeenBlock[]
  readonly contents?: (content: Wire) => readonly SeenBlock[]
  readonly textItem?: (text: string) => Wire
}

/**
 * Returns functions that read requests. `prompt` and `list` are the names of the fields with the system prompt
 * and the messages. A request can also be a list of messages, and a single text can replace the messages.
 */
export const sightOf = (
  prompt: string,
  list: string,
  { items, contents = items, textItem = (content) => ({ role: 'user', content }) }: SeenParts,
): Sight => ({
  see(request, tools = null) {
    const { [prompt]: front = null, [list]: sent = request } = request as Wire
    const all = typeof sent === 'string' ? [textItem(sent)] : (sent as readonly Wire[])
    return { front: seenText([front, tools]), blocks: all.flatMap(items) }
  },
  contentBlocks: contents,
})

export const partsSeen = (
  field: string,
  model: string,
  blocksOf: (role: string, part: Wire) => readonly SeenBlock[],
): SeenParts => ({
  items: (item) => (item[field] as readonly Wire[]).flatMap((part) => blocksOf(String(item['role']), part)),
  contents: (content) => blocksOf(model, content),
})

export const MESSAGE_PARTS: SeenParts = {
  items: messageBlocks,
  contents: (content) => (isTextBlank(content) ? [] : [partBlock('assistant', content)]),
}

function messageBlocks({ role, content, ...rest }: Wire): SeenBlock[] {
  const parts = content === undefined ? [] : listOfParts(content).map((part) => partBlock(String(role), part))
  return Object.keys(rest).length === 0
    ? parts
    : [...parts, { role: String(role), body: seenText(rest), token: null }]
}

function partBlock(role: string, part: Wire): SeenBlock {
  const { signature, data, providerOptions, ...rest } = part
  const { anthropic } = (providerOptions ?? {}) as { readonly anthropic?: Wire }
  if (part['type'] === 'thinking') return { role, body: seenText(rest), token: String(signature) }
  if (part['type'] === 'redacted_thinking') return { role, body: seenText(rest), token: String(data) }
  if (anthropic !== undefined)
    return { role, body: seenText(rest), token: String(anthropic['signature'] ?? anthropic['redactedData']) }
  return { role, body: seenText(part), token: null }
}

/** Returns a part's signature, which covers the part's body and everything before the part. */
export function sign({ front, blocks }: Seen, body: string): string {
  const before = blocks.filter(({ token }) => token === null).map(({ role, body: text }) => `${role} ${text}`)
  const last = blocks.findLast(({ token }) => token !== null)?.token ?? ''
  return `${hash(front, ...before)}.${hash(body)}.${hash(last)}.${hash(front, ...before, body, last)}`
}

export function refusals(seen: Seen): string[] {
  const out: string[] = []
  let last: string | null = null
  for (const [index, { token, body }] of seen.blocks.entries()) {
    if (token === null) continue
    const earlier = { ...seen, blocks: seen.blocks.slice(0, index) }
    const [prefix, bodyHash, before, whole] = sign(earlier, body).split('.')
    const [tokenPrefix, tokenBody, tokenBefore, tokenWhole] = token.split('.')
    if (tokenBody !== bodyHash) out.push(`block ${index}: altered`)
    else if (tokenPrefix !== prefix) out.push(`block ${index}: bound to a different conversation`)
    else if (last !== null && (tokenBefore !== before || tokenWhole !== whole))
      out.push(`block ${index}: a signed part before it was left out or moved`)
    last = token
  }
  return out
}

export type Wire = Readonly<Record<string, unknown>>

export interface ReplyAbout {
  readonly requestNumber: number
  readonly end: ModelReply['end'] | null
}

export interface SeenBlock {
  readonly role: string
  readonly body: string
  readonly token: string | null
}

export interface Seen {
  readonly front: string
  readonly blocks: readonly SeenBlock[]
}

export type Refusal = 'invalid' | 'too_long' | 'rate_limited' | 'server_error'

export interface ProviderGrammar {
  /** Whether a request to this path expects a stream; null for a path of another grammar. */
  readonly route: (path: string, body: RequestBody) => boolean | null
  readonly sight: Sight
  readonly judge: (request: RequestBody) => readonly Violation[]
  readonly arrange: (says: readonly ModelPart[], request: RequestBody) => readonly ModelPart[]
  readonly contents: (part: ModelPart, idPrefix: string) => readonly Wire[]
  /** Whether a content of a reply gets a signature; absent for a provider that signs nothing. */
  readonly signs?: (content: Wire, before: readonly Wire[]) => boolean
  readonly signed: (content: Wire, token: string) => Wire
  /** Returns the first contents of the reply if it continues a paused reply that waits for results. Default: none. */
  readonly resumedContents?: (request: RequestBody) => readonly Wire[]
  readonly whole: (contents: readonly Wire[], about: ReplyAbout) => Wire
  readonly stream: (contents: readonly Wire[], about: ReplyAbout) => readonly Wire[]
  /** Field that contains an event's name; null if the stream does not name its events. */
  readonly namedBy: string | null
  /** Text that the stream sends after its last event. Default: none. */
  readonly last?: string
  /** Number of final events of a stream. They report how the stream ended. */
  readonly ends: number
  readonly error: (refusal: Refusal, message: string) => { readonly status: number; readonly body: Wire }
}

/**
 * A provider as a grammar declares it. By default, a reply ends with its calls, and signatures are in the
 * field `signature`.
 */
export type SpokenProvider = Omit<ProviderGrammar, 'sight' | 'judge' | 'arrange' | 'signed'> &
  Partial<Pick<ProviderGrammar, 'arrange' | 'signed'>>

export const errorsBy =
  (
    table: Readonly<Record<Refusal, readonly [status: number, type: string, message: string, code?: string]>>,
    bodyOf: (error: { readonly [K in 'type' | 'message']: string } & Wire) => Wire,
  ): ProviderGrammar['error'] =>
  (refusal, explanation) => {
    const [status, type, message, code = null] = table[refusal]
    return { status, body: bodyOf({ status, type, message: message || explanation, code }) }
  }

export const reasonOf = (endings: Endings, { end }: ReplyAbout): string | undefined =>
  Object.keys(endings).find((reason) => endings[reason] === end)

/** Splits a block into its start and its deltas, as a stream sends them. */
export function spoken(
  block: Wire,
  fields: DeltaFields,
): { readonly start: Wire; readonly deltas: readonly Wire[] } {
  let start = block
  const deltas: Wire[] = []
  for (const [path, { to, as, type, begins }] of Object.entries(fields)) {
    const value = valueAt(block, to.split('.'))
    if (value === undefined) continue
    start = withValue(start, to.split('.'), valueAt(begins, to.split('.'))) as Wire
    for (const piece of piecesOf(value, as))
      deltas.push({ ...(type !== undefined && { type }), ...(withValue({}, path.split('.'), piece) as Wire) })
  }
  return { start, deltas }
}

function piecesOf(value: unknown, as: DeltaField['as']): readonly unknown[] {
  if (as === 'list') return value as readonly unknown[]
  if (as === 'value') return [value]
  return halves(typeof value === 'string' ? value : JSON.stringify(value))
}

const isCall = (part: ModelPart): boolean => typeof part !== 'string' && 'call' in part

export const isThought = (part: ModelPart): boolean => typeof part !== 'string' && 'think' in part

export const callsLast = (says: readonly ModelPart[]): readonly ModelPart[] => [
  ...says.filter((part) => !isCall(part)),
  ...says.filter(isCall),
]

export function halves(text: string): readonly string[] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter((piece) => piece !== '')
}

export const argumentText = (args: object | string = {}): string =>
  typeof args === 'string' ? args : JSON.stringify(args)

export const argumentObject = (args: object | string = {}): object =>
  typeof args === 'string' ? (readArguments(args) ?? {}) : args
