/** Chats of Gemini CLI: results of calls in every form, and rewritten histories. */

import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../src/event/index.ts'
import { replay, toAnthropic, toMessages } from '../../src/index.ts'
import { detectSession } from '../../src/sessions/index.ts'
import { notesOf, read, summarize } from './session-summary.ts'

const HEADER = { sessionId: 's', projectHash: 'h', startTime: '2026-01-01T00:00:00Z', kind: 'main' }
const user = (id: string, content: JsonValue) => ({ id, type: 'user', content })
const reply = (id: string, content: unknown, toolCalls: object[] = []) => ({
  id,
  type: 'gemini',
  content,
  toolCalls,
})
const chat = (...lines: unknown[]) => read([HEADER, ...lines], 'gemini-cli')

describe('reading a chat of Gemini CLI', () => {
  it('detects the format by its first line, although events have `kind` too', () => {
    expect(detectSession([HEADER, user('u', 'hi')])).toBe('gemini-cli')
    expect(detectSession([{ ...HEADER, kind: 'subagent' }])).toBe('gemini-cli')
    expect(detectSession([{ kind: 'PauseEvent', sessionId: 's', projectHash: 'h' }])).toBeNull()
    expect(detectSession([{ kind: 'FutureEvent', id: 'x' }])).toBeNull()
  })

  it.each<[string, JsonValue, string]>([
    ['a string', '<session_context>\na tree\n</session_context>', 'environment'],
    ['one part', [{ text: '\n<session_context>a tree</session_context>\n' }], 'environment'],
    ['two parts', [{ text: '<session_context>a' }, { text: ' tree</session_context>' }], 'environment'],
    ['context followed by a prompt', '<session_context>a tree</session_context> and now?', 'user'],
    [
      'context and a prompt in separate parts',
      [{ text: '<session_context>a</session_context>' }, { text: 'go' }],
      'user',
    ],
    ['a prompt that quotes context', 'what is <session_context>a tree</session_context>', 'user'],
  ])('determines the source of a first message that is %s', (_, content, source) => {
    const messages = [user('c', content), user('u', 'go'), reply('g', 'done')]
    for (const lines of [messages, [{ $set: { messages: messages } }]])
      expect(summarize(chat(...lines)).map((one) => one.split(':')[0])).toEqual([source, 'user', 'agent'])
  })

  it('reads the results of calls without ids', () => {
    const calls = ['one', 'two'].map((output) => {
      const result = [{ functionResponse: { name: 'read', response: { output } } }]
      return { name: 'read', status: 'success', result }
    })
    const session = chat(user('u', 'go'), reply('g', '', calls))
    expect(summarize(session).filter((one) => one.startsWith('result'))).toEqual([
      'result call: one',
      'result call_2: two',
    ])
  })

  it('reads results of calls in every form and status', () => {
    const response = { functionResponse: { id: 'c1', name: 'read', response: { output: 'one image' } } }
    const session = chat(
      user('u', 'go'),
      reply('g', '', [
        {
          id: 'c1',
          name: 'read',
          status: 'success',
          result: [response, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }, { text: 'beside' }],
        },
        { id: 'c2', name: 'read', status: 'success', result: 'plain text' },
        { id: 'c3', name: 'read', status: 'success', result: { text: 'a part' } },
        { id: 'c4', name: 'sh', status: 'error', resultDisplay: 'it failed' },
        { id: 'c5', name: 'sh', status: 'executing', result: 'so far' },
        {
          id: 'c6',
          name: 'sh',
          status: 'cancelled',
          result: [{ functionResponse: { id: 'c6', response: { error: 'use npm' } } }],
          resultDisplay: 'use npm',
        },
        { id: 'c7', name: 'sh', status: 'cancelled', displayName: 'Shell', description: 'ls' },
      ]),
    )
    expect(summarize(session).slice(8)).toEqual([
      'result c1: one image <data:image/png;base64,AAAA> beside',
      'result c2: plain text',
      'result c3: a part',
      'failed c4: it failed',
      'refused c6: use npm',
      'refused c7: The user cancelled the call.',
    ])
    expect(notesOf(session)).toEqual({
      'call labels': 1,
      'results of unfinished calls': 1,
      'written twice: resultDisplay': 1,
    })
  })

  it('reads files as files, not as text', () => {
    const inlineData = { mimeType: 'application/pdf', data: 'JVBERi0xLjQg', displayName: 'a.pdf' }
    const fileData = { mimeType: 'application/pdf', fileUri: 'https://files.example/b.pdf' }
    const session = chat(user('u', [{ text: 'go' }, { inlineData }, { fileData }]))
    const state = replay(session.facts.map(({ fact }) => fact))
    expect(toAnthropic(toMessages(state)).messages).toMatchObject([
      {
        content: [
          { type: 'text' },
          { type: 'document', source: { type: 'base64', data: 'JVBERi0xLjQg' }, title: 'a.pdf' },
          { type: 'document', source: { type: 'url', url: 'https://files.example/b.pdf' } },
        ],
      },
    ])
  })

  it.each([
    ['a call that is a string', { ...reply('g', 'hi'), toolCalls: ['MARK'] }],
    ['calls that are a string', { ...reply('g', 'hi'), toolCalls: 'MARK' }],
    ['thoughts that are a string', { ...reply('g', 'hi'), thoughts: 'MARK' }],
    ['a thought that is a string', { ...reply('g', 'hi'), thoughts: ['MARK'] }],
    ['a thought with unknown fields', { ...reply('g', 'hi'), thoughts: [{ text: 'MARK' }] }],
    [
      'an image of an error',
      { id: 'e', type: 'error', content: [{ inlineData: { mimeType: 'image/png', data: 'MARK' } }] },
    ],
  ])('keeps %s', (_, message) => {
    const session = chat(user('u', 'go'), message)
    expect(JSON.stringify(session.facts)).toContain('MARK')
    expect(summarize(session).filter((line) => line.startsWith('call'))).toEqual([])
  })

  it('keeps an invalid message as text, in its position', () => {
    const { facts } = read([{ ...HEADER, messages: [user('u', 'hi'), 'loose', user('v', 'ho')] }])
    expect(facts[1]).toMatchObject({ line: 2, fact: { raw: '"loose"' } })
    expect(facts[2]).toMatchObject({ line: 3, fact: { id: 'v' } })
  })

  it('starts with the same facts after the chat has grown and its header has changed', () => {
    const [first, second] = [user('u', 'hi'), user('v', 'ho')]
    const before = read([{ ...HEADER, messages: [first] }]).facts
    const after = read([
      { ...HEADER, lastUpdated: 'later', summary: 'Greetings', messages: [first, second] },
    ]).facts
    expect(after.slice(0, before.length)).toEqual(before)
  })

  it('stores the header and $set records as state updates, without modification times', () => {
    const session = chat(
      user('u', 'hi'),
      { $set: { lastUpdated: 'x' } },
      { $set: { lastUpdated: 'y', directories: ['/d'] } },
    )
    const updates = session.facts.flatMap(({ fact }) => ('key' in fact ? [[fact.key, fact['value']]] : []))
    expect(updates).toEqual([
      ['gemini-cli.session', HEADER],
      ['gemini-cli.set', { lastUpdated: 'y', directories: ['/d'] }],
    ])
    expect(notesOf(session)).toEqual({ 'modification times of a chat': 1 })
  })
})

