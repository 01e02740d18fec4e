/** OpenAI Responses replies with every kind of item, in valid order. */

import * as fc from 'fast-check'
import type { ResponseOutputItem } from 'openai/resources/responses/responses'
import { collectOpenAIResponses, fromOpenAIResponses } from '../../src/messages/openai-responses/read.ts'
import type { ResponsesRequest } from '../../src/messages/openai-responses/rules.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { isWhitespace } from '../../src/messages/text.ts'
import { CLIENT_CALLS, RESPONSES_UNITS, type ServerItem } from './responses-parts.ts'
import { inputs, pieces, messages, toolNames, replyTexts } from './texts.ts'
import type { ReplyWire } from './wires.ts'

type Item =
  | {
      readonly type: 'reasoning'
      readonly id: string
      readonly summary: readonly { readonly type: 'summary_text'; readonly text: string }[]
      readonly encrypted_content: string
    }
  | {
      readonly type: 'message'
      readonly id: string
      readonly role: 'assistant'
      readonly status: 'completed'
      readonly content: readonly MessagePart[]
      readonly phase?: 'commentary' | 'final_answer'
    }
  | {
      readonly type: 'function_call'
      readonly id: string
      readonly call_id: string
      readonly name: string
      readonly arguments: string
      readonly status: 'completed'
      readonly namespace?: string
    }
  | ServerItem
  | ResponseOutputItem

type MessagePart =
  | {
      readonly type: 'output_text'
      readonly text: string
      readonly annotations: readonly object[]
      readonly logprobs: readonly never[]
    }
  | { readonly type: 'refusal'; readonly refusal: string }

interface Raw {
  readonly id: string
  readonly model: string
  readonly status: string
  readonly incomplete_details: { readonly reason: string } | null
  readonly output: readonly Item[]
  readonly usage: object
}

const reasoning = (n: number, summary: readonly string[]): Item => ({
  type: 'reasoning',
  id: `rs_${n}`,
  summary: summary.map((text) => ({ type: 'summary_text', text })),
  encrypted_content: `gAAA${n}`,
})

const text = (of: string, annotations: readonly object[] = []): MessagePart => ({
  type: 'output_text',
  text: of,
  annotations,
  logprobs: [],
})

const message = (n: string, content: readonly MessagePart[], phase?: 'commentary' | 'final_answer'): Item =>
  ({
    type: 'message',
    id: `msg_${n}`,
    role: 'assistant',
    status: 'completed',
    content,
    ...(phase === undefined ? {} : { phase }),
  }) as Item

const CITED = [
  { type: 'url_citation', start_index: 0, end_index: 1, url: 'https://oak.example', title: 'Oak' },
]

