/** Gemini Interactions replies with thoughts, outputs, calls and tool steps, signed or not. */

import * as fc from 'fast-check'
import type { InteractionsRequest } from '../../src/messages/interactions/rules.ts'
import { collectInteractions, fromInteractions } from '../../src/messages/interactions/read.ts'
import { toInteractions } from '../../src/messages/interactions/write.ts'
import { NO_SIGNATURE } from '../../src/messages/reply-parts.ts'
import { isWhitespace } from '../../src/messages/text.ts'
import { inputs, pieces, messages, toolNames, replyTexts } from './texts.ts'
import type { ReplyWire } from './wires.ts'

interface Content {
  readonly type: string
  readonly text?: string
  readonly [field: string]: unknown
}

interface Step {
  readonly type: string
  readonly content?: readonly Content[]
  readonly summary?: readonly Content[]
  readonly arguments?: object
  readonly signature?: string
  readonly [field: string]: unknown
}

interface Raw {
  readonly id: string
  readonly model: string
  readonly status: string
  readonly steps: readonly Step[]
  readonly usage: object
}

const signature = fc
  .option(fc.nat(999), { nil: null })
  .map((n) => (n === null ? {} : { signature: `sig/${n}+==` }))

const text = (value: string): Content => ({ type: 'text', text: value })
const image: Content = { type: 'image', mime_type: 'image/png', data: 'aW1n' }
const annotations = fc.constantFrom(
  {},
  { annotations: [{ type: 'url_citation', url: 'https://example.com' }] },
)

const output: fc.Arbitrary<Step> = fc
  .oneof(
    replyTexts().map((value) => [text(value)]),
    fc.tuple(messages(), annotations).map(([value, more]) => [{ ...text(value), ...more }]),
    fc.tuple(messages(), messages()).map(([one, two]) => [text(one), image, text(two)]),
    fc.constant([image]),
    replyTexts().map((value) => [image, text(value)]),
    replyTexts().map((value) => [text(value), image]),
  )
  .map((content) => ({ type: 'model_output', content }))

const summary = fc.oneof(
  fc.constant({}),
  messages().map((value) => ({ summary: [text(value)] })),
  messages().map((value) => ({ summary: [text(value), image] })),
)

const thought: fc.Arbitrary<Step> = fc
  .tuple(summary, signature)
  .map(([more, signed]) => ({ type: 'thought', ...more, ...signed }))

const TOOLS: Readonly<Record<string, object>> = {
  code_execution: {},
  file_search: {},
  google_maps: {},
  google_search: { search_type: 'web_search' },
  mcp_server_tool: { name: 'look', server_name: 'docs' },
  processing: {},
  retrieval: { retrieval_type: 'rag_store' },
  url_context: {},
}

const pair: fc.Arbitrary<readonly Step[]> = fc
  .tuple(fc.constantFrom(...Object.entries(TOOLS)), inputs(), signature, signature, fc.nat(99_999))
  .map(([[tool, more], args, one, two, n]) => [
    { type: `${tool}_call`, id: `tool-${n}`, ...more, arguments: args, ...one },
    { type: `${tool}_result`, call_id: `tool-${n}`, result: [], ...two },
  ])

const call = (index: number): fc.Arbitrary<Step> =>
  fc.tuple(toolNames(), inputs(), signature).map(([name, args, signed]) => ({
    type: 'function_call',
    id: `call-${index}`,
    name,
    arguments: args,
    ...(index % 2 === 0 ? {} : signed),
  }))

const reply: fc.Arbitrary<Raw> = fc
  .record({
    groups: fc.array(
      fc.oneof(
        output.map((one) => [one]),
        thought.map((one) => [one]),
        pair,
      ),
      { maxLength: 5 },
    ),
    calls: fc.array(fc.tuple(fc.boolean(), thought, call(0), call(1)), { maxLength: 2 }),
    isCutOff: fc.boolean(),
    tokens: fc.nat(5000),
  })
  .map(({ groups, calls, isCutOff, tokens }) => ({
    id: 'reply-1',
    model: 'gemini',
    status: isCutOff ? 'incomplete' : calls.length > 0 ? 'requires_action' : 'completed',
    steps: [
      ...onePairEach(groups),
      ...calls.flatMap(([thinks, before, ...both], turn) => [
        ...(thinks ? [before] : []),
        ...both.map((one) => ({ ...one, id: `${String(one['id'])}-${turn}` })),
      ]),
    ],
    usage: { total_input_tokens: tokens, total_output_tokens: 7, total_tokens: tokens + 7 },
  }))

