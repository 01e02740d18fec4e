/** Builds the provider's response for a story's reply. */

import type { EarlyEnd } from '../../src/event/reply.ts'
import type { ActionEvent, MessageEvent } from '../../src/event/types.ts'
import type { ScriptedReply, WireGrammar } from './reply.ts'

type Json = Readonly<Record<string, unknown>>

type Part =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly is: 'redacted'; readonly data: string }
  | { readonly is: 'reasoning'; readonly item: Json }
  | {
      readonly is: 'call'
      readonly id: string
      readonly name: string
      readonly text: string
      readonly item: string
      readonly more: Json
    }

/** Null if it ended by itself. */
type End = Extract<EarlyEnd, 'truncated' | 'paused'> | null

function partsOf({ events, parts }: ScriptedReply): Part[] {
  const messages = events({}) as readonly (ActionEvent | MessageEvent)[]
  const [first] = messages
  const head = (first?.kind === 'MessageEvent' ? first.llm_message : (first ?? {})) as Json
  const texts = (head['content'] ?? head['thought'] ?? []) as readonly { readonly text: string }[]
  const thinking = (head['thinking_blocks'] ?? []) as readonly Json[]
  const items = messages.flatMap((event) => {
    const holder = event.kind === 'MessageEvent' ? event.llm_message : event
    return holder.responses_reasoning_item ? [holder.responses_reasoning_item as unknown as Json] : []
  })
  return parts.map((ref): Part => {
    const { text, thinking: index, reasoning, call, more = {} } = ref as Readonly<Record<string, never>>
    if (text !== undefined) return { is: 'text', text: texts[text]?.text ?? '' }
    if (reasoning !== undefined) return { is: 'reasoning', item: items[reasoning] ?? {} }
    if (index !== undefined) {
      const block = thinking[index] ?? {}
      return 'data' in block
        ? { is: 'redacted', data: String(block['data']) }
        : { is: 'thinking', thinking: String(block['thinking']), signature: String(block['signature']) }
    }
    const { tool_call } = messages[call ?? 0] as ActionEvent
    return {
      is: 'call',
      id: tool_call.id,
      name: tool_call.name,
      text: tool_call.arguments,
      item: tool_call.responses_item_id ?? '',
      more,
    }
  })
}

export function rawReply(grammar: WireGrammar, scripted: ScriptedReply, number: number, end: End): Json {
  const parts = partsOf(scripted)
  const calls = parts.some(({ is }) => is === 'call')
  return RAW[grammar](parts, { id: `response-${number}`, model: scripted.model }, end, calls)
}

type Write = (
  parts: readonly Part[],
  about: { readonly id: string; readonly model: string },
  end: End,
  calls: boolean,
) => Json

const RAW: Readonly<Record<WireGrammar, Write>> = {
  anthropic: (parts, about, end, calls) => ({
    ...about,
    content: parts.map((part): Json => {
      if (part.is === 'text') return { type: 'text', text: part.text }
      if (part.is === 'thinking')
        return { type: 'thinking', thinking: part.thinking, signature: part.signature }
      if (part.is === 'redacted') return { type: 'redacted_thinking', data: part.data }
      return part.is === 'call'
        ? { type: 'tool_use', id: part.id, name: part.name, input: JSON.parse(part.text) }
        : {}
    }),
    stop_reason:
      end === 'paused' ? 'pause_turn' : end === null ? (calls ? 'tool_use' : 'end_turn') : 'max_tokens',
  }),
  'openai-chat': (parts, about, end, calls) => ({
    ...about,
    choices: [
      {
        message: {
          role: 'assistant',
          content: parts.flatMap((part) => (part.is === 'text' ? [{ type: 'text', text: part.text }] : [])),
          ...(calls && {
            tool_calls: parts.flatMap((part) =>
              part.is === 'call'
                ? [{ id: part.id, type: 'function', function: { name: part.name, arguments: part.text } }]
                : [],
            ),
          }),
        },
        finish_reason: end === null ? (calls ? 'tool_calls' : 'stop') : 'length',
      },
    ],
  }),
  'openai-responses': (parts, about, end) => ({
    ...about,
    status: end === null ? 'completed' : 'incomplete',
    ...(end !== null && { incomplete_details: { reason: 'max_output_tokens' } }),
    output: parts.map((part): Json => {
      if (part.is === 'text')
        return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: part.text }] }
      if (part.is === 'call')
        return {
          type: 'function_call',
          id: part.item,
          call_id: part.id,
          name: part.name,
          arguments: part.text,
        }
      if (part.is !== 'reasoning') return {}
      const summary = part.item['summary'] as readonly string[]
      return {
        ...part.item,
        type: 'reasoning',
        summary: summary.map((text) => ({ type: 'summary_text', text })),
      }
    }),
  }),
  google: (parts, { id, model }, end) => ({
    responseId: id,
    modelVersion: model,
    candidates: [
      {
        content: {
          parts: parts.map((part): Json => {
            if (part.is === 'text') return { text: part.text }
            if (part.is === 'thinking')
              return { text: part.thinking, thought: true, thoughtSignature: part.signature }
            return part.is === 'call'
              ? { ...part.more, functionCall: { id: part.id, name: part.name, args: JSON.parse(part.text) } }
              : {}
          }),
        },
        finishReason: end === null ? 'STOP' : 'MAX_TOKENS',
      },
    ],
  }),
  bedrock: (parts, { id }, end, calls) => ({
    $metadata: { requestId: id },
    stopReason: end === null ? (calls ? 'tool_use' : 'end_turn') : 'max_tokens',
    output: {
      message: {
        content: parts.map((part): Json => {
          if (part.is === 'text') return { text: part.text }
          if (part.is === 'thinking')
            return { reasoningContent: { reasoningText: { text: part.thinking, signature: part.signature } } }
          return part.is === 'call'
            ? { toolUse: { toolUseId: part.id, name: part.name, input: JSON.parse(part.text) } }
            : {}
        }),
      },
    },
  }),
  interactions: (parts, about, end, calls) => ({
    ...about,
    status: end === null ? (calls ? 'requires_action' : 'completed') : 'incomplete',
    steps: parts.map((part): Json => {
      if (part.is === 'text') return { type: 'model_output', content: [{ type: 'text', text: part.text }] }
      if (part.is === 'thinking') {
        const summary = part.thinking === '' ? {} : { summary: [{ type: 'text', text: part.thinking }] }
        return { type: 'thought', ...summary, signature: part.signature }
      }
      return part.is === 'call'
        ? {
            ...part.more,
            type: 'function_call',
            id: part.id,
            name: part.name,
            arguments: JSON.parse(part.text),
          }
        : {}
    }),
  }),
  'ai-sdk': (parts, { id, model }, end, calls) => ({
    response: { id, modelId: model },
    finishReason: end === null ? (calls ? 'tool-calls' : 'stop') : 'length',
    content: parts.map((part): Json => {
      if (part.is === 'text') return { type: 'text', text: part.text }
      if (part.is === 'thinking')
        return {
          type: 'reasoning',
          text: part.thinking,
          providerMetadata: { anthropic: { signature: part.signature } },
        }
      if (part.is === 'redacted')
        return { type: 'reasoning', text: '', providerMetadata: { anthropic: { redactedData: part.data } } }
      return part.is === 'call'
        ? { type: 'tool-call', toolCallId: part.id, toolName: part.name, input: JSON.parse(part.text) }
        : {}
    }),
  }),
}