const content: fc.Arbitrary<readonly MessagePart[]> = fc.oneof(
  { weight: 4, arbitrary: replyTexts().map((of) => [text(of)]) },
  {
    weight: 1,
    arbitrary: fc.array(
      fc.oneof(
        messages().map((of) => text(of, CITED)),
        messages().map((of) => text(of)),
        messages().map((refusal): MessagePart => ({ type: 'refusal', refusal })),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  },
)

const phase = fc.constantFrom(undefined, undefined, 'commentary' as const)

const summary = fc.option(fc.array(replyTexts(), { maxLength: 2 }))

const unit = fc.record({
  summary,
  said: fc.option(fc.tuple(content, phase)),
  server: fc.option(fc.constantFrom(...RESPONSES_UNITS)),
  client: fc.option(fc.constantFrom(...CLIENT_CALLS), { freq: 4 }),
  name: toolNames(),
  given: inputs().map((value) => JSON.stringify(value)),
})

const reply: fc.Arbitrary<Raw> = fc
  .record({
    units: fc.array(unit, { maxLength: 3 }),
    servers: fc.array(fc.constantFrom(...RESPONSES_UNITS), { maxLength: 2 }),
    summary,
    last: fc.array(fc.tuple(messages(), phase), { minLength: 1, maxLength: 2 }),
    says: fc.boolean(),
    stop: fc.constantFrom(null, null, null, 'max_output_tokens', 'content_filter'),
    tokens: fc.nat(5000),
  })
  .map(({ units, servers, says, last, stop, tokens, ...rest }) => ({
    id: 'resp_1',
    object: 'response',
    model: 'gpt',
    status: stop === null ? 'completed' : 'incomplete',
    incomplete_details: stop === null ? null : { reason: stop },
    output: [
      ...units.flatMap(
        ({ summary: thought, said: saying, server, client, name, given: input }, n): Item[] => [
          ...(thought === null ? [] : [reasoning(n, thought)]),
          ...(server === null ? [] : server(n)),
          ...(saying === null ? [] : [message(`${n}`, ...saying)]),
          client === null
            ? {
                type: 'function_call',
                id: `fc_${n}`,
                call_id: `call_${n}`,
                name,
                arguments: input,
                status: 'completed',
                ...(n === 0 ? {} : { namespace: 'files' }),
              }
            : client(n),
        ],
      ),
      ...(units.length === 0
        ? servers.flatMap((server, n) => [...thoughtOf(rest.summary, n), ...server(n)])
        : []),
      ...(units.length === 0 && rest.summary !== null ? [reasoning(9, rest.summary)] : []),
      ...(units.length === 0 || says
        ? last.map(([of, index], n) => message(`l${n}`, [text(of)], index))
        : []),
    ],
    usage: { input_tokens: tokens, output_tokens: 7 },
  }))

/** More reasoning than event fields can hold. */
const thoughtOf = (of: readonly string[] | null, n: number): Item[] =>
  of === null ? [] : [reasoning(20 + n, of)]

const isSigned = ({ type }: Item): boolean => type === 'reasoning' || type === 'compaction'

function isExecuted({ output, status, incomplete_details }: Raw, index: number): boolean {
  if (status === 'completed') return !messageParts(output).some(({ type }) => type === 'refusal')
  return incomplete_details?.reason !== 'content_filter' && index < output.length - 1
}

/** Text is sent in the short form unless reasoning or a message precedes it, and blank text only under a signature. */
function sentItems(raw: Raw): object[] {
  const { output } = raw
  const bound = output.findLastIndex(isSigned) + 1
  return output.flatMap((item, index): object[] => {
    if (item.type === 'function_call') {
      const { status: _, ...sent } = item
      return [sent]
    }
    // A call without a screenshot cannot be sent as an item.
    if (item.type === 'computer_call' && !isExecuted(raw, index)) {
      const { call_id, action, actions } = item
      const args = JSON.stringify(actions === undefined ? { action } : { actions })
      return [{ type: 'function_call', call_id, name: 'computer', arguments: args }]
    }
    if (item.type !== 'message') return [item]
    const isNamed = ['message', 'reasoning'].includes(String(output[index - 1]?.type))
    const [first, ...more] = item.content as readonly MessagePart[]
    const { phase: in_phase = null } = item
    const phased = in_phase === null ? {} : { phase: in_phase }
    const ends = { type: 'message', role: 'assistant' }
    if (first?.type === 'output_text' && first.annotations.length === 0 && more.length === 0) {
      const isSilent = index < bound ? first.text === '' : isWhitespace(first.text)
      if (isSilent) return []
      if (!isNamed) return [{ ...ends, content: first.text, ...phased }]
    }
    const content = (item.content as readonly MessagePart[]).map((part) => {
      if (part.type === 'refusal') return part
      const { logprobs: _, ...sent } = part
      return sent
    })
    return [{ ...ends, id: item.id, status: 'completed', content, ...phased }]
  })
}

function events(item: Item, output_index: number, cut: () => number): object[] {
  const { id } = item
  const delta = (type: string, text: string): object[] =>
    pieces(text, cut).map((piece) => ({
      type: `response.${type}.delta`,
      item_id: id,
      output_index,
      delta: piece,
    }))
  const inner =
    item.type === 'message'
      ? (item.content as readonly MessagePart[]).flatMap((part) =>
          part.type === 'refusal' ? delta('refusal', part.refusal) : delta('output_text', part.text),
        )
      : item.type === 'reasoning'
        ? item.summary.flatMap((part) => delta('reasoning_summary_text', part.text))
        : item.type === 'function_call'
          ? delta('function_call_arguments', item.arguments)
          : []
  // What the server encrypts before it reasons is not the reasoning.
  const early = 'encrypted_content' in item ? { ...item, encrypted_content: 'gAAA' } : item
  return [
    { type: 'response.output_item.added', output_index, item: early },
    ...inner,
    { type: 'response.output_item.done', output_index, item },
  ]
}

const messageParts = (output: readonly Item[]): MessagePart[] =>
  output.flatMap((item) => (item.type === 'message' ? (item.content as readonly MessagePart[]) : []))

const SERVER: ReadonlySet<string> = new Set(RESPONSES_UNITS.flatMap((of) => of(0).map(({ type }) => type)))

const textOf = ({ output }: Raw): string =>
  messageParts(output)
    .map((part) => (part.type === 'refusal' ? part.refusal : part.text))
    .join('')

/** Results, including those of client tools. */
const OUTPUTS: ReadonlySet<string> = new Set([
  'function_call_output',
  'custom_tool_call_output',
  'shell_call_output',
  'local_shell_call_output',
  'apply_patch_call_output',
  'computer_call_output',
])

export const OPENAI_RESPONSES: ReplyWire<Raw> = {
  reply,
  read: fromOpenAIResponses,
  collect: collectOpenAIResponses,
  write: (messages) => toOpenAIResponses(messages),
  replyIn: (request) =>
    (request as ResponsesRequest).input.filter((item) =>
      item.type === 'message' ? item.role === 'assistant' : !OUTPUTS.has(item.type),
    ),
  expected: (raw) => sentItems(raw).filter((item) => !OUTPUTS.has((item as Item).type)),
  stream: (raw, cut) => [
    { type: 'response.created', response: { ...raw, status: 'in_progress', output: [], usage: null } },
    ...raw.output.flatMap((item, index) => events(item, index, cut)),
    // Some servers omit the output here.
    {
      type: raw.status === 'completed' ? 'response.completed' : 'response.incomplete',
      response: { ...raw, output: cut() > 3 ? [] : raw.output },
    },
  ],
  ends: 1,
  text: textOf,
  garble: (raw, values, nat) => ({
    ...raw,
    output: raw.output.toSpliced(nat % (raw.output.length + 1), 0, ...(values as Item[])),
  }),
  allowed: () => [],
  occurred: ({ output }) => {
    const first = output.findIndex(({ type }) => type === 'message')
    return [
      output.some(({ type }) => type === 'function_call') ? 'calls' : 'words_only',
      ...(output.some(({ type }) => type === 'computer_call') ? (['seen'] as const) : []),
      ...(output.some(({ type }) => SERVER.has(type)) ? (['server_tools'] as const) : []),
      ...(messageParts(output).some(({ type }) => type === 'refusal') ? (['refused'] as const) : []),
      ...(output.some(({ type }, index) => type === 'message' && output[index + 1]?.type === 'message')
        ? (['several_messages'] as const)
        : []),
      ...(output.some(isSigned) ? (['signed'] as const) : []),
      ...(first >= 0 && output.slice(first).some(isSigned) ? (['thinking_between_texts'] as const) : []),
    ]
  },
  occurs: [
    'calls',
    'words_only',
    'signed',
    'thinking_between_texts',
    'server_tools',
    'refused',
    'several_messages',
    'seen',
  ],
}
