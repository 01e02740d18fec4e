/** `fromOpenAIResponses` and `collectOpenAIResponses`: reasoning, calls that are not executed, and outcomes. */

import { describe, expect, it } from 'vitest'
import { replyPlaceholder } from '../../src/messages/reply-parts.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { collectOpenAIResponses, fromOpenAIResponses } from '../../src/messages/openai-responses/read.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { replay } from '../../src/state/reduce.ts'
import { validateOpenAiResponses } from '../../src/messages/openai-responses/rules.ts'
import { describeRecorded } from './recorded-replies.ts'

const call = (call_id: string, input = '{}', status = 'completed') => {
  return { type: 'function_call', id: `fc_${call_id}`, call_id, name: 'ls', arguments: input, status }
}
const message = (...content: object[]) => ({ type: 'message', id: 'msg_1', role: 'assistant', content })
const textMessage = (text: string) => message({ type: 'output_text', text, annotations: [] })
const reasoning = (id: string) => ({ type: 'reasoning', id, summary: [], encrypted_content: `gAAA-${id}` })
const replied = (output: object[], more: object = {}) => fromOpenAIResponses({ output, ...more })

describe('fromOpenAIResponses', () => {
  it('attaches each reasoning item to the next call, and keeps the last one as a part', () => {
    const { events } = replied([
      reasoning('rs_1'),
      call('a'),
      reasoning('rs_2'),
      call('b'),
      reasoning('rs_3'),
    ])
    expect(events).toMatchObject([
      {
        responses_reasoning_item: { id: 'rs_1' },
        tool_call: { responses_item_id: 'fc_a', origin: 'responses' },
      },
      { responses_reasoning_item: { id: 'rs_2' } },
    ])
    expect(events[0]).toHaveProperty('tool_call.reply.parts', [
      { reasoning: 0 },
      { call: 0 },
      { reasoning: 1 },
      { call: 1 },
      { other: reasoning('rs_3') },
    ])
  })

  it('records the input transformations of the provider, also from a stream', () => {
    const input_transformations = [
      { type: 'reasoning', id: 'rs_0', action: 'removed', reason: 'prefix_mismatch' },
    ]
    const response = { id: 'r', status: 'completed', output: [textMessage('A')], input_transformations }
    const stream = collectOpenAIResponses()
    stream.push({ type: 'response.completed', response })
    for (const { events } of [fromOpenAIResponses(response), stream.end()])
      expect(events[0]).toHaveProperty('llm_message.reply.metadata', { input_transformations })
  })

  it.each([
    { type: 'code_interpreter_call', id: 'ci_1', container_id: 'c', code: 'print(', status: 'interpreting' },
    { type: 'image_generation_call', id: 'ig_1', result: null, status: 'generating' },
    { type: 'mcp_call', id: 'mcp_1', server_label: 's', name: 'x', arguments: '', status: 'in_progress' },
    { type: 'web_search_call', id: 'ws_1', action: { type: 'search', query: 'q' }, status: 'searching' },
  ])('an unfinished server call of a broken-off reply is sent back only as text: $type', (item) => {
    const stream = collectOpenAIResponses()
    stream.push({ type: 'response.output_item.added', output_index: 0, item })
    stream.push({ type: 'response.output_text.delta', output_index: 1, item_id: 'm', delta: 'Hi.' })
    const state = replay(stream.end().events.map((event, id) => ({ ...event, id: `e${id}` })) as never)
    const request = toOpenAIResponses(toMessages(state))
    expect(JSON.stringify(request)).toContain(`[${item.type}`)
    expect(JSON.stringify(request)).not.toContain(item.id)
    expect(validateOpenAiResponses(request)).toEqual([])
  })

  it.each(['', ' '])('reasoning before a blank text is not sent back: %j', (blank) => {
    const output = [
      textMessage('A'),
      reasoning('rs_1'),
      textMessage(blank),
      reasoning('rs_2'),
      textMessage('B'),
    ]
    const request = toOpenAIResponses(toMessages(replay(replied(output).events)))
    expect(validateOpenAiResponses(request)).toEqual([])
    expect(request.input.flatMap((item) => (item.type === 'reasoning' ? [item.id] : [])).at(-1)).toBe('rs_2')
  })

  it('keeps the phase and annotations of a message, and reads a refusal as text', () => {
    const cited = { type: 'output_text', text: 'x', annotations: [{ type: 'url_citation' }] }
    expect(replied([{ ...message(cited), phase: 'commentary' }]).events[0]).toHaveProperty(
      'llm_message.reply.parts',
      [{ text: 0, more: { id: 'msg_1', phase: 'commentary', annotations: cited.annotations } }],
    )
    const { events, outcome } = replied([message({ type: 'refusal', refusal: 'No.' })])
    expect(outcome).toEqual({ type: 'refused', explanation: 'No.' })
    expect(events[0]).toMatchObject({ llm_message: { content: [{ text: 'No.' }] } })
  })

  it.each([
    [{ status: 'completed' }, { type: 'done' }],
    [{}, { type: 'done' }],
    [
      { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
      { type: 'truncated', reason: 'max_output_tokens' },
    ],
    [
      { status: 'incomplete', incomplete_details: { reason: 'content_filter' } },
      { type: 'filtered', reason: 'content_filter' },
    ],
    [
      { status: 'failed', error: { message: 'Down.' } },
      { type: 'failed', explanation: 'Down.' },
    ],
    [{ error: { message: 'Down.' } }, { type: 'failed', explanation: 'Down.' }],
    [{ status: 'cancelled' }, { type: 'broken_off', text: 'x' }],
    [{ status: 'queued' }, { type: 'broken_off', text: 'x' }],
    [{ status: 'in_progress' }, { type: 'broken_off', text: 'x' }],
  ])('derives the outcome from %j', (ending, outcome) => {
    const reply = replied([textMessage('x')], ending)
    expect(reply.outcome).toEqual(outcome)
    expect(reply.events).toMatchObject([{ llm_message: { content: [{ text: 'x' }] } }])
  })

  it.each([
    [call('a', '{"p":', 'incomplete'), {}, 'the reply was cut off in the middle of it'],
    [call('a'), { status: 'incomplete' }, 'the reply was cut off in the middle of it'],
    [call('a', 'ls -la'), {}, 'its arguments are not a readable JSON object'],
    [
      { type: 'custom_tool_call', call_id: 'a', name: 'sql', input: 'select 1' },
      {},
      'calls of custom tools are not supported',
    ],
  ])('does not execute %j, and reports why', (item, ending, why) => {
    expect(replied([item], ending).events).toMatchObject([
      { kind: 'ActionEvent', action: null },
      { kind: 'AgentErrorEvent', tool_call_id: 'a', error: `The call was not executed: ${why}.` },
    ])
  })
})

const written = (output: readonly object[]): object[] => {
  const { events } = fromOpenAIResponses({ output } as never)
  return toOpenAIResponses(toMessages(replay(events.map((event, index) => ({ ...event, id: `e${index}` })))))
    .input
}

describe('the id of a message', () => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'e' }
  const message = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'x', annotations: [] }],
  }
  it('is sent back only after its reasoning item', () => {
    expect(written([reasoning, message]).slice(1, 3)).toEqual([reasoning, message])
    expect(written([message])[1]).toEqual({ type: 'message', role: 'assistant', content: 'x' })
  })

  it('is left out with reasoning that is not sent', () => {
    const { encrypted_content: _, ...plain } = reasoning
    expect(written([plain, message])[1]).toEqual({ type: 'message', role: 'assistant', content: 'x' })
  })
})

