/** Streams whose events disagree, lack a piece, or end badly: what is kept, and what is executed. */

import { describe, expect, it } from 'vitest'
import * as fc from 'fast-check'
import { replyOf } from '../../src/event/reply.ts'
import type { ReplyCollector } from '../../src/messages/reply.ts'
import { collectAiSdk } from '../../src/messages/ai-sdk/read.ts'
import { collectAnthropic } from '../../src/messages/anthropic/read.ts'
import { collectBedrock } from '../../src/messages/bedrock/read.ts'
import { collectGoogle } from '../../src/messages/google/read.ts'
import { collectOpenAIChat } from '../../src/messages/openai-chat/read.ts'
import { collectOpenAIResponses, fromOpenAIResponses } from '../../src/messages/openai-responses/read.ts'

/** The words, calls, errors and tokens of a stream, and the words that live readers saw. */
function seen(collector: ReplyCollector, events: readonly object[]) {
  const deltas = events.flatMap((event) => collector.push(event))
  const { events: stored, outcome } = collector.end()
  const [first] = stored
  return {
    outcome: outcome.type,
    words: stored
      .flatMap((event) =>
        event.kind === 'MessageEvent'
          ? (event.llm_message.content ?? [])
          : event.kind === 'ActionEvent'
            ? event.thought
            : [],
      )
      .map((part) => ('text' in part ? part.text : ''))
      .join(''),
    calls: stored.flatMap((event) =>
      event.kind === 'ActionEvent'
        ? [`${event.action === null ? '-' : '+'} ${event.tool_name} ${event.tool_call.arguments}`]
        : [],
    ),
    errors: stored.flatMap((event) => (event.kind === 'AgentErrorEvent' ? [event.error] : [])),
    tokens: first === undefined ? undefined : replyOf(first)?.tokens,
    recorded: first === undefined ? undefined : replyOf(first)?.outcome,
    live: deltas.map(({ content }) => content ?? '').join(''),
  }
}

const fc1 = (args: string, id = 'fc_1') => ({
  type: 'function_call',
  id,
  call_id: 'call_1',
  name: 'bash',
  arguments: args,
  status: 'completed',
})
const LS = '{"cmd":"ls"}'
const added = {
  type: 'response.output_item.added',
  output_index: 0,
  item: { ...fc1(''), status: 'in_progress' },
}
const argumentsDone = {
  type: 'response.function_call_arguments.done',
  output_index: 0,
  item_id: 'fc_1',
  arguments: LS,
}
const argumentsDelta = (delta: string) => ({
  type: 'response.function_call_arguments.delta',
  output_index: 0,
  item_id: 'fc_1',
  delta,
})
const done = (item: object, output_index = 0) => ({ type: 'response.output_item.done', output_index, item })
const completed = (output: readonly object[]) => ({
  type: 'response.completed',
  response: { id: 'r', status: 'completed', output },
})
const words = (delta: string) => ({
  type: 'response.output_text.delta',
  output_index: 0,
  item_id: 'msg_1',
  content_index: 0,
  delta,
})
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'enc' }

const callOf = (n: number) => ({ ...fc1(`{"n":${n}}`, `fc_${n}`), call_id: `call_${n}` })

