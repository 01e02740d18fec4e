/** Arrays of messages in the formats of OpenAI, Anthropic and the AI SDK: all content is read or reported as a note. */

import { describe, expect, it } from 'vitest'
import { recordsOf } from '../../properties/sessions/lines.ts'
import { isQuarantined, type JsonValue } from '../../src/event/index.ts'
import { listPendingCalls, replay, toAnthropic, toMessages, toOpenAIResponses } from '../../src/index.ts'
import { detectSession, readSession, type Session, type SessionFormat } from '../../src/sessions/index.ts'

const read = (values: readonly unknown[], from?: SessionFormat): Session =>
  readSession(recordsOf(values), from === undefined ? {} : { from })

/** The events, with only the fields that a test checks. */
const events = (session: Session): Record<string, unknown>[] =>
  session.facts.map(({ fact }) => fact as unknown as Record<string, unknown>)

const messageContents = (session: Session): unknown[] =>
  session.facts.flatMap(({ fact }) =>
    !isQuarantined(fact) && fact.kind === 'MessageEvent' ? [fact.llm_message.content] : [],
  )

const messagesOf = (session: Session) => toMessages(replay(session.facts.map(({ fact }) => fact)))

const textParts = (text: string) => [{ type: 'text', text }]

const ollamaCalls = (...names: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: names.map((name) => ({ function: { name, arguments: { path: 'a' } } })),
})

const said = [{ text: 'hi' }]
const FOREIGN: Readonly<Record<string, readonly object[]>> = {
  'Qwen Code': [{ type: 'user', uuid: 'u', parentUuid: null, sessionId: 's', message: { parts: said } }],
  'Kimi Code': [
    { type: 'turn.prompt', input: said },
    { type: 'context.append', message: { role: 'user' } },
  ],
  'Grok Build': [
    { type: 'reasoning', summary: [] },
    { type: 'assistant', content: 'hi' },
  ],
  Goose: [
    { role: 'assistant', content: [{ type: 'toolRequest', id: 'c', toolCall: { status: 'success' } }] },
  ],
  LangChain: [{ role: 'assistant', content: [{ type: 'tool_call', id: 'c', name: 'ls', args: {} }] }],
  OpenCode: [{ type: 'reasoning', sessionID: 's', part: { type: 'reasoning', text: 'hm' } }],
  Droid: [{ type: 'message', id: 'm', message: { role: 'user', content: said } }],
}

it.each(Object.entries(FOREIGN))('does not take a session of %s for another format', (_, values) => {
  expect(detectSession(values as readonly JsonValue[])).toBeNull()
})

describe('reading OpenAI Responses items', () => {
  it('keeps the text of messages with string content', () => {
    const input = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'hello' },
      { role: 'user', content: 'again' },
      { type: 'message', role: 'assistant', content: ['as', { type: 'input_text', text: 'before' }] },
    ]
    const session = read([{ model: 'm', input }])
    expect(messageContents(session)).toEqual([
      textParts('hi'),
      textParts('hello'),
      textParts('again'),
      [...textParts('as'), ...textParts('before')],
    ])
    expect(session.notes).toEqual([])
  })

  it('assigns each call to its own item, and other replies to their first item', () => {
    const call = { type: 'function_call', name: 'f', arguments: '{}' }
    const input = [
      { role: 'user', content: 'go' },
      { type: 'reasoning', summary: [] },
      { ...call, call_id: 'a' },
      { ...call, call_id: 'b' },
      { type: 'function_call_output', call_id: 'b', output: 'ok' },
      { type: 'reasoning', summary: [] },
      { role: 'assistant', content: 'done' },
    ]
    const { facts } = read([{ model: 'm', input }])
    expect(facts.slice(1).map(({ line, fact }) => [line, fact.id])).toEqual([
      [1, 'item-1'],
      [3, 'item-3'],
      [4, 'item-4'],
      [5, 'item-5'],
      [6, 'item-6'],
    ])
  })

  it.each([
    { type: 'function_call', name: 'f', arguments: '{}' },
    { type: 'function_call', name: 'f', arguments: '{}', call_id: '' },
    { type: 'function_call', name: 'f', arguments: '{}', call_id: 7 },
    { type: 'shell_call', id: 'sh_1', action: { commands: ['ls'] } },
  ])('assigns a call without a valid call id to its own item: %j', (call) => {
    const input = [
      { role: 'user', content: 'go' },
      { type: 'reasoning', summary: [] },
      call,
      { type: 'web_search_call', id: 'ws_1' },
      { type: 'function_call', name: 'g', arguments: '{}', call_id: 'g' },
      call,
    ]
    const { facts } = read([{ model: 'm', input }])
    expect(facts.slice(2).map(({ line, fact }) => [line, fact.id])).toEqual([
      [3, 'item-3'],
      [5, 'item-5'],
      [6, 'item-6'],
    ])
  })

  it('keeps the output of failed, cancelled and unfinished replies, and the error', () => {
    const output = [
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'so far' }] },
    ]
    const reply = { object: 'response', id: 'r', output }
    const error = { code: 'server_error', message: 'boom' }
    const failed = read([{ ...reply, status: 'failed', error }])
    expect(messageContents(failed)).toEqual([textParts('so far')])
    expect(events(failed).at(-1)).toMatchObject({
      kind: 'ConversationErrorEvent',
      code: 'server_error',
      detail: 'boom',
    })
    const bare = read([{ ...reply, output: [], status: 'failed', error: null }])
    expect(events(bare)).toMatchObject([{ kind: 'ConversationErrorEvent', code: 'failed' }])
    const cancelled = read([{ ...reply, status: 'cancelled' }])
    expect(messageContents(cancelled)).toEqual([textParts('so far')])
    expect(cancelled.notes).toEqual([{ what: 'cancelled replies', count: 1, line: 1 }])
    expect(messageContents(read([{ ...reply, status: 'in_progress' }]))).toEqual([textParts('so far')])
  })
})

