/** Rollouts of Codex CLI: events that repeat items, events without an item, token counts, and replaced histories. */

import { describe, expect, it } from 'vitest'
import { findings } from '../../src/explain/index.ts'
import { replay, toMessages, toOpenAIResponses } from '../../src/index.ts'
import { notesOf, read, summarize } from './session-summary.ts'

const META = { type: 'session_meta', payload: { id: 's' } }
const event = (type: string, fields: object) => ({ type: 'event_msg', payload: { type, ...fields } })
const item = (type: string, fields: object) => ({ type: 'response_item', payload: { type, ...fields } })
const text = (words: string) => ({ type: 'input_text', text: words })
const search = { type: 'search', query: 'otters' }

const PAIRS = [
  [
    event('agent_reasoning', { text: 'hm' }),
    item('reasoning', { summary: [{ type: 'summary_text', text: 'hm' }] }),
  ],
  [
    event('exec_command_end', { call_id: 'c', stdout: 'out' }),
    item('function_call_output', { call_id: 'c', output: 'out' }),
  ],
  [
    event('web_search_end', { call_id: 'w', query: 'otters', action: search }),
    item('web_search_call', { status: 'completed', action: search }),
  ],
] as const

describe('a Codex event', () => {
  it.each(PAIRS)('is stored unless an item repeats it: %j', (text, counterpart) => {
    const { type, ...fields } = text.payload
    const alone = read([META, text])
    expect(alone.facts[1]?.fact).toMatchObject({ key: `codex.${type}`, value: { type, ...fields } })
    expect(alone.notes).toEqual([])
    expect(notesOf(read([META, text, counterpart]))).toEqual({ [`written twice: ${type}`]: 1 })
  })
})

const usage = (input_tokens: number) => ({ input_tokens, output_tokens: 5, cache_write_input_tokens: 60 })
const count = (total: number, last: number) =>
  event('token_count', { info: { total_token_usage: usage(total), last_token_usage: usage(last) } })

const usageRecord = (tokens: number) => ({ type: 'token_usage_record', payload: { usage: usage(tokens) } })

const line = (record: object, timestamp: string) => ({ ...record, timestamp })

const turn = (id: string) => ({ type: 'turn_context', payload: { model: 'm', turn_id: id } })

