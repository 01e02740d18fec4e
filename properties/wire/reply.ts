/** Replies of providers that sign their reasoning with everything before it. */

import type { ReplyRecord } from '../../src/event/reply.ts'
import type { JsonObject } from '../../src/event/shapes.ts'
import type { Event } from '../../src/event/types.ts'
import { LIMITS as AI_SDK } from '../../src/messages/ai-sdk/blocks.ts'
import { toAiSdk } from '../../src/messages/ai-sdk/write.ts'
import { LIMITS as ANTHROPIC } from '../../src/messages/anthropic/blocks.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { LIMITS as BEDROCK } from '../../src/messages/bedrock/blocks.ts'
import { toBedrock } from '../../src/messages/bedrock/write.ts'
import { LIMITS as GOOGLE } from '../../src/messages/google/blocks.ts'
import { toGoogle } from '../../src/messages/google/write.ts'
import { LIMITS as INTERACTIONS } from '../../src/messages/interactions/blocks.ts'
import { toInteractions } from '../../src/messages/interactions/write.ts'
import type { NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { LIMITS as CHAT } from '../../src/messages/openai-chat/blocks.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { LIMITS as RESPONSES } from '../../src/messages/openai-responses/blocks.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { requestRecord } from '../../src/messages/prefix.ts'
import { cutDigests } from '../../src/messages/reply.ts'
import { ownDigest, partsOf } from '../../src/messages/reply-parts.ts'
import type { Limits } from '../../src/messages/limits.ts'
import { replay } from '../../src/state/reduce.ts'
import { type Seen, sign } from '../../src/messages/fake.ts'
import { grammarNamed } from '../../src/messages/grammars.ts'

/** In the provider's order. */
export type Part = 'think' | 'redacted' | 'say' | 'blank' | 'call' | 'search'

interface Wire {
  readonly limits: Limits
  readonly write: (
    messages: readonly NeutralMessage[],
    options: { tools: readonly object[]; model: string },
  ) => object
}

export const WIRES = {
  anthropic: { limits: ANTHROPIC, write: toAnthropic },
  'ai-sdk': { limits: AI_SDK, write: toAiSdk },
  google: { limits: GOOGLE, write: toGoogle },
  bedrock: { limits: BEDROCK, write: toBedrock },
  interactions: { limits: INTERACTIONS, write: toInteractions },
  'openai-responses': { limits: RESPONSES, write: toOpenAIResponses },
  'openai-chat': { limits: CHAT, write: toOpenAIChat },
} as const satisfies Readonly<Record<string, Wire>>

export type WireGrammar = keyof typeof WIRES

export interface Script {
  /** The prefix of its events' ids. */
  readonly number: number
  readonly word: string
  readonly tool: (index: number) => string
  /** Calls that OpenAI Responses marks as async. */
  readonly isAsync?: (index: number) => boolean
}

export interface ScriptedReply {
  /** The name in its record. */
  readonly model: string
  readonly parts: readonly JsonObject[]
  readonly events: (reply: ReplyRecord) => Event[]
  readonly calls: readonly { readonly event_id: string; readonly call: string; readonly text: string }[]
  readonly signed: number
  /** Signed parts up to each call. */
  readonly signedAt: readonly number[]
  readonly isMixed: boolean
}

/** Signs part by part, and returns the events of a reader. */
export function replyParts(
  grammar: WireGrammar,
  seen: Seen,
  wanted: readonly Part[],
  script: Script,
  signsCalls = grammar === 'google',
): ScriptedReply {
  const { number: n, word, tool, isAsync = () => false } = script
  const isResponses = grammar === 'openai-responses'
  const parts = legalParts(grammar, wanted)
  const blocks = [...seen.blocks]
  const thinking: ({ thinking: string; signature: string } | { data: string })[] = []
  const texts: { text: string }[] = []
  const reasoning: { id: string; encrypted_content: string; summary: string[] }[] = []
  const calls: { id: string; item: string; args: string; reasoning: (typeof reasoning)[number] | null }[] = []
  const refs: JsonObject[] = []
  let signedCalls = 0
  const seal = SEALS[grammar]
  const signedAt: number[] = []
  const output = (content: object, token: string | null = null): void => {
    // Gemini sees only the thoughts that it has signed.
    const input = seal !== undefined && token !== null ? { ...content, [seal]: token } : content
    blocks.push(
      ...grammarNamed(grammar)
        .sight.contentBlocks({ ...input })
        .map((block) => ({ ...block, token })),
    )
  }
  const signed = (content: object): string => {
    const input = seal === undefined ? content : { ...content, [seal]: '' }
    const token = sign(
      { ...seen, blocks },
      grammarNamed(grammar).sight.contentBlocks({ ...input })[0]?.body ?? '',
    )
    output(content, token)
    return token
  }
  for (const [index, part] of parts.entries()) {
    const name = `${n}-${index}`
    if (part === 'think' && isResponses) {
      const item = {
        type: 'reasoning',
        id: `rs_${name}`,
        summary: [{ type: 'summary_text', text: `thought of ${word}` }],
      }
      const token = signed(item)
      refs.push({ reasoning: reasoning.length })
      reasoning.push({ id: item.id, encrypted_content: token, summary: [`thought of ${word}`] })
    } else if (part === 'think' || part === 'redacted') {
      const isOpen = part === 'think'
      const text = isOpen && index % 2 === 0 ? `thought of ${word}` : ''
      const token = signed(thoughtBody(grammar, isOpen, text))
      refs.push({ thinking: thinking.length })
      thinking.push(isOpen ? { thinking: text, signature: token } : { data: token })
    } else if (part === 'call') {
      const last = reasoning.find((item) => !calls.some((call) => call.reasoning === item)) ?? null
      const call = {
        id: `call-${n}.${calls.length}`,
        item: `fc_${name}`,
        args: `{"n": ${n}}`,
        reasoning: last,
      }
      const more: JsonObject = isResponses && isAsync(calls.length) ? { async: true } : {}
      if (isResponses)
        output({
          type: 'function_call',
          id: call.item,
          call_id: call.id,
          name: tool(calls.length),
          arguments: call.args,
          ...more,
        })
      if (signsCalls && calls.length === 0) {
        const body = { functionCall: { id: call.id, name: tool(0), args: { n } } }
        const thoughtSignature = signed(body)
        refs.push({ call: 0, more: { thoughtSignature } })
        signedCalls += 1
      } else refs.push({ call: calls.length, ...('async' in more && { more }) })
      calls.push(call)
      signedAt.push(thinking.length + reasoning.length + signedCalls)
    } else if (part === 'search') {
      for (const other of searched(grammar, name, word)) {
        output(other)
        refs.push({ other })
      }
    } else {
      const text = part === 'say' ? `${word} ` : ' '
      output(wordsBody(grammar, text))
      refs.push({ text: texts.length })
      texts.push({ text })
    }
  }
  const count = thinking.length + reasoning.length + signedCalls
  const isMixed = parts.some(
    (part, index) => index > 0 && part === 'think' && parts.slice(0, index).includes('say'),
  )
  const events = (reply: ReplyRecord): Event[] => {
    if (calls.length === 0)
      return [
        {
          kind: 'MessageEvent',
          id: `${n}.0`,
          source: 'agent',
          llm_message: recorded(
            {
              role: 'assistant',
              content: texts,
              thinking_blocks: thinking,
              responses_reasoning_item: reasoning[0] ?? null,
            },
            reply,
          ),
        },
      ]
    return calls.map(({ id, item, args, reasoning: ownId }, index) => ({
      kind: 'ActionEvent',
      id: `${n}.${index}`,
      thought: index === 0 ? texts : [],
      thinking_blocks: index === 0 ? thinking : [],
      responses_reasoning_item: ownId,
      tool_name: tool(index),
      tool_call_id: id,
      tool_call: recorded(
        {
          id,
          name: tool(index),
          arguments: args,
          origin: 'completion',
          responses_item_id: isResponses ? item : null,
        },
        index === 0 ? reply : reply.after === undefined ? {} : { after: reply.after },
      ),
      llm_response_id: `response-${n}`,
      action: { kind: 'X' },
    }))
  }
  const answered = calls.map(({ id }, index) => ({
    event_id: `${n}.${index}`,
    call: id,
    text: `result ${n}`,
  }))
  return { model: `r${n}`, parts: refs, events, calls: answered, signed: count, signedAt, isMixed }
}

const SEALS: Readonly<Record<string, string>> = { google: 'thoughtSignature', interactions: 'signature' }

/** Searches of the provider, for which events have no field. */
function searched(grammar: string, name: string, query: string): JsonObject[] {
  if (grammar === 'openai-responses')
    return [
      { type: 'web_search_call', id: `ws_${name}`, status: 'completed', action: { type: 'search', query } },
    ]
  if (grammar === 'google') {
    const search = { id: `tool-${name}`, toolType: 'GOOGLE_SEARCH_WEB' }
    return [{ toolCall: { ...search, args: { query } } }, { toolResponse: { ...search, response: {} } }]
  }
  if (grammar === 'interactions')
    return [
      { type: 'google_search_call', id: `search-${name}`, arguments: { queries: [query] } },
      { type: 'google_search_result', call_id: `search-${name}`, result: [] },
    ]
  if (grammar === 'bedrock') {
    const search = { toolUseId: `search-${name}`, type: 'server_tool_use' }
    return [
      { toolUse: { ...search, name: 'nova_grounding', input: { query } } },
      { toolResult: { ...search, content: [] } },
    ]
  }
  if (grammar === 'ai-sdk') {
    const search = { toolCallId: `srv_${name}`, toolName: 'web_search' }
    return [
      { type: 'tool-call', ...search, input: { query }, providerExecuted: true },
      { type: 'tool-result', ...search, output: { type: 'json', value: [] } },
    ]
  }
  return [
    { type: 'server_tool_use', id: `srvtoolu_${name}`, name: 'web_search', input: { query } },
    { type: 'web_search_tool_result', tool_use_id: `srvtoolu_${name}`, content: [] },
  ]
}

function thoughtBody(grammar: string, isOpen: boolean, text: string): object {
  if (grammar === 'google') return { text, thought: true }
  if (grammar === 'bedrock') return { reasoningContent: { reasoningText: { text } } }
  if (grammar === 'interactions')
    return { type: 'thought', ...(text === '' ? {} : { summary: [{ type: 'text', text }] }) }
  if (grammar === 'ai-sdk') return { type: 'reasoning', text }
  return isOpen ? { type: 'thinking', thinking: text } : { type: 'redacted_thinking' }
}

function wordsBody(grammar: string, text: string): object {
  if (grammar === 'google' || grammar === 'bedrock') return { text }
  if (grammar === 'interactions') return { type: 'model_output', content: [{ type: 'text', text }] }
  if (grammar === 'openai-responses') return { type: 'message', role: 'assistant', content: text }
  return { type: 'text', text }
}

/** Calls go last, text to the end, and Responses has only reasoning that an item can carry. */
function legalParts(grammar: string, inputs: readonly Part[]): Part[] {
  const wanted = inputs
    .filter((part) => grammar !== 'openai-chat' || part !== 'search')
    .map((part): Part =>
      (grammar in SEALS || grammar === 'bedrock') && part === 'redacted' ? 'think' : part,
    )
  const calls = wanted.filter((part) => part === 'call')
  const others = wanted.filter((part) => part !== 'call')
  const end: Part[] = calls.length > 0 ? [] : ['say']
  if (grammar === 'openai-chat') return [...others.filter((part) => part === 'say'), ...calls, ...end]
  if (grammar !== 'openai-responses') return [...others, ...end, ...calls]
  const thoughts = others.filter((part) => part === 'think').slice(0, Math.max(1, calls.length))
  const says = others.filter((part) => part === 'say')
  const looks = others.filter((part) => part === 'search')
  if (calls.length === 0)
    return [
      ...thoughts.slice(0, 1),
      ...looks.slice(0, 1),
      ...says.slice(0, 1),
      ...end.slice(says.length > 0 ? 1 : 0),
    ]
  return [
    ...thoughts.flatMap((thought, index): Part[] => [
      thought,
      ...looks.slice(index, index + 1),
      ...says.slice(index, index + 1),
      'call',
    ]),
    ...calls.slice(thoughts.length),
  ]
}

const recorded = <T extends object>(holder: T, reply: ReplyRecord): T => ({ ...holder, reply })

/** Null if the request was not verified. */
export function recordOf(
  grammar: WireGrammar,
  scripted: ScriptedReply,
  request: object,
  requests = 'any',
): ReplyRecord | null {
  const result = requestRecord(request)
  if (result === null) return null
  const { leftOut: _, ...stored } = result
  const about: ReplyRecord = {
    ...stored,
    model: scripted.model,
    requested_model: requests,
    parts: scripted.parts,
  }
  const [message] = toMessages(replay(scripted.events(about)), { pending: { close: '' } }).filter(
    ({ role }) => role === 'assistant',
  )
  if (message?.role !== 'assistant') return { ...about, digest: '' }
  const { limits } = WIRES[grammar]
  const inOrder = partsOf(message, limits)
  const replyDigest = ownDigest(message, inOrder, limits)
  const ordered = inOrder.refs.map((ref) => (ref.kind === 'other' ? { other: ref.value } : ref))
  const cuts = cutDigests(message, inOrder, ordered, replyDigest, limits)
  return { ...about, digest: replyDigest, ...(cuts === null ? {} : { cuts }) }
}