const part = (text: string) => ({ parts: textParts(text) })

const screenshot = { type: 'computer_screenshot', image_url: 'data:image/png;base64,iVBORw0KGgo=' }
const exit = { type: 'exit', exit_code: 2 }
const CALL_OUTPUTS: readonly (readonly [call: object, output: object, expectedText: string])[] = [
  [
    { type: 'shell_call', id: 'i', call_id: 'c', action: { commands: ['ls'] }, status: 'completed' },
    { type: 'shell_call_output', call_id: 'c', output: [{ stdout: 'a', stderr: 'b', outcome: exit }] },
    'a',
  ],
  [
    { type: 'shell_call', id: 'i', call_id: 'c', action: { commands: ['ls'] }, status: 'completed' },
    {
      type: 'shell_call_output',
      call_id: 'c',
      max_output_length: 9,
      output: [{ stdout: 'a', stderr: '', outcome: { type: 'timeout' } }],
    },
    'a',
  ],
  [
    { type: 'local_shell_call', id: 'i', call_id: 'c', action: { type: 'exec' }, status: 'completed' },
    { type: 'local_shell_call_output', id: 'c', output: 'said', status: 'completed' },
    'said',
  ],
  [
    { type: 'apply_patch_call', id: 'i', call_id: 'c', operation: { path: 'a' }, status: 'completed' },
    { type: 'apply_patch_call_output', call_id: 'c', status: 'completed', output: 'patched' },
    'patched',
  ],
  [
    { type: 'computer_call', id: 'i', call_id: 'c', pending_safety_checks: [], status: 'completed' },
    { type: 'computer_call_output', call_id: 'c', output: screenshot },
    '"type":"image"',
  ],
  [
    { type: 'custom_tool_call', id: 'i', call_id: 'c', name: 'sh', input: 'ls' },
    { type: 'custom_tool_call_output', call_id: 'c', output: 'said' },
    'said',
  ],
  [
    { type: 'mcp_approval_request', id: 'i', name: 'n', arguments: '{}', server_label: 's' },
    { type: 'mcp_approval_response', approval_request_id: 'i', approve: false },
    'mcp_approval_response',
  ],
]

