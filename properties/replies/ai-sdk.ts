/** AI SDK steps with any content in any order. */

import * as fc from 'fast-check'
import { collectAiSdk, fromAiSdk } from '../../src/messages/ai-sdk/read.ts'
import type { AiSdkMessage } from '../../src/messages/ai-sdk/blocks.ts'
import { toAiSdk } from '../../src/messages/ai-sdk/write.ts'
import { isWhitespace } from '../../src/messages/text.ts'
import { inputs, pieces, toolNames, replyTexts } from './texts.ts'
import type { ReplyWire } from './wires.ts'

interface Part {
  readonly type: string
  readonly text?: string
  readonly providerMetadata?: object
  readonly [field: string]: unknown
}

interface Raw {
  readonly content: readonly Part[]
  readonly finishReason: string
  readonly rawFinishReason: string | undefined
  readonly usage: object
  readonly response: { readonly id: string; readonly modelId: string }
}

const metadata = fc.oneof(
  fc.nat(999).map((n) => ({ google: { thoughtSignature: `sig/${n}` } })),
  fc.nat(999).map((n) => ({ openai: { itemId: `item_${n}`, reasoningEncryptedContent: null } })),
  fc.constant({ anthropic: { caller: { type: 'direct' } } }),
)

const added = fc.option(metadata).map((extra) => (extra === null ? {} : { providerMetadata: extra }))

const thinking = fc.oneof(
  fc.tuple(replyTexts(), fc.nat(999)).map(([text, n]): Part => ({
    type: 'reasoning',
    text,
    providerMetadata: { anthropic: { signature: `sig/${n}+==` } },
  })),
  fc.nat(999).map((n): Part => ({
    type: 'reasoning',
    text: '',
    providerMetadata: { anthropic: { redactedData: `gAAA${n}` } },
  })),
  fc.tuple(replyTexts(), added).map(([text, extra]): Part => ({ type: 'reasoning', text, ...extra })),
)

const file = { base64: 'aW1n', mediaType: 'image/png' }

const source = { type: 'source', sourceType: 'url', id: 's1', url: 'https://a.b/c' }

const texts: fc.Arbitrary<readonly Part[]> = fc.oneof(
  { weight: 3, arbitrary: thinking.map((part) => [part]) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(replyTexts(), added)
      .map(([text, extra]): Part[] => [{ type: 'text', text, ...extra }]),
  },
  fc
    .tuple(replyTexts(), inputs())
    .map(([text]): Part[] => [{ type: 'text', text, citations: [{ source }] }, source]),
  added.map((extra): Part[] => [{ type: 'file', file, ...extra }]),
  added.map((extra): Part[] => [{ type: 'reasoning-file', file, ...extra }]),
  added.map((extra): Part[] => [{ type: 'custom', kind: 'maker.thing', ...extra }]),
  fc.tuple(inputs(), replyTexts(), added, fc.boolean()).map(([input, output, extra, fails]): Part[] => {
    const ends = { toolCallId: 'srv_1', toolName: 'web_search', input, providerExecuted: true, ...extra }
    return [
      { type: 'tool-call', ...ends },
      fails ? { type: 'tool-error', ...ends, error: { output } } : { type: 'tool-result', ...ends, output },
    ]
  }),
)

const call = fc.tuple(toolNames(), inputs(), added, fc.boolean())

const reply: fc.Arbitrary<Raw> = fc
  .record({
    groups: fc.array(texts, { maxLength: 5 }),
    calls: fc.array(call, { maxLength: 3 }),
    isShuffled: fc.boolean(),
    stop: fc.constantFrom('stop', 'stop', 'length', 'content-filter', 'other'),
    raw: fc.constantFrom(undefined, 'a_reason'),
    tokens: fc.nat(5000),
  })
  .map(({ groups, calls, isShuffled, stop, raw, tokens }) => {
    const made = calls.map(([toolName, input, extra, isInvalid], index): Part => ({
      type: 'tool-call',
      toolCallId: `call_${index}`,
      toolName,
      input,
      ...extra,
      ...(isInvalid ? { dynamic: true, invalid: true, error: { message: 'It does not fit.' } } : {}),
    }))
    const others = onePair(groups)
    return {
      content: isShuffled ? [...made, ...others] : [...others, ...made],
      finishReason: calls.length > 0 && stop === 'stop' ? 'tool-calls' : stop,
      rawFinishReason: raw,
      usage: { inputTokens: tokens, outputTokens: 7, totalTokens: undefined, raw: { tokens } },
      response: { id: 'resp_1', modelId: 'any' },
    }
  })

