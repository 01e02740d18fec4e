/** Replies of OpenAI Chat Completions made of words and calls. */

import * as fc from 'fast-check'
import { collectOpenAIChat } from '../../src/messages/openai-chat/collect.ts'
import { fromOpenAIChat } from '../../src/messages/openai-chat/read.ts'
import type { ChatMessage } from '../../src/messages/openai-chat/types.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { isWhitespace } from '../../src/messages/text.ts'
import { inputs, pieces, toolNames, words } from './texts.ts'
import type { ReplyWire } from './wires.ts'

interface Call {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

interface Raw {
  readonly id: string
  readonly model: string
  readonly choices: readonly [
    {
      readonly index: 0
      readonly message: {
        readonly role: 'assistant'
        readonly content: string | null
        readonly refusal: null
        readonly reasoning_content?: string
        readonly tool_calls?: readonly Call[]
      }
      readonly finish_reason: string
    },
  ]
  readonly usage: object
}

const given = inputs().chain((value) =>
  fc.constantFrom(JSON.stringify(value), JSON.stringify(value, null, 1)),
)

const reply: fc.Arbitrary<Raw> = fc
  .record({
    content: fc.option(words()),
    reasoning: fc.option(words()),
    calls: fc.array(fc.tuple(toolNames(), given), { maxLength: 3 }),
    stop: fc.constantFrom('stop', 'stop', 'length', 'content_filter'),
    tokens: fc.nat(5000),
  })
  .map(({ content, reasoning, calls, stop, tokens }) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'gpt',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content,
          refusal: null,
          ...(reasoning === null ? {} : { reasoning_content: reasoning }),
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map(([name, text], at): Call => ({
                  id: `call_${at}`,
                  type: 'function',
                  function: { name, arguments: text },
                })),
              }),
        },
        finish_reason: calls.length > 0 && stop === 'stop' ? 'tool_calls' : stop,
      },
    ],
    usage: { prompt_tokens: tokens, completion_tokens: 7 },
  }))

const messageOf = ({ choices: [{ message }] }: Raw) => message

export const OPENAI_CHAT: ReplyWire<Raw> = {
  reply,
  read: fromOpenAIChat,
  collect: collectOpenAIChat,
  write: (messages) => toOpenAIChat(messages),
  replyIn: (request) => (request as ChatMessage[]).filter(({ role }) => role === 'assistant'),
  expected: (raw) => {
    const { content, tool_calls } = messageOf(raw)
    const says = content !== null && !isWhitespace(content)
    if (!says && tool_calls === undefined) return []
    return [
      {
        role: 'assistant',
        ...(says ? { content } : {}),
        ...(tool_calls === undefined ? {} : { tool_calls }),
      },
    ]
  },
  stream: (raw, cut) => {
    const { content, reasoning_content, tool_calls = [] } = messageOf(raw)
    const { usage, id, model } = raw
    const chunk = (delta: object, finish_reason: string | null = null): object => ({
      id,
      model,
      choices: [{ index: 0, delta, finish_reason }],
      usage: null,
    })
    return [
      chunk({ role: 'assistant', content: '', refusal: null }),
      ...pieces(reasoning_content ?? '', cut).map((text) => chunk({ reasoning_content: text })),
      ...pieces(content ?? '', cut).map((text) => chunk({ content: text })),
      ...tool_calls.flatMap(({ function: called, ...call }, index) => [
        chunk({ tool_calls: [{ index, ...call, function: { ...called, arguments: '' } }] }),
        ...pieces(called.arguments, cut).map((text) =>
          chunk({ tool_calls: [{ index, function: { arguments: text } }] }),
        ),
      ]),
      chunk({}, raw.choices[0].finish_reason),
      { id, model, choices: [], usage },
    ]
  },
  ends: 2,
  words: (raw) => messageOf(raw).content ?? '',
  garble: (raw, values, nat) => {
    const message = messageOf(raw)
    const [first, second, ...rest] = values
    const content = nat % 2 === 0 ? message.content : values
    return {
      ...raw,
      choices: [
        { message: { ...message, content, annotations: first, tool_calls: second, audio: rest } },
        first,
      ],
    }
  },
  allowed: () => [],
  occurred: (raw) => [(messageOf(raw).tool_calls?.length ?? 0) > 0 ? 'calls' : 'words_only'],
  occurs: ['calls', 'words_only'],
}