describe('a tool output of OpenAI Responses', () => {
  const go = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] }
  it.each(CALL_OUTPUTS)(
    'is sent unchanged to OpenAI, and as its content to Anthropic: %j',
    (call, output, expectedText) => {
      const actions = 'pending_safety_checks' in call ? { actions: [{ type: 'screenshot' }] } : {}
      const messages = messagesOf(read([go, { ...call, ...actions }, output]))
      expect(toOpenAIResponses(messages).input).toEqual([go, { ...call, ...actions }, output])
      const other = JSON.stringify(toAnthropic(messages))
      expect(other).toContain(expectedText)
      expect(other).not.toContain('_output')
    },
  )

  it('is an error if a patch failed', () => {
    const patch = { type: 'apply_patch_call', id: 'i', call_id: 'c', operation: {}, status: 'completed' }
    const output = { type: 'apply_patch_call_output', call_id: 'c', status: 'failed', output: 'no file' }
    const messages = messagesOf(read([go, patch, output]))
    expect(toOpenAIResponses(messages).input.at(-1)).toMatchObject({
      ...output,
      output: expect.stringContaining('no file'),
    })
    expect(toAnthropic(messages).messages.at(-1)?.content).toMatchObject([{ is_error: true }])
  })
})

describe('system prompts', () => {
  const [user, again] = [
    { role: 'user', content: 'hi' },
    { role: 'user', content: 'again' },
  ]
  const reply = { role: 'assistant', content: 'hello' }
  it.each<{ from: SessionFormat; values: unknown[] }>([
    {
      from: 'openai-chat',
      values: [{ role: 'system', content: 'main' }, { role: 'developer', content: 'more' }, user, reply],
    },
    {
      from: 'openai-responses',
      values: [
        { model: 'm', instructions: 'main', input: [{ role: 'developer', content: 'more' }, user, reply] },
      ],
    },
    {
      from: 'anthropic',
      values: [{ model: 'm', system: 'main', messages: [{ role: 'system', content: 'more' }, user, reply] }],
    },
    {
      from: 'ui-messages',
      values: [
        { role: 'system', ...part('main') },
        { role: 'system', content: 'more' },
        { ...user, ...part('hi') },
        { ...reply, ...part('hello') },
      ],
    },
  ])('are merged at the start of an array in $from, and become user messages later', ({ from, values }) => {
    const later = [{ role: 'system', content: 'by the way' }, again].map((one) =>
      from === 'ui-messages' ? { ...one, ...part(one.content) } : one,
    )
    const { facts } = read([...values, ...later], from)
    const messages = toMessages(replay(facts.map(({ fact }) => fact)))
    expect(messages.map(({ role, content }) => [role, ...content.map((one) => Object(one).text)])).toEqual([
      ['system', 'main\n\nmore'],
      ['user', 'hi'],
      ['assistant', 'hello'],
      ['user', 'by the way', 'again'],
    ])
  })
})

const call = (path: string) => ({ name: 'f', arguments: JSON.stringify({ path }) })

describe('a stored OpenAI response without its request', () => {
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hello' }] }]
  const stored = { object: 'response', id: 'r', model: 'm', metadata: { run: 1 }, tools: [{ name: 'f' }] }

  it('keeps the request fields that it contains, in its own line', () => {
    const first = { ...stored, instructions: 'brief', output }
    const session = read([first, { object: 'response', id: 's', input: 'asked in words', output }])
    expect(events(session)).toMatchObject([
      { key: 'openai-responses.request', value: { metadata: { run: 1 }, tools: [{ name: 'f' }] } },
      { kind: 'SystemPromptEvent', system_prompt: { text: 'brief' } },
      { kind: 'MessageEvent', llm_response_id: 'r' },
      { key: 'openai-responses.request', value: { input: 'asked in words' } },
      { kind: 'MessageEvent', llm_response_id: 's' },
    ])
    expect(session.facts.map(({ line }) => line)).toEqual([1, 1, 1, 2, 2])
  })

  it('is not confused with a call output that is a list', () => {
    const input = { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'ok' }] }
    expect(events(read([input]))).toMatchObject([{ kind: 'ObservationEvent', tool_call_id: 'c' }])
  })
})

describe('reading Anthropic messages', () => {
  it('keeps strings and numbers next to a tool result as text', () => {
    const result = { type: 'tool_result', tool_use_id: 't', content: 'ok' }
    const content = ['bare', result, { type: 'text', text: 'a block' }, 7]
    const session = read([{ role: 'user', content }], 'anthropic')
    expect(events(session)[0]).toMatchObject({ kind: 'ObservationEvent', tool_call_id: 't' })
    expect(messageContents(session)).toEqual([
      [...textParts('bare'), ...textParts('a block'), ...textParts('7')],
    ])
  })
})

