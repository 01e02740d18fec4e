/** `fromOpenAIChat` and `collectOpenAIChat`: outcomes, and deviations of compatible servers. */

import { describe, expect, it } from 'vitest'
import { collectOpenAIChat, fromOpenAIChat } from '../../src/messages/openai-chat/read.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toOpenAIChat } from '../../src/messages/openai-chat/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'
import { describeRecorded } from './recorded-replies.ts'

const call = (id: string, input: string, name = 'ls') => ({
  id,
  type: 'function',
  function: { name, arguments: input },
})
const replied = (message: object, finish_reason = 'stop') =>
  fromOpenAIChat({ choices: [{ message: { role: 'assistant', ...message }, finish_reason }] })
const chunk = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ delta, finish_reason }],
})
const thought = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] })

/** Returns the outcome after each chunk. */
const outcomes = (...chunks: readonly object[]) => {
  const { push, end } = collectOpenAIChat()
  return chunks.map((each) => {
    push(each)
    return end().outcome.type
  })
}

describe('fromOpenAIChat', () => {
  it.each([
    [{ content: 'x' }, 'stop', { type: 'done' }],
    [{ content: 'x' }, 'length', { type: 'truncated', reason: 'length' }],
    [{ content: 'x' }, 'content_filter', { type: 'filtered', reason: 'content_filter' }],
    [{ content: 'x' }, 'model_length', { type: 'truncated', reason: 'model_length' }],
    [{ content: 'x' }, 'sensitive', { type: 'filtered', reason: 'sensitive' }],
    [
      { content: 'x' },
      'insufficient_system_resource',
      { type: 'failed', explanation: 'insufficient_system_resource' },
    ],
    [{ content: 'x' }, 'network_error', { type: 'failed', explanation: 'network_error' }],
    [{ content: 'x' }, 'abort', { type: 'broken_off', text: 'x' }],
    [{ content: [{ type: 'text', text: 'x' }] }, 'abort', { type: 'broken_off', text: 'x' }],
    [{ content: null, refusal: 'No.' }, 'stop', { type: 'refused', explanation: 'No.' }],
    // Some servers end a reply with calls by `stop`.
    [{ tool_calls: [call('a', '{}')] }, 'stop', { type: 'tool_calls' }],
  ])('derives the outcome of %j with the finish reason %s', (message, reason, outcome) => {
    expect(replied(message, reason).outcome).toEqual(outcome)
  })

  it('the outcome of an aborted stream contains its text', () => {
    const stream = collectOpenAIChat()
    stream.push(chunk({ content: 'half an ' }))
    stream.push(chunk({ content: 'ans' }, 'abort'))
    expect(stream.end().outcome).toEqual({ type: 'broken_off', text: 'half an ans' })
  })

  it.each([
    ['{"a"', 'tool_calls', 'its arguments are not a readable JSON object'],
    ['{}', 'length', 'the reply was cut off in the middle of it'],
    ['{}', 'content_filter', 'the reply was held back by a content filter'],
  ])('does not execute a call with %s in a reply ended by %s', (input, reason, why) => {
    const [action, error] = replied({ tool_calls: [call('a', input)] }, reason).events
    expect(action).toMatchObject({ action: null, tool_call: { arguments: input } })
    expect(error).toMatchObject({ error: `The call was not executed: ${why}.` })
  })

  it('reads empty arguments as an empty object', () => {
    expect(replied({ tool_calls: [call('a', '')] }).events).toMatchObject([{ action: { kind: 'LsAction' } }])
  })

  it('keeps the signature of a thinking part, and does not send it back', () => {
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 's' }
    const { events } = replied({ content: [thinking, { type: 'text', text: 'x' }] })
    expect(events).toMatchObject([
      {
        llm_message: {
          content: [{ text: 'x' }],
          reasoning_content: 'Hm.',
          reply: { parts: [{ other: { thinking: { signature: 's' } } }, { text: 0 }] },
        },
      },
    ])
    expect(toOpenAIChat(toMessages(replay(events)))[1]).toEqual({ role: 'assistant', content: 'x' })
  })

  it.each(['reasoning', 'reasoning_content'])(
    'records the field of reasoning, which is sent back there with calls: %s',
    (field) => {
      const { events } = replied({ [field]: 'Hm.', tool_calls: [call('a', '{}')] })
      const [action] = events as readonly { tool_call: { reply?: { parts?: object[] } } }[]
      expect(action?.tool_call.reply?.parts?.filter((part) => 'other' in part)).toEqual([
        { other: { [field]: true } },
      ])
      const messages = toMessages(replay(events), { pending: { close: 'x' } })
      expect(toOpenAIChat(messages)[1]).toEqual({
        role: 'assistant',
        tool_calls: [call('a', '{}')],
        [field]: 'Hm.',
      })
      expect(JSON.stringify(toAnthropic(messages))).not.toContain('Hm.')
    },
  )

  it('reads a refusal as text, and records that it is one', () => {
    expect(replied({ content: null, refusal: 'No.' }).events[0]).toMatchObject({
      llm_message: {
        content: [{ text: 'No.' }],
        reply: { parts: [{ text: 0, more: { type: 'refusal' } }] },
      },
    })
  })

  it('reports an unsupported custom call as not executed', () => {
    const custom = { id: 'a', type: 'custom', custom: { name: 'sql', input: 'select 1' } }
    expect(replied({ tool_calls: [custom] }).events).toMatchObject([
      { action: null, tool_name: 'sql', tool_call: { arguments: 'select 1' } },
      { error: 'The call was not executed: calls of custom tools are not supported.' },
    ])
  })
})

