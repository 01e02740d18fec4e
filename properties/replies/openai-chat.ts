/** OpenAI Chat Completions replies, with fields that servers add. */

import * as fc from 'fast-check'
import { collectOpenAIChat, fromOpenAIChat } from '../../src/messages/openai-chat/read.ts'
import type { ChatMessage } from '../../src/messages/openai-chat/rules.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { isWhitespace } from '../../src/messages/text.ts'
import { inputs, pieces, messages, toolNames, replyTexts } from './texts.ts'
import type { ReplyWire } from './wires.ts'

type Call = {
  readonly id: string
  /** Gemini's servers sign calls here. */
  readonly extra_content?: object
  readonly provider_specific_fields?: object
} & (
  | {
      readonly type: 'function'
      readonly function: { readonly name: string; readonly arguments: string }
    }
  | { readonly type: 'custom'; readonly custom: { readonly name: string; readonly input: string } }
)

/** From servers that return a list. */
type Part =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'thinking'
      readonly thinking: readonly [{ readonly type: 'text'; readonly text: string }]
    }

const textPart = (text: string): Part => ({ type: 'text', text })
const thought = (text: string): Part => ({ type: 'thinking', thinking: [{ type: 'text', text }] })

/** From routers, which stream its texts. */
type Detail = Readonly<Record<string, string | number | null>>

/** Message fields that servers add and expect back. */
interface Fields {
  readonly annotations?: readonly object[]
  readonly reasoning_details?: readonly Detail[]
  readonly extra_content?: object
  readonly audio?: Readonly<Record<'id' | 'data' | 'transcript', string>> & { readonly expires_at: number }
}

interface Raw {
  readonly id: string
  readonly model: string
  readonly choices: readonly [
    {
      readonly index: 0
      readonly message: Fields & {
        readonly role: 'assistant'
        readonly content: string | null | readonly Part[]
        readonly refusal: string | null
        readonly reasoning_content?: string
        readonly tool_calls?: readonly Call[]
      }
      readonly finish_reason: string
    },
  ]
  readonly usage: object
}

const input = inputs().chain((value) =>
  fc.constantFrom(JSON.stringify(value), JSON.stringify(value, null, 1)),
)

const SIGNED = { google: { thought_signature: 'CpUB' } }

const fields: fc.Arbitrary<Fields> = fc.record(
  {
    annotations: fc.constant([{ type: 'url_citation', url_citation: { url: 'https://oak.example' } }]),
    reasoning_details: fc.constantFrom<readonly Detail[]>(
      [{ type: 'reasoning.encrypted', data: 'gAAA', id: 'r', index: 0 }],
      [
        { type: 'reasoning.text', text: 'Let me look.', signature: 'c2ln', id: null, index: 0 },
        { type: 'reasoning.encrypted', data: 'gAAA', index: 0 },
      ],
      [
        { type: 'reasoning.summary', summary: 'Oak, then ash.', index: 0 },
        { type: 'reasoning.summary', summary: 'Elm.', index: 1 },
      ],
    ),
    extra_content: fc.constant(SIGNED),
    audio: fc
      .constantFrom('An oak.', 'Oak, \n or ash.')
      .map((transcript) => ({ id: 'audio_1', data: 'UklGRg==', expires_at: 1, transcript })),
  },
  { requiredKeys: [] },
)

const parts: fc.Arbitrary<readonly Part[]> = fc.array(
  fc.oneof(replyTexts().map(textPart), messages().map(thought)),
  {
    minLength: 1,
    maxLength: 4,
  },
)

/** Servers of reasoning models return a list. */
const contents: fc.Arbitrary<string | readonly Part[] | null> = fc.oneof<
  fc.WeightedArbitrary<string | readonly Part[] | null>[]
>({ weight: 3, arbitrary: fc.option(replyTexts()) }, { weight: 1, arbitrary: parts })

/** Merges adjacent texts. */
function textsIn(content: string | readonly Part[] | null): readonly string[] {
  if (content === null || typeof content === 'string') return [content ?? '']
  const texts: string[] = []
  let run = ''
  for (const part of content) {
    if (part.type === 'text') run += part.text
    else {
      texts.push(run)
      run = ''
    }
  }
  return [...texts, run]
}

const reply: fc.Arbitrary<Raw> = fc
  .record({
    content: contents,
    refusal: fc.option(messages(), { freq: 3 }),
    fields,
    reasoning: fc.option(replyTexts()),
    calls: fc.array(fc.tuple(toolNames(), input, fc.constantFrom('plain', 'signed', 'proxied', 'custom')), {
      maxLength: 3,
    }),
    stop: fc.constantFrom('stop', 'stop', 'length', 'content_filter'),
    tokens: fc.nat(5000),
  })
  .map(({ content, refusal, fields: added, reasoning, calls, stop, tokens }) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'gpt',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content,
          refusal: stop === 'stop' ? refusal : null,
          ...added,
          ...(reasoning === null || (content !== null && typeof content !== 'string')
            ? {}
            : { reasoning_content: reasoning }),
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map(([name, text, as], index): Call =>
                  as === 'custom'
                    ? { id: `call_${index}`, type: 'custom', custom: { name, input: text } }
                    : {
                        id: `call_${index}`,
                        type: 'function',
                        function: { name, arguments: text },
                        ...(as === 'signed' ? { extra_content: SIGNED } : {}),
                        ...(as === 'proxied'
                          ? { provider_specific_fields: { thought_signature: 'c2ln' } }
                          : {}),
                      },
                ),
              }),
        },
        finish_reason: calls.length > 0 && stop === 'stop' ? 'tool_calls' : stop,
      },
    ],
    usage: { prompt_tokens: tokens, completion_tokens: 7 },
  }))