describe('reading OpenAI Chat Completions messages', () => {
  it('keeps replies with a function call, refusal, reasoning or audio instead of content', () => {
    const session = read([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: null, function_call: call('a') },
      { role: 'function', name: 'f', content: 'same' },
      { role: 'assistant', content: null, function_call: call('b') },
      { role: 'function', name: 'f', content: 'same' },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] },
      { role: 'assistant', content: '', reasoning_content: 'hm' },
      { role: 'assistant', content: null, audio: { id: 'a', transcript: 'spoken' } },
      { role: 'assistant', content: null },
    ])
    const [, one, first, two, second, refusal, thought, audio] = events(session)
    expect([one, two]).toMatchObject([
      { kind: 'ActionEvent', action: { path: 'a' } },
      { kind: 'ActionEvent', action: { path: 'b' } },
    ])
    expect([first, second]).toMatchObject([{ action_id: one?.['id'] }, { action_id: two?.['id'] }])
    expect(refusal).toMatchObject({ llm_message: { content: textParts('no') } })
    expect(thought).toMatchObject({ llm_message: { reasoning_content: 'hm' } })
    expect(JSON.stringify(audio)).toContain('spoken')
    expect(session.notes).toEqual([{ what: 'replies without content', count: 1, line: 9 }])
  })

  it('reads text parts without a type', () => {
    const content = [{ text: 'hi' }]
    const session = read([
      { role: 'user', content },
      { role: 'assistant', content },
    ])
    expect(messageContents(session)).toEqual([textParts('hi'), textParts('hi')])
  })

  it.each([
    ['Bedrock', { role: 'assistant', content: [{ toolUse: { toolUseId: 't', name: 'ls', input: {} } }] }],
    ['the AI SDK', { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 't', toolName: 'ls' }] }],
    ['the Agents SDK', { type: 'function_call_result', callId: 't', name: 'ls', output: 'a' }],
  ])('does not read calls in the format of %s, which would be lost', (_, message) => {
    const messages = [{ role: 'user', content: 'hi' }, message]
    expect(() => read(messages)).toThrow('cannot be detected')
    expect(() => read([{ model: 'm', messages }])).toThrow('cannot be detected')
  })

  it('reads the address of an image in either form', () => {
    const url = 'https://images.example/a.png'
    const content = [
      { type: 'image_url', image_url: { url } },
      { type: 'image_url', image_url: url },
    ]
    const image = { type: 'image', image_urls: [url] }
    expect(messageContents(read([{ role: 'user', content }], 'openai-chat'))).toEqual([[image, image]])
  })

  it('matches results without a call id to the open calls, by tool or in order', () => {
    const session = read([
      { role: 'user', content: 'go' },
      ollamaCalls('f', 'g', 'f'),
      { role: 'tool', content: 'g1', tool_name: 'g' },
      { role: 'tool', content: 'f1', name: 'f' },
      { role: 'tool', content: 'f2' },
      ollamaCalls('f'),
      { role: 'tool', content: 'f3' },
      { role: 'assistant', content: 'done' },
    ])
    const all = events(session)
    const calls = all.filter(({ kind }) => kind === 'ActionEvent')
    const results = calls.map(({ id }) => all.find(({ action_id }) => action_id === id))
    expect(results).toMatchObject(
      ['f1', 'g1', 'f2', 'f3'].map((text) => ({ observation: { content: textParts(text) } })),
    )
  })

  it('keeps both of two equal results without a call id', () => {
    const result = { role: 'tool', content: 'ok' }
    const session = read([{ role: 'user', content: 'go' }, result, result], 'openai-chat')
    expect(events(session).map(({ kind }) => kind)).toEqual([
      'MessageEvent',
      'ObservationEvent',
      'ObservationEvent',
    ])
    expect(session.notes).toEqual([])
  })

  it('keeps the name of a user, and further fields of other messages than replies', () => {
    const session = read(
      [
        { role: 'system', content: 'brief', cached: true },
        { role: 'user', name: 'ada', content: 'hi', lang: 'en' },
        { role: 'tool', tool_call_id: 'c', name: 'sh', content: 'ok', artifact: { rows: 2 } },
      ],
      'openai-chat',
    )
    expect(events(session)).toMatchObject([
      { kind: 'SystemPromptEvent' },
      { key: 'openai-chat.message', value: { id: 'message-1', cached: true } },
      { llm_message: { name: 'ada', content: textParts('hi') } },
      { key: 'openai-chat.message', value: { id: 'message-2', lang: 'en' } },
      { kind: 'ObservationEvent', tool_name: 'sh' },
      { key: 'openai-chat.message', value: { id: 'message-3', artifact: { rows: 2 } } },
    ])
  })

  it.each([['stray'], [['stray']], [[{ id: 'c', function: call('a') }, 'stray']]])(
    'keeps an invalid entry among tool calls as text, with a note: %j',
    (tool_calls) => {
      const message = { role: 'assistant', content: 'hm', tool_calls }
      for (const value of [message, { id: 'r', choices: [{ message }] }]) {
        const session = read([{ role: 'user', content: 'go' }, value], 'openai-chat')
        const calls = events(session).filter(({ kind }) => kind === 'ActionEvent')
        expect(calls).toHaveLength(tool_calls.length === 2 ? 1 : 0)
        expect(events(session).map(({ raw }) => raw)).toContain('"stray"')
        expect(session.notes).toEqual([{ what: 'not a call', count: 1, line: 2 }])
      }
    },
  )

  it('keeps further fields of a completion, and notes further fields of its choice', () => {
    const choice = { index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }
    const whole = { id: 'r', object: 'chat.completion', model: 'm', service_tier: 'flex' }
    const session = read([{ ...whole, choices: [{ ...choice, logprobs: { content: [] } }] }], 'openai-chat')
    expect(events(session)).toMatchObject([
      { kind: 'MessageEvent' },
      { key: 'openai-chat.message', value: { service_tier: 'flex' } },
    ])
    expect(session.notes).toEqual([{ what: 'further fields of a choice', count: 1, line: 1 }])
  })

  it('keeps the content of a failed reply, with a note', () => {
    const choices = [{ message: { role: 'assistant', content: 'so far' }, finish_reason: 'error' }]
    const session = read([{ id: 'r', object: 'chat.completion', error: { message: 'boom' }, choices }])
    expect(messageContents(session)).toEqual([textParts('so far')])
    expect(session.notes).toContainEqual({
      what: 'failed replies, kept up to the failure',
      count: 1,
      line: 1,
    })
  })

  it('notes further choices of a reply', () => {
    const choices = ['a', 'b'].map((content) => ({ message: { role: 'assistant', content } }))
    expect(read([{ id: 'r', choices }]).notes).toEqual([
      { what: 'further choices of a reply', count: 1, line: 1 },
    ])
  })
})