/** Removes pairs with a duplicate id. */
function onePairEach(groups: readonly (readonly Step[])[]): Step[] {
  const seen = new Set<unknown>()
  return groups.flatMap((steps) => {
    const id = steps[0]?.['id']
    if (id !== undefined && seen.has(id)) return []
    seen.add(id)
    return steps
  })
}

const isSigned = (step: Step | undefined): boolean => step?.signature !== undefined

const isBlank = (content: Content): boolean => content.type === 'text' && isWhitespace(content.text ?? '')

/** Unsigned thoughts are not sent, and blank text only under a signature. */
function expected({ steps }: Raw): readonly unknown[] {
  const bound = steps.findLastIndex(isSigned)
  const sent = steps.flatMap((step, index): Step[] => {
    if (step.type === 'thought') return isSigned(step) ? [step] : []
    if (step.content === undefined) return [step]
    const content = step.content
      .filter(({ text: value }) => value !== '')
      .filter((one) => index < bound || !isBlank(one))
    return content.length === 0 ? [] : [{ ...step, content }]
  })
  const first = sent.findIndex(({ type }) => type === 'function_call')
  const signed = sent.slice(0, first + 1).some((step) => SIGNING.has(step.type) && isSigned(step))
  return first < 0 || signed ? sent : sent.toSpliced(first, 0, { type: 'thought', signature: NO_SIGNATURE })
}

const SIGNING: ReadonlySet<string> = new Set(['thought', 'function_call'])

function events(step: Step, index: number, cut: () => number): object[] {
  const { content = [], summary: thoughts = [], arguments: args, signature: signed, ...start } = step
  const isCall = step.type === 'function_call'
  const contents = (list: readonly Content[], wrap: (piece: Content) => object): object[] =>
    list.flatMap(({ text: value, annotations: cited, ...rest }) => [
      ...(value === undefined ? [wrap(rest)] : pieces(value, cut).map((piece) => wrap(text(piece)))),
      ...(cited === undefined ? [] : [{ type: 'text_annotation_delta', annotations: cited }]),
    ])
  const deltas = [
    ...contents(content, (piece) => piece),
    ...contents(thoughts, (piece) => ({ type: 'thought_summary', content: piece })),
    ...(isCall
      ? pieces(JSON.stringify(args), cut).map((piece) => ({ type: 'arguments_delta', arguments: piece }))
      : []),
    ...(isCall || args === undefined ? [] : [{ type: step.type, arguments: args }]),
    ...(signed === undefined ? [] : [{ type: isCall ? step.type : 'thought_signature', signature: signed }]),
  ]
  return [
    // Outputs and thoughts may start without a start event.
    ...(deltas.length > 0 && ['model_output', 'thought'].includes(step.type) && cut() > 3
      ? []
      : [{ event_type: 'step.start', index, step: isCall ? { ...start, arguments: {} } : start }]),
    ...deltas.map((delta) => ({ event_type: 'step.delta', index, delta })),
    { event_type: 'step.stop', index },
  ]
}

export const INTERACTIONS: ReplyWire<Raw> = {
  reply,
  read: fromInteractions,
  collect: collectInteractions,
  write: (messages) => toInteractions(messages),
  replyIn: (request) =>
    (request as InteractionsRequest).input.filter(
      ({ type }) => type !== 'user_input' && type !== 'function_result',
    ),
  expected,
  stream: ({ steps, status, usage, ...about }, cut) => [
    { event_type: 'interaction.created', interaction: { ...about, status: 'in_progress' } },
    ...steps.flatMap((step, index) => events(step, index, cut)),
    { event_type: 'interaction.completed', interaction: { id: '', status, usage } },
  ],
  ends: 1,
  text: ({ steps }) => steps.flatMap(({ content = [] }) => content.map((one) => one.text ?? '')).join(''),
  garble: (raw, values, nat) => ({
    ...raw,
    steps: raw.steps.toSpliced(nat % (raw.steps.length + 1), 0, ...(values as Step[])),
  }),
  allowed: () => [],
  occurred: ({ steps }) => {
    const first = steps.findIndex(({ type }) => type === 'model_output')
    return [
      steps.some(({ type }) => type === 'function_call') ? 'calls' : 'words_only',
      ...(steps.some(isSigned) ? (['signed'] as const) : []),
      ...(steps.some(({ type }) => type.endsWith('_result')) ? (['server_tools'] as const) : []),
      ...(first >= 0 && steps.slice(first).some(({ type }) => type === 'thought')
        ? (['thinking_between_texts'] as const)
        : []),
    ]
  },
  occurs: ['calls', 'words_only', 'signed', 'thinking_between_texts', 'server_tools'],
}
