/**
 * Signs as providers do that bind reasoning to what stands before it, by their published rules: a signed part is
 * taken back only unaltered, behind the very system prompt, tools and blocks that it was made behind, and with the
 * signed part before it in its place. Cache marks and the borders of messages count for nothing; parts may be
 * missing at the front only.
 */

import { isObject } from '../../event/json.ts'
import { hashText } from '../../event/text.ts'
import type { Grammar } from '../../event/reply.ts'
import type { Seen, SeenBlock, Wire } from './grammar.ts'

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
const isEmpty = ({ text, ...rest }: Wire): boolean =>
  text === '' && (rest['type'] === undefined || rest['type'] === 'text' || rest['type'] === 'output_text')

const hash = (...values: readonly string[]): string => hashText(JSON.stringify(values))

const list = (value: unknown): readonly Wire[] =>
  (Array.isArray(value) ? (value as readonly Wire[]) : [{ type: 'text', text: value }]).filter(
    (part) => !isEmpty(part),
  )

/** What a provider sees of a request. `tools` are those of the request, where they do not stand in it. */
export function see(provider: Grammar, request: unknown, tools: unknown = null): Seen {
  if (provider === 'openai-responses') {
    const { instructions = null, input } = request as Wire
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : (input as readonly Wire[])
    return { front: seenText([instructions, tools]), blocks: items.flatMap(itemBlocks) }
  }
  if (provider === 'google') {
    const { systemInstruction = null, contents } = request as {
      readonly systemInstruction?: unknown
      readonly contents: readonly { readonly role: string; readonly parts: readonly Wire[] }[]
    }
    return {
      front: seenText([systemInstruction, tools]),
      blocks: contents.flatMap(({ role, parts }) => parts.flatMap((part) => googleBlocks(role, part))),
    }
  }
  const { system = null, messages } = (Array.isArray(request) ? { messages: request } : request) as {
    readonly system?: unknown
    readonly messages: readonly Wire[]
  }
  return { front: seenText([system, tools]), blocks: messages.flatMap(messageBlocks) }
}

/**
 * An item of OpenAI Responses; whether a message stands in one text or in parts, and what it is called, says nothing.
 */
function itemBlocks(item: Wire): SeenBlock[] {
  const { type = 'message', role, content, id: _, status: __, encrypted_content, ...rest } = item
  if (type === 'reasoning')
    return [
      {
        role: 'assistant',
        body: seenText({ ...item, encrypted_content: null }),
        token: String(encrypted_content ?? ''),
      },
    ]
  if (type !== 'message')
    return [{ role: String(role ?? type), body: seenText({ ...rest, content }), token: null }]
  return list(content).map((part) => {
    const isText = typeof part['text'] === 'string'
    return { role: String(role), body: isText ? seenText(part['text']) : seenText(part), token: null }
  })
}

/** A part of Gemini; what stands where a signature is missing is none, and a thought without one need not come back. */
function googleBlocks(role: string, { thoughtSignature, ...said }: Wire): SeenBlock[] {
  const isSigned = thoughtSignature !== undefined && thoughtSignature !== 'skip_thought_signature_validator'
  if (!isSigned && (said['thought'] === true || isEmpty(said))) return []
  const token = isSigned ? String(thoughtSignature) : null
  return [{ role: role === 'model' ? 'assistant' : role, body: seenText(said), token }]
}

/** What a provider sees of a content of its own reply: a block, a part, an item. */
export function contentBlocks(provider: Grammar, content: Wire): SeenBlock[] {
  if (provider === 'openai-responses') return itemBlocks(content)
  if (provider === 'google') return googleBlocks('model', content)
  return isEmpty(content) ? [] : [partBlock('assistant', content)]
}

/** A message of Anthropic, OpenAI Chat or the AI SDK. */
function messageBlocks({ role, content, ...rest }: Wire): SeenBlock[] {
  const parts = content === undefined ? [] : list(content).map((part) => partBlock(String(role), part))
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
