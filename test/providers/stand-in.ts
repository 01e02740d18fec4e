/**
 * Stands in for providers that bind reasoning to what stands before it, by their published rules: a signed part is taken
 * back only unaltered, behind the very system prompt, tools and blocks that it was made behind, and with the signed part
 * before it in its place. Cache marks and the borders of messages count for nothing; parts may be missing at the front only.
 */

import { createHash } from 'node:crypto'

type Json = Readonly<Record<string, unknown>>

/** A block of a request, in the mouth of a role; `token` is what the provider has signed it with. */
export interface Block {
  readonly role: string
  readonly body: string
  readonly token: string | null
}

/** A request as the provider sees it. */
export interface Seen {
  /** The system prompt and the tools. */
  readonly front: string
  readonly blocks: readonly Block[]
}

export type Provider = 'anthropic' | 'ai-sdk' | 'google' | 'openai-responses' | 'openai-chat'

const text = (value: unknown): string =>
  JSON.stringify(value, (key, field: unknown) => (key === 'cache_control' ? undefined : field)) ?? ''

const hash = (...values: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 22)

const list = (value: unknown): readonly Json[] =>
  Array.isArray(value) ? (value as readonly Json[]) : [{ type: 'text', text: value }]

/** What a provider sees of a request. */
export function see(provider: Provider, request: unknown, tools: unknown = null): Seen {
  if (provider === 'openai-responses') {
    const { instructions, input } = request as {
      readonly instructions: unknown
      readonly input: readonly Json[]
    }
    return { front: text([instructions, tools]), blocks: input.flatMap(itemBlocks) }
  }
  if (provider === 'google') {
    const { systemInstruction, contents } = request as {
      readonly systemInstruction?: unknown
      readonly contents: readonly { readonly role: string; readonly parts: readonly Json[] }[]
    }
    return {
      front: text([systemInstruction ?? null, tools]),
      blocks: contents.flatMap(({ role, parts }) => parts.map((part) => googleBlock(role, part))),
    }
  }
  const { system = null, messages } = (Array.isArray(request) ? { messages: request } : request) as {
    readonly system?: unknown
    readonly messages: readonly Json[]
  }
  return { front: text([system, tools]), blocks: messages.flatMap(messageBlocks) }
}

function itemBlocks(item: Json): Block[] {
  if (item['type'] === 'message' && Array.isArray(item['content']))
    return list(item['content']).map((part) => ({
      role: String(item['role']),
      body: text(part),
      token: null,
    }))
  if (item['type'] !== 'reasoning')
    return [{ role: String(item['role'] ?? item['type']), body: text(item), token: null }]
  const { encrypted_content, ...said } = item
  return [{ role: 'assistant', body: text(said), token: String(encrypted_content ?? '') }]
}

/** A part; what stands where a signature is missing is none. */
function googleBlock(role: string, { thoughtSignature, ...said }: Json): Block {
  const isSigned = thoughtSignature !== undefined && thoughtSignature !== 'skip_thought_signature_validator'
  return {
    role: role === 'model' ? 'assistant' : role,
    body: text(said),
    token: isSigned ? String(thoughtSignature) : null,
  }
}

function messageBlocks({ role, content, ...rest }: Json): Block[] {
  const parts = content === undefined ? [] : list(content).map((part) => partBlock(String(role), part))
  return Object.keys(rest).length === 0
    ? parts
    : [...parts, { role: String(role), body: text(rest), token: null }]
}

function partBlock(role: string, part: Json): Block {
  const { signature, data, providerOptions, ...said } = part
  const { anthropic } = (providerOptions ?? {}) as { readonly anthropic?: Json }
  if (part['type'] === 'thinking') return { role, body: text(said), token: String(signature) }
  if (part['type'] === 'redacted_thinking') return { role, body: text(said), token: String(data) }
  if (anthropic !== undefined)
    return { role, body: text(said), token: String(anthropic['signature'] ?? anthropic['redactedData']) }
  return { role, body: text(part), token: null }
}

/** The token under which the next part is given out, which says `body`, behind all that the provider has seen and said. */
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
