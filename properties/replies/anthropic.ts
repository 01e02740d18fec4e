/** Anthropic Messages replies with every kind of block, in valid order. */

import * as fc from 'fast-check'
import { collectAnthropic, fromAnthropic } from '../../src/messages/anthropic/read.ts'
import type { AnthropicRequest } from '../../src/messages/anthropic/blocks.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { isWhitespace, trimTrailing } from '../../src/messages/text.ts'
import { ANTHROPIC_UNITS, type ServerBlock } from './anthropic-parts.ts'
import { inputs, pieces, toolNames, replyTexts } from './texts.ts'
import type { ReplyWire } from './wires.ts'

type Block =
  | { readonly type: 'text'; readonly text: string; readonly citations: readonly object[] | null }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | {
      readonly type: 'tool_use'
      readonly id: string
      readonly name: string
      readonly input: object
      readonly caller: { readonly type: string; readonly tool_id?: string }
    }
  | ServerBlock

interface Raw {
  readonly id: string
  readonly model: string
  readonly content: readonly Block[]
  readonly stop_reason: string
  readonly usage: object
}

/** Blocks that occur together, with ids from the number. */
type Unit = (n: number) => readonly Block[]

const block =
  (of: Block): Unit =>
  () => [of]

const CITED = [
  {
    type: 'web_search_result_location',
    cited_text: 'oak',
    encrypted_index: 'Eo8BCkgIARAB',
    url: 'https://oak.example',
    title: null,
  },
]

const output: fc.Arbitrary<Unit> = fc.oneof(
  fc
    .tuple(replyTexts(), fc.boolean())
    .map(([text, isCited]) => block({ type: 'text', text, citations: isCited ? CITED : null })),
  fc
    .tuple(replyTexts(), fc.nat(999))
    .map(([thinking, n]) => block({ type: 'thinking', thinking, signature: `sig/${n}+==` })),
  fc.nat(999).map((n) => block({ type: 'redacted_thinking', data: `gAAA${n}` })),
  fc.constantFrom<Unit>(...ANTHROPIC_UNITS),
)

/** Replies with these stop reasons continue once sent back. */
const PAUSES: ReadonlySet<string> = new Set(['pause_turn', 'compaction'])

const reply: fc.Arbitrary<Raw> = fc
  .record({
    before: fc.array(output, { maxLength: 5 }),
    waits: fc.boolean(),
    calls: fc.array(fc.tuple(toolNames(), inputs(), fc.array(output, { maxLength: 2 })), { maxLength: 3 }),
    stop: fc.constantFrom(
      'end_turn',
      'end_turn',
      'max_tokens',
      'stop_sequence',
      'refusal',
      'pause_turn',
      'compaction',
    ),
    tokens: fc.nat(5000),
  })
  .map(({ before, waits, calls, stop, tokens }) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: withWaiting(
      waits && (calls.length > 0 || PAUSES.has(stop)),
      thinkingFirst([
        ...before.map((unit, n) => unit(n)),
        ...calls.flatMap(([name, input, behind], index): (readonly Block[])[] => [
          [{ type: 'tool_use', id: `toolu_${index}`, name, input, caller: { type: 'direct' } }],
          ...behind.map((unit, n) => unit(10 * (index + 1) + n)),
        ]),
      ]),
    ),
    stop_reason: calls.length > 0 && stop === 'end_turn' ? 'tool_use' : stop,
    stop_sequence: null,
    usage: { input_tokens: tokens, output_tokens: 7, cache_read_input_tokens: null },
  }))

/** Its result arrives in the continued reply. */
const WAITING = {
  type: 'server_tool_use',
  id: 'srvtoolu_w',
  name: 'code_execution',
  input: { code: 'ls()' },
} as const

/** The server tool makes all client calls but the first. */
function withWaiting(waits: boolean, content: readonly Block[]): readonly Block[] {
  if (!waits) return content
  const first = content.findIndex(isCall)
  const caller = { type: 'code_execution_20250825', tool_id: WAITING.id }
  return content
    .map((of, index) => (of.type === 'tool_use' && index > first ? { ...of, caller } : of))
    .toSpliced(first < 0 ? content.length : first, 0, WAITING)
}

const isCall = ({ type }: Block): boolean => type === 'tool_use'

/** Calls move last, after the last thinking before a call. If that would affect signed blocks, nothing signed is sent. */
function arranged(content: readonly Block[]): readonly Block[] {
  const last = content.findLastIndex(isCall)
  const bound = content.findLastIndex((of, index) => index < last && isThinking(of))
  const index = Math.max(0, bound)
  const sent = [...content.slice(0, index), ...callsLast(content.slice(index))]
  const signed = content.findLastIndex(isSigned) + 1
  const first = content.findIndex(isCall)
  const [head, isMoved] = [
    first < 0 ? [] : content.slice(first, index),
    sent.slice(0, signed).some((of, position) => of !== content[position]),
  ]
  if (!isMoved && head.every((of) => isCall(of) || of.type === 'text' || isThinking(of))) return sent
  return callsLast(content.filter((of) => !isSigned(of)))
}

