/** Amazon Bedrock replies with reasoning, texts, citations, calls, server tools and images. */

import * as fc from 'fast-check'
import type { BedrockRequest } from '../../src/messages/bedrock/rules.ts'
import { collectBedrock, fromBedrock } from '../../src/messages/bedrock/read.ts'
import { toBedrock } from '../../src/messages/bedrock/write.ts'
import { NO_ANSWER } from '../../src/messages/phrases.ts'
import { decodeBase64 } from '../../src/messages/text-files.ts'
import { isWhitespace } from '../../src/messages/text.ts'
import { inputs, pieces, messages, toolNames, replyTexts } from './texts.ts'
import type { ReplyWire } from './wires.ts'

type Fields = Readonly<Record<string, unknown>>

interface Block {
  readonly text?: string
  readonly toolUse?: Fields
  readonly toolResult?: Fields
  readonly reasoningContent?: { readonly reasoningText?: Fields; readonly redactedContent?: string }
  readonly citationsContent?: {
    readonly content: readonly [{ readonly text: string }]
    readonly citations: readonly object[]
  }
}

interface Raw {
  readonly $metadata: { readonly requestId: string }
  readonly output: { readonly message: { readonly role: 'assistant'; readonly content: readonly Block[] } }
  readonly stopReason: string
  readonly usage: object
}

const signature = fc
  .option(fc.nat(999), { nil: null })
  .map((n) => (n === null ? {} : { signature: `sig/${n}+==` }))

const group: fc.Arbitrary<readonly Block[]> = fc.oneof(
  replyTexts().map((text) => [{ text }]),
  messages().map((text) => [
    { citationsContent: { content: [{ text }] as const, citations: [{ title: 'Oak', source: 'kb' }] } },
  ]),
  fc
    .tuple(replyTexts(), signature)
    .map(([text, signed]) => [{ reasoningContent: { reasoningText: { text, ...signed } } }]),
  fc.constantFrom('aW1n', 'aW1nIQ==').map((redactedContent) => [{ reasoningContent: { redactedContent } }]),
  fc.tuple(inputs(), fc.nat(99_999)).map(([input, n]) => {
    const of = { toolUseId: `tool-${n}`, type: 'server_tool_use' }
    return [
      { toolUse: { ...of, name: 'nova_grounding', input } },
      { toolResult: { ...of, content: [{ text: 'Oak.' }] } },
    ]
  }),
)

const reply: fc.Arbitrary<Raw> = fc
  .record({
    groups: fc.array(group, { maxLength: 5 }),
    calls: fc.array(fc.tuple(toolNames(), inputs()), { maxLength: 3 }),
    isCutOff: fc.boolean(),
    tokens: fc.nat(5000),
  })
  .map(({ groups, calls, isCutOff, tokens }) => ({
    $metadata: { requestId: 'reply-1' },
    output: {
      message: {
        role: 'assistant',
        content: [
          ...onePairEach(groups),
          ...calls.map(([name, input], index) => ({ toolUse: { toolUseId: `call-${index}`, name, input } })),
        ],
      },
    },
    stopReason: isCutOff ? 'max_tokens' : calls.length > 0 ? 'tool_use' : 'end_turn',
    usage: { inputTokens: tokens, outputTokens: 7, totalTokens: tokens + 7 },
  }))

/** Removes pairs with a duplicate id. */
function onePairEach(groups: readonly (readonly Block[])[]): Block[] {
  const seen = new Set<unknown>()
  return groups.flatMap((blocks) => {
    const id = blocks[0]?.toolUse?.['toolUseId']
    if (id !== undefined && seen.has(id)) return []
    seen.add(id)
    return blocks
  })
}

const isSigned = ({ reasoningContent: { reasoningText, redactedContent } = {} }: Block): boolean =>
  redactedContent !== undefined || reasoningText?.['signature'] !== undefined

const contentOf = ({ output }: Raw): readonly Block[] => output.message.content

const isServers = ({ toolUse, toolResult }: Block): boolean => (toolUse ?? toolResult)?.['type'] !== undefined