describe('reading requests', () => {
  it.each(['openai-chat', 'anthropic'] as const)(
    'keeps the other fields of a request in %s, and its invalid messages as text',
    (from) => {
      const tools = [{ name: 'f' }]
      const messages = [{ role: 'user', content: 'hi' }, 'stray', 7, { role: 'ghost' }]
      const session = read([{ model: 'm', tools, messages }], from)
      const [settings, , ...stored] = events(session)
      expect(settings).toMatchObject({ key: `${from}.request`, value: { model: 'm', tools } })
      expect(stored.map(({ raw }) => raw)).toEqual(['"stray"', '7', '{"role":"ghost"}'])
      expect(session.notes).toEqual([{ what: 'not a message', count: 3, line: 2 }])
    },
  )

  it('keeps the other fields of an OpenAI Responses request, and its invalid items as text', () => {
    const input = [{ role: 'user', content: 'hi' }, null]
    const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hello' }] }]
    const session = read([{ id: 'r', model: 'm', temperature: 1, instructions: 'brief', input, output }])
    expect(events(session)).toMatchObject([
      { key: 'openai-responses.request', value: { temperature: 1 } },
      { kind: 'SystemPromptEvent' },
      { kind: 'MessageEvent', source: 'user' },
      { raw: 'null' },
      { kind: 'MessageEvent', source: 'agent', llm_response_id: 'r' },
    ])
    expect(events(session)[0]?.['value']).toEqual({ temperature: 1 })
  })
})

const invocation = (number: number) => ({
  state: 'result',
  toolCallId: `c${number}`,
  toolName: 'w',
  args: { no: number },
  result: `r${number}`,
  step: number,
})

