import { defineGrammar } from '../grammar.ts'
import { LIMITS } from './blocks.ts'
import { collectAnthropic, fromAnthropic } from './read.ts'
import { toAnthropic } from './write.ts'
import { validateAnthropic } from './rules.ts'
import {
  argumentObject,
  argumentText,
  callsLast,
  isThought,
  halves,
  messageSight,
  type ProviderGrammar,
  type Refusal,
  type ReplyAbout,
  type Wire,
} from '../provider.ts'
import type { ModelPart } from '../model.ts'

/** Raw arguments of a call: a stream sends their text, a whole reply an object. */
const ARGUMENT_TEXT = Symbol('written')

type Content = Wire & { readonly [ARGUMENT_TEXT]?: string }

const ERRORS: Readonly<Record<Refusal, readonly [status: number, type: string, message: string]>> = {
  invalid: [400, 'invalid_request_error', ''],
  too_long: [400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'],
  rate_limited: [429, 'rate_limit_error', 'This request would exceed your rate limit.'],
  server_error: [500, 'api_error', 'Internal server error'],
}

const usage = { input_tokens: 10, output_tokens: 5 }

function stopOf(contents: readonly Wire[], { end }: ReplyAbout): string {
  if (end === 'truncated') return 'max_tokens'
  if (end === 'paused') return 'pause_turn'
  if (end === 'refused' || end === 'filtered') return 'refusal'
  return contents.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'
}

/** A reply that is paused at a search continues with the results. */
const sentContents = (contents: readonly Wire[], { end }: ReplyAbout): readonly Wire[] =>
  end === 'paused' && contents.at(-1)?.['type'] === 'web_search_tool_result'
    ? contents.slice(0, -1)
    : contents

const messageOf = (
  { requestNumber }: ReplyAbout,
  content: readonly Wire[],
  stop_reason: string | null,
): Wire => ({
  id: `msg_${requestNumber}`,
  type: 'message',
  role: 'assistant',
  model: 'scripted',
  content,
  stop_reason,
  stop_sequence: null,
  usage,
})

function streamed(block: Content): { readonly start: Wire; readonly deltas: readonly Wire[] } {
  const { type, text, thinking, signature } = block
  if (type === 'text')
    return {
      start: { type, text: '' },
      deltas: halves(String(text)).map((half) => ({ type: 'text_delta', text: half })),
    }
  if (type === 'thinking')
    return {
      start: { type, thinking: '', signature: '' },
      deltas: [
        { type: 'thinking_delta', thinking },
        { type: 'signature_delta', signature },
      ],
    }
  if (type !== 'tool_use' && type !== 'server_tool_use') return { start: block, deltas: [] }
  return {
    start: { ...block, input: {} },
    deltas: halves(block[ARGUMENT_TEXT] ?? JSON.stringify(block['input'])).map((partial_json) => ({
      type: 'input_json_delta',
      partial_json,
    })),
  }
}

const resultOf = (tool_use_id: unknown): Wire => ({
  type: 'web_search_tool_result',
  tool_use_id,
  content: [],
})

const isBlank = (part: ModelPart): boolean => typeof part === 'string' && part.trim() === ''

/**
 * Blocks of paused replies at a request's end. The next reply continues their turn, which begins with a
 * thought or has none.
 */
function turnAtEnd(messages: readonly Wire[]): readonly Wire[] {
  const start = messages.findLastIndex(({ role }) => role !== 'assistant') + 1
  return messages
    .slice(start)
    .flatMap(({ content }) => (Array.isArray(content) ? (content as Wire[]) : [{ type: 'text' }]))
}

const PROVIDER: ProviderGrammar = {
  route: (path, body) => (path.endsWith('/messages') ? body['stream'] === true : null),
  sight: messageSight,
  judge: ({ system, messages }) =>
    validateAnthropic({ ...(system === undefined ? {} : { system }), messages }, { systemMessages: true }),
  arrange(says, { messages }) {
    // A blank text is refused when it is sent back, so no thought follows one.
    const lastThought = says.findLastIndex(isThought)
    const inOrder = callsLast(says.filter((part, index) => index > lastThought || !isBlank(part)))
    const turn = turnAtEnd(messages as readonly Wire[])
    const firstType = turn[0]?.['type']
    if (turn.length > 0)
      return firstType === 'thinking' ? inOrder : inOrder.filter((part) => !isThought(part))
    const first = inOrder.findIndex(isThought)
    return first < 1 ? inOrder : [...inOrder.slice(first, first + 1), ...inOrder.toSpliced(first, 1)]
  },
  contents(part, idPrefix) {
    if (typeof part === 'string') return [{ type: 'text', text: part }]
    if ('think' in part) return [{ type: 'thinking', thinking: part.think }]
    if ('search' in part) {
      const id = `srvtoolu_${idPrefix}`
      return [
        { type: 'server_tool_use', id, name: 'web_search', input: { query: part.search } },
        resultOf(id),
      ]
    }
    const { call: name, args, id = `toolu_${idPrefix}` } = part
    return [
      {
        type: 'tool_use',
        id,
        name,
        input: argumentObject(args),
        [ARGUMENT_TEXT]: argumentText(args),
      } as Wire,
    ]
  },
  signs: ({ type }) => type === 'thinking',
  signed: (content, signature) => ({ ...content, signature }),
  resumedContents({ messages }) {
    const last = (messages as readonly Wire[]).at(-1)
    if (last?.['role'] !== 'assistant' || !Array.isArray(last['content'])) return []
    const blocks = last['content'] as readonly Wire[]
    const done = new Set(blocks.map(({ tool_use_id }) => tool_use_id))
    return blocks
      .filter(({ type, id }) => type === 'server_tool_use' && !done.has(id))
      .map(({ id }) => resultOf(id))
  },
  whole: (contents, about) => messageOf(about, sentContents(contents, about), stopOf(contents, about)),
  stream: (contents, about) => [
    { type: 'message_start', message: messageOf(about, [], null) },
    ...sentContents(contents, about).flatMap((content, index) => {
      const { start, deltas } = streamed(content)
      return [
        { type: 'content_block_start', index, content_block: start },
        ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ]
    }),
    ...(about.end === 'failed'
      ? [{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }]
      : [
          {
            type: 'message_delta',
            delta: { stop_reason: stopOf(contents, about), stop_sequence: null },
            usage,
          },
          { type: 'message_stop' },
        ]),
  ],
  named: true,
  ends: 2,
  error(refusal, explanation) {
    const [status, type, message] = ERRORS[refusal]
    return { status, body: { type: 'error', error: { type, message: message || explanation } } }
  },
}

export const ANTHROPIC = defineGrammar({
  name: 'anthropic',
  title: 'Anthropic Messages',
  law: 'M3',
  limits: LIMITS,
  write: toAnthropic,
  list: 'messages',
  reply: fromAnthropic,
  stream: collectAnthropic,
  rules: (request, { system } = {}) => validateAnthropic(request, { systemMessages: system === 'append' }),
  front: { system: [] },
  provider: PROVIDER,
})