describe('collectOpenAIResponses', () => {
  it('keeps the text of a stream without items', () => {
    const { push, end } = collectOpenAIResponses()
    push({ type: 'response.output_text.delta', delta: 'Oak' })
    push({ type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } })
    expect(end().events).toMatchObject([{ llm_message: { content: [{ text: 'Oak' }] } }])
  })

  it('emits reasoning deltas, and reports the error of a failed stream', () => {
    const { push, end } = collectOpenAIResponses()
    expect(push({ type: 'response.reasoning_summary_text.delta', delta: 'hm' })).toEqual([
      { kind: 'StreamingDeltaEvent', source: 'agent', reasoning_content: 'hm' },
    ])
    push({ type: 'error', message: 'Overloaded' })
    expect(end()).toMatchObject({
      events: [{ llm_message: { responses_reasoning_item: { summary: ['hm'] } } }],
      outcome: { type: 'failed', explanation: 'Overloaded' },
    })
    push({ type: 'error', error: { type: 'server_error', message: 'Down.' } })
    expect(end().outcome).toEqual({ type: 'failed', explanation: 'Down.' })
    const unexplained = collectOpenAIResponses()
    unexplained.push({ type: 'error', error: '', message: 'Overloaded' })
    expect(unexplained.end().outcome).toEqual({ type: 'failed', explanation: 'Overloaded' })
  })

  it('reads the output of a call once, if neither has an item id', () => {
    const { push, end } = collectOpenAIResponses()
    const call = { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] }, status: 'completed' }
    const output = { type: 'shell_call_output', call_id: 'c', output: [{ stdout: 'a' }] }
    for (const [output_index, item] of [call, output].entries())
      for (const end of ['added', 'done']) push({ type: `response.output_item.${end}`, output_index, item })
    push({ type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } })
    expect(end().events).toMatchObject([
      { llm_message: { reply: { parts: [{ other: call }, { other: output }] } } },
    ])
  })
})

