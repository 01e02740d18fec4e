import { defineGrammar } from '../grammar.ts'
import { LIMITS } from './blocks.ts'
import { collectAnthropic, DELTAS, ENDINGS, fromAnthropic } from './read.ts'
import { toAnthropic } from './write.ts'
import { validateAnthropic } from './rules.ts'
import { argumentObject, argumentText, callsLast, errorsBy, isThought, reasonOf, spoken } from '../fake.ts'
import type { ReplyAbout, SpokenProvider, Wire } from '../fake.ts'
import type { ModelPart } from '../model.ts'

/**
 * Property that has a call's arguments as raw text. A stream sends this text, and a whole reply sends the
 * arguments as an object.
 */
const ARGUMENT_TEXT = Symbol('written')

type Content = Wire & { readonly [ARGUMENT_TEXT]?: string }

const usage = { input_tokens: 10, output_tokens: 5 }

const stopOf = (contents: readonly Wire[], about: ReplyAbout): string =>
  reasonOf(ENDINGS, about) ??
  (about.end === 'filtered'
    ? 'refusal'
    : contents.some(({ type }) => type === 'tool_use')
      ? 'tool_use'
      : 'end_turn')

/** Removes the search result at the end of a paused reply, because the next reply begins with it. */
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

function eventsOf({ [ARGUMENT_TEXT]: text, ...block }: Content, index: number): readonly Wire[] {
  const { start, deltas } = spoken(text === undefined ? block : { ...block, input: text }, DELTAS)
  const content_block = block['input'] === undefined ? start : { ...start, input: {} }
  return [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

const resultOf = (tool_use_id: unknown): Wire => ({
  type: 'web_search_tool_result',
  tool_use_id,
  content: [],
})

const isBlank = (part: ModelPart): boolean => typeof part === 'string' && part.trim() === ''

/**
 * Returns the blocks of the paused replies at a request's end. The next reply continues their turn, and can
 * have thoughts only if the turn begins with a thought.
 */
function turnAtEnd(messages: readonly Wire[]): readonly Wire[] {
  const start = messages.findLastIndex(({ role }) => role !== 'assistant') + 1
  return messages
    .slice(start)
    .flatMap(({ content }) => (Array.isArray(content) ? (content as Wire[]) : [{ type: 'text' }]))
}

const PROVIDER: SpokenProvider = {
  route: (path, body) => (path.endsWith('/messages') ? body['stream'] === true : null),
  arrange(says, { messages }) {
    // The provider refuses a blank text that is sent back, so no thought follows a blank text.
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
    ...sentContents(contents, about).flatMap(eventsOf),
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
  namedBy: 'type',
  ends: 2,
  error: errorsBy(
    {
      invalid: [400, 'invalid_request_error', ''],
      too_long: [400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'],
      rate_limited: [429, 'rate_limit_error', 'This request would exceed your rate limit.'],
      server_error: [500, 'api_error', 'Internal server error'],
    },
    ({ type, message }) => ({ type: 'error', error: { type, message } }),
  ),
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