describe('pieces and whole items of OpenAI Responses', () => {
  it.each<[string, object[], { words?: string; calls: string[] }]>([
    [
      'arguments in their own event',
      [added, argumentsDone, done(fc1('')), completed([])],
      { calls: [`+ bash ${LS}`] },
    ],
    ['no event that an item is done', [added, argumentsDone, completed([])], { calls: [`+ bash ${LS}`] }],
    [
      'arguments in pieces alone',
      [added, argumentsDelta('{"cmd":'), argumentsDelta('"ls"}'), completed([])],
      { calls: [`+ bash ${LS}`] },
    ],
    ['a call in the last event alone', [completed([fc1(LS)])], { calls: [`+ bash ${LS}`] }],
    [
      'words in pieces, the call alone in the last event',
      [words('I look.'), done(fc1(LS), 1), completed([fc1(LS)])],
      { words: 'I look.', calls: [`+ bash ${LS}`] },
    ],
    [
      'a last event with fewer items',
      [done(reasoning), done(fc1(LS), 1), completed([reasoning])],
      { calls: [`+ bash ${LS}`] },
    ],
    [
      'a call with empty arguments in the last event',
      [added, argumentsDone, completed([fc1('')])],
      { calls: [`+ bash ${LS}`] },
    ],
    [
      'a call under another item id when it is done',
      [added, argumentsDone, done(fc1(LS, 'fc_2')), completed([fc1(LS, 'fc_2')])],
      { calls: [`+ bash ${LS}`] },
    ],
    ['one call twice', [completed([fc1(LS), fc1('')])], { calls: [`+ bash ${LS}`] }],
    [
      'arguments that differ',
      [added, argumentsDone, done(fc1('{"cmd":"rm"}')), completed([])],
      { calls: ['- bash {"cmd":"rm"}'] },
    ],
    [
      'pieces of a call that has no name',
      [argumentsDone, words('Hi.'), completed([])],
      { words: 'Hi.', calls: [] },
    ],
  ])('%s', (_, events, expected) => {
    expect(seen(collectOpenAIResponses(), events)).toMatchObject({ words: '', ...expected })
  })

  it.each([
    ['a text', 'output_text', ['', 'b']],
    ['a refusal', 'refusal', ['', { type: 'refusal', refusal: 'b' }]],
    ['blank texts in its summary', 'reasoning_summary_text', ['', ' ']],
  ])('without an index leave a whole item as it is: %s', (_, kind, contents) => {
    const isReasoning = kind.startsWith('reasoning')
    const parts = contents.map((one) =>
      typeof one === 'string' ? { type: isReasoning ? 'summary_text' : 'output_text', text: one } : one,
    )
    const item = isReasoning
      ? { ...reasoning, summary: parts }
      : { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: parts }
    const delta = isReasoning ? ' ' : 'b'
    const collector = collectOpenAIResponses()
    const piece = { type: `response.${kind}.delta`, output_index: 0, item_id: item.id, delta }
    for (const event of [piece, done(item), done(fc1(LS), 1), completed([])]) collector.push(event)
    const whole = { id: 'r', status: 'completed', output: [item, fc1(LS)] }
    expect(collector.end()).toEqual(fromOpenAIResponses(whole))
  })

  it('without an index complete a whole message that has no text', () => {
    const content = [{ type: 'output_text', text: '' }]
    const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }
    const { content_index: _, ...piece } = words('Hi.')
    const events = [piece, done(message), completed([message])]
    expect(seen(collectOpenAIResponses(), events)).toMatchObject({ words: 'Hi.', live: 'Hi.' })
  })

  it.each([1e308, 2 ** 53, -1, 0.5, Infinity])('end, whatever an index is: %s', (index) => {
    const events = [done(callOf(1), index), completed([callOf(2), callOf(3)])]
    const { calls } = seen(collectOpenAIResponses(), events)
    expect(calls.toSorted()).toEqual([1, 2, 3].map((n) => `+ bash {"n":${n}}`))
  })

  const [a, b, c] = [1, 2, 3].map(callOf) as [object, object, object]
  it.each<[string, object[], number[]]>([
    ['around a known item', [done(b, 1), completed([a, b, c])], [1, 2, 3]],
    ['before the known item of its list', [done(b), completed([a, b])], [1, 2]],
    ['at a free index', [done(a, 0), done(c, 2), completed([b])], [1, 2, 3]],
    ['after all that its list lacks', [done(a, 0), done(b, 1), completed([c])], [1, 2, 3]],
  ])('of the last event alone are in order: %s', (_, events, order) => {
    const { calls } = seen(collectOpenAIResponses(), events)
    expect(calls).toEqual(order.map((n) => `+ bash {"n":${n}}`))
  })

  it('are the same whichever accounts of an item arrive, and however often', () => {
    const message = {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'I look.', annotations: [] }],
    }
    const items = [message, callOf(1), callOf(2)]
    const accounts = items.map((item, output_index) => {
      const open = {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, ...('arguments' in item ? { arguments: '' } : { content: [] }) },
      }
      const [kind, text] =
        'arguments' in item ? ['function_call_arguments', item.arguments] : ['output_text', 'I look.']
      const about = { output_index, item_id: item.id, content_index: 0 }
      const pieces = [...text].map((delta) => ({ type: `response.${kind}.delta`, ...about, delta }))
      const whole = {
        type: `response.${kind}.done`,
        ...about,
        ...('arguments' in item ? { arguments: text } : { text }),
      }
      return { open, pieces, whole, done: { type: 'response.output_item.done', output_index, item } }
    })
    const choice = fc.record({
      open: fc.boolean(),
      pieces: fc.boolean(),
      whole: fc.boolean(),
      done: fc.boolean(),
      last: fc.boolean(),
      twice: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.tuple(choice, choice, choice), (choices) => {
        const events = accounts.flatMap(({ open, pieces, whole, done: end }, index) => {
          const {
            open: opens,
            pieces: streams,
            whole: wholly,
            done: ends,
            last,
            twice,
          } = choices[index] as (typeof choices)[0]
          // A call has its name in an item; and one account of its text is there.
          const isKnown = ends || last
          const text = streams || wholly || isKnown
          const output = [
            ...(opens || !isKnown ? [open] : []),
            ...(streams ? pieces : []),
            ...(wholly || !text ? [whole] : []),
            ...(ends ? [end] : []),
          ]
          return twice && !streams ? [...output, ...output] : output
        })
        const output = items.filter((_, index) => choices[index]?.last === true)
        const result = seen(collectOpenAIResponses(), [...events, completed(output)])
        expect(result).toMatchObject({ outcome: 'tool_calls', words: 'I look.', errors: [] })
        expect(result.calls).toEqual(['+ bash {"n":1}', '+ bash {"n":2}'])
      }),
    )
  })
})

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'c',
  choices: [{ index: 0, delta, finish_reason }],
})
const piece = (id: string | undefined, name: string, args: string) =>
  chunk({ tool_calls: [{ index: 0, ...(id !== undefined && { id }), function: { name, arguments: args } }] })

