/** Replies of Anthropic Messages made of thinking, redacted thinking, texts and calls, in any order that the provider gives. */

import * as fc from 'fast-check'
import { collectAnthropic } from '../../src/messages/anthropic/collect.ts'
import { fromAnthropic } from '../../src/messages/anthropic/read.ts'
import type { AnthropicRequest } from '../../src/messages/anthropic/types.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { isWhitespace, trimTrailing } from '../../src/messages/text.ts'
import { inputs, pieces, toolNames, words } from './texts.ts'
import type { ReplyWire } from './wires.ts'

type Block =
  | { readonly type: 'text'; readonly text: string; readonly citations: null }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | {
      readonly type: 'tool_use'
      readonly id: string
      readonly name: string
      readonly input: object
      readonly caller: { readonly type: 'direct' }
    }

interface Raw {
  readonly id: string
  readonly model: string
  readonly content: readonly Block[]
  readonly stop_reason: string
  readonly usage: object
}

const said: fc.Arbitrary<Block> = fc.oneof(
  words().map((text): Block => ({ type: 'text', text, citations: null })),
  fc
    .tuple(words(), fc.nat(999))
    .map(([thinking, n]): Block => ({ type: 'thinking', thinking, signature: `sig/${n}+==` })),
  fc.nat(999).map((n): Block => ({ type: 'redacted_thinking', data: `gAAA${n}` })),
)

const reply: fc.Arbitrary<Raw> = fc
  .record({
    before: fc.array(said, { maxLength: 5 }),
    calls: fc.array(fc.tuple(toolNames(), inputs()), { maxLength: 3 }),
    stop: fc.constantFrom('end_turn', 'end_turn', 'max_tokens', 'stop_sequence', 'refusal'),
    tokens: fc.nat(5000),
  })
  .map(({ before, calls, stop, tokens }) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [
      ...thinkingFirst(before),
      ...calls.map(([name, input], at): Block => ({
        type: 'tool_use',
        id: `toolu_${at}`,
        name,
        input,
        caller: { type: 'direct' },
      })),
    ],
    stop_reason: calls.length > 0 && stop === 'end_turn' ? 'tool_use' : stop,
    stop_sequence: null,
    usage: { input_tokens: tokens, output_tokens: 7, cache_read_input_tokens: null },
  }))

/** A reply with thinking begins with it; between the words there may be more. */
function thinkingFirst(blocks: readonly Block[]): Block[] {
  const first = blocks.findIndex(isSigned)
  return [...blocks.slice(Math.max(0, first)), ...blocks.slice(0, Math.max(0, first))]
}

const isSigned = ({ type }: Block): boolean => type === 'thinking' || type === 'redacted_thinking'

/** The block as it goes back: behind the last signed one, text without the space at its end, which the provider refuses there. */
function sentBlock(block: Block, isBound: boolean): object[] {
  if (block.type === 'tool_use') {
    const { caller: _, ...sent } = block
    return [sent]
  }
  if (block.type !== 'text') return [block]
  if (isBound) return [{ type: 'text', text: block.text }]
  return isWhitespace(block.text) ? [] : [{ type: 'text', text: trimTrailing(block.text) }]
}

function events(block: Block, index: number, cut: () => number): object[] {
  const delta = (of: object): object => ({ type: 'content_block_delta', index, delta: of })
  const start = (content_block: object): object => ({ type: 'content_block_start', index, content_block })
  const stop = { type: 'content_block_stop', index }
  switch (block.type) {
    case 'text':
      return [
        start({ ...block, text: '' }),
        ...pieces(block.text, cut).map((text) => delta({ type: 'text_delta', text })),
        stop,
      ]
    case 'thinking':
      return [
        start({ ...block, thinking: '', signature: '' }),
        ...pieces(block.thinking, cut).map((thinking) => delta({ type: 'thinking_delta', thinking })),
        delta({ type: 'signature_delta', signature: block.signature }),
        stop,
      ]
    case 'redacted_thinking':
      return [start(block), stop]
    case 'tool_use':
      return [
        start({ ...block, input: {} }),
        ...pieces(JSON.stringify(block.input), cut).map((partial_json) =>
          delta({ type: 'input_json_delta', partial_json }),
        ),
        stop,
      ]
  }
}

export const ANTHROPIC: ReplyWire<Raw> = {
  reply,
  read: fromAnthropic,
  collect: collectAnthropic,
  write: (messages) => toAnthropic(messages),
  replyIn: (request) =>
    (request as AnthropicRequest).messages.find(({ role }) => role === 'assistant')?.content ?? [],
  expected: ({ content }) => {
    const bound = content.findLastIndex(isSigned) + 1
    return content.flatMap((block, at) => sentBlock(block, at < bound))
  },
  stream: ({ content, stop_reason, usage, ...message }, cut) => [
    {
      type: 'message_start',
      message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    },
    ...content.flatMap((block, index) => events(block, index, cut)),
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 7 } },
    { type: 'message_stop' },
  ],
  ends: 2,
  words: ({ content }) => content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
  garble: (raw, values, nat) => ({
    ...raw,
    content: raw.content.toSpliced(nat % (raw.content.length + 1), 0, ...(values as Block[])),
  }),
  allowed: ({ content }) =>
    content
      .slice(0, content.findLastIndex(isSigned) + 1)
      .some((block) => block.type === 'text' && isWhitespace(block.text))
      ? ['text-nonblank']
      : [],
  occurred: ({ content }) => {
    const first = content.findIndex(({ type }) => type === 'text')
    return [
      ...(content.some(({ type }) => type === 'tool_use') ? (['calls'] as const) : (['words_only'] as const)),
      ...(content.some(isSigned) ? (['signed'] as const) : []),
      ...(first >= 0 && content.slice(first).some(isSigned) ? (['thought_between_words'] as const) : []),
    ]
  },
  occurs: ['calls', 'words_only', 'thought_between_words', 'signed'],
}