describeRecorded('recorded replies of OpenAI Responses', 'openai-responses', (replies) => {
  it('are sent back unchanged up to the first reasoning item without encrypted content', () => {
    let whole = 0
    for (const { file, reply } of replies) {
      const output = reply['output'] as Record<string, unknown>[]
      const { events } = fromOpenAIResponses(reply as never)
      const { input } = toOpenAIResponses(toMessages(replay(events), { pending: { close: 'x' } }))
      const sent = input.filter(
        (item) =>
          item.type !== 'function_call_output' && (item.type !== 'message' || item.role === 'assistant'),
      )
      const firstLost = output.findIndex(
        ({ type, encrypted_content }) => type === 'reasoning' && !encrypted_content,
      )
      if (firstLost >= 0) {
        expect(sent.slice(0, firstLost), file).toEqual(output.slice(0, firstLost).map(bare))
        const texts = JSON.stringify(sent.slice(firstLost))
        for (const item of output.slice(firstLost).filter(({ type }) => type !== 'reasoning')) {
          const [{ text } = {}] = (item['content'] ?? []) as { readonly text?: string }[]
          const sentText = text ?? replyPlaceholder(item as never) ?? ''
          expect(texts, file).toContain(JSON.stringify(sentText).slice(1, -1))
        }
        continue
      }
      whole += 1
      expect(sent, file).toEqual(output.map(bare))
    }
    expect(whole).toBeGreaterThan(4)
  })
})

/** An item as it is sent back: a short message, a call without its status, reasoning without its text. */
function bare(item: Record<string, unknown>): object {
  const { status: _, content, caller, ...rest } = item
  const isDirect = (caller as { type?: string } | undefined)?.type === 'direct'
  if (item['type'] === 'function_call')
    return { ...rest, ...(caller === undefined || isDirect ? {} : { caller }) }
  if (item['type'] === 'reasoning') return rest
  if (item['type'] !== 'message') return item
  const [{ text }] = content as [{ text: string }]
  return { type: 'message', role: 'assistant', content: text }
}
