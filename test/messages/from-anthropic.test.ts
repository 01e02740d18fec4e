/** `fromAnthropic` and `collectAnthropic`: events of a reply, calls that are not executed, and outcomes. */

import { describe, expect, it } from 'vitest'
import { collectAnthropic, fromAnthropic } from '../../src/messages/anthropic/read.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { requestRecord } from '../../src/messages/prefix.ts'
import { replay } from '../../src/state/reduce.ts'
import { replyOf } from '../../src/event/reply.ts'
import type { Event } from '../../src/event/types.ts'
import { describeRecorded } from './recorded-replies.ts'

const call = (id: string, name: string, input: unknown) => ({ type: 'tool_use', id, name, input })
const text = (text: string) => ({ type: 'text', text: text })
const user: Event = {
  kind: 'MessageEvent',
  id: 'u',
  source: 'user',
  llm_message: { role: 'user', content: [{ text: 'hi' }] },
}

const start = (content_block: object, index = 0) => ({ type: 'content_block_start', index, content_block })
const delta = (fields: object, index = 0) => ({ type: 'content_block_delta', index, delta: fields })
const end = (stop_reason: string) => ({
  type: 'message_delta',
  delta: { stop_reason },
  usage: { output_tokens: 2 },
})

/** The blocks of a reply in the next request. */
function sentAgain(reply: object) {
  const state = replay([user, ...fromAnthropic(reply as never).events])
  return toAnthropic(toMessages(state, { pending: { close: 'x' } })).messages[1]?.content
}

describe('fromAnthropic', () => {
  it('returns one action per call; only the first has text, thinking and the full record', () => {
    const state = replay([user])
    const request = toAnthropic(toMessages(state), { tools: [{ name: 'ls' }] })
    const { prefix, tools } = requestRecord(request) ?? {}
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's' }
    const { events, outcome } = fromAnthropic(
      {
        id: 'msg_1',
        model: 'claude',
        content: [thinking, text('I look.'), call('a', 'ls', { path: '.' }), call('b', 'file_editor', {})],
        stop_reason: 'tool_use',
        usage: { input_tokens: 3, output_tokens: 5, server_tool_use: null },
      } as never,
      { state, request: { model: 'claude', ...request } },
    )
    expect(outcome).toEqual({ type: 'tool_calls' })
    expect(events).toEqual([
      {
        kind: 'ActionEvent',
        source: 'agent',
        thought: [text('I look.')],
        thinking_blocks: [thinking],
        action: { kind: 'LsAction', path: '.' },
        tool_name: 'ls',
        tool_call_id: 'a',
        tool_call: {
          id: 'a',
          name: 'ls',
          arguments: '{"path":"."}',
          origin: 'completion',
          reply: {
            after: 'u',
            grammar: 'anthropic',
            model: 'claude',
            prefix,
            tools,
            digest: expect.any(String),
            tokens: [3, 5],
          },
        },
        llm_response_id: 'msg_1',
      },
      {
        kind: 'ActionEvent',
        source: 'agent',
        thought: [],
        action: { kind: 'FileEditorAction' },
        tool_name: 'file_editor',
        tool_call_id: 'b',
        tool_call: {
          id: 'b',
          name: 'file_editor',
          arguments: '{}',
          origin: 'completion',
          reply: { after: 'u' },
        },
        llm_response_id: 'msg_1',
      },
    ])
  })

  it.each([
    ['an unknown tool', [call('a', 'rm', {})], 'tool_use', 'there is no tool "rm"'],
    [
      'arguments that are not an object',
      [call('a', 'ls', [1])],
      'tool_use',
      'its arguments are not a readable JSON object',
    ],
    [
      'a reply cut off in the call',
      [text('x'), call('a', 'ls', {})],
      'max_tokens',
      'the reply was cut off in the middle of it',
    ],
    ['a refused reply', [call('a', 'ls', {})], 'refusal', 'the reply was ended by a refusal'],
  ])('reports why a call is not executed: %s', (_, content, stop_reason, why) => {
    const { events } = fromAnthropic({ content, stop_reason } as never, { tools: [{ name: 'ls' }] })
    const [action, error] = events
    expect(action).toMatchObject({ kind: 'ActionEvent', action: null })
    expect(error).toMatchObject({
      kind: 'AgentErrorEvent',
      tool_call_id: 'a',
      error: `The call was not executed: ${why}.`,
    })
    expect(events).toHaveLength(2)
  })

  it('executes the calls before a truncated one', () => {
    const content = [call('a', 'ls', {}), call('b', 'ls', {})]
    const { events, outcome } = fromAnthropic({ content, stop_reason: 'max_tokens' } as never)
    expect(outcome).toEqual({ type: 'truncated', reason: 'max_tokens' })
    expect(events.map((event) => ('action' in event ? event.action : event.kind))).toEqual([
      { kind: 'LsAction' },
      null,
      'AgentErrorEvent',
    ])
  })

  it('assigns ids to calls without one, and merges calls with the same id', () => {
    const content = [call('', 'ls', 1), call('', 'ls', {}), call('x', 'ls', 1), call('x', 'ls', {})]
    const { events } = fromAnthropic({ content } as never)
    const named = events.map((event) => ('tool_call_id' in event ? event.tool_call_id : ''))
    expect(named).toEqual(['call', 'call_2', 'x', 'call', 'x'])
  })

  it.each([
    [{ stop_reason: 'end_turn' }, { type: 'done' }],
    [{ stop_reason: null }, { type: 'done' }],
    [{ stop_reason: 'pause_turn' }, { type: 'paused' }],
    [{ stop_reason: 'compaction' }, { type: 'paused' }],
    [{ stop_reason: 'refusal' }, { type: 'refused', explanation: null }],
    [
      { stop_reason: 'refusal', stop_details: { explanation: 'No.' } },
      { type: 'refused', explanation: 'No.' },
    ],
    [
      { stop_reason: 'model_context_window_exceeded' },
      { type: 'truncated', reason: 'model_context_window_exceeded' },
    ],
  ])('derives the outcome from %j', (ending, outcome) => {
    expect(fromAnthropic({ content: [text('x')], ...ending } as never).outcome).toEqual(outcome)
  })

  it('records the details of a refusal and of a cache miss', () => {
    const stop_details = { type: 'refusal', category: 'cyber', explanation: 'No.' }
    const diagnostics = { cache_miss_reason: { type: 'messages_changed', cache_missed_input_tokens: 9 } }
    const reply = { content: [text('x')], stop_reason: 'refusal', stop_details, diagnostics }
    const [event] = fromAnthropic(reply as never).events
    expect(replyOf(event as Event)?.metadata).toEqual({ stop_details, diagnostics })
  })

  it('keeps unknown blocks and citations at their positions', () => {
    const server = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
    const cited = { ...text('x'), citations: [{ type: 'char_location' }] }
    const { events } = fromAnthropic({
      content: [text('y'), server, cited],
      stop_reason: 'end_turn',
    } as never)
    expect(events[0]).toHaveProperty('llm_message.reply.parts', [
      { text: 0 },
      { other: server },
      { text: 1, more: { citations: cited.citations } },
    ])
  })

  it('keeps server tool blocks and their thinking for the next request', () => {
    const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'oak' } }
    const matches = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
    const cited = { ...text('x'), citations: [{ type: 'char_location', cited_text: 'x' }] }
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's' }
    const content = [thinking, search, matches, thinking, cited]
    expect(sentAgain({ content })).toEqual(content)
  })

  it('the next request omits thinking around a block that cannot be sent back', () => {
    const newer = { type: 'a_kind_of_tomorrow' }
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's' }
    const report = text('[a_kind_of_tomorrow]')
    expect(sentAgain({ content: [thinking, newer, thinking, text('x')] })).toEqual([report, text('x')])
    expect(sentAgain({ content: [thinking, newer, text('x')] })).toEqual([thinking, report, text('x')])
    expect(sentAgain({ content: [thinking, text('w'), thinking, text('x')] })).toEqual([
      thinking,
      text('w'),
      thinking,
      text('x'),
    ])
  })
})

