/** Sessions of pi: compactions, context edits, unusual content, and replies that open a branch. */

import { describe, expect, it } from 'vitest'
import { notesOf, read, summarize } from './session-summary.ts'

const HEADER = { type: 'session', version: 3, id: 's' }
const text = (words: string) => [{ type: 'text', text: words }]
const user = (id: string, parentId: string | null, words: string) => ({
  type: 'message',
  id,
  parentId,
  message: { role: 'user', content: words },
})
const reply = (id: string, parentId: string, content: object[]) => ({
  type: 'message',
  id,
  parentId,
  message: { role: 'assistant', api: 'openai-completions', content, stopReason: 'stop' },
})
const compaction = (parentId: string, firstKeptEntryId: string) => ({
  type: 'compaction',
  id: 'short',
  parentId,
  summary: 'in short',
  firstKeptEntryId,
})

const timed = (entry: object, second: number) => ({ ...entry, timestamp: `2026-01-01T00:00:0${second}.000Z` })

describe('reading a session of pi', () => {
  it('ignores repeated lines', () => {
    const calls = [{ type: 'toolCall', id: 'c1', name: 'sh', arguments: {} }]
    const lines = [HEADER, timed(user('u1', null, 'one'), 1), timed(reply('a1', 'u1', calls), 2)]
    const session = read([...lines, ...lines.slice(1)])
    expect(session.facts).toEqual(read(lines).facts)
    expect(notesOf(session)).toEqual({ 'written twice: a line': 2 })
  })

  it('counts the tokens of a reply that a fork copied only in the session that was forked', () => {
    const counted = (id: string, parentId: string, second: number) => {
      const { message, ...entry } = reply(id, parentId, text(id))
      return timed({ ...entry, message: { ...message, usage: { input: 3, output: 2 } } }, second)
    }
    const lines = [
      timed(user('u1', null, 'one'), 1),
      counted('a1', 'u1', 2),
      timed(user('u2', 'a1', 'two'), 6),
      counted('a2', 'u2', 7),
    ]
    const tokensIn = (header: object) =>
      read([timed({ ...HEADER, ...header }, 5), ...lines]).facts.map(({ fact }) =>
        JSON.stringify(fact).includes('"tokens":[3,2'),
      )
    const fork = { parentSession: '/home/me/2026-01-01_p.jsonl' }
    expect(tokensIn({})).toEqual([false, false, true, false, true])
    expect(tokensIn(fork)).toEqual([false, false, false, false, true])
    expect(notesOf(read([timed({ ...HEADER, ...fork }, 5), ...lines]))).toEqual({
      'tokens of a copied reply': 1,
    })
  })

  it('keeps messages after a compaction boundary that is not a message', () => {
    const aside = { type: 'model_change', id: 'aside', parentId: 'a1', provider: 'p', modelId: 'm' }
    const lines = [HEADER, user('u1', null, 'one'), reply('a1', 'u1', text('first')), aside]
    const rest = [user('u2', 'aside', 'two'), compaction('u2', 'aside'), user('u3', 'short', 'three')]
    expect(summarize(read([...lines, ...rest]), 'view')).toEqual([
      'summary: in short',
      'user: two',
      'user: three',
    ])
  })

  it('condenses only messages on the branch of the compaction', () => {
    const a = [user('u2', 'a1', 'here'), reply('a2', 'u2', text('second')), user('u3', 'a2', 'kept')]
    const b = [user('b2', 'a1', 'elsewhere'), reply('b3', 'b2', text('there'))]
    const lines = [HEADER, user('u1', null, 'one'), reply('a1', 'u1', text('first')), ...a, ...b]
    const session = read([...lines, compaction('u3', 'u3'), user('u4', 'short', 'next')])
    expect(summarize(session, 'view')).toEqual(['summary: in short', 'user: kept', 'user: next'])
    const taken = session.facts.find(({ fact }) => 'kind' in fact && fact.kind === 'Condensation')
    expect(taken?.fact).toMatchObject({ forgotten_event_ids: ['u1', 'a1', 'u2', 'a2'] })
  })
})

