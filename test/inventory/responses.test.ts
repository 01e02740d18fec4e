/** Group N of the inventory: OpenAI Responses. */

import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../src/event/decode.ts'
import type { Event } from '../../src/event/types.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { action, type ActionOptions, agent, image, observe, pair, system, text, user } from '../build.ts'
import { fold, logMessages, stateMessages } from './inspect.ts'

const IMAGE = 'https://a.example/1.png'
const DATA = 'data:image/png;base64,iVBORw0KGgo='

const responses = (...events: readonly Event[]) => toOpenAIResponses(logMessages(...events))
const ofType = (type: string, ...events: readonly Event[]) =>
  responses(...events).input.filter((item) => item.type === type)

/** A call with ids of a Responses provider. */
const responsesCall = (id: string, item: string | null): ActionOptions => ({
  call: id,
  tool_call: { id, name: 'ls', arguments: '{}', origin: 'responses', responses_item_id: item },
})

const calls = (id: string, item: string | null) =>
  ofType('function_call', user('u'), ...pair('1', responsesCall(id, item)))

describe('group N: responses', () => {
  it('N1 a call has its item id and call id, and its result the call id', () => {
    const { input } = responses(user('u'), ...pair('1', responsesCall('call_xyz', 'fc_abc')))
    expect(input.slice(1)).toEqual([
      { type: 'function_call', id: 'fc_abc', call_id: 'call_xyz', name: 'ls', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_xyz', output: 'o1' },
    ])
  })

  it('N2 the latest system prompt becomes the instructions', () => {
    const both = system('s1', 'A', { dynamic_context: text('B') })
    expect(responses(both).instructions).toBe('A\nB')
    const { instructions, input } = responses(both, system('s2', 'C'))
    expect(instructions).toBe('C')
    expect(input).toMatchObject([{ type: 'message', role: 'user' }])
    expect(responses(user('u')).instructions).toBeNull()
  })

  it('N3 a text and an image become input_text and input_image', () => {
    expect(responses(user('u', [text('look'), image(IMAGE)])).input).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'look' },
          { type: 'input_image', image_url: IMAGE, detail: 'auto' },
        ],
      },
    ])
  })

  it('N4 a thought becomes an assistant message before the call', () => {
    const call = { ...action('a', { call: 'c' }), thought: [text('let me'), text('look')] }
    expect(responses(user('u'), call, observe('o', call)).input.slice(1)).toEqual([
      { type: 'message', role: 'assistant', content: 'let me\nlook' },
      { type: 'function_call', call_id: 'c', name: 'ls', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'o' },
    ])
  })

  it('N5 a result of two texts becomes one output', () => {
    const call = action('a', { call: 'c' })
    expect(
      ofType('function_call_output', user('u'), call, observe('o', call, [text('one'), text('two')])),
    ).toEqual([{ type: 'function_call_output', call_id: 'c', output: 'one\ntwo' }])
  })

  it('N6 maxResultLength clips a long result to 50,000 characters', () => {
    const call = action('a')
    const state = fold(user('u'), call, observe('o', call, 'x'.repeat(60_000)))
    const output = (maxResultLength?: number) =>
      toOpenAIResponses(
        stateMessages(state, maxResultLength === undefined ? {} : { maxResultLength }),
      ).input.flatMap((item) => (item.type === 'function_call_output' ? [item.output.length] : []))
    expect(output()).toEqual([60_000])
    expect(output(50_000)).toEqual([50_000])
  })

  it('N7 a result with an image becomes a list of output parts', () => {
    const call = action('a', { call: 'c' })
    expect(ofType('function_call_output', user('u'), call, observe('o', call, [image(IMAGE)]))).toEqual([
      {
        type: 'function_call_output',
        call_id: 'c',
        output: [{ type: 'input_image', image_url: IMAGE, detail: 'auto' }],
      },
    ])
    const mixed = observe('o', call, [text('see'), image(DATA)])
    expect(ofType('function_call_output', user('u'), call, mixed)).toMatchObject([
      {
        output: [
          { type: 'input_text', text: 'see' },
          { type: 'input_image', image_url: DATA, detail: 'auto' },
        ],
      },
    ])
  })

  it('N8 a reasoning item is sent without its status and plain content', () => {
    const responses_reasoning_item = {
      id: 'rs_1',
      summary: ['one', 'two'],
      content: ['plain'],
      encrypted_content: 'sealed',
      status: 'completed',
    }
    const { input } = responses(user('u'), ...pair('1', { responses_reasoning_item }))
    expect(input[1]).toEqual({
      type: 'reasoning',
      id: 'rs_1',
      summary: [
        { type: 'summary_text', text: 'one' },
        { type: 'summary_text', text: 'two' },
      ],
      encrypted_content: 'sealed',
    })
    expect(input[2]).toMatchObject({ type: 'function_call' })
    const message = { role: 'assistant', content: [text('so')], responses_reasoning_item } as const
    expect(ofType('reasoning', user('u'), agent('a', 'so', { llm_message: message }))).toEqual([input[1]])
  })

  it('N10 a call without an item id is sent without one', () => {
    const plain = { type: 'function_call', name: 'ls', arguments: '{}' }
    expect(calls('123', null)).toEqual([{ ...plain, call_id: '123' }])
    expect(calls('fc_1', null)).toEqual([{ ...plain, call_id: 'fc_1' }])
    expect(calls('call_1', 'fc_1')).toEqual([{ ...plain, id: 'fc_1', call_id: 'call_1' }])
    const { tool_call, ...bare } = action('a')
    const decoded = decodeEvent({
      ...bare,
      tool_call: { arguments: tool_call.arguments, origin: tool_call.origin },
    })
    expect(decoded.ok ? [] : decoded.issues.map((one) => one.loc)).toEqual([
      ['tool_call', 'id'],
      ['tool_call', 'name'],
    ])
  })
})