describe('a rewritten history of Gemini CLI', () => {
  const result = [{ functionResponse: { id: 'c', name: 'sh', response: { output: 'long' } } }]
  const call = { id: 'c', name: 'sh', args: {}, status: 'success', result }
  const before = [user('m1', 'one'), reply('m2', 'two'), user('m3', 'three'), reply('m4', 'four', [call])]

  it('replaces the view, in its own order', () => {
    const list = [user('sum', [{ text: 'in short' }]), reply('ok', [{ text: 'got it' }]), before[2]]
    const session = chat(...before, { $set: { messages: list } }, user('m5', 'five'))
    expect(summarize(session, 'view')).toEqual([
      'user: in short',
      'agent: got it',
      'user: three',
      'user: five',
    ])
    // All messages stay in the log.
    expect(summarize(session).slice(0, 3)).toEqual(['user: one', 'agent: two', 'user: three'])
  })

  it('keeps the unchanged messages at its start, and repeats changed ones', () => {
    const masked = { ...call, result: [{ functionResponse: { id: 'c', response: { output: 'cut' } } }] }
    const list = [before[0], reply('m2', [{ text: 'two' }]), before[2], reply('m4', 'four', [masked])]
    const session = chat(...before, { $set: { messages: list } })
    const same = ['user: one', 'agent: two', 'user: three', 'agent: four', 'call c']
    expect(summarize(session, 'view')).toEqual([...same, 'result c: cut'])
    const condensation = session.facts.find(({ fact }) => 'kind' in fact && fact.kind === 'Condensation')
    expect(condensation?.fact).toMatchObject({ forgotten_event_ids: ['m4.0', 'm4.0-result'] })
    // A rewind may return to a kept message, and to a repeated one.
    const toKept = chat(...before, { $set: { messages: list } }, { $rewindTo: 'm3' }, user('n', 'next'))
    expect(summarize(toKept, 'view')).toEqual(['user: one', 'agent: two', 'user: next'])
    const toAgain = chat(...before, { $set: { messages: list } }, { $rewindTo: 'm4' }, user('n', 'next'))
    expect(summarize(toAgain, 'view')).toEqual(['user: one', 'agent: two', 'user: three', 'user: next'])
  })

  it('matches results without a call id to the open calls by tool', () => {
    const turn = ['sh', 'read'].map((name) => ({ functionCall: { name, args: {} } }))
    const results = ['read', 'sh'].map((name) => ({ functionResponse: { name, response: { output: name } } }))
    const { facts } = chat(user('u', 'go'), reply('m', turn), user('r', results))
    const all = facts.flatMap(({ fact }) => ('kind' in fact ? [fact] : []))
    const calls = all.filter(({ kind }) => kind === 'ActionEvent')
    const found = calls.map(({ id }) => all.find((event) => 'action_id' in event && event.action_id === id))
    expect(found).toMatchObject(
      ['sh', 'read'].map((name) => ({ observation: { content: [{ type: 'text', text: name }] } })),
    )
  })

  it('does not change the view if it has the same messages in other forms', () => {
    const turn = [{ text: 'four' }, { functionCall: { id: 'c', name: 'sh', args: {} } }]
    const list = [...before.slice(0, 3), { ...before[3], content: turn }, user('r', result)]
    const session = chat(...before, { $set: { messages: list } })
    expect(summarize(session, 'view')).toEqual(summarize(chat(...before), 'view'))
  })
})