describe('collectAnthropic', () => {
  it('does not execute a call with truncated arguments, and keeps their text', () => {
    const { push, end: reply } = collectAnthropic()
    push(start(call('a', 'ls', {})))
    push(delta({ type: 'input_json_delta', partial_json: '{"path": "/et' }))
    push(end('max_tokens'))
    const [action, error] = reply().events
    expect(action).toMatchObject({ action: null, tool_call: { arguments: '{"path": "/et' } })
    expect(error).toMatchObject({ kind: 'AgentErrorEvent' })
  })

  it('emits thinking as reasoning deltas', () => {
    const { push } = collectAnthropic()
    push(start({ type: 'thinking', thinking: '', signature: '' }))
    expect(push(delta({ type: 'thinking_delta', thinking: 'hm' }))).toEqual([
      { kind: 'StreamingDeltaEvent', source: 'agent', reasoning_content: 'hm' },
    ])
  })

  it('distinguishes a failed stream from one that broke off', () => {
    const failed = collectAnthropic()
    const body = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    failed.push(body)
    expect(failed.end()).toEqual({ events: [], outcome: { type: 'failed', explanation: 'Overloaded' } })
    expect(fromAnthropic(body as never)).toEqual(failed.end())
    const unexplained = collectAnthropic()
    unexplained.push({ type: 'error', error: '' })
    expect(unexplained.end().outcome).toMatchObject({ type: 'failed' })
    expect(collectAnthropic().end()).toEqual({ events: [], outcome: { type: 'broken_off', text: '' } })
  })
})

describeRecorded('recorded replies of Anthropic', 'anthropic', (recorded) => {
  const replies = recorded.filter(({ reply }) => Array.isArray(reply['content']))

  it('are sent back unchanged, except that calls are moved to the end', () => {
    expect(replies.length).toBeGreaterThan(0)
    for (const { file, reply } of replies) {
      const blocks = reply['content'] as Record<string, unknown>[]
      const calls = blocks.filter(({ type }) => type === 'tool_use')
      const sent = [...blocks.filter(({ type }) => type !== 'tool_use'), ...calls].map((block) =>
        block['type'] === 'text' ? block : withoutDirect(block),
      )
      expect(sentAgain(reply), file).toEqual(sent)
    }
  })
})

/** Removes the caller `direct`, the default: a call by the model itself. */
function withoutDirect(block: Record<string, unknown>): object {
  const { caller, ...rest } = block
  const isDirect = (caller as { type?: string } | undefined)?.type === 'direct'
  return block['type'] === 'tool_use' && isDirect ? rest : block
}