describe('collectOpenAIChat', () => {
  it('separates calls without an index by id, and keeps a repeated name once', () => {
    const { push, end } = collectOpenAIChat()
    const piece = (id: string, input: string) => push(chunk({ tool_calls: [call(id, input)] }))
    piece('a', '{"p":')
    piece('a', '1}')
    piece('b', '{}')
    push(chunk({}, 'tool_calls'))
    expect(end().events).toMatchObject([
      { tool_call_id: 'a', tool_name: 'ls', action: { p: 1 } },
      { tool_call_id: 'b', tool_name: 'ls', action: {} },
    ])
  })

  it('separates named calls that share an index; a new id without a name starts no call', () => {
    const { push, end } = collectOpenAIChat()
    for (const id of ['a', 'b']) push(chunk({ tool_calls: [{ ...call(id, '{"p":'), index: 0 }] }))
    push(chunk({ tool_calls: [{ index: 0, id: 'other', function: { arguments: '2}' } }] }))
    push(chunk({}, 'tool_calls'))
    expect(end().events).toMatchObject([
      { tool_call_id: 'a', tool_call: { arguments: '{"p":' } },
      { tool_call_id: 'b', action: { p: 2 } },
      { kind: 'AgentErrorEvent', tool_call_id: 'a' },
    ])
  })

  it('accepts arguments as an object, and a usage inside the choice', () => {
    const { push, end } = collectOpenAIChat()
    push(chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'ls', arguments: { p: 1 } } }] }))
    const usage = { prompt_tokens: 3, completion_tokens: 2 }
    push({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls', usage }] })
    expect(end().events).toMatchObject([{ action: { p: 1 }, tool_call: { reply: { tokens: [3, 2] } } }])
  })

  it('emits text and thinking from lists of parts, and text from strings between them', () => {
    const { push, end } = collectOpenAIChat()
    const contents = [[thought('A gre')], [thought('eting.')], [{ type: 'text', text: 'Hel' }], 'lo', '']
    const deltas = contents.flatMap((content) => push(chunk({ content })))
    expect(deltas.map(({ content, reasoning_content }) => content ?? [reasoning_content])).toEqual([
      ['A gre'],
      ['eting.'],
      'Hel',
      'lo',
    ])
    expect(end().outcome).toEqual({ type: 'broken_off', text: 'Hello' })
    push(chunk({}, 'stop'))
    const whole = replied({ content: [thought('A greeting.'), { type: 'text', text: 'Hello' }] })
    expect(end()).toEqual(whole)
    expect(whole.events).toMatchObject([
      { llm_message: { content: [{ text: 'Hello' }], reasoning_content: 'A greeting.' } },
    ])
  })

  it.each<[string, object, object[]]>([
    ['an entry without a name', { index: 1, id: '', function: { name: '', arguments: '' } }, []],
    ['an entry of nulls', { index: 1, id: null, function: { name: null, arguments: null } }, []],
    [
      'an entry before its name arrives',
      { index: 1, id: '', function: {} },
      [{ ...call('b', '{}'), index: 1 }],
    ],
  ])('creates no call from %s', (_, empty, later) => {
    const { push, end } = collectOpenAIChat()
    const first = { ...call('a', '{}'), index: 0 }
    for (const item of [first, empty, ...later]) push(chunk({ tool_calls: [item] }))
    push(chunk({}, 'tool_calls'))
    expect(end()).toEqual(replied({ tool_calls: [first, ...later] }, 'tool_calls'))
  })

  it('removes control tokens from a tool name', () => {
    const { push, end } = collectOpenAIChat()
    push(chunk({ tool_calls: [call('a', '{}', 'ls<|channel|>commentary')] }))
    push(chunk({}, 'tool_calls'))
    expect(end()).toEqual(replied({ tool_calls: [call('a', '{}')] }, 'tool_calls'))
  })

  it('treats a usage chunk after content as the end of a stream without a finish reason', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2 }
    const counted = { id: 'c', choices: [], usage }
    const content = chunk({ content: 'x' })
    const toolCalls = chunk({ tool_calls: [call('a', '{}')] })
    expect(outcomes(content, counted)).toEqual(['broken_off', 'done'])
    expect(outcomes(toolCalls, counted)).toEqual(['broken_off', 'tool_calls'])
    expect(outcomes(counted, content)).toEqual(['broken_off', 'broken_off'])
    expect(outcomes(content, { ...content, usage })).toEqual(['broken_off', 'broken_off'])
    expect(outcomes(content, { id: 'c', choices: [], usage: null })).toEqual(['broken_off', 'broken_off'])
    expect(outcomes(content, counted, content)).toEqual(['broken_off', 'done', 'broken_off'])
    expect(outcomes(content, counted, { choices: [], cost: '0' })).toEqual(['broken_off', 'done', 'done'])
    expect(outcomes(content, { ...counted, error: { message: 'Gone' } })).toEqual(['broken_off', 'failed'])
  })

  it.each([
    ['only a role', { role: 'assistant', content: '' }],
    ['only reasoning', { reasoning_content: 'hm' }],
    ['half a call', { content: 'x', tool_calls: [call('a', '{"path":"a')] }],
    ['a call without arguments', { tool_calls: [call('a', '')] }],
  ])('reports `broken_off` for %s, even if usage follows', (_, delta) => {
    const usage = { prompt_tokens: 3, completion_tokens: 2 }
    expect(outcomes(chunk(delta), { id: 'c', choices: [], usage })).toEqual(['broken_off', 'broken_off'])
  })

  it('keeps separate `reasoning_details` items unchanged', () => {
    const { push, end } = collectOpenAIChat()
    const items = [
      { type: 'reasoning.encrypted', data: 'a' },
      { type: 'reasoning.encrypted', data: 'b', index: null },
      { type: 'reasoning.summary', summary: 'c', index: 0, id: null },
    ]
    for (const item of items) push(chunk({ reasoning_details: [item] }))
    push(chunk({ content: 'x' }, 'stop'))
    expect(end()).toEqual(replied({ content: 'x', reasoning_details: items }))
  })

  it('reads the id and the model from the first chunk that has them', () => {
    const { push, end } = collectOpenAIChat()
    push({ id: '', created: 0, model: '', object: '', choices: [], prompt_filter_results: [] })
    push({ ...chunk({ content: 'x' }), id: 'c1', model: 'gpt-6' })
    push({ ...chunk({}, 'stop'), id: 'c2', model: 'other' })
    expect(end().events).toMatchObject([
      { llm_response_id: 'c1', llm_message: { reply: { model: 'gpt-6' } } },
    ])
  })

  it('adds the creation time to the ids of Ollama, which repeat', () => {
    const { push, end } = collectOpenAIChat()
    push({ ...chunk({ content: 'x' }, 'stop'), id: 'chatcmpl-512', created: 1_764_100_000 })
    expect(end().events).toMatchObject([{ llm_response_id: 'chatcmpl-512-1764100000' }])
  })

  it.each([
    [
      { base_resp: { status_code: 1008, status_msg: 'insufficient balance' }, choices: null },
      'insufficient balance',
    ],
    [{ object: 'error', message: 'Too long.', code: 400 }, 'Too long.'],
    [{ error: { code: 502 } }, '{"code":502}'],
    [{ error: { body: 'x'.repeat(1000) } }, `{"body":"${'x'.repeat(391)}`],
  ])('reports the error of a chunk: %j', (error, explanation) => {
    const { push, end } = collectOpenAIChat()
    push({ ...chunk({ content: 'x' }), base_resp: { status_code: 0, status_msg: '' }, error: '' })
    push(error)
    expect(end().outcome).toEqual({ type: 'failed', explanation })
    expect(end().events).toMatchObject([{ llm_message: { content: [{ text: 'x' }] } }])
  })

  it.each([
    ['max_tokens', 'truncated'],
    ['MAX_TOKENS', 'truncated'],
    ['model_context_window_exceeded', 'truncated'],
    ['SAFETY', 'filtered'],
    ['PROHIBITED_CONTENT', 'filtered'],
    ['refusal', 'refused'],
  ])('recognizes the reason of another provider: %s', (finish_reason, type) => {
    const { outcome } = fromOpenAIChat({ choices: [{ message: { content: 'x' }, finish_reason }] } as never)
    expect(outcome).toMatchObject({ type })
  })

  it('reports the error of a failed stream', () => {
    const { push, end } = collectOpenAIChat()
    push({ error: { message: 'Overloaded' } })
    expect(end().outcome).toEqual({ type: 'failed', explanation: 'Overloaded' })
    const choice = { index: 0, delta: { content: '' }, finish_reason: 'error', error: { message: 'Cut.' } }
    push({ id: 'c', choices: [choice] })
    expect(end().outcome).toEqual({ type: 'failed', explanation: 'Cut.' })
  })

  it.each([
    [{ error: { message: 'Overloaded', code: 502 } }, 'Overloaded'],
    [{ error: 'Overloaded', choices: [{ message: { content: 'x' }, finish_reason: 'stop' }] }, 'Overloaded'],
    [
      { choices: [{ message: { content: 'x' }, finish_reason: 'error', error: { message: 'Cut.' } }] },
      'Cut.',
    ],
    [{ choices: [{ message: { content: 'x' }, finish_reason: 'error' }] }, null],
    [
      { choices: [{ message: { content: 'x' }, finish_reason: 'MALFORMED_FUNCTION_CALL' }] },
      'MALFORMED_FUNCTION_CALL',
    ],
  ])('reports the failure of a complete response: %j', (input, explanation) => {
    const { events, outcome } = fromOpenAIChat(input as never)
    expect(outcome).toEqual({ type: 'failed', explanation })
    expect(events).toMatchObject('choices' in input ? [{ llm_message: { content: [{ text: 'x' }] } }] : [])
  })
})

describeRecorded('recorded replies of servers that speak Chat Completions', 'openai-chat', (replies) => {
  it('are sent back unchanged', () => {
    for (const { file, reply } of replies) {
      const { message } = (reply['choices'] as { message: { tool_calls: object[] } }[])[0] as never
      const { events, outcome } = fromOpenAIChat(reply as never)
      expect(outcome, file).toEqual({ type: 'tool_calls' })
      const sent = toOpenAIChat(toMessages(replay(events), { pending: { close: 'x' } }))
      const { tool_calls, reasoning_content } = message as {
        tool_calls: Record<string, unknown>[]
        reasoning_content?: string
      }
      // Some servers repeat the list position as `index`.
      const calls = tool_calls.map(({ id, type, function: target }) => ({ id, type, function: target }))
      expect(
        sent.find(({ role }) => role === 'assistant'),
        file,
      ).toEqual({
        role: 'assistant',
        tool_calls: calls,
        ...(reasoning_content === undefined ? {} : { reasoning_content }),
      })
      expect(events[0], file).toMatchObject(reasoning_content === undefined ? {} : { reasoning_content })
    }
  })
})