/** Only signed reasoning is sent, and blank text only under a signature. */
function expected(raw: Raw): readonly unknown[] {
  const content = contentOf(raw).filter(({ text }) => text !== '')
  const bound = content.findLastIndex(isSigned)
  const sent = content.flatMap((block, index): object[] => {
    const { text, reasoningContent } = block
    if (reasoningContent?.redactedContent !== undefined)
      return [{ reasoningContent: { redactedContent: decodeBase64(reasoningContent.redactedContent) } }]
    if (reasoningContent !== undefined) return isSigned(block) ? [block] : []
    return text !== undefined && isWhitespace(text) && index > bound ? [] : [block]
  })
  const last = sent.at(-1)
  return last !== undefined && 'reasoningContent' in last ? [...sent, { text: NO_ANSWER }] : sent
}

function events(block: Block, contentBlockIndex: number, cut: () => number): object[] {
  const { text, toolUse, toolResult, reasoningContent, citationsContent } = block
  const { input, ...call } = toolUse ?? {}
  const { content, ...result } = toolResult ?? {}
  const { text: thought = '', signature: signed } = reasoningContent?.reasoningText ?? {}
  const redactedContent = reasoningContent?.redactedContent
  const start =
    toolUse !== undefined ? { toolUse: call } : toolResult !== undefined ? { toolResult: result } : null
  const thoughts = thought === '' ? [''] : pieces(String(thought), cut)
  const deltas = [
    ...pieces(text ?? citationsContent?.content[0].text ?? '', cut).map((piece) => ({ text: piece })),
    ...(citationsContent?.citations ?? []).map((citation) => ({ citation })),
    ...(reasoningContent?.reasoningText === undefined
      ? []
      : thoughts.map((piece) => ({ reasoningContent: { text: piece } }))),
    ...(signed === undefined ? [] : [{ reasoningContent: { signature: signed } }]),
    ...(redactedContent === undefined ? [] : [{ reasoningContent: { redactedContent } }]),
    ...(toolUse === undefined
      ? []
      : pieces(JSON.stringify(input), cut).map((piece) => ({ toolUse: { input: piece } }))),
    ...(toolResult === undefined ? [] : [{ toolResult: content }]),
  ]
  return [
    ...(start === null ? [] : [{ contentBlockStart: { contentBlockIndex, start } }]),
    ...deltas.map((delta) => ({ contentBlockDelta: { contentBlockIndex, delta } })),
    { contentBlockStop: { contentBlockIndex } },
  ]
}

export const BEDROCK: ReplyWire<Raw> = {
  reply,
  read: fromBedrock,
  collect: collectBedrock,
  write: (messages) => toBedrock(messages),
  replyIn: (request) =>
    (request as BedrockRequest).messages.find(({ role }) => role === 'assistant')?.content ?? [],
  expected,
  stream: ({ $metadata, stopReason, usage, ...raw }, cut) => [
    { messageStart: { role: 'assistant' } },
    ...raw.output.message.content.flatMap((block, index) => events(block, index, cut)),
    { messageStop: { stopReason } },
    { metadata: { usage, $metadata } },
  ],
  ends: 2,
  text: (raw) =>
    contentOf(raw)
      .map(({ text, citationsContent }) => text ?? citationsContent?.content[0].text ?? '')
      .join(''),
  garble: (raw, values, nat) => {
    const content = contentOf(raw)
    return {
      ...raw,
      output: {
        message: { content: content.toSpliced(nat % (content.length + 1), 0, ...(values as Block[])) },
      },
    }
  },
  allowed: () => [],
  occurred: (raw) => {
    const content = contentOf(raw)
    const first = content.findIndex(({ text }) => text !== undefined)
    return [
      content.some((block) => block.toolUse !== undefined && !isServers(block)) ? 'calls' : 'words_only',
      ...(content.some(isSigned) ? (['signed'] as const) : []),
      ...(content.some(isServers) ? (['server_tools'] as const) : []),
      ...(first >= 0 && content.slice(first).some(({ reasoningContent }) => reasoningContent !== undefined)
        ? (['thinking_between_texts'] as const)
        : []),
    ]
  },
  occurs: ['calls', 'words_only', 'signed', 'thinking_between_texts', 'server_tools'],
}
