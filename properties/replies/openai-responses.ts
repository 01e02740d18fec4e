/** Replies of OpenAI Responses made of reasoning, words and calls, in the orders that the provider gives. */

import * as fc from 'fast-check'
import { collectOpenAIResponses } from '../../src/messages/openai-responses/collect.ts'
import { fromOpenAIResponses } from '../../src/messages/openai-responses/read.ts'
import type { ResponsesRequest } from '../../src/messages/openai-responses/types.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { isWhitespace } from '../../src/messages/text.ts'
import { inputs, pieces, toolNames, words } from './texts.ts'
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
      readonly content: readonly [
        {
          readonly type: 'output_text'
          readonly text: string
          readonly annotations: readonly never[]
          readonly logprobs: readonly never[]
        },
      ]
    }
  | {
      readonly type: 'function_call'
      readonly id: string
      readonly call_id: string
      readonly name: string
      readonly arguments: string
      readonly status: 'completed'
    }

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

const message = (n: number, text: string): Item => ({
  type: 'message',
  id: `msg_${n}`,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
})

const summary = fc.option(fc.array(words(), { maxLength: 2 }))

/** Reasoning, words, and what they lead to. */
const unit = fc.record({
  summary,
  said: fc.option(words()),
  name: toolNames(),
  given: inputs().map((value) => JSON.stringify(value)),
})

const reply: fc.Arbitrary<Raw> = fc
  .record({
    units: fc.array(unit, { maxLength: 3 }),
    summary,
    last: words().filter((text) => !isWhitespace(text)),
    says: fc.boolean(),
    stop: fc.constantFrom(null, null, null, 'max_output_tokens', 'content_filter'),
    tokens: fc.nat(5000),
  })
  .map(({ units, says, last, stop, tokens, ...rest }) => ({
    id: 'resp_1',
    object: 'response',
    model: 'gpt',
    status: stop === null ? 'completed' : 'incomplete',
    incomplete_details: stop === null ? null : { reason: stop },
    output: [
      ...units.flatMap(({ summary: thought, said, name, given }, n): Item[] => [
        ...(thought === null ? [] : [reasoning(n, thought)]),
        ...(said === null ? [] : [message(n, said)]),
        {
          type: 'function_call',
          id: `fc_${n}`,
          call_id: `call_${n}`,
          name,
          arguments: given,
          status: 'completed',
        },
      ]),
      ...(units.length === 0 && rest.summary !== null ? [reasoning(9, rest.summary)] : []),
      ...(units.length === 0 || says ? [message(9, last)] : []),
    ],
    usage: { input_tokens: tokens, output_tokens: 7 },
  }))

const isSigned = ({ type }: Item): boolean => type === 'reasoning'

/** The item as it goes back: without the id of a message, and blank words only where reasoning behind them is bound to them. */
function sentItem(item: Item, isBound: boolean): object[] {
  if (item.type === 'reasoning') return [item]
  if (item.type === 'function_call') {
    const { status: _, ...sent } = item
    return [sent]
  }
  const [{ text }] = item.content
  return (isBound ? text === '' : isWhitespace(text))
    ? []
    : [{ type: 'message', role: 'assistant', content: text }]
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
      ? delta('output_text', item.content[0].text)
      : item.type === 'reasoning'
        ? item.summary.flatMap(({ text }) => delta('reasoning_summary_text', text))
        : delta('function_call_arguments', item.arguments)
  return [
    { type: 'response.output_item.added', output_index, item },
    ...inner,
    { type: 'response.output_item.done', output_index, item },
  ]
}

const wordsOf = ({ output }: Raw): string =>
  output.map((item) => (item.type === 'message' ? item.content[0].text : '')).join('')

export const OPENAI_RESPONSES: ReplyWire<Raw> = {
  reply,
  read: fromOpenAIResponses,
  collect: collectOpenAIResponses,
  write: (messages) => toOpenAIResponses(messages),
  replyIn: (request) =>
    (request as ResponsesRequest).input.filter(
      (item) =>
        item.type === 'reasoning' ||
        item.type === 'function_call' ||
        (item.type === 'message' && item.role === 'assistant'),
    ),
  expected: ({ output }) => {
    const bound = output.findLastIndex(isSigned) + 1
    return output.flatMap((item, at) => sentItem(item, at < bound))
  },
  stream: (raw, cut) => [
    { type: 'response.created', response: { ...raw, status: 'in_progress', output: [], usage: null } },
    ...raw.output.flatMap((item, index) => events(item, index, cut)),
    // Some servers leave the output out here.
    {
      type: raw.status === 'completed' ? 'response.completed' : 'response.incomplete',
      response: { ...raw, output: cut() > 3 ? [] : raw.output },
    },
  ],
  ends: 1,
  words: wordsOf,
  garble: (raw, values, nat) => ({
    ...raw,
    output: raw.output.toSpliced(nat % (raw.output.length + 1), 0, ...(values as Item[])),
  }),
  allowed: () => [],
  occurred: ({ output }) => {
    const first = output.findIndex(({ type }) => type === 'message')
    return [
      output.some(({ type }) => type === 'function_call') ? 'calls' : 'words_only',
      ...(output.some(isSigned) ? (['signed'] as const) : []),
      ...(first >= 0 && output.slice(first).some(isSigned) ? (['thought_between_words'] as const) : []),
    ]
  },
  occurs: ['calls', 'words_only', 'signed', 'thought_between_words'],
}