describe('a compaction of pi with a `retainedTail`', () => {
  const first = [HEADER, user('u1', null, 'one'), reply('a1', 'u1', text('first'))]
  const calls = reply('a2', 'u2', [{ type: 'toolCall', id: 'c', name: 'sh', arguments: { x: 1 } }])
  const result = {
    ...user('r2', 'a2', ''),
    message: { role: 'toolResult', toolCallId: 'c', toolName: 'sh', content: text('ok'), isError: false },
  }
  const lines = [...first, user('u2', 'a1', 'two'), calls, result]
  const { firstKeptEntryId: _, ...bare } = compaction('r2', '')
  const retained = [user('u2', 'a1', 'two'), calls, result].map(({ message }) => message)

  it.each([
    ['all messages', retained, ['user: two', 'call c', 'result c: ok']],
    ['the last message', retained.slice(2), ['result c: ok']],
    ['no message', [], []],
    ['the same message twice', [retained[0], retained[0]], ['user: two']],
    ['a new message', [retained[0], { role: 'user', content: 'TWO' }], ['user: two', 'user: TWO']],
    [
      'changed messages',
      [calls.message, { ...result.message, content: text('short') }],
      ['call c', 'result c: short'],
    ],
    ['an earlier summary', [{ role: 'compactionSummary', summary: 'before' }], ['environment: before']],
  ])('can contain %s', (_name, retainedTail, expected) => {
    const session = read([...lines, { ...bare, retainedTail }, user('u3', 'short', 'three')])
    const shown = summarize(session, 'view')
    // A view has no result without its call.
    const visible = expected[0] === 'result c: ok' ? [] : expected
    expect(shown).toEqual(['summary: in short', ...visible, 'user: three'])
    expect(notesOf(session)).toEqual({})
    expect(session.facts.every(({ fact }) => !('quarantined' in fact))).toBe(true)
  })

  it('counts the tokens of a retained reply once', () => {
    const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0 }
    const counted = { ...calls, message: { ...calls.message, usage } }
    const other = { ...counted.message, content: text('changed') }
    const entries = [...first, user('u2', 'a1', 'two'), counted, result]
    const { facts } = read([...entries, { ...bare, retainedTail: [other] }])
    expect(JSON.stringify(facts).match(/"tokens"/g)).toHaveLength(1)
    expect(JSON.stringify(facts)).toContain('changed')
  })
})

const edit = (targetId: string, replacement: unknown = null) => ({
  type: 'context_edit',
  id: 'e1',
  parentId: 'a2',
  targetId,
  replacement,
})

describe('reading excluded messages of pi', () => {
  const first = [HEADER, user('u1', null, 'one'), reply('a1', 'u1', text('first'))]

  it('keeps a user command with `excludeFromContext` out of the branch and the view', () => {
    const shell = { role: 'bashExecution', command: 'cat key', output: 'SECRET', exitCode: 0 }
    const entry = (more: object) => ({ ...user('b1', 'a1', ''), message: { ...shell, ...more } })
    const excluded = read([...first, entry({ excludeFromContext: true }), user('u2', 'b1', 'two')])
    expect(summarize(excluded)).toEqual(['user: one', 'agent: first', 'user: two'])
    expect(JSON.stringify(excluded.facts)).toContain('SECRET')
    const included = read([...first, entry({ excludeFromContext: false }), user('u2', 'b1', 'two')])
    expect(summarize(included, 'view')[2]).toBe('user: $ cat key\nSECRET')
  })

  it('omits a message that a context edit removes from the view, and notes other edits', () => {
    const failed = reply('a2', 'a1', text('failed'))
    const session = read([...first, failed, edit('a2'), user('u2', 'e1', 'two')])
    expect(summarize(session, 'view')).toEqual(['user: one', 'agent: first', 'user: two'])
    expect(summarize(session)).toContain('agent: failed')
    for (const other of [edit('a9'), edit('a2', text('another'))])
      expect(notesOf(read([...first, failed, other]))).toEqual({
        'an unreadable edit of the context': 1,
      })
  })
})

const APIS = ['anthropic-messages', 'openai-responses', 'openai-completions']

/** Content that no known version of pi writes. */
const STRANGE: readonly (readonly [string, unknown])[] = [
  ['a string', 'MARK'],
  ['a string in a list', ['MARK']],
  ['an image', [{ type: 'image', data: 'MARK', mimeType: 'image/png' }]],
  ['a block without a type', [{ words: 'MARK' }]],
  ['a text block without text', [{ type: 'text', text: { words: 'MARK' } }]],
  ['a thinking block without text', [{ type: 'thinking', thinking: { words: 'MARK' } }]],
]

