/** Gemini Interactions: reading and writing replies in cases that the general properties do not cover. */

import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import type { AssistantMessage, NeutralMessage } from '../../src/messages/message.ts'
import { collectInteractions, fromInteractions } from '../../src/messages/interactions/read.ts'
import { validateInteractions } from '../../src/messages/interactions/rules.ts'
import { toInteractions } from '../../src/messages/interactions/write.ts'
import { NO_SIGNATURE } from '../../src/messages/reply-parts.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'

const text = (value: string) => ({ type: 'text', text: value })
const output = (...content: object[]) => ({ type: 'model_output', content })
const call = (id: string) => ({ type: 'function_call', id, name: 'ls', arguments: { a: 1 } })
const read = (status: string, ...steps: object[]) => fromInteractions({ status, steps })

describe('the outcome of an interaction', () => {
  it.each([
    ['completed', 'done'],
    ['incomplete', 'truncated'],
    ['budget_exceeded', 'truncated'],
    ['requires_continuation', 'truncated'],
    ['failed', 'failed'],
    ['in_progress', 'broken_off'],
    ['queued', 'broken_off'],
    ['cancelled', 'broken_off'],
  ])('an interaction with the status %s has the outcome %s', (status, type) => {
    expect(read(status, output(text('Hi'))).outcome.type).toBe(type)
  })

  it("contains the provider's message of a failed step", () => {
    const outcome = read('failed', {
      type: 'model_output',
      error: { code: 13, message: 'Out of oak.' },
    }).outcome
    expect(outcome).toEqual({ type: 'failed', explanation: 'Out of oak.' })
  })

  it('the last call of an incomplete interaction is not executed', () => {
    const { events } = read('incomplete', call('a'), call('b'))
    expect(events.map((event) => (event.kind === 'ActionEvent' ? event.action : event.kind))).toEqual([
      { kind: 'LsAction', a: 1 },
      null,
      'AgentErrorEvent',
    ])
  })
})

describe('steps other than output and calls', () => {
  it('are ignored when they repeat the input', () => {
    const { events } = read('completed', { type: 'user_input', content: [text('Hello')] }, output(text('Hi')))
    expect(events).toMatchObject([{ llm_message: { content: [{ text: 'Hi' }] } }])
  })

  it('become the observation of a call when they contain its result', () => {
    const done = { type: 'function_result', call_id: 'a', result: 'x.txt' }
    const { events } = read('completed', call('a'), done, output(text('Hi')))
    expect(events).toMatchObject([
      { kind: 'ActionEvent' },
      { kind: 'ObservationEvent', observation: { content: [{ text: 'x.txt' }], is_error: false } },
    ])
  })
})

const collect = (...events: object[]) => {
  const stream = collectInteractions()
  const deltas = events.flatMap((event) => stream.push(event))
  return { message: deltas.map(({ content }) => content ?? '').join(''), reply: stream.end() }
}
const completed = { event_type: 'interaction.completed', interaction: { status: 'completed' } }
const delta = (index: number, piece: object) => ({ event_type: 'step.delta', index, delta: piece })