/** The input tokens of each counted reply of a fork. */
function tokensOfFork(lines: readonly object[], meta: object = { forked_from_id: 'p' }): readonly string[] {
  const first = { type: 'session_meta', payload: { id: '019e27f2-b7de-71c3-a0f9-70d6539231ba', ...meta } }
  const { facts } = read([first, ...lines].map((record) => line(record, '2026-05-14T19:24:38Z')))
  return JSON.stringify(facts).match(/(?<="tokens":\[)\d+/g) ?? []
}

describe('a Codex token count', () => {
  const replyItem = item('message', { role: 'assistant', content: [text('yes')] })

  it('belongs to the previous reply, including tokens written to the cache', () => {
    const session = read([META, replyItem, count(100, 100), count(100, 100)])
    expect(session.facts[1]?.fact).toMatchObject({ llm_message: { reply: { tokens: [100, 5, 0, 60] } } })
    expect(session.facts).toHaveLength(2)
    expect(notesOf(session)).toEqual({ 'written twice: token_count': 2 })
  })

  it('counts once if a fork has copied its reply', () => {
    const copied = [META, replyItem, count(100, 100), event('user_message', { message: 'more' }), replyItem]
    const later = [count(300, 200), event('user_message', { message: 'and' }), replyItem, count(600, 300)]
    const tokensIn = (meta: object) => {
      const session = read([
        line({ type: 'session_meta', payload: { id: 'fork', ...meta } }, 't1'),
        ...[...copied, later[0] as object].map((record) => line(record, 't2')),
        ...later.slice(1).map((record, n) => line(record, `t${n + 3}`)),
      ])
      const tokens = session.facts.flatMap(
        ({ fact }) => /"tokens":\[(\d+)/.exec(JSON.stringify(fact))?.[1] ?? [],
      )
      return { tokens, notes: notesOf(session) }
    }
    expect(tokensIn({}).tokens).toEqual(['100', '200', '300'])
    expect(tokensIn({ forked_from_id: 'another' }).tokens).toEqual(['100', '200', '300'])
    const fork = tokensIn({ forked_from_id: 's' })
    expect(fork).toMatchObject({ tokens: ['300'], notes: { 'tokens of a copied reply': 2 } })
  })

  it('counts once if a subagent or fork copied its reply within some milliseconds, or by its ordinal', () => {
    const parent = { type: 'session_meta', payload: { id: 'p' } }
    const more = event('user_message', { message: 'more' })
    const copied = [parent, replyItem, count(100, 100), more, replyItem, count(300, 200)]
    const own = [event('task_started', {}), replyItem, count(600, 300)]
    const tokensIn = (meta: object, times: readonly number[]) => {
      const records = [{ type: 'session_meta', payload: { id: 'c', ...meta } }, ...copied, ...own]
      const session = read(
        records.map((record, ordinal) => ({
          ...line(record, new Date(1.8e12 + (times[ordinal] ?? 0)).toISOString()),
          ordinal,
        })),
      )
      return /"tokens":.*/.exec(JSON.stringify(session.facts))?.[0].match(/(?<="tokens":\[)\d+/g) ?? []
    }
    const burst = [0, 2, 40, 41, 80, 81, 85, 90, 2500, 2600]
    for (const meta of [
      { forked_from_id: 'p' },
      { parent_thread_id: 'p' },
      { source: { subagent: { thread_spawn: { parent_thread_id: 'p' } } } },
    ])
      expect(tokensIn(meta, burst)).toEqual(['300'])
    const slow = burst.map((_, index) => index * 5000)
    expect(tokensIn({ parent_thread_id: 'p', subagent_history_start_ordinal: '7' }, slow)).toEqual(['300'])
    expect(tokensIn({}, burst)).toEqual(['100', '200', '300'])
  })

  it('counts from the first turn whose id is not older than the id of the fork or subagent', () => {
    const old = turn('019ddd6f-5fc0-7a12-9b3e-652b15d942dd')
    const copied = [old, replyItem, count(100, 100), turn('0b5e41c8-0000-4000-8000-000000000000'), replyItem]
    // Both ids are of the same millisecond.
    const own = [turn('019e27f2-b7de-70c3-a0f9-70d6539231ba'), replyItem, count(600, 300)]
    expect(tokensOfFork([...copied, count(300, 200), ...own])).toEqual(['300'])
    expect(tokensOfFork([META, ...own], { parent_thread_id: 's' })).toEqual(['300'])
    expect(tokensOfFork(copied)).toEqual([])
    expect(tokensOfFork([...copied, count(300, 200), ...own], {})).toEqual(['100', '200', '300'])
  })

  it('counts in a fork without times, where copied lines cannot be distinguished', () => {
    const fork = { type: 'session_meta', payload: { id: 'c', forked_from_id: 's' } }
    const session = read([fork, META, replyItem, count(100, 100), replyItem, count(300, 200)])
    expect(notesOf(session)).not.toHaveProperty('tokens of a copied reply')
  })

  it('does not belong to a later reply if it repeats an earlier count', () => {
    const stop = event('turn_aborted', {})
    const call = item('function_call', { call_id: 'c', name: 'ls', arguments: '{}' })
    for (const later of [
      [stop, count(100, 100), replyItem],
      [count(100, 100), call],
    ]) {
      const { facts } = read([META, replyItem, count(100, 100), stop, replyItem, ...later, count(300, 200)])
      expect(JSON.stringify(facts).match(/(?<="tokens":\[)\d+/g)).toEqual(['100', '200'])
    }
  })

  it('is in a usage record, which also ends the reply, and is counted once', () => {
    const tokensIn = (lines: readonly object[]) =>
      read([META, ...lines]).facts.flatMap(({ fact }) => {
        const [, tokens] = /"tokens":\[(\d+)/.exec(JSON.stringify(fact)) ?? []
        return tokens ?? []
      })
    expect(tokensIn([replyItem, usageRecord(100), replyItem, usageRecord(200)])).toEqual(['100', '200'])
    const both = [replyItem, usageRecord(100), count(100, 100), replyItem, count(300, 200), usageRecord(200)]
    expect(tokensIn(both)).toEqual(['100', '200'])
    const notes = notesOf(read([META, ...both, { type: 'compacted', payload: { message: 'short' } }]))
    expect(notes).toEqual({ 'written twice: token_count': 2 })
  })

  it('is stored separately if it follows no reply, or a compaction', () => {
    const alone = read([META, count(100, 100), count(100, 100), count(300, 200)])
    const history = { type: 'compacted', payload: { message: 'in short' } }
    const short = read([META, replyItem, history, count(100, 100)])
    for (const [session, counts] of [[alone, 2] as const, [short, 1] as const])
      expect(session.facts.filter(({ fact }) => 'key' in fact && fact.key === 'codex.usage')).toHaveLength(
        counts,
      )
    expect(notesOf(alone)).toEqual({ 'written twice: token_count': 1 })
    expect(short.notes).toEqual([])
    // These tokens are not secrets.
    expect(findings(replay(alone.facts.map(({ fact }) => fact)))).toEqual([])
  })
})

describe('a Codex prompt with an image', () => {
  it('is one message, although an event repeats its text', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,QQ==' }
    const content = [text('<image name=[Image #1]>'), image, text('</image>'), text('What is wrong?')]
    const session = read([
      META,
      item('message', { role: 'user', content }),
      event('user_message', { message: 'What is wrong?', local_images: ['a.png'] }),
    ])
    expect(summarize(session)).toEqual([
      'user: <image name=[Image #1]> <data:image/png;base64,QQ==> </image> What is wrong?',
    ])
    expect(notesOf(session)).toEqual({ 'written twice: user_message': 1 })
  })
})

describe('a compaction of Codex', () => {
  it('keeps the system prompt, and puts the summary behind the kept prompts', () => {
    const meta = { type: 'session_meta', payload: { id: 's', base_instructions: { text: 'Be brief.' } } }
    const user = (words: string) => item('message', { role: 'user', content: [text(words)] })
    const reply = item('message', { role: 'assistant', content: [{ type: 'output_text', text: 'yes' }] })
    const history = [user('one'), user('two'), user('in short')].map(({ payload }) => payload)
    const payload = { message: 'in short', replacement_history: history }
    const lines = [
      meta,
      user('one'),
      reply,
      user('two'),
      reply,
      { type: 'compacted', payload },
      user('three'),
    ]
    const { view } = replay(read(lines).facts.map(({ fact }) => fact)).branch
    const seen = [...view.units].map((unit) =>
      unit.type === 'message' ? unit.item.event : expect.unreachable(),
    )
    expect(seen.map((one) => ('llm_message' in one ? one.llm_message.content : one))).toMatchObject([
      { system_prompt: { text: 'Be brief.' } },
      [{ text: 'one' }],
      [{ text: 'two' }],
      { summary: 'in short' },
      [{ text: 'three' }],
    ])
  })

  it('keeps the prompts of the last 20,000 tokens if it contains no history', () => {
    const prompt = (words: string) => [
      item('message', { role: 'user', content: [text(words)] }),
      event('user_message', { message: words }),
    ]
    const reply = item('message', { role: 'assistant', content: [{ type: 'output_text', text: 'yes' }] })
    const rest = [reply, ...prompt('two'), reply, { type: 'compacted', payload: { message: 'in short' } }]
    const shown = (words: string) => summarize(read([META, ...prompt(words), ...rest]), 'view')
    expect(shown('one')).toEqual(['user: one', 'user: two', 'summary: in short'])
    expect(shown('one'.repeat(30_000))).toEqual(['user: two', 'summary: in short'])
  })
})

describe('a Codex message with text that the client inserted', () => {
  const inserted = text('<user_ide_context>a.ts</user_ide_context>')
  const content = [inserted, text('Mend it')]
  const conversation = [
    'environment: <user_ide_context>a.ts</user_ide_context>',
    'user: Mend it',
    'agent: yes',
  ]
  const reply = item('message', { role: 'assistant', content: [{ type: 'output_text', text: 'yes' }] })
  const prompt = item('message', { role: 'user', content })

  it.each([
    event('user_message', { message: 'Mend it' }),
    event('item_completed', {
      item: { type: 'UserMessage', id: 'u', content: [{ type: 'text', text: 'Mend it' }] },
    }),
  ])('is divided, and the prompt is read once: %j', (typed) => {
    for (const lines of [
      [prompt, typed, reply],
      [typed, prompt, reply],
    ])
      expect(summarize(read([META, ...lines]))).toEqual(conversation)
    const history = { message: 'short', replacement_history: [{ type: 'message', role: 'user', content }] }
    const compacted = { type: 'compacted', payload: history }
    expect(summarize(read([META, prompt, typed, reply, compacted]), 'view')).toEqual([
      ...conversation.slice(0, 2),
      'summary: short',
    ])
  })

  it('is divided by the kinds of its parts', () => {
    const internal_chat_message_metadata_passthrough = { content_item_kinds: ['ide', 'user.text'] }
    const message = item('message', { role: 'user', content, internal_chat_message_metadata_passthrough })
    expect(summarize(read([META, message, reply]))).toEqual(conversation)
  })

  it('can have an image of the user instead of a prompt', () => {
    const internal_chat_message_metadata_passthrough = { content_item_kinds: ['ide', 'user.image'] }
    const parts = [inserted, { type: 'input_image', image_url: 'data:,a' }]
    const message = item('message', {
      role: 'user',
      content: parts,
      internal_chat_message_metadata_passthrough,
    })
    expect(summarize(read([META, message]))).toEqual([conversation[0], 'user: <data:,a>'])
  })
})

describe('a Codex result', () => {
  it('belongs to the shell call with its item id; without a call id, it is an environment message', () => {
    const shell = item('local_shell_call', { id: 'lsh', action: { type: 'exec', command: ['ls'] } })
    const output = item('function_call_output', { call_id: 'lsh', output: 'a.txt' })
    const late = item('function_call_output', { name: 'watch', output: 'changed' })
    expect(summarize(read([META, shell, output, late]))).toEqual([
      'call lsh',
      'result lsh: a.txt',
      'environment: changed',
    ])
  })

  it('of a tool search without a call id belongs to the open search', () => {
    const call = item('tool_search_call', { call_id: null, execution: 'server', arguments: {} })
    const output = item('tool_search_output', { call_id: null, execution: 'server', tools: [] })
    expect(summarize(read([META, call, output]))).toEqual(['call call', 'result call: []'])
  })
})

describe('a Codex message from another agent', () => {
  it('is an environment message, with a note about its author and recipient', () => {
    const content = [{ type: 'input_text', text: 'found it' }]
    const session = read([META, item('agent_message', { author: '/root/a', recipient: '/root', content })])
    expect(summarize(session)).toEqual(['environment: found it'])
    expect(notesOf(session)).toEqual({ 'authors and recipients of agent messages': 1 })
  })
})

describe('a Codex replacement history', () => {
  it('keeps readable items, and notes encrypted ones', () => {
    const call = { type: 'function_call', name: 'sh', call_id: 'c', arguments: '{}' }
    const sealed = { type: 'compaction', encrypted_content: 'c2VhbGVk' }
    const replacement_history = [call, sealed, 'bare']
    const session = read([META, { type: 'compacted', payload: { message: 'short', replacement_history } }])
    expect(session.facts.at(-1)?.fact).toMatchObject({
      key: 'codex.replacement_history',
      value: [call, { text: 'bare' }],
    })
    expect(notesOf(session)).toEqual({ 'encrypted parts of a replaced history': 1 })
  })
})

const completedItem = (type: string, words: string) =>
  event('item_completed', {
    item: { type, id: `${type} ${words}`, content: [{ type: 'text', text: words }] },
  })

describe('a paginated Codex rollout', () => {
  const prompt = item('message', { role: 'user', content: [text('Any files?')] })
  const promptEvent = completedItem('UserMessage', 'Any files?')
  const replyItem = completedItem('AgentMessage', 'a.txt')
  const output = item('message', { role: 'assistant', content: [{ type: 'output_text', text: 'a.txt' }] })
  const conversation = ['user: Any files?', 'agent: a.txt']

  it('ignores item_completed events that repeat items', () => {
    const session = read([META, prompt, promptEvent, output, replyItem])
    expect(summarize(session)).toEqual(conversation)
    expect(notesOf(session)).toEqual({ 'written twice: item_completed': 2 })
  })

  it('reads item_completed events without an item, including repeated prompts', () => {
    expect(summarize(read([META, promptEvent, replyItem]))).toEqual(conversation)
    expect(summarize(read([META, promptEvent, replyItem, promptEvent, replyItem]))).toEqual([
      ...conversation,
      ...conversation,
    ])
    const plan = event('item_completed', { item: { type: 'Plan', id: 'p', text: 'first this' } })
    expect(read([META, plan]).facts[1]?.fact).toMatchObject({ key: 'codex.item_completed' })
  })

  it('reads a prompt once if it has both user_message and item_completed', () => {
    const text = event('user_message', { message: 'Any files?' })
    for (const events of [
      [text, promptEvent],
      [promptEvent, text],
    ])
      expect(summarize(read([META, ...events, output]))).toEqual(conversation)
  })

  it('keeps a truncated line as text, and reads the other lines', () => {
    const lines: readonly unknown[] = [META, prompt, promptEvent, output, replyItem]
    for (let torn = 1; torn <= lines.length; torn += 1) {
      const cut = JSON.stringify(lines[torn - 1]).slice(0, 40)
      const { facts, notes } = read(lines.toSpliced(torn - 1, 1, cut), 'codex')
      expect(facts.filter(({ fact }) => 'quarantined' in fact)).toEqual([
        expect.objectContaining({ line: torn, fact: expect.objectContaining({ raw: cut }) }),
      ])
      expect(notes.some(({ what }) => what === 'invalid JSON')).toBe(true)
    }
    const cut = JSON.stringify(promptEvent).slice(0, 40)
    expect(summarize(read([META, prompt, cut, output, replyItem]))[1]).toBe('agent: a.txt')
  })
})

describe('an item with the id of its turn', () => {
  it.each([
    item('reasoning', { id: 'rs_1', summary: [], encrypted_content: 'a'.repeat(64) }),
    item('message', { id: 'msg_1', role: 'assistant', content: [text('yes')], phase: 'commentary' }),
    item('function_call', { id: 'fc_1', call_id: 'c', name: 'ls', arguments: '{}' }),
    item('custom_tool_call', { id: 'ctc_1', call_id: 'c', name: 'ls', input: '' }),
    item('local_shell_call', { id: 'lsh_1', call_id: 'c', status: 'completed', action: { type: 'exec' } }),
    item('web_search_call', { id: 'ws_1', status: 'completed', action: search }),
    item('image_generation_call', { id: 'ig_1', status: 'completed', result: 'aGk=' }),
    item('tool_search_call', { id: 'ts_1', status: 'completed', execution: 'server', arguments: {} }),
    item('context_compaction', { encrypted_content: 'a'.repeat(64) }),
  ])('is sent back without it: $payload.type', ({ type, payload }) => {
    const turn = { turn_id: 't' }
    const fields = { metadata: turn, internal_chat_message_metadata_passthrough: turn }
    const lines = [META, item('message', { role: 'user', content: [text('hi')] })]
    const said = item('message', { role: 'assistant', content: [text('so')] })
    const session = read([...lines, { type, payload: { ...payload, ...fields } }, said])
    expect(notesOf(session)).toEqual({ 'turn ids of items': 1 })
    const state = replay(session.facts.map(({ fact }) => fact))
    expect(JSON.stringify(toOpenAIResponses(toMessages(state)))).not.toContain('turn_id')
  })
})

const said = (words: string, more: object = {}) =>
  item('message', { role: 'user', content: [text(words)], ...more })

describe('a rollout that does not mark which texts the user typed', () => {
  const inserted = ['<environment_context>\n</environment_context>', '# AGENTS.md instructions for /x', ' ']

  it('has the prompts of the user, except the texts that the client inserted', () => {
    const session = read([META, ...inserted.map((words) => said(words)), said('hi'), said('1 < 2')])
    const shown = inserted.map((words) => `environment: ${words}`)
    expect(summarize(session)).toEqual([...shown, 'user: hi', 'user: 1 < 2'])
  })

  it('has messages without a type', () => {
    const untyped = ['user', 'assistant'].map((role) => {
      return { type: 'response_item', payload: { role, content: [text(role)] } }
    })
    const session = read([META, ...untyped])
    expect(summarize(session)).toEqual(['user: user', 'agent: assistant'])
    expect(session.notes).toEqual([])
  })

  it.each([
    event('user_message', { message: 'other' }),
    said('other', { internal_chat_message_metadata_passthrough: { content_item_kinds: ['user.text'] } }),
  ])('is not one that marks another text: %j', (other) => {
    expect(summarize(read([META, said('hi'), other]))).toEqual(['environment: hi', 'user: other'])
  })
})
