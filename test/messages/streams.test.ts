/** Streams whose events disagree, lack a piece, or end early: the content that is kept, and the calls that are executed. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { REPLY_WIRES } from '../../properties/replies/wires.ts'
import { decodeEvent } from '../../src/event/decode.ts'
import { replyOf } from '../../src/event/reply.ts'
import type { Reply, ReplyCollector } from '../../src/messages/reply.ts'
import { collectAiSdk } from '../../src/messages/ai-sdk/read.ts'
import { collectAnthropic, fromAnthropic } from '../../src/messages/anthropic/read.ts'
import { collectBedrock, fromBedrock } from '../../src/messages/bedrock/read.ts'
import { collectGoogle } from '../../src/messages/google/read.ts'
import { collectInteractions, fromInteractions } from '../../src/messages/interactions/read.ts'
import { collectOpenAIChat, fromOpenAIChat } from '../../src/messages/openai-chat/read.ts'
import { collectOpenAIResponses, fromOpenAIResponses } from '../../src/messages/openai-responses/read.ts'

/** Reads a stream: its text, calls, errors and tokens, and the text of its deltas. */
function readStream(collector: ReplyCollector, events: readonly object[]) {
  const deltas = events.flatMap((event) => collector.push(event))
  const { events: stored, outcome } = collector.end()
  const [first] = stored
  return {
    outcome: outcome.type,
    text: stored
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
const textDelta = (delta: string) => ({
  type: 'response.output_text.delta',
  output_index: 0,
  item_id: 'msg_1',
  content_index: 0,
  delta,
})
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'enc' }

const callOf = (n: number) => ({ ...fc1(`{"n":${n}}`, `fc_${n}`), call_id: `call_${n}` })

const helloMessage = (id: string) => ({
  type: 'message',
  id,
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hello' }],
})
const partDone = (kind: string, item_id: string, part: object) => ({
  type: `response.${kind}_part.done`,
  output_index: 0,
  item_id,
  part,
})

describe('pieces and whole items of OpenAI Responses', () => {
  it.each<[string, object[], { text?: string; calls: string[] }]>([
    [
      'arguments in a separate event',
      [added, argumentsDone, done(fc1('')), completed([])],
      { calls: [`+ bash ${LS}`] },
    ],
    ['no `output_item.done` event', [added, argumentsDone, completed([])], { calls: [`+ bash ${LS}`] }],
    [
      'only pieces of arguments',
      [added, argumentsDelta('{"cmd":'), argumentsDelta('"ls"}'), completed([])],
      { calls: [`+ bash ${LS}`] },
    ],
    ['a call only in the last event', [completed([fc1(LS)])], { calls: [`+ bash ${LS}`] }],
    [
      'a text in pieces, the call only in the last event',
      [textDelta('I look.'), done(fc1(LS), 1), completed([fc1(LS)])],
      { text: 'I look.', calls: [`+ bash ${LS}`] },
    ],
    [
      'a last event with fewer items',
      [done(reasoning), done(fc1(LS), 1), completed([reasoning])],
      { calls: [`+ bash ${LS}`] },
    ],
    [
      'an empty object before the arguments',
      [{ ...added, item: { ...added.item, arguments: '{}' } }, argumentsDelta(LS), completed([])],
      { calls: [`+ bash ${LS}`] },
    ],
    [
      'an empty object after the arguments',
      [added, argumentsDelta(LS), done(fc1('{}')), completed([fc1('{}')])],
      { calls: [`+ bash ${LS}`] },
    ],
    [
      'an empty object before truncated arguments',
      [{ ...added, item: { ...added.item, arguments: '{}' } }, argumentsDelta('{"cmd":'), completed([])],
      { calls: ['- bash {"cmd":'] },
    ],
    [
      'an empty object, and no other arguments',
      [added, argumentsDelta('{}'), done(fc1('{}')), completed([fc1('{}')])],
      { calls: ['+ bash {}'] },
    ],
    [
      'pieces without an id or an index',
      [
        { ...added, output_index: undefined },
        { ...argumentsDelta(LS), output_index: undefined, item_id: undefined },
        { type: 'response.output_text.delta', delta: 'He' },
        { type: 'response.output_text.delta', delta: 'llo', output_index: null },
        completed([]),
      ],
      { text: 'Hello', calls: [`+ bash ${LS}`] },
    ],
    [
      'pieces with only a call id',
      [
        ...[1, 2].map((n) => ({ type: added.type, item: { ...callOf(n), arguments: '' } })),
        ...[1, 2].map((n) => ({
          type: 'response.function_call_arguments.delta',
          call_id: `call_${n}`,
          delta: `{"n":${n}}`,
        })),
        completed([]),
      ],
      { calls: ['+ bash {"n":1}', '+ bash {"n":2}'] },
    ],
    [
      'calls one after the other, without ids or indexes',
      [
        ...[1, 2].flatMap((n) => [
          { type: added.type, item: { type: 'function_call', name: 'bash', arguments: '' } },
          { type: 'response.function_call_arguments.delta', delta: `{"n":${n}}` },
          {
            type: 'response.output_item.done',
            item: { type: 'function_call', name: 'bash', arguments: `{"n":${n}}` },
          },
        ]),
        completed([]),
      ],
      { calls: ['+ bash {"n":1}', '+ bash {"n":2}'] },
    ],
    [
      'empty arguments in the last event',
      [added, argumentsDone, completed([fc1('')])],
      { calls: [`+ bash ${LS}`] },
    ],
    [
      'a different item id in the done event',
      [added, argumentsDone, done(fc1(LS, 'fc_2')), completed([fc1(LS, 'fc_2')])],
      { calls: [`+ bash ${LS}`] },
    ],
    ['the same call twice', [completed([fc1(LS), fc1('')])], { calls: [`+ bash ${LS}`] }],
    [
      'conflicting arguments',
      [added, argumentsDone, done(fc1('{"cmd":"rm"}')), completed([])],
      { calls: ['- bash {"cmd":"rm"}'] },
    ],
    [
      'arguments of a call without a name',
      [argumentsDone, textDelta('Hi.'), completed([])],
      { text: 'Hi.', calls: [] },
    ],
  ])('yield the calls of a reply: %s', (_, events, expected) => {
    expect(readStream(collectOpenAIResponses(), events)).toMatchObject({ text: '', ...expected })
  })

  it.each<[string, object[], { text?: string; calls?: string[] }]>([
    [
      'a different id in each event',
      [
        { type: 'response.output_item.added', output_index: 0, item: { ...helloMessage('a'), content: [] } },
        { ...textDelta('Hello'), item_id: 'b' },
        done(helloMessage('c')),
        completed([helloMessage('d')]),
      ],
      { text: 'Hello' },
    ],
    [
      'two messages with one index',
      [
        { type: 'response.output_item.added', output_index: 0, item: { ...helloMessage('a'), content: [] } },
        { ...textDelta('Hello'), item_id: 'a' },
        done(helloMessage('a')),
        { ...textDelta(' again'), item_id: 'b' },
        done({ ...helloMessage('b'), content: [{ type: 'output_text', text: ' again' }] }),
        completed([]),
      ],
      { text: 'Hello again' },
    ],
    [
      'a different text with a different id',
      [{ ...textDelta('Oh, '), item_id: 'b' }, completed([helloMessage('d')])],
      { text: 'Oh, Hello' },
    ],
    [
      'only the end of a content part',
      [partDone('content', 'a', { type: 'output_text', text: 'Hello' }), completed([])],
      { text: 'Hello' },
    ],
    [
      'a last event named `response.done`',
      [{ ...completed([helloMessage('a')]), type: 'response.done' }],
      { text: 'Hello' },
    ],
    [
      'arguments with the call id as item id',
      [
        { type: 'response.output_item.added', item: callOf(1) },
        { type: 'response.output_item.added', item: { ...callOf(2), arguments: '' } },
        { ...argumentsDone, output_index: undefined, item_id: 'call_2' },
        completed([]),
      ],
      { calls: ['+ bash {"n":1}', `+ bash ${LS}`] },
    ],
  ])('yield the content of a reply: %s', (_, events, expected) => {
    expect(readStream(collectOpenAIResponses(), events)).toMatchObject({
      outcome: expect.anything(),
      ...expected,
    })
  })

  it('include a summary part that only its done event contains', () => {
    const part = partDone('reasoning_summary', 'rs_1', { type: 'summary_text', text: 'Hm.' })
    const collector = collectOpenAIResponses()
    for (const event of [part, done(reasoning), done(helloMessage('a'), 1), completed([])])
      collector.push(event)
    const [reply] = collector.end().events
    expect(reply).toMatchObject({ llm_message: { responses_reasoning_item: { summary: ['Hm.'] } } })
  })

  it('record the output of a call as its observation', () => {
    const output = {
      type: 'function_call_output',
      call_id: 'call_1',
      output: [{ type: 'input_text', text: 'a' }],
    }
    const { events } = fromOpenAIResponses({ output: [fc1(LS), output] })
    expect(events).toMatchObject([
      { kind: 'ActionEvent', tool_call_id: 'call_1' },
      { kind: 'ObservationEvent', observation: { content: [{ type: 'text', text: 'a' }] } },
    ])
  })

  it.each([
    ['a text', 'output_text', ['', 'b']],
    ['a refusal', 'refusal', ['', { type: 'refusal', refusal: 'b' }]],
    ['blank texts in a summary', 'reasoning_summary_text', ['', ' ']],
  ])('leave a complete item unchanged when they have no content index: %s', (_, kind, contents) => {
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

  it('supply the text of a complete message without text', () => {
    const content = [{ type: 'output_text', text: '' }]
    const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }
    const { content_index: _, ...piece } = textDelta('Hi.')
    const events = [piece, done(message), completed([message])]
    expect(readStream(collectOpenAIResponses(), events)).toMatchObject({ text: 'Hi.', live: 'Hi.' })
  })

  it.each([1e308, 2 ** 53, -1, 0.5, Infinity])('yield all calls with the output index %s', (index) => {
    const events = [done(callOf(1), index), completed([callOf(2), callOf(3)])]
    const { calls } = readStream(collectOpenAIResponses(), events)
    expect(calls.toSorted()).toEqual([1, 2, 3].map((n) => `+ bash {"n":${n}}`))
  })

  const [a, b, c] = [1, 2, 3].map(callOf) as [object, object, object]
  it.each<[string, object[], number[]]>([
    ['around a known item', [done(b, 1), completed([a, b, c])], [1, 2, 3]],
    ['before the known item of its list', [done(b), completed([a, b])], [1, 2]],
    ['at a free index', [done(a, 0), done(c, 2), completed([b])], [1, 2, 3]],
    ['after all items that the list lacks', [done(a, 0), done(b, 1), completed([c])], [1, 2, 3]],
  ])('are in order when only the last event contains them: %s', (_, events, order) => {
    const { calls } = readStream(collectOpenAIResponses(), events)
    expect(calls).toEqual(order.map((n) => `+ bash {"n":${n}}`))
  })

  it('yield the same reply for any sufficient subset of events, also repeated ones', () => {
    const message = {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'I look.', annotations: [] }],
    }
    const items = [message, callOf(1), callOf(2)]
    const variants = items.map((item, output_index) => {
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
        const events = variants.flatMap(({ open, pieces, whole, done: end }, index) => {
          const {
            open: opens,
            pieces: streams,
            whole: wholly,
            done: ends,
            last,
            twice,
          } = choices[index] as (typeof choices)[0]
          // Only an item has the name of its call, and at least one event must contain the text.
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
        const result = readStream(collectOpenAIResponses(), [...events, completed(output)])
        expect(result).toMatchObject({ outcome: 'tool_calls', text: 'I look.', errors: [] })
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

describe('calls of OpenAI Chat with one index', () => {
  it.each(['call_1', undefined])('are two when a name follows complete arguments: id %s', (id) => {
    const events = [piece(id, 'bash', LS), piece(id, 'bash', '{"cmd":"{}"}'), chunk({}, 'tool_calls')]
    expect(readStream(collectOpenAIChat(), events).calls).toEqual([`+ bash ${LS}`, '+ bash {"cmd":"{}"}'])
  })

  it('are one call when each piece repeats the name', () => {
    const events = [
      piece('a', 'bash', '{"cmd":"}'),
      piece('a', 'bash', 'ls'),
      piece('a', 'bash', '"}'),
      chunk({}, 'stop'),
    ]
    expect(readStream(collectOpenAIChat(), events).calls).toEqual(['+ bash {"cmd":"}ls"}'])
  })
})

const callPiece = (fields: object, args: string, name?: string) =>
  chunk({ tool_calls: [{ ...fields, function: { ...(name !== undefined && { name }), arguments: args } }] })
const wholeCall = { id: 'call_1', type: 'function', function: { name: 'bash', arguments: LS } }
const detail = (id: string | null, data: string) =>
  chunk({ reasoning_details: [{ type: 'reasoning.encrypted', index: 0, id, data }] })

describe('pieces of OpenAI Chat', () => {
  const both = ['+ ls {"x":1}', '+ rm {"y":2}']
  const interleaved = (a: object, b: object) => [
    callPiece({ id: 'a', ...a }, '{"x":', 'ls'),
    callPiece({ id: 'b', ...b }, '{"y":', 'rm'),
    callPiece({ id: 'a', ...a }, '1}'),
    callPiece({ id: 'b', ...b }, '2}'),
  ]
  it.each<[string, object[], string[]]>([
    ['two calls by id, without an index', interleaved({}, {}), both],
    ['two calls by id, with one index', interleaved({ index: 0 }, { index: 0 }), both],
    ['two calls by index, with equal ids', interleaved({ index: 0, id: 'z' }, { index: 1, id: 'z' }), both],
    ['indexes as strings', interleaved({ index: '0' }, { index: '1' }), both],
    [
      'the index only in the first pieces',
      [
        callPiece({ index: 0, id: 'a' }, '', 'ls'),
        callPiece({ index: 1, id: 'b' }, '', 'rm'),
        callPiece({ id: 'a' }, '{"x":1}'),
        callPiece({ id: 'b' }, '{"y":2}'),
      ],
      both,
    ],
    [
      'a different name with the same index',
      [callPiece({ index: 0 }, '', 'ls'), callPiece({ index: 0 }, '{"y":2}', 'rm')],
      ['+ ls ', '+ rm {"y":2}'],
    ],
    [
      'complete arguments twice',
      [callPiece({ index: 0, id: 'a' }, LS, 'bash'), callPiece({ index: 0, id: 'a' }, LS)],
      [`+ bash ${LS}`],
    ],
    [
      'an empty object before the arguments',
      [callPiece({ index: 0, id: 'a' }, '{}', 'bash'), callPiece({ index: 0 }, LS)],
      [`+ bash ${LS}`],
    ],
    [
      'ids that change within a call',
      [callPiece({ index: 0, id: 'a' }, '{"cmd":', 'bash'), callPiece({ index: 0, id: 'b' }, '"ls"}')],
      [`+ bash ${LS}`],
    ],
    ['an index that is an object', [callPiece({ index: { toString: 1 } }, LS, 'bash')], [`+ bash ${LS}`]],
  ])('are joined to calls: %s', (_, events, calls) => {
    expect(readStream(collectOpenAIChat(), [...events, chunk({}, 'tool_calls')]).calls).toEqual(calls)
  })

  it('may be a complete message', () => {
    const whole = { choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] }
    expect(readStream(collectOpenAIChat(), [whole])).toMatchObject({ text: 'Hello', live: 'Hello' })
    expect(readStream(collectOpenAIChat(), [chunk({ content: 'Hello' }), whole]).text).toBe('Hello')
  })

  it.each([
    ['a complete message at the end', { content: 'I look.', tool_calls: [wholeCall] }],
    ['a last message with only the calls', { content: '', tool_calls: [wholeCall] }],
  ])('get missing calls from %s', (_, message) => {
    const last = { choices: [{ index: 0, delta: {}, message, finish_reason: 'tool_calls' }] }
    const result = readStream(collectOpenAIChat(), [chunk({ content: 'I look.' }), last])
    expect(result).toMatchObject({ text: 'I look.', live: 'I look.', calls: [`+ bash ${LS}`] })
    const both = [chunk({ content: 'I look.' }), piece('call_1', 'bash', LS), last]
    expect(readStream(collectOpenAIChat(), both)).toMatchObject({ text: 'I look.', calls: [`+ bash ${LS}`] })
  })

  it('are separate encrypted details when their ids differ', () => {
    const collector = collectOpenAIChat()
    for (const event of [
      detail('a', '1'),
      detail(null, '2'),
      detail('b', '3'),
      chunk({ content: 'Hi.' }, 'stop'),
    ])
      collector.push(event)
    expect(JSON.stringify(collector.end().events)).toContain('"data":"12"')
    expect(JSON.stringify(collector.end().events)).toContain('"data":"3"')
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
const delta = (fields: object, index = 0) => ({ type: 'content_block_delta', index, delta: fields })
const text = (text: string, index = 0) => delta({ type: 'text_delta', text: text }, index)
const end = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]

describe('blocks of Anthropic', () => {
  it.each<[string, object[]]>([
    ['without a start event', [start, text('Hel'), text('lo'), ...end]],
    [
      'without a start event, after thinking',
      [start, delta({ type: 'thinking_delta', thinking: 'hm' }), text('Hello'), ...end],
    ],
    [
      'all with one index',
      [
        start,
        block({ type: 'text', text: '' }),
        text('Hel'),
        block({ type: 'text', text: '' }),
        text('lo'),
        ...end,
      ],
    ],
  ])('yield their text: %s', (_, events) => {
    expect(readStream(collectAnthropic(), events)).toMatchObject({
      outcome: 'done',
      text: 'Hello',
      live: 'Hello',
    })
  })
})

it('Anthropic: the first event may contain the complete reply', () => {
  const content = [{ type: 'text', text: 'Hello' }]
  const whole = { ...start, message: { ...start.message, content } }
  expect(readStream(collectAnthropic(), [whole, ...end])).toMatchObject({ outcome: 'done', text: 'Hello' })
})

const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'bash', input: {} }
const json = (partial_json: string) => delta({ type: 'input_json_delta', partial_json })
const bedrockBlock = (delta: object) => ({ contentBlockDelta: { contentBlockIndex: 0, delta } })
const bedrockCall = (toolUseId: string, name: string) => ({
  contentBlockStart: { contentBlockIndex: 0, start: { toolUse: { toolUseId, name } } },
})
const redacted = (...bytes: number[]) =>
  bedrockBlock({ reasoningContent: { redactedContent: Uint8Array.from(bytes) } })
const bedrockEnd = { messageStop: { stopReason: 'tool_use' } }
const step = (step: object, index = 0) => ({ event_type: 'step.start', index, step })
const stepDelta = (delta: object, index = 0) => ({ event_type: 'step.delta', index, delta })
const actionRequired = (more: object = {}) => ({
  event_type: 'interaction.completed',
  interaction: { status: 'requires_action', ...more },
})
const functionCall = (id: string, name: string, args: object = {}) => ({
  type: 'function_call',
  id,
  name,
  arguments: args,
})
const argumentPart = (args: string) => stepDelta({ type: 'arguments_delta', arguments: args })
const hop = (id: string, output: object[], status: string, more: object = {}) => [
  { event_type: 'interaction.created', interaction: { id, status: 'in_progress' } },
  ...output,
  {
    event_type: 'interaction.completed',
    interaction: { id, status, usage: { total_input_tokens: 10, total_output_tokens: 5 }, ...more },
  },
]
const parts = (parts: object[], more: object = {}) => ({ candidates: [{ content: { parts }, ...more }] })
const pieces = (call: object, ...path: string[]) => ({
  functionCall: { ...call, partialArgs: path.map((name) => ({ jsonPath: `$.${name}`, numberValue: 1 })) },
})

const chatCall = (args: string) => ({
  index: 0,
  id: 'c',
  type: 'function',
  function: { name: 'bash', arguments: args },
})
const chatEnd = { choices: [{ delta: {}, finish_reason: 'tool_calls' }] }

describe('arguments that are sent twice', () => {
  const TWICE = `${LS}${LS}`
  it.each<[string, (args: string) => Reply, ReplyCollector, object[]]>([
    [
      'Anthropic',
      (input) => fromAnthropic({ content: [{ ...toolUse, input }] }),
      collectAnthropic(),
      [start, block(toolUse), json(TWICE), ...end],
    ],
    [
      'Chat Completions',
      (args) =>
        fromOpenAIChat({
          choices: [{ message: { tool_calls: [chatCall(args)] }, finish_reason: 'tool_calls' }],
        }),
      collectOpenAIChat(),
      [{ choices: [{ delta: { tool_calls: [chatCall(TWICE)] } }] }, chatEnd],
    ],
    [
      'OpenAI Responses',
      (args) => fromOpenAIResponses({ output: [fc1(args)] }),
      collectOpenAIResponses(),
      [added, argumentsDelta(TWICE), completed([])],
    ],
    [
      'Bedrock',
      (input) =>
        fromBedrock({
          output: { message: { content: [{ toolUse: { toolUseId: 'a', name: 'bash', input } }] } },
          stopReason: 'tool_use',
        }),
      collectBedrock(),
      [bedrockCall('a', 'bash'), bedrockBlock({ toolUse: { input: TWICE } }), bedrockEnd],
    ],
    [
      'Interactions',
      (args) =>
        fromInteractions({ status: 'requires_action', steps: [functionCall('a', 'bash', args as never)] }),
      collectInteractions(),
      [step(functionCall('a', 'bash')), argumentPart(TWICE), actionRequired()],
    ],
  ])('are executed once, streamed or not: %s', (_, read, collector, events) => {
    const calls = [`+ bash ${LS}`]
    expect(readStream({ push: () => [], end: () => read(TWICE) }, []).calls).toEqual(calls)
    expect(readStream(collector, events).calls).toEqual(calls)
  })

  it('stay as they are in a custom call', () => {
    const call = { id: 'c', type: 'custom', custom: { name: 'bash', input: TWICE } }
    const { events } = fromOpenAIChat({ choices: [{ message: { tool_calls: [call] } }] })
    expect(events[0]).toMatchObject({ tool_call: { arguments: TWICE }, action: null })
  })
})

describe('contents with one index, and calls in pieces', () => {
  const both = ['+ ls {"x":1}', '+ rm {"y":2}']
  it.each<[string, ReplyCollector, object[], { text?: string; calls?: string[]; tokens?: number[] }]>([
    [
      'Anthropic: arguments after a text',
      collectAnthropic(),
      [start, block(toolUse), text('Hm.'), json(LS), ...end],
      { text: 'Hm.', calls: [`+ bash ${LS}`] },
    ],
    [
      'Anthropic: arguments that differ from the start event',
      collectAnthropic(),
      [start, block({ ...toolUse, input: { cmd: 'rm' } }), json(LS), ...end],
      { calls: [`- bash {"cmd":"rm"}${LS}`] },
    ],
    [
      'Anthropic: the same arguments in the start event',
      collectAnthropic(),
      [start, block({ ...toolUse, input: { cmd: 'ls' } }), json(LS), ...end],
      { calls: [`+ bash ${LS}`] },
    ],
    [
      'Bedrock: two calls',
      collectBedrock(),
      [
        bedrockCall('a', 'ls'),
        bedrockBlock({ toolUse: { input: '{"x":1}' } }),
        bedrockCall('b', 'rm'),
        bedrockBlock({ toolUse: { input: '{"y":2}' } }),
        bedrockEnd,
      ],
      { calls: both },
    ],
    [
      'Bedrock: reasoning, a text and a call',
      collectBedrock(),
      [
        bedrockBlock({ reasoningContent: { text: 'hm' } }),
        bedrockBlock({ text: 'I look.' }),
        bedrockCall('a', 'bash'),
        bedrockBlock({ toolUse: { input: LS } }),
        bedrockEnd,
      ],
      { text: 'I look.', calls: [`+ bash ${LS}`] },
    ],
    [
      'Interactions: two calls',
      collectInteractions(),
      [
        step(functionCall('a', 'ls')),
        argumentPart('{"x":1}'),
        step(functionCall('b', 'rm')),
        argumentPart('{"y":2}'),
        actionRequired(),
      ],
      { calls: both },
    ],
    [
      'Interactions: a thought, a text and a call',
      collectInteractions(),
      [
        stepDelta({ type: 'thought_summary', content: { type: 'text', text: 'hm' } }),
        stepDelta({ type: 'text', text: 'I look.' }),
        step(functionCall('b', 'bash')),
        argumentPart(LS),
        actionRequired(),
      ],
      { text: 'I look.', calls: [`+ bash ${LS}`] },
    ],
    [
      'Interactions: arguments only in the last event',
      collectInteractions(),
      [step(functionCall('a', 'ls')), actionRequired({ steps: [functionCall('a', 'ls', { x: 1 })] })],
      { calls: ['+ ls {"x":1}'] },
    ],
    [
      'Interactions: input and further steps in the last event',
      collectInteractions(),
      [
        stepDelta({ type: 'text', text: 'I look.' }),
        actionRequired({
          steps: [
            { type: 'user_input', content: [{ type: 'text', text: 'Look.' }] },
            { type: 'model_output', content: [{ type: 'text', text: 'I look.' }] },
            functionCall('a', 'ls', { x: 1 }),
          ],
        }),
      ],
      { text: 'I look.', calls: ['+ ls {"x":1}'] },
    ],
    [
      'Interactions: a reply that the SDK continues',
      collectInteractions(),
      [
        ...hop(
          'i1',
          [step({ type: 'thought' }), stepDelta({ type: 'text', text: 'I ' }, 1)],
          'requires_continuation',
          { continuation_token: 't' },
        ),
        ...hop(
          'i2',
          [stepDelta({ type: 'text', text: 'look.' }), step(functionCall('a', 'ls', { x: 1 }), 1)],
          'requires_action',
        ),
      ],
      { text: 'I look.', calls: ['+ ls {"x":1}'], tokens: [20, 10] },
    ],
    [
      'Gemini: two calls in pieces by id',
      collectGoogle(),
      [
        parts([pieces({ id: 'a', name: 'ls', willContinue: true }, 'x')]),
        parts([pieces({ id: 'b', name: 'rm', willContinue: true }, 'y')]),
        parts([pieces({ id: 'a' }, 'z')]),
        parts([pieces({ id: 'b' })], { finishReason: 'STOP' }),
      ],
      { calls: ['+ ls {"x":1,"z":1}', '+ rm {"y":1}'] },
    ],
    [
      'Gemini: a text between pieces that repeat the name',
      collectGoogle(),
      [
        parts([pieces({ name: 'ls', willContinue: true }, 'x')]),
        parts([{ text: 'Hm.' }]),
        parts([pieces({ name: 'ls' }, 'z')], { finishReason: 'STOP' }),
      ],
      { text: 'Hm.', calls: ['+ ls {"x":1,"z":1}'] },
    ],
    [
      'Gemini: a call whose last piece never arrives',
      collectGoogle(),
      [parts([pieces({ name: 'ls', willContinue: true }, 'x')]), parts([], { finishReason: 'STOP' })],
      { calls: ['- ls {"x":1'] },
    ],
  ])('yield their text and calls: %s', (_, collector, events, expected) => {
    const result = readStream(collector, events)
    expect(result).toMatchObject(expected)
    expect(result.live).toBe(result.text)
  })

  it.each([{ text: '' }, { signature: 'c2ln' }])('a Bedrock thought without text is kept: %j', (piece) => {
    const collector = collectBedrock()
    for (const event of [bedrockBlock({ reasoningContent: piece }), bedrockEnd]) collector.push(event)
    const message = { content: [{ reasoningContent: { reasoningText: { text: '', ...piece } } }] }
    expect(collector.end()).toEqual(fromBedrock({ output: { message }, ...bedrockEnd.messageStop }))
  })

  it('two Bedrock thoughts with one index stay separate', () => {
    const collector = collectBedrock()
    const thoughts = [
      ['a', 'b'],
      ['c', 'd'],
    ] as const
    for (const [text, signature] of thoughts) {
      collector.push(bedrockBlock({ reasoningContent: { text } }))
      collector.push(bedrockBlock({ reasoningContent: { signature } }))
      collector.push({ contentBlockStop: { contentBlockIndex: 0 } })
    }
    collector.push(bedrockEnd)
    const content = thoughts.map(([text, signature]) => ({
      reasoningContent: { reasoningText: { text, signature } },
    }))
    const message = { content }
    expect(collector.end()).toEqual(fromBedrock({ output: { message }, ...bedrockEnd.messageStop }))
  })

  it('redacted reasoning of Bedrock is joined from its pieces', () => {
    const collector = collectBedrock()
    for (const event of [redacted(1, 2), redacted(3), bedrockBlock({ text: 'Hi.' }), bedrockEnd])
      collector.push(event)
    const [reply] = collector.end().events
    expect(reply).toMatchObject({
      llm_message: { thinking_blocks: [{ type: 'redacted_thinking', data: 'AQID' }] },
    })
  })
})

describe('the arguments of a call', () => {
  const readers: [string, () => ReplyCollector, (pieces: readonly string[]) => object[]][] = [
    [
      'OpenAI Chat',
      collectOpenAIChat,
      (texts) => [
        callPiece({ index: 0, id: 'a' }, '', 'bash'),
        ...texts.map((each) => callPiece({ index: 0 }, each)),
        chunk({}, 'tool_calls'),
      ],
    ],
    [
      'OpenAI Chat, with the id and name in each piece',
      collectOpenAIChat,
      (texts) => [
        ...texts.map((each) => callPiece({ index: 0, id: 'a' }, each, 'bash')),
        chunk({}, 'tool_calls'),
      ],
    ],
    [
      'OpenAI Responses',
      collectOpenAIResponses,
      (texts) => [added, ...texts.map(argumentsDelta), done(fc1('')), completed([])],
    ],
    ['Anthropic', collectAnthropic, (texts) => [start, block(toolUse), ...texts.map(json), ...end]],
    [
      'Bedrock',
      collectBedrock,
      (texts) => [
        bedrockCall('a', 'bash'),
        ...texts.map((input) => bedrockBlock({ toolUse: { input } })),
        bedrockEnd,
      ],
    ],
    [
      'Interactions',
      collectInteractions,
      (texts) => [step(functionCall('a', 'bash')), ...texts.map(argumentPart), actionRequired()],
    ],
  ]

  it.each(readers)('are read once, even if a server repeats them: %s', (_, collect, eventsOf) => {
    const args = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1 })
    fc.assert(
      fc.property(args, fc.array(fc.nat(60)), (value, positions) => {
        const whole = JSON.stringify(value)
        const cuts = [...new Set([0, ...positions.filter((each) => each < whole.length), whole.length])]
        const ends = cuts.toSorted((a, b) => a - b)
        const texts = ends.slice(1).map((at, index) => whole.slice(ends[index], at))
        const repeated = ends.slice(1).map((at) => whole.slice(0, at))
        for (const streamed of [texts, repeated, [...texts, whole], [...repeated, whole]]) {
          const { calls } = readStream(collect(), eventsOf(streamed))
          expect(calls.map((call) => call.slice(0, 6))).toEqual(['+ bash'])
          expect(JSON.parse(calls[0]?.slice(7) ?? '')).toEqual(JSON.parse(whole))
        }
      }),
    )
  })

  it.each(readers)('are not executed with a number that is read as infinite: %s', (_, collect, eventsOf) => {
    const text = '{"x":[1,{"y":-1e999}]}'
    const collector = collect()
    for (const event of eventsOf([text])) collector.push(event)
    const { events } = collector.end()
    expect(events.map((event) => decodeEvent(event).ok)).toEqual([true, true])
    expect(events).toMatchObject([
      { action: null, tool_call: { arguments: text } },
      { kind: 'AgentErrorEvent' },
    ])
  })

  it.each<[string, ReplyCollector, object[]]>([
    [
      'OpenAI Chat',
      collectOpenAIChat(),
      [
        callPiece({ index: 0, id: 'a' }, '{"x": 1, "y": [2]}', 'bash'),
        callPiece({ index: 0, id: 'a' }, '{"y":[2],"x":1}', 'bash'),
        chunk({}, 'tool_calls'),
      ],
    ],
    [
      'OpenAI Chat, encoded twice',
      collectOpenAIChat(),
      [
        callPiece({ index: 0, id: 'a' }, '{"x": 1, "y": [2]}', 'bash'),
        callPiece({ index: 0, id: 'a' }, '"{\\"y\\":[2],\\"x\\":1}"', 'bash'),
        chunk({}, 'tool_calls'),
      ],
    ],
    [
      'OpenAI Responses',
      collectOpenAIResponses(),
      [added, argumentsDelta('{"x": 1, "y": [2]}'), done(fc1('{"y":[2],"x":1}')), completed([])],
    ],
    [
      'Anthropic',
      collectAnthropic(),
      [start, block({ ...toolUse, input: { y: [2], x: 1 } }), json('{"x": 1, "y": [2]}'), ...end],
    ],
  ])('are the same if only the order of the fields differs: %s', (_, collector, events) => {
    for (const event of events) collector.push(event)
    expect(collector.end().events).toMatchObject([{ action: { x: 1, y: [2] } }])
  })

  it('of Gemini may follow in a part without a name', () => {
    const call = { functionCall: { name: 'bash', args: {} }, thoughtSignature: 'c2ln' }
    const events = [
      parts([call]),
      parts([{ functionCall: { args: { cmd: 'ls' } } }]),
      parts([{ functionCall: { args: { all: true } } }, { text: '' }], { finishReason: 'STOP' }),
    ]
    expect(readStream(collectGoogle(), events).calls).toEqual(['+ bash {"cmd":"ls","all":true}'])
  })
})

const bedrock = (delta: object) => ({
  contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent: delta } },
})

describe('the signature of a block', () => {
  const sign = (signature: string) => delta({ type: 'signature_delta', signature })
  const thinking = [
    start,
    block({ type: 'thinking', thinking: '' }),
    delta({ type: 'thinking_delta', thinking: 'hm' }),
  ]
  it.each<[string, ReplyCollector, object[], string | undefined]>([
    ['Anthropic, cut off inside', collectAnthropic(), [...thinking, sign('ab')], undefined],
    [
      'Anthropic, an error inside',
      collectAnthropic(),
      [...thinking, sign('ab'), { type: 'error', error: {} }],
      undefined,
    ],
    [
      'Anthropic, cut off afterwards',
      collectAnthropic(),
      [...thinking, sign('ab'), sign('c'), { type: 'content_block_stop', index: 0 }],
      'abc',
    ],
    [
      'Anthropic, complete without a stop event',
      collectAnthropic(),
      [...thinking, sign('abc'), ...end],
      'abc',
    ],
    [
      'Bedrock, cut off inside',
      collectBedrock(),
      [bedrock({ text: 'hm' }), bedrock({ signature: 'ab' })],
      undefined,
    ],
    [
      'Bedrock, cut off afterwards',
      collectBedrock(),
      [
        bedrock({ text: 'hm' }),
        bedrock({ signature: 'abc' }),
        { contentBlockStop: { contentBlockIndex: 0 } },
      ],
      'abc',
    ],
  ])('is kept only after the end of the block: %s', (_, collector, events, signature) => {
    for (const event of events) collector.push(event)
    const [reply] = collector.end().events
    const blocks = reply?.kind === 'MessageEvent' ? reply.llm_message.thinking_blocks : undefined
    expect(blocks).toMatchObject([{ type: 'thinking', thinking: 'hm' }])
    expect((blocks?.[0] as { signature?: string } | undefined)?.signature ?? undefined).toBe(signature)
  })
})

describe('an encrypted value', () => {
  const early = { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'enc' } }
  it.each<[string, ReplyCollector, object, object]>([
    [
      'OpenAI Responses',
      collectOpenAIResponses(),
      { type: 'response.output_item.added', output_index: 0, item: reasoning },
      done(reasoning),
    ],
    [
      'OpenAI Responses, without an `output_item.done` event',
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
  ])('is kept only when it is complete: %s', (_, collector, first, next) => {
    collector.push(first)
    expect(JSON.stringify(collector.end().events)).not.toContain('"enc"')
    collector.push(next)
    expect(JSON.stringify(collector.end().events)).toContain('"enc"')
  })
})

describe('a failed or broken-off reply', () => {
  const output = chunk({ content: 'The three causes are ' })
  const counted = { ...output, usage: { prompt_tokens: 5000, completion_tokens: 5 } }
  const call = chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'bash', arguments: LS } }] })
  const responses = { ...textDelta('The three causes are ') }
  it.each<[string, ReplyCollector, object[], string]>([
    ['Chat, cut off', collectOpenAIChat(), [counted, call], 'broken_off'],
    [
      'Chat, an error chunk',
      collectOpenAIChat(),
      [counted, call, { error: { message: 'Gone', code: 502 } }],
      'failed',
    ],
    ['Chat, the finish reason `error`', collectOpenAIChat(), [counted, call, chunk({}, 'error')], 'failed'],
    [
      'Anthropic, cut off',
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
    ['Responses, cut off', collectOpenAIResponses(), [responses, done(fc1(LS), 1)], 'broken_off'],
    [
      'Google, cut off',
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
  ])('keeps its text, and its call is not executed: %s', (_, collector, events, outcome) => {
    const result = readStream(collector, events)
    expect(result).toMatchObject({
      outcome,
      recorded: outcome,
      text: 'The three causes are ',
      live: 'The three causes are ',
      calls: [`- bash ${LS}`],
    })
    expect(result.errors).toEqual([
      `The call was not executed: ${outcome === 'failed' ? 'the provider failed before the end of the reply' : 'the reply broke off before its end'}.`,
    ])
    if (events.some((event) => JSON.stringify(event).includes('5000'))) expect(result.tokens?.[0]).toBe(5000)
  })
})

it.each<[string, ReplyCollector, object[]]>([
  ['Anthropic, cut off', collectAnthropic(), [start]],
  ['Anthropic, an error', collectAnthropic(), [start, { type: 'error', error: { message: 'Overloaded' } }]],
  ['Chat', collectOpenAIChat(), [{ choices: [], usage: { prompt_tokens: 5000 } }]],
  [
    'Responses',
    collectOpenAIResponses(),
    [{ type: 'response.failed', response: { status: 'failed', output: [], usage: { input_tokens: 5000 } } }],
  ],
  [
    'Google',
    collectGoogle(),
    [
      {
        candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL' }],
        usageMetadata: { promptTokenCount: 5000 },
      },
    ],
  ],
  [
    'Interactions',
    collectInteractions(),
    [
      {
        event_type: 'interaction.completed',
        interaction: { status: 'failed', usage: { total_input_tokens: 5000 } },
      },
    ],
  ],
  [
    'Bedrock',
    collectBedrock(),
    [{ messageStop: { stopReason: 'malformed_tool_use' } }, { metadata: { usage: { inputTokens: 5000 } } }],
  ],
])('a failed or broken-off reply without content has its tokens: %s', (_, collector, events) => {
  const { outcome, tokens, recorded } = readStream(collector, events)
  expect(['failed', 'broken_off']).toContain(outcome)
  expect({ recorded, input: tokens?.[0] }).toEqual({ recorded: outcome, input: 5000 })
})

it.each([
  ['without a reason and counts', { finishReason: 'other', usage: { inputTokens: undefined } }, 'broken_off'],
  ['of version 6', { finishReason: 'unknown', usage: {} }, 'broken_off'],
  ['with counts', { finishReason: 'other', usage: { inputTokens: 5 } }, 'done'],
  ['with the reason of the provider', { finishReason: 'other', rawFinishReason: 'eos', usage: {} }, 'done'],
])('the end of an AI SDK step %s', (_, finish, outcome) => {
  const events = [
    { type: 'text-delta', id: '0', text: 'Hel' },
    { type: 'finish-step', ...finish },
  ]
  expect(readStream(collectAiSdk(), events)).toMatchObject({ outcome, text: 'Hel' })
})

it.each(['constructor', 'toString', '__proto__'])(
  'a delta with the unknown field %s keeps its text',
  (name) => {
    const delta = JSON.parse(`{"type":"text_delta","text":"hi","${name}":"more"}`) as object
    const anthropic = [
      { type: 'content_block_delta', index: 0, delta },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    ]
    expect(readStream(collectAnthropic(), anthropic)).toMatchObject({ outcome: 'done', text: 'hi' })
    const { type: _, ...fields } = delta as { type: string }
    const bedrock = [
      { contentBlockDelta: { contentBlockIndex: 0, delta: fields } },
      { messageStop: { stopReason: 'end_turn' } },
    ]
    expect(readStream(collectBedrock(), bedrock)).toMatchObject({ outcome: 'done', text: 'hi' })
  },
)

describe('a stream with values nested 20,000 levels deep', () => {
  let deep: object = {}
  for (let level = 0; level < 20_000; level += 1) deep = { a: deep }

  it('does not execute a call with such arguments', () => {
    const call = { index: 0, id: 'c', function: { name: 'f', arguments: deep } }
    const chat = [{ choices: [{ delta: { tool_calls: [call] }, finish_reason: 'tool_calls' }] }]
    const piece = { jsonPath: `$.a${'[0]'.repeat(20_000)}`, stringValue: 'x' }
    const functionCall = { name: 'f', partialArgs: [piece] }
    const google = [{ candidates: [{ content: { parts: [{ functionCall }] }, finishReason: 'STOP' }] }]
    for (const { calls, errors } of [
      readStream(collectOpenAIChat(), chat),
      readStream(collectGoogle(), google),
    ]) {
      expect(calls.map((call) => call.slice(0, 3))).toEqual(['- f'])
      expect(errors).toHaveLength(1)
    }
  })

  it('reads usage that is reported twice', () => {
    const usage = { output_tokens: 5, more: deep }
    const events = [
      { type: 'message_start', message: { usage } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    ]
    expect(readStream(collectAnthropic(), events)).toMatchObject({ text: 'hi', tokens: [0, 5] })
  })
})

const INDEXES: readonly string[] = ['index', 'output_index', 'contentBlockIndex']

const underOneIndex = (event: object): object =>
  Object.fromEntries(
    Object.entries(event).map(([key, value]: [string, unknown]) => [
      key,
      INDEXES.includes(key) ? 0 : key.startsWith('contentBlock') ? underOneIndex(value as object) : value,
    ]),
  )

it.each([
  'Anthropic Messages',
  'Amazon Bedrock Converse',
  'Gemini Interactions',
  'OpenAI Responses',
] as const)('%s: a stream with index 0 for all items yields the same reply', (name) => {
  const { reply, read, collect, stream } = REPLY_WIRES[name]
  fc.assert(
    fc.property(reply, fc.integer({ min: 2, max: 9 }), (raw, length) => {
      const collector = collect({})
      for (const event of stream(raw, () => length)) collector.push(underOneIndex(event))
      expect(collector.end()).toEqual(read(raw, {}))
    }),
  )
})