describe('calls of OpenAI Chat under one index', () => {
  it.each(['call_1', undefined])('are two where a second name follows complete arguments: id %s', (id) => {
    const events = [piece(id, 'bash', LS), piece(id, 'bash', '{"cmd":"{}"}'), chunk({}, 'tool_calls')]
    expect(seen(collectOpenAIChat(), events).calls).toEqual([`+ bash ${LS}`, '+ bash {"cmd":"{}"}'])
  })

  it('are one where each piece repeats the name', () => {
    const events = [
      piece('a', 'bash', '{"cmd":"}'),
      piece('a', 'bash', 'ls'),
      piece('a', 'bash', '"}'),
      chunk({}, 'stop'),
    ]
    expect(seen(collectOpenAIChat(), events).calls).toEqual(['+ bash {"cmd":"}ls"}'])
  })
})

const start = {
  type: 'message_start',
  message: {
    id: 'm',
    role: 'assistant',
    model: 'x',
    content: [],
    usage: { input_tokens: 5000, output_tokens: 1 },
  },
}
const block = (content_block: object, index = 0) => ({ type: 'content_block_start', index, content_block })
const delta = (of: object, index = 0) => ({ type: 'content_block_delta', index, delta: of })
const text = (text: string, index = 0) => delta({ type: 'text_delta', text: text }, index)
const end = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]