describe('reading a reply of pi', () => {
  it.each(APIS.flatMap((api) => STRANGE.map(([what, content]) => [what, api, content] as const)))(
    'keeps %s with the API %s',
    (_, api, content) => {
      const message = { role: 'assistant', api, content, stopReason: 'stop' }
      const { facts } = read([HEADER, user('u1', null, 'one'), { ...reply('a1', 'u1', []), message }])
      const messages = facts.filter(({ fact }) => 'kind' in fact && fact.kind === 'MessageEvent')
      expect(messages).toHaveLength(2)
      expect(JSON.stringify(messages[1])).toContain('MARK')
    },
  )

  it('notes signatures, and the exit code of a user command', () => {
    const content = [
      { type: 'text', text: 'one', textSignature: 'item' },
      { type: 'toolCall', id: 'c', name: 'sh', arguments: {}, thoughtSignature: 'sealed' },
    ]
    const shell = { role: 'bashExecution', command: 'ls', output: 'a', exitCode: 1 }
    const entries = [
      user('u1', null, 'one'),
      reply('a1', 'u1', content),
      { ...user('b1', 'a1', ''), message: shell },
    ]
    expect(notesOf(read([HEADER, ...entries]))).toEqual({
      'signatures of texts and calls': 2,
      'results of user commands': 1,
    })
  })

  it('notes the partial arguments and the error message of an interrupted reply', () => {
    const call = { type: 'toolCall', id: 'c', name: 'sh', arguments: {}, partialJson: '{"pa' }
    const { message, ...entry } = reply('a1', 'u1', [call])
    const aborted = { ...message, stopReason: 'aborted', errorMessage: 'Request was aborted.' }
    const session = read([HEADER, user('u1', null, 'one'), { ...entry, message: aborted }])
    const error = 'error c: The call was not executed: its reply was interrupted.'
    expect(summarize(session)).toEqual(['user: one', 'call c', error, 'interrupted'])
    expect(
      session.facts.find(({ fact }) => 'kind' in fact && fact.kind === 'ActionEvent')?.fact,
    ).toMatchObject({ action: null })
    expect(notesOf(session)).toEqual({
      'streamed arguments of calls': 1,
      'interruption messages': 1,
    })
  })

  it.each(APIS)('reads results of calls, cache tokens and costs with the API %s', (api) => {
    const content = [{ type: 'toolCall', id: 'c|item', name: 'sh', arguments: {} }]
    const usage = { input: 10, output: 5, cacheRead: 100, cacheWrite: 1000, cost: { total: 0.5 } }
    const requests = { ...reply('a1', 'u1', []), message: { role: 'assistant', api, content, usage } }
    const input = { role: 'toolResult', toolCallId: 'c|item', toolName: 'sh', content: text('ok') }
    const session = read([
      HEADER,
      user('u1', null, 'one'),
      requests,
      { ...user('r1', 'a1', ''), message: input },
    ])
    const id = api === 'openai-responses' ? 'c' : 'c|item'
    expect(summarize(session, 'view')).toEqual(['user: one', `call ${id}`, `result ${id}: ok`])
    expect(session.facts[2]?.fact).toMatchObject({
      tool_call: { reply: { tokens: [1110, 5, 100, 1000], usage: { cost: { total: 0.5 } } } },
    })
  })

  it('keeps all calls of a reply that starts a branch on that branch', () => {
    const calls = ['c1', 'c2'].map((id) => ({ type: 'toolCall', id, name: 'sh', arguments: {} }))
    const result = (id: string, parentId: string, toolCallId: string) => ({
      type: 'message',
      id,
      parentId,
      message: {
        role: 'toolResult',
        toolCallId,
        toolName: 'sh',
        content: text('ok'),
        isError: false,
        details: { diff: '+' },
      },
    })
    const lines = [HEADER, user('u1', null, 'one'), reply('a1', 'u1', text('left')), reply('a2', 'u1', calls)]
    const session = read([...lines, result('r1', 'a2', 'c1'), result('r2', 'r1', 'c2')])
    expect(summarize(session)).toEqual(['user: one', 'call c1', 'call c2', 'result c1: ok', 'result c2: ok'])
    expect(notesOf(session)).toEqual({ 'tool result metadata': 2 })
  })
})