describe('a stream', () => {
  it('yields the same reply from deltas as from complete steps', () => {
    const { message, reply } = collect(
      delta(0, { type: 'thought_signature', signature: 's' }),
      delta(1, text('a')),
      delta(1, text('b')),
      completed,
    )
    expect(message).toBe('ab')
    expect(reply).toEqual(read('completed', { type: 'thought', signature: 's' }, output(text('ab'))))
  })

  it('yields the complete steps of its last event', () => {
    const { message, reply } = collect({
      event_type: 'interaction.completed',
      interaction: { status: 'completed', steps: [output(text('ab')), call('a')] },
    })
    expect(message).toBe('ab')
    expect(reply).toEqual(read('completed', output(text('ab')), call('a')))
  })

  it('keeps the fields of unknown deltas, and unknown fields of a signature', () => {
    const steps = [
      { type: 'map_search_result', content: 'Main Street 1', summary: ['street'] },
      { type: 'map_search_result', content: [{ type: 'text', text: 'street' }] },
      { type: 'thought', signature: 's', version: 2 },
    ]
    const [name, list, thought] = steps
    const { message, reply } = collect(
      delta(0, { ...name }),
      delta(1, { ...list }),
      delta(2, { ...thought, type: 'thought_signature' }),
      completed,
    )
    expect(message).toBe('')
    expect(reply).toEqual(read('completed', ...steps))
  })

  it('separates two thoughts with the same index', () => {
    const thoughts = ['a', 'b'].map((signature) => ({ type: 'thought', signature }))
    const events = thoughts.flatMap((thought) => [
      delta(0, { ...thought, type: 'thought_signature' }),
      { event_type: 'step.stop', index: 0 },
    ])
    expect(collect(...events, completed).reply).toEqual(read('completed', ...thoughts))
  })

  it('keeps empty fields of a step', () => {
    const ran = { type: 'code_execution_result', call_id: 'a', result: '', signature: 's' }
    const { reply } = collect({ event_type: 'step.start', index: 0, step: ran }, completed)
    expect(reply).toEqual(read('completed', ran))
  })

  it('keeps string content of a tool step in its last event', () => {
    const steps = [{ type: 'url_context_result', call_id: 'a', content: 'x' }, output(text('ab'))]
    const { reply } = collect({ ...completed, interaction: { status: 'completed', steps } })
    expect(reply).toEqual(read('completed', ...steps))
  })

  it('does not execute a call with truncated arguments', () => {
    const { reply } = collect(
      {
        event_type: 'step.start',
        index: 0,
        step: { type: 'function_call', id: 'a', name: 'ls', arguments: {} },
      },
      delta(0, { type: 'arguments_delta', arguments: '{"a":' }),
      completed,
    )
    expect(reply.events).toMatchObject([{ action: null }, { kind: 'AgentErrorEvent' }])
  })

  it('fails with the message of an error event', () => {
    const { reply } = collect(delta(0, text('a')), { event_type: 'error', error: { message: 'Overloaded.' } })
    expect(reply.outcome).toEqual({ type: 'failed', explanation: 'Overloaded.' })
  })
})

const png = { type: 'image', mime_type: 'image/png', data: 'aW1n' }
const blank = text(' ')
const go: Event = {
  kind: 'MessageEvent',
  source: 'user',
  llm_message: { role: 'user', content: [{ text: 'Go.' }] },
}

const assistant = (more: Partial<AssistantMessage>): AssistantMessage => ({
  role: 'assistant',
  content: [],
  tool_calls: [],
  reasoning_content: null,
  thinking_blocks: [],
  responses_reasoning_item: null,
  ...more,
})
const user: NeutralMessage = { role: 'user', content: [{ text: 'Go.' }], name: null }
const written = (...messages: NeutralMessage[]) => {
  const request = toInteractions(messages)
  expect(validateInteractions(request)).toEqual([])
  return request.input
}

describe('`toInteractions`', () => {
  it.each([
    [
      'an unsigned thought between them',
      [output(png), { type: 'thought', summary: [text('Hm.')] }, output(text('a'))],
    ],
    ['nothing between them', [output(text('a')), output(png), output(png, text('b'))]],
    ['a blank text before the second', [output(text('a')), output(blank, png)]],
  ])('keeps outputs separate: %s', (_, steps) => {
    const { events } = read('completed', ...steps)
    const state = replay([go, ...events].map((event, index) => ({ ...event, id: `e${index}` })))
    const sent = steps.flatMap((step) =>
      'content' in step ? [output(...step.content.filter((one) => one !== blank))] : [],
    )
    expect(toInteractions(toMessages(state)).input.slice(1, -1)).toEqual(sent)
  })

  it('puts the placeholder signature before a call of another model', () => {
    const source = {
      id: 'c',
      name: 'ls.now',
      arguments: '{}',
      origin: 'completion',
      responses_item_id: null,
      responses_reasoning_item: null,
    } as const
    const content = [{ text: 'a.txt' }, { type: 'image', image_urls: ['https://example.com/a.png'] }] as const
    const result = { role: 'tool', content, tool_call_id: 'c', name: 'ls', is_error: true } as const
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'of another' } as const
    expect(
      written(user, assistant({ tool_calls: [source], thinking_blocks: [thinking] }), result as never),
    ).toEqual([
      { type: 'user_input', content: [text('Go.')] },
      { type: 'thought', signature: NO_SIGNATURE },
      { type: 'function_call', id: 'c', name: 'ls.now', arguments: {} },
      {
        type: 'function_result',
        call_id: 'c',
        name: 'ls.now',
        result: [text('a.txt'), { type: 'image', mime_type: 'image/png', uri: 'https://example.com/a.png' }],
        is_error: true,
      },
    ])
  })

  it('leaves out a thought without a signature', () => {
    const reply = assistant({
      content: [{ text: 'Hi' }],
      thinking_blocks: [{ type: 'thinking', thinking: 'Hm.' }],
      reply: { grammar: 'interactions' },
    })
    expect(written(user, reply, user)[1]).toEqual({ type: 'model_output', content: [text('Hi')] })
  })
})