describe('reading UI messages', () => {
  it('reads the result of an MCP tool as its content', () => {
    const content = [
      { type: 'text', text: 'no' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    ]
    const outputs = [
      { content, isError: true },
      { content, structuredContent: {} },
      { content: 'text' },
      { content: [{ type: 'paragraph', text: 'a' }] },
    ]
    const parts = outputs.map((output, index) => ({
      type: 'tool-ls',
      toolCallId: `c${index}`,
      state: 'output-available',
      input: {},
      output,
    }))
    const session = read([{ role: 'assistant', parts }])
    const image = { type: 'image', image_urls: ['data:image/png;base64,AAAA'] }
    expect(events(session).flatMap(({ observation }) => observation ?? [])).toMatchObject([
      { content: [...textParts('no'), image], is_error: true },
      { content: [...textParts('no'), image], is_error: false },
      { content: textParts('{"content":"text"}'), is_error: false },
      { content: textParts('{"content":[{"type":"paragraph","text":"a"}]}'), is_error: false },
    ])
    expect(session.notes).toMatchObject([{ what: 'tool result metadata', count: 1 }])
  })

  it('ends the calls that the user has denied, but no others that wait', () => {
    const approval = { id: 'a', reason: 'no' }
    const part = (toolCallId: string, state: string, more: object) => {
      return { type: 'dynamic-tool', toolCallId, state, input: {}, approval: { ...approval, ...more } }
    }
    const parts = [
      part('denied', 'output-denied', { approved: false }),
      part('answered', 'approval-responded', { approved: false }),
      part('approved', 'approval-responded', { approved: true }),
      part('requested', 'approval-requested', {}),
    ]
    const session = read([{ id: 'm', role: 'assistant', parts }])
    const rejected = events(session).filter(({ kind }) => kind === 'UserRejectObservation')
    expect(rejected).toMatchObject([
      { tool_call_id: 'denied', rejection_reason: 'no', tool_name: 'unknown' },
      { tool_call_id: 'answered', rejection_reason: 'no', tool_name: 'unknown' },
    ])
    const pending = listPendingCalls(replay(session.facts.map(({ fact }) => fact)))
    expect(pending.map(({ entry }) => entry.event.tool_call_id)).toEqual(['approved', 'requested'])
  })

  it('orders steps and text of messages that have no parts', () => {
    const session = read([
      {
        role: 'user',
        content: 'look',
        experimental_attachments: [{ url: 'data:image/png;base64,AAAA', contentType: 'image/png' }],
      },
      {
        id: 'm',
        role: 'assistant',
        content: 'sunny',
        reasoning: 'hm',
        toolInvocations: [invocation(0), invocation(1)],
        annotations: [{ a: 1 }],
      },
    ])
    expect(events(session)).toMatchObject([
      { llm_message: { content: [...textParts('look'), { type: 'image' }] } },
      { kind: 'ActionEvent', tool_call_id: 'c0' },
      { kind: 'ObservationEvent', tool_call_id: 'c0' },
      { kind: 'ActionEvent', tool_call_id: 'c1' },
      { kind: 'ObservationEvent', tool_call_id: 'c1' },
      { llm_message: { content: textParts('sunny') } },
      { key: 'ui-messages.message', value: { id: 'm', annotations: [{ a: 1 }] } },
    ])
    expect(JSON.stringify(events(session)[1])).toContain('hm')
  })

  it('keeps metadata, and notes content that the parts repeat', () => {
    const parts = [{ type: 'text', text: 'hi' }]
    const session = read([{ id: 'm', role: 'user', content: 'hi', parts, metadata: { cost: 1 } }])
    expect(events(session).at(-1)).toMatchObject({ value: { id: 'm', metadata: { cost: 1 } } })
    expect(session.notes).toEqual([{ what: 'written twice: content of a message', count: 1, line: 1 }])
  })
})

it('UI messages can have a list as content', () => {
  const session = read(
    [
      { id: 'u', role: 'user', content: [...textParts('hi'), 7] },
      { id: 'a', role: 'assistant', content: textParts('hello') },
    ],
    'ui-messages',
  )
  expect(messageContents(session)).toEqual([[...textParts('hi'), ...textParts('7')], textParts('hello')])
})

it('a system prompt can be a list of texts', () => {
  const session = read([{ role: 'system', content: ['Be ', { type: 'text', text: 'kind.' }] }], 'openai-chat')
  expect(events(session)).toMatchObject([{ kind: 'SystemPromptEvent', system_prompt: { text: 'Be kind.' } }])
})
