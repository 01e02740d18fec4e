/** Responses: the requests written for unusual logs. */

import { describe, expect, it } from 'vitest'
import type { ReasoningItemModel } from '../../src/event/shapes.ts'
import type { Event } from '../../src/event/types.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import type { ResponsesRequest } from '../../src/messages/openai-responses/rules.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, type ActionOptions, agent, observe, pair, system, text, user } from '../build.ts'
import { validateOpenAiResponses } from '../../src/messages/openai-responses/rules.ts'

/** Returns the request of a log, which must be valid. */
function write(...events: readonly Event[]): ResponsesRequest {
  const request = toOpenAIResponses(toMessages(replay(events)))
  expect(validateOpenAiResponses(request)).toEqual([])
  return request
}

const input = (...events: readonly Event[]) => write(user('u'), ...events).input.slice(1)

/** A call with an item id and a reasoning item. */
const call = (
  id: string,
  item: string | null,
  reasoning: ReasoningItemModel | null = null,
  more: ActionOptions = {},
) =>
  action(id, {
    tool_call: {
      id: `call-${id}`,
      name: 'ls',
      arguments: '{}',
      origin: 'responses',
      responses_item_id: item,
    },
    responses_reasoning_item: reasoning,
    ...more,
  })

const message = (content: string, reasoning: ReasoningItemModel | null = null) =>
  agent('m', content, {
    llm_message: { role: 'assistant', content: [text(content)], responses_reasoning_item: reasoning },
  })

const rs = (id: string | null): ReasoningItemModel => ({ id, encrypted_content: `secret of ${id}` })

/** The ids of reasoning items and the types of other items, in order, without user messages. */
const order = (...events: readonly Event[]) =>
  input(...events).flatMap((item) => {
    if (item.type === 'message' && item.role === 'user') return []
    return [item.type === 'reasoning' ? item.id : item.type]
  })

describe('item ids', () => {
  it('are sent once, and only if the provider accepts them back', () => {
    const ids = [null, '', '123', 'call_x', 'fc_é', `fc_${'x'.repeat(80)}`, 'fc_ok', 'fc_ok', 'fcok']
    const events = ids.flatMap((id, n) => {
      const event = call(`a${n}`, id)
      return [event, observe(`o${n}`, event)]
    })
    const items = input(...events).flatMap((item) => (item.type === 'function_call' ? [item] : []))
    expect(items.map((item) => item.id)).toEqual([...Array(6).fill(undefined), 'fc_ok', undefined, 'fcok'])
    expect(items.map((item) => item.call_id)).toEqual(ids.map((_, n) => `call-a${n}`))
  })
})

describe('reasoning items', () => {
  it('directly precede the message or call that they led to', () => {
    const one = call('a1', null, rs('rs_1'), { response: 'r', thought: 'go' })
    const two = call('a2', null, rs('rs_2'), { response: 'r' })
    expect(order(one, two, observe('o1', one), observe('o2', two))).toEqual([
      'rs_1',
      'message',
      'function_call',
      'rs_2',
      'function_call',
      'function_call_output',
      'function_call_output',
    ])
  })

  it('are sent once, and only with an id that the provider accepts', () => {
    const calls = [
      rs('rs_1'),
      rs('rs_1'),
      rs(null),
      rs(''),
      rs('x'),
      rs('rs_é'),
      rs(`rs_${'x'.repeat(80)}`),
    ].map((item, n) => call(`a${n}`, null, item))
    const events = calls.flatMap((event, n) => [event, observe(`o${n}`, event)])
    expect(order(...events).filter((each) => each.startsWith('rs'))).toEqual(['rs_1'])
  })

  it('are left out together with the item id of their call when they cannot be sent', () => {
    const other = call('a', 'fc_1', { id: 'other', summary: [] })
    const lost = input(other, observe('oa', other))
    expect(lost[0]).not.toHaveProperty('id')
    const bare = call('a', 'fc_1', { id: 'rs_1', summary: [] })
    expect(order(bare, observe('oa', bare))).toEqual(['function_call', 'function_call_output'])
    expect(input(bare, observe('oa', bare))[0]).not.toHaveProperty('id')
    const sealed = call('a', 'fc_1', { ...rs('rs_1'), summary: [] })
    const stored = input(sealed, observe('oa', sealed))
    expect(stored.map((item) => 'id' in item && item.id)).toEqual(['rs_1', 'fc_1', false])
  })

  it('precede a message, and are left out when nothing follows', () => {
    expect(order(message('hello', rs('rs_1')))).toEqual(['rs_1', 'message'])
    expect(order(message(' ', rs('rs_1')))).toEqual([])
  })

  it('contain no lone surrogates', () => {
    expect(order(message('hello', { id: 'rs_1', encrypted_content: '\ud800' }))).toEqual(['message'])
    expect(input(message('hello', { ...rs('rs_1'), summary: ['\ud800'] }))[0]).toEqual({
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: '\ufffd' }],
      encrypted_content: rs('rs_1').encrypted_content,
    })
  })
})

describe('a history that does not start with the user', () => {
  it('gets an opening user message, also when the grammar cannot express its only message', () => {
    const opening = {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: '[The conversation begins here.]' }],
    }
    expect(write(system('s'))).toEqual({ instructions: 's', input: [opening] })
    expect(write(message(' ', { id: 'rs_1' }))).toEqual({ instructions: null, input: [opening] })
    expect(write(...pair('1')).input[0]).toEqual(opening)
  })
})

describe('call ids', () => {
  it('have at most 64 characters, and are rewritten equally in call and result', () => {
    const ids = ['x'.repeat(64), 'y'.repeat(65), 'y'.repeat(65), 'tool-call id']
    const { input } = write(user('u'), ...ids.flatMap((id, n) => pair(`${n}`, { call: id })))
    const sent = ['x'.repeat(64), 'y'.repeat(64), `${'y'.repeat(56)}_2`, 'tool-call_id']
    expect(input.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : []))).toEqual(sent)
    expect(input.flatMap((item) => (item.type === 'function_call_output' ? [item.call_id] : []))).toEqual(
      sent,
    )
  })
})