describe('blocks of Anthropic', () => {
  it.each<[string, object[]]>([
    ['without a start', [start, text('Hel'), text('lo'), ...end]],
    [
      'without a start, behind thinking',
      [start, delta({ type: 'thinking_delta', thinking: 'hm' }), text('Hello'), ...end],
    ],
    [
      'all under one index',
      [
        start,
        block({ type: 'text', text: '' }),
        text('Hel'),
        block({ type: 'text', text: '' }),
        text('lo'),
        ...end,
      ],
    ],
  ])('%s', (_, events) => {
    expect(seen(collectAnthropic(), events)).toMatchObject({ outcome: 'done', words: 'Hello', live: 'Hello' })
  })
})

const bedrock = (delta: object) => ({
  contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent: delta } },
})

describe('a signature is kept only if its block has ended', () => {
  const sign = (signature: string) => delta({ type: 'signature_delta', signature })
  const thinking = [
    start,
    block({ type: 'thinking', thinking: '' }),
    delta({ type: 'thinking_delta', thinking: 'hm' }),
  ]
  it.each<[string, ReplyCollector, object[], string | undefined]>([
    ['Anthropic, cut inside', collectAnthropic(), [...thinking, sign('ab')], undefined],
    [
      'Anthropic, an error inside',
      collectAnthropic(),
      [...thinking, sign('ab'), { type: 'error', error: {} }],
      undefined,
    ],
    [
      'Anthropic, cut behind',
      collectAnthropic(),
      [...thinking, sign('ab'), sign('c'), { type: 'content_block_stop', index: 0 }],
      'abc',
    ],
    ['Anthropic, without a stop, whole', collectAnthropic(), [...thinking, sign('abc'), ...end], 'abc'],
    [
      'Bedrock, cut inside',
      collectBedrock(),
      [bedrock({ text: 'hm' }), bedrock({ signature: 'ab' })],
      undefined,
    ],
    [
      'Bedrock, cut behind',
      collectBedrock(),
      [
        bedrock({ text: 'hm' }),
        bedrock({ signature: 'abc' }),
        { contentBlockStop: { contentBlockIndex: 0 } },
      ],
      'abc',
    ],
  ])('%s', (_, collector, events, signature) => {
    for (const event of events) collector.push(event)
    const [reply] = collector.end().events
    const blocks = reply?.kind === 'MessageEvent' ? reply.llm_message.thinking_blocks : undefined
    expect(blocks).toMatchObject([{ type: 'thinking', thinking: 'hm' }])
    expect((blocks?.[0] as { signature?: string } | undefined)?.signature ?? undefined).toBe(signature)
  })
})

describe('an encrypted value is kept only if it is whole', () => {
  const early = { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'enc' } }
  it.each<[string, ReplyCollector, object, object]>([
    [
      'OpenAI Responses',
      collectOpenAIResponses(),
      { type: 'response.output_item.added', output_index: 0, item: reasoning },
      done(reasoning),
    ],
    [
      'OpenAI Responses, without the end of an item',
      collectOpenAIResponses(),
      { type: 'response.output_item.added', output_index: 0, item: reasoning },
      { type: 'response.incomplete', response: { status: 'incomplete', output: [reasoning] } },
    ],
    [
      'AI SDK',
      collectAiSdk(),
      { type: 'reasoning-start', id: '0', providerMetadata: early },
      { type: 'reasoning-end', id: '0' },
    ],
    [
      'LiteLLM',
      collectOpenAIChat(),
      chunk({ thinking_blocks: [{ type: 'redacted_thinking', data: 'enc' }] }),
      chunk({ content: 'Hi.' }),
    ],
    [
      'OpenRouter',
      collectOpenAIChat(),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'enc', index: 0 }] }),
      chunk({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'ls', arguments: '' } }] }),
    ],
  ])('%s', (_, collector, first, next) => {
    collector.push(first)
    expect(JSON.stringify(collector.end().events)).not.toContain('"enc"')
    collector.push(next)
    expect(JSON.stringify(collector.end().events)).toContain('"enc"')
  })
})