function onePair(groups: readonly (readonly Part[])[]): Part[] {
  const first = groups.findIndex(([part]) => part?.type === 'tool-call')
  return groups.flatMap((parts, index) => (parts[0]?.type === 'tool-call' && index !== first ? [] : parts))
}

const isBlank = ({ text }: Part): boolean => isWhitespace(text ?? '')

const isSigned = ({ providerMetadata, type }: Part): boolean =>
  providerMetadata !== undefined && type !== 'source'

const isSilent = (part: Part): boolean =>
  part.type === 'source' ||
  (part.type === 'text' && isBlank(part)) ||
  (part.type === 'reasoning' && isBlank(part) && !isSigned(part))

const isOwnCall = (part: Part): boolean => part.type === 'tool-call' && part['providerExecuted'] !== true

function sentPart(part: Part, isBound: boolean): object[] {
  const { type, text, file: current, toolCallId, toolName, input, output, error, providerMetadata } = part
  const extra = providerMetadata === undefined ? {} : { providerOptions: providerMetadata }
  const executed = part['providerExecuted'] === true ? { providerExecuted: true } : {}
  switch (type) {
    case 'text':
      return isBlank(part) && (!isBound || (text === '' && !isSigned(part))) ? [] : [{ type, text, ...extra }]
    case 'reasoning':
      return isBlank(part) && !isSigned(part) ? [] : [{ type, text, ...extra }]
    case 'file':
    case 'reasoning-file': {
      const { base64, mediaType } = current as typeof file
      return [{ type, data: base64, mediaType, ...extra }]
    }
    case 'custom':
      return [{ type, kind: part['kind'], ...extra }]
    case 'tool-call':
      return [{ type, toolCallId, toolName, input, ...executed, ...extra }]
    case 'tool-result':
      return [{ type, toolCallId, toolName, output: { type: 'text', value: output }, ...extra }]
    case 'tool-error':
      return [
        {
          type: 'tool-result',
          toolCallId,
          toolName,
          output: { type: 'error-json', value: error },
          ...extra,
        },
      ]
    default:
      return []
  }
}

function events(part: Part, id: string, cut: () => number): object[] {
  const { type, text = '', providerMetadata, citations } = part
  if (type !== 'text' && type !== 'reasoning') return [part]
  const atStart = cut() > 3
  const early = providerMetadata && { openai: { itemId: 'rs_0', reasoningEncryptedContent: 'gAAA' } }
  return [
    { type: `${type}-start`, id, providerMetadata: atStart ? providerMetadata : early },
    ...pieces(text, cut).map((piece) => ({ type: `${type}-delta`, id, text: piece })),
    { type: `${type}-end`, id, citations, ...(atStart ? {} : { providerMetadata }) },
  ]
}

export const AI_SDK: ReplyWire<Raw> = {
  reply,
  read: fromAiSdk,
  collect: collectAiSdk,
  write: (messages) => toAiSdk(messages),
  replyIn: (request) =>
    ((request as AiSdkMessage[]).find(({ role }) => role === 'assistant')?.content ??
      []) as readonly unknown[],
  expected: ({ content }) => {
    if (content.every(isSilent)) return []
    const bound = content.findLastIndex(isSigned) + 1
    return content.flatMap((part, index) => sentPart(part, index < bound))
  },
  stream: ({ content, ...step }, cut) => [
    { type: 'start' },
    { type: 'start-step', request: {}, warnings: [] },
    ...content.flatMap((part, index) => events(part, `${index}`, cut)),
    { type: 'finish-step', ...step },
    { type: 'finish', finishReason: step.finishReason },
  ],
  ends: 2,
  text: ({ content }) => content.map(({ type, text }) => (type === 'text' ? text : '')).join(''),
  garble: (raw, values, nat) => ({
    ...raw,
    content: raw.content.toSpliced(nat % (raw.content.length + 1), 0, ...(values as Part[])),
  }),
  allowed: ({ content }) =>
    content.some((part) => part.type === 'text' && isBlank(part)) ? ['content-nonblank'] : [],
  occurred: ({ content }) => {
    const first = content.findIndex(({ type }) => type === 'text')
    return [
      content.some(isOwnCall) ? 'calls' : 'words_only',
      ...(content.some(isSigned) ? (['signed'] as const) : []),
      ...(content.some((part) => part['providerExecuted'] === true) ? (['server_tools'] as const) : []),
      ...(first >= 0 && content.slice(first).some(({ type }) => type === 'reasoning')
        ? (['thinking_between_texts'] as const)
        : []),
    ]
  },
  occurs: ['calls', 'words_only', 'signed', 'thinking_between_texts', 'server_tools'],
}