/** A chunk of a list is sometimes a string. */
function contentPieces(content: string | readonly Part[], cut: () => number): (string | readonly Part[])[] {
  if (typeof content === 'string') return pieces(content, cut)
  return content.flatMap((part) =>
    part.type === 'thinking'
      ? pieces(part.thinking[0].text, cut).map((text) => [thought(text)])
      : pieces(part.text, cut).map((text) => (cut() % 3 === 0 ? text : [textPart(text)])),
  )
}

/** The signature follows the text. */
function detailPieces(detail: Detail, cut: () => number): Detail[] {
  const { type = null, index = null, signature } = detail
  const [field = '', text] = Object.entries(detail).find(([key]) => DETAIL_TEXTS.includes(key)) ?? []
  const [first = '', ...more] = pieces(String(text), cut)
  const signed = signature === undefined ? [] : [{ type, index, signature }]
  return [
    { ...detail, [field]: first, ...(signature === undefined ? {} : { signature: null }) },
    ...more.map((piece) => ({ type, index, [field]: piece })),
    ...signed,
  ]
}

/** Reasoning and audio arrive in chunks. */
function fieldPieces(field: string, value: unknown, cut: () => number): unknown[] {
  if (field === 'reasoning_details')
    return (value as readonly Detail[]).flatMap((detail) => detailPieces(detail, cut)).map((piece) => [piece])
  if (field !== 'audio') return [value]
  const { id, transcript, data, expires_at } = value as NonNullable<Fields['audio']>
  return [
    { id },
    ...pieces(transcript, cut).map((text) => ({ transcript: text })),
    ...pieces(data, cut).map((bytes) => ({ data: bytes })),
    { expires_at },
  ]
}

const DETAIL_TEXTS: readonly string[] = ['text', 'summary', 'data']

const messageOf = ({ choices: [{ message }] }: Raw) => message

export const OPENAI_CHAT: ReplyWire<Raw> = {
  reply,
  read: fromOpenAIChat,
  collect: collectOpenAIChat,
  write: (messages) => toOpenAIChat(messages),
  replyIn: (request) => (request as ChatMessage[]).filter(({ role }) => role === 'assistant'),
  expected: (raw) => {
    const { content: result, refusal, tool_calls, reasoning_content, audio, ...message } = messageOf(raw)
    const bound = message.reasoning_details !== undefined
    const texts = textsIn(result).filter((text) => text !== '' && (bound || !isWhitespace(text)))
    // The server does not keep audio, so its transcript is sent.
    const messages = [...texts, ...(audio === undefined ? [] : [`[audio: ${audio.transcript}]`])]
    const [content, isSilent] = [messages.join('\n'), messages.length === 0]
    if (isWhitespace(content) && refusal === null && tool_calls === undefined) return []
    return [
      {
        ...message,
        ...(isSilent ? {} : { content }),
        ...(refusal === null ? {} : { refusal }),
        ...(tool_calls === undefined ? {} : { tool_calls }),
        // Servers that return it expect it back, but only with calls.
        ...(tool_calls === undefined || reasoning_content === undefined ? {} : { reasoning_content }),
      },
    ]
  },
  stream: (raw, cut) => {
    const { role: _, content, refusal, reasoning_content, tool_calls = [], ...rest } = messageOf(raw)
    const { usage, id, model } = raw
    const chunk = (delta: object, finish_reason: string | null = null): object => ({
      id,
      model,
      choices: [{ index: 0, delta, finish_reason }],
      usage: null,
    })
    return [
      chunk({ role: 'assistant', content: '', refusal: null }),
      ...(reasoning_content === '' ? [''] : pieces(reasoning_content ?? '', cut)).map((text) =>
        chunk({ reasoning_content: text }),
      ),
      ...contentPieces(content ?? '', cut).map((piece) => chunk({ content: piece })),
      ...pieces(refusal ?? '', cut).map((text) => chunk({ refusal: text })),
      ...Object.entries(rest).flatMap(([field, value]) =>
        fieldPieces(field, value, cut).map((piece) => chunk({ [field]: piece })),
      ),
      ...tool_calls.flatMap((call, index) =>
        call.type === 'custom'
          ? [
              chunk({ tool_calls: [{ index, ...call, custom: { ...call.custom, input: '' } }] }),
              ...pieces(call.custom.input, cut).map((text) =>
                chunk({ tool_calls: [{ index, custom: { input: text } }] }),
              ),
            ]
          : [
              chunk({ tool_calls: [{ index, ...call, function: { ...call.function, arguments: '' } }] }),
              ...pieces(call.function.arguments, cut).map((text) =>
                chunk({ tool_calls: [{ index, function: { arguments: text } }] }),
              ),
            ],
      ),
      chunk({}, raw.choices[0].finish_reason),
      { id, model, choices: [], usage },
    ]
  },
  ends: 2,
  text: (raw) => textsIn(messageOf(raw).content).join('') + (messageOf(raw).refusal ?? ''),
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
  occurred: (raw) => {
    const { tool_calls = [], refusal, ...message } = messageOf(raw)
    return [
      tool_calls.length > 0 ? 'calls' : 'words_only',
      ...(refusal === null ? [] : (['refused'] as const)),
      ...('reasoning_details' in message ? (['signed'] as const) : []),
      ...('audio' in message ? (['heard'] as const) : []),
      ...('annotations' in message ? (['fields_of_servers'] as const) : []),
    ]
  },
  occurs: ['calls', 'words_only', 'refused', 'signed', 'fields_of_servers', 'heard'],
}