describe('a reply that ends badly keeps what was said, and executes nothing', () => {
  const output = chunk({ content: 'The three causes are ' })
  const counted = { ...output, usage: { prompt_tokens: 5000, completion_tokens: 5 } }
  const call = chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'bash', arguments: LS } }] })
  const responses = { ...words('The three causes are ') }
  it.each<[string, ReplyCollector, object[], string]>([
    ['Chat, cut', collectOpenAIChat(), [counted, call], 'broken_off'],
    [
      'Chat, an error chunk',
      collectOpenAIChat(),
      [counted, call, { error: { message: 'Gone', code: 502 } }],
      'failed',
    ],
    ['Chat, an error as the reason', collectOpenAIChat(), [counted, call, chunk({}, 'error')], 'failed'],
    [
      'Anthropic, cut',
      collectAnthropic(),
      [
        start,
        text('The three causes are '),
        block({ type: 'tool_use', id: 'a', name: 'bash', input: {} }, 1),
        delta({ type: 'input_json_delta', partial_json: LS }, 1),
      ],
      'broken_off',
    ],
    [
      'Anthropic, an error',
      collectAnthropic(),
      [
        start,
        text('The three causes are '),
        block({ type: 'tool_use', id: 'a', name: 'bash', input: JSON.parse(LS) as object }, 1),
        { type: 'error', error: { message: 'Overloaded' } },
      ],
      'failed',
    ],
    [
      'Responses, failed',
      collectOpenAIResponses(),
      [
        responses,
        { ...added, output_index: 1 },
        { ...argumentsDone, output_index: 1 },
        {
          type: 'response.failed',
          response: {
            id: 'r',
            status: 'failed',
            output: [],
            usage: { input_tokens: 5000, output_tokens: 1 },
            error: { message: 'Overloaded' },
          },
        },
      ],
      'failed',
    ],
    [
      'Responses, an error',
      collectOpenAIResponses(),
      [responses, done(fc1(LS), 1), { type: 'error', message: 'Overloaded' }],
      'failed',
    ],
    ['Responses, cut', collectOpenAIResponses(), [responses, done(fc1(LS), 1)], 'broken_off'],
    [
      'Google, cut',
      collectGoogle(),
      [
        {
          candidates: [
            {
              content: {
                parts: [
                  { text: 'The three causes are ' },
                  { functionCall: { name: 'bash', args: JSON.parse(LS) as object } },
                ],
              },
            },
          ],
        },
      ],
      'broken_off',
    ],
    [
      'AI SDK, an error',
      collectAiSdk(),
      [
        { type: 'text-delta', id: '0', text: 'The three causes are ' },
        { type: 'tool-call', toolCallId: 'a', toolName: 'bash', input: JSON.parse(LS) as object },
        { type: 'error', error: new Error('overloaded') },
      ],
      'failed',
    ],
    [
      'AI SDK, aborted',
      collectAiSdk(),
      [
        { type: 'text-delta', id: '0', text: 'The three causes are ' },
        { type: 'tool-call', toolCallId: 'a', toolName: 'bash', input: JSON.parse(LS) as object },
        { type: 'abort' },
      ],
      'broken_off',
    ],
  ])('%s', (_, collector, events, outcome) => {
    const result = seen(collector, events)
    expect(result).toMatchObject({
      outcome,
      recorded: outcome,
      words: 'The three causes are ',
      live: 'The three causes are ',
      calls: [`- bash ${LS}`],
    })
    expect(result.errors).toEqual([
      `The call was not executed: ${outcome === 'failed' ? 'the provider failed before the end of the reply' : 'the reply broke off before its end'}.`,
    ])
    if (events.some((event) => JSON.stringify(event).includes('5000'))) expect(result.tokens?.[0]).toBe(5000)
  })
})
