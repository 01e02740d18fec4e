/** The time to read a streamed reply is linear in its length, however the provider splits it. */

import { describe, expect, it } from 'vitest'
import { collectAiSdk } from '../../src/messages/ai-sdk/read.ts'
import { collectAnthropic } from '../../src/messages/anthropic/read.ts'
import type { ReplyCollector } from '../../src/messages/reply.ts'
import { collectBedrock } from '../../src/messages/bedrock/read.ts'
import { collectInteractions } from '../../src/messages/interactions/read.ts'
import { collectGoogle } from '../../src/messages/google/read.ts'
import { collectOpenAIChat } from '../../src/messages/openai-chat/read.ts'
import { collectOpenAIResponses } from '../../src/messages/openai-responses/read.ts'
import { overgrowth } from '../growth.ts'

/** Makes the events of a stream in one grammar. */
interface Stream {
  readonly collect: () => ReplyCollector
  /** A text in these pieces. */
  readonly textEvents: (pieces: readonly string[]) => object[]
  /** A call whose arguments arrive in these pieces; joined, they are a JSON object. */
  readonly call: (number: number, pieces: readonly string[]) => object[]
  readonly end: object
}

const anthropicBlock = (index: number, block: object, deltas: readonly object[]): object[] => [
  { type: 'content_block_start', index, content_block: block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
]

const choice = (delta: object, finish_reason: string | null = null): object => ({
  choices: [{ index: 0, delta, finish_reason }],
})

const item = (output_index: number, input: object): object => ({
  type: 'response.output_item.done',
  output_index,
  item: input,
})

const candidate = (...parts: readonly object[]): object => ({ candidates: [{ content: { parts } }] })

const stepDelta = (index: number, delta: object) => ({ event_type: 'step.delta', index, delta })

const STREAMS: Readonly<Record<string, Stream>> = {
  'Anthropic Messages': {
    collect: collectAnthropic,
    textEvents: (pieces) =>
      anthropicBlock(
        0,
        { type: 'text', text: '' },
        pieces.map((text) => ({ type: 'text_delta', text })),
      ),
    call: (number, pieces) =>
      anthropicBlock(
        number + 1,
        { type: 'tool_use', id: `c${number}`, name: 'ls', input: {} },
        pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      ),
    end: { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
  },
  'OpenAI Chat Completions': {
    collect: collectOpenAIChat,
    textEvents: (pieces) => pieces.map((content) => choice({ content })),
    call: (number, pieces) => [
      choice({
        tool_calls: [
          { index: number, id: `c${number}`, type: 'function', function: { name: 'ls', arguments: '' } },
        ],
      }),
      ...pieces.map((text) => choice({ tool_calls: [{ index: number, function: { arguments: text } }] })),
    ],
    end: choice({}, 'stop'),
  },
  'OpenAI Chat Completions with parts in lists': {
    collect: collectOpenAIChat,
    textEvents: (pieces) => pieces.map((text) => choice({ content: [{ type: 'text', text }] })),
    call: (number, pieces) => [
      ...pieces.map((text) =>
        choice({ reasoning_details: [{ type: 'reasoning.text', text, index: number, signature: null }] }),
      ),
      choice({
        tool_calls: [{ index: number, id: `c${number}`, function: { name: 'ls', arguments: '{}' } }],
      }),
    ],
    end: choice({}, 'stop'),
  },
  'OpenAI Responses': {
    collect: collectOpenAIResponses,
    textEvents: (pieces) => [
      ...pieces.map((delta) => ({ type: 'response.output_text.delta', delta })),
      item(0, { type: 'message', content: [{ type: 'output_text', text: pieces.join('') }] }),
    ],
    call: (number, pieces) => [
      ...pieces.map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
      item(number + 1, {
        type: 'function_call',
        call_id: `c${number}`,
        name: 'ls',
        arguments: pieces.join(''),
      }),
    ],
    end: { type: 'response.completed', response: { status: 'completed', output: [] } },
  },
  'the AI SDK': {
    collect: collectAiSdk,
    textEvents: (pieces) => [
      { type: 'text-start', id: '0' },
      ...pieces.map((text) => ({ type: 'text-delta', id: '0', text })),
      { type: 'text-end', id: '0' },
    ],
    // The reader ignores the pieces, since the whole call follows.
    call: (number, pieces) => [
      { type: 'tool-input-start', id: `c${number}`, toolName: 'ls' },
      ...pieces.map((delta) => ({ type: 'tool-input-delta', id: `c${number}`, delta })),
      {
        type: 'tool-call',
        toolCallId: `c${number}`,
        toolName: 'ls',
        input: JSON.parse(pieces.join('')) as object,
      },
    ],
    end: { type: 'finish-step', finishReason: 'stop' },
  },
  'Amazon Bedrock': {
    collect: collectBedrock,
    textEvents: (pieces) =>
      pieces.map((text) => ({ contentBlockDelta: { contentBlockIndex: 0, delta: { text } } })),
    call: (contentBlockIndex, pieces) => [
      {
        contentBlockStart: {
          contentBlockIndex,
          start: { toolUse: { toolUseId: `c${contentBlockIndex}`, name: 'ls' } },
        },
      },
      ...pieces.map((input) => ({
        contentBlockDelta: { contentBlockIndex, delta: { toolUse: { input } } },
      })),
    ],
    end: { messageStop: { stopReason: 'end_turn' } },
  },
  'Gemini Interactions': {
    collect: collectInteractions,
    textEvents: (pieces) => pieces.map((text) => stepDelta(0, { type: 'text', text })),
    call: (number, pieces) => [
      {
        event_type: 'step.start',
        index: number,
        step: { type: 'function_call', id: `c${number}`, name: 'ls', arguments: {} },
      },
      ...pieces.map((text) => stepDelta(number, { type: 'arguments_delta', arguments: text })),
    ],
    end: { event_type: 'interaction.completed', interaction: { status: 'completed' } },
  },
  Gemini: {
    collect: collectGoogle,
    textEvents: (pieces) => pieces.map((text) => candidate({ text })),
    call: (number, pieces) => [
      candidate({ functionCall: { name: 'ls', id: `c${number}`, willContinue: true } }),
      ...pieces.map((stringValue) =>
        candidate({
          functionCall: {
            partialArgs: [{ jsonPath: '$.a', stringValue, willContinue: true }],
            willContinue: true,
          },
        }),
      ),
      candidate({ functionCall: {} }),
    ],
    end: { candidates: [{ finishReason: 'STOP' }] },
  },
}

const json = (text: string): string[] => ['{"a":"', ...text, '"}']

const SHAPES: Readonly<Record<string, (stream: Stream, text: string) => object[]>> = {
  'a text in small pieces': ({ textEvents }, text) => textEvents([...text]),
  'one long piece of text': ({ textEvents }, text) => textEvents([text]),
  'arguments in small pieces': ({ call }, text) => call(0, json(text)),
  'many calls': ({ call }, text) => [...text].flatMap((_, number) => call(number, ['{}'])),
}

describe.each(Object.entries(STREAMS))('a stream of %s', (_, stream) => {
  it.each(Object.entries(SHAPES))('is read in linear time: %s', (shape, eventsOf) => {
    const read = (text: string): void => {
      const { push, end } = stream.collect()
      for (const event of eventsOf(stream, text)) push(event)
      push(stream.end)
      expect(end().events).toHaveLength(shape === 'many calls' ? text.length : 1)
    }
    const to = { 'one long piece of text': 2 ** 20, 'many calls': 2 ** 13 }[shape] ?? 2 ** 15
    expect(overgrowth(read, (length) => 'x'.repeat(length), { from: to / 8, to })).toBe(null)
  })
})