const callsLast = (content: readonly Block[]): readonly Block[] => [
  ...content.filter((of) => !isCall(of)),
  ...content.filter(isCall),
]

/** A reply with thinking starts with it. */
function thinkingFirst(units: readonly (readonly Block[])[]): Block[] {
  const first = Math.max(
    0,
    units.findIndex(([of]) => of !== undefined && isThinking(of)),
  )
  return [...units.slice(first), ...units.slice(0, first)].flat()
}

const isThinking = ({ type }: Block): boolean => type === 'thinking' || type === 'redacted_thinking'

const isSigned = (of: Block): boolean =>
  isThinking(of) || (of.type === 'compaction' && of.encrypted_content !== null)

/** Blank text is omitted after the last signed block: the provider rejects it. */
function sentBlock(of: Block, isBound: boolean): object[] {
  if (of.type === 'tool_use') {
    const { caller, ...sent } = of
    return [caller.type === 'direct' ? sent : of]
  }
  if (of.type !== 'text') return [of]
  const cited = of.citations === null ? {} : { citations: of.citations }
  if (isBound) return [{ type: 'text', text: of.text, ...cited }]
  return isWhitespace(of.text) ? [] : [{ type: 'text', text: of.text, ...cited }]
}

function events(block: Block, index: number, cut: () => number): object[] {
  const delta = (of: object): object => ({ type: 'content_block_delta', index, delta: of })
  const start = (content_block: object): object => ({ type: 'content_block_start', index, content_block })
  const stop = { type: 'content_block_stop', index }
  switch (block.type) {
    case 'text':
      return [
        start({ ...block, text: '', citations: block.citations === null ? null : [] }),
        ...(block.citations ?? []).map((citation) => delta({ type: 'citations_delta', citation })),
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
    case 'compaction':
      return [
        start({ ...block, content: null, encrypted_content: null }),
        delta({
          type: 'compaction_delta',
          content: block.content,
          encrypted_content: block.encrypted_content,
        }),
        stop,
      ]
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      return [
        start({ ...block, input: {} }),
        ...pieces(JSON.stringify(block.input), cut).map((partial_json) =>
          delta({ type: 'input_json_delta', partial_json }),
        ),
        stop,
      ]
    default:
      return [start(block), stop]
  }
}

const SERVER: ReadonlySet<string> = new Set(
  ANTHROPIC_UNITS.flatMap((unit) => unit(0).map(({ type }) => type)),
)

export const ANTHROPIC: ReplyWire<Raw> = {
  reply,
  read: fromAnthropic,
  collect: collectAnthropic,
  write: (messages) => toAnthropic(messages),
  replyIn: (request) =>
    (request as AnthropicRequest).messages.find(({ role }) => role === 'assistant')?.content ?? [],
  expected: ({ content: input, stop_reason }) => {
    const content = arranged(input)
    const bound = content.findLastIndex(isSigned) + 1
    const sent = content.flatMap((block, index) => sentBlock(block, index < bound))
    const last = sent.at(-1)
    // The provider rejects trailing whitespace at the end of a request.
    if (!PAUSES.has(stop_reason) || last === undefined || !('text' in last)) return sent
    return [...sent.slice(0, -1), { ...last, text: trimTrailing(String(last.text)) }]
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
  text: ({ content }) => content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
  garble: (raw, values, nat) => ({
    ...raw,
    content: raw.content.toSpliced(nat % (raw.content.length + 1), 0, ...(values as Block[])),
  }),
  allowed: ({ content: input }) => {
    const content = arranged(input)
    const bound = content.slice(0, content.findLastIndex(isSigned) + 1)
    return bound.some((block) => block.type === 'text' && isWhitespace(block.text)) ? ['text-nonblank'] : []
  },
  occurred: ({ content }) => {
    const first = content.findIndex(({ type }) => type === 'text')
    return [
      ...(content.some(({ type }) => type === 'tool_use') ? (['calls'] as const) : (['words_only'] as const)),
      ...(content.some(isSigned) ? (['signed'] as const) : []),
      ...(content.some(({ type }) => SERVER.has(type)) ? (['server_tools'] as const) : []),
      ...(content.slice(content.findIndex(isCall) + 1).some(isThinking) && content.findIndex(isCall) >= 0
        ? (['thought_between_calls'] as const)
        : []),
      ...(content.includes(WAITING) ? (['waits_for_a_result'] as const) : []),
      ...(first >= 0 && content.slice(first).some(isSigned) ? (['thinking_between_texts'] as const) : []),
    ]
  },
  occurs: [
    'calls',
    'words_only',
    'thinking_between_texts',
    'signed',
    'server_tools',
    'waits_for_a_result',
    'thought_between_calls',
  ],
}
