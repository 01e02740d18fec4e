/** Rollouts of Codex CLI: what their events repeat, and what only they contain. */

import { describe, expect, it } from 'vitest'
import { findings } from '../../src/explain/index.ts'
import { replay } from '../../src/index.ts'
import { notesOf, read, reports } from './world.ts'

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

describe('an event of Codex', () => {
  it.each(PAIRS)('that says %j is kept where no item says it', (text, counterpart) => {
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

describe('a count of tokens', () => {
  const answer = item('message', { role: 'assistant', content: [text('yes')] })

  it('is of the reply in front of it, with what the cache took', () => {
    const session = read([META, answer, count(100, 100), count(100, 100)])
    expect(session.facts[1]?.fact).toMatchObject({ llm_message: { reply: { tokens: [100, 5, 0, 60] } } })
    expect(session.facts).toHaveLength(2)
    expect(notesOf(session)).toEqual({ 'written twice: token_count': 2 })
  })

  it('is kept where it is of no reply: of a shorter history, or of a session whose replies are in another file', () => {
    const alone = read([META, count(100, 100), count(100, 100), count(300, 200)])
    const history = { type: 'compacted', payload: { message: 'in short' } }
    const short = read([META, answer, history, count(100, 100)])
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

describe('a prompt with an image', () => {
  it('is said once, by its user', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,QQ==' }
    const content = [text('<image name=[Image #1]>'), image, text('</image>'), text('What is wrong?')]
    const session = read([
      META,
      item('message', { role: 'user', content }),
      event('user_message', { message: 'What is wrong?', local_images: ['a.png'] }),
    ])
    expect(reports(session)).toEqual([
      'user: <image name=[Image #1]> <data:image/png;base64,QQ==> </image> What is wrong?',
    ])
    expect(notesOf(session)).toEqual({ 'written twice: user_message': 1 })
  })
})

describe('a message of another agent', () => {
  it('tells that it was from one agent, to another', () => {
    const content = [{ type: 'input_text', text: 'found it' }]
    const session = read([META, item('agent_message', { author: '/root/a', recipient: '/root', content })])
    expect(reports(session)).toEqual(['environment: found it'])
    expect(notesOf(session)).toEqual({ 'authors and recipients of messages of agents': 1 })
  })
})

describe('a history that replaces another', () => {
  it('keeps what can be read, and counts what is sealed', () => {
    const call = { type: 'function_call', name: 'sh', call_id: 'c', arguments: '{}' }
    const sealed = { type: 'compaction', encrypted_content: 'c2VhbGVk' }
    const replacement_history = [call, sealed, 'bare']
    const session = read([META, { type: 'compacted', payload: { message: 'short', replacement_history } }])
    expect(session.facts.at(-1)?.fact).toMatchObject({
      key: 'codex.replacement_history',
      value: [call, { text: 'bare' }],
    })
    expect(notesOf(session)).toEqual({ 'sealed parts of a replaced history': 1 })
  })
})

const completed = (type: string, words: string) =>
  event('item_completed', {
    item: { type, id: `${type} ${words}`, content: [{ type: 'text', text: words }] },
  })

describe('a paginated rollout', () => {
  const prompt = item('message', { role: 'user', content: [text('Any files?')] })
  const typed = completed('UserMessage', 'Any files?')
  const answer = completed('AgentMessage', 'a.txt')
  const output = item('message', { role: 'assistant', content: [{ type: 'output_text', text: 'a.txt' }] })
  const talk = ['user: Any files?', 'agent: a.txt']

  it('says by item_completed alone what the user typed', () => {
    const session = read([META, prompt, typed, output, answer])
    expect(reports(session)).toEqual(talk)
    expect(notesOf(session)).toEqual({ 'written twice: item_completed': 2 })
  })

  it('keeps what no item says, also what was typed twice', () => {
    expect(reports(read([META, typed, answer]))).toEqual(talk)
    expect(reports(read([META, typed, answer, typed, answer]))).toEqual([...talk, ...talk])
    const plan = event('item_completed', { item: { type: 'Plan', id: 'p', text: 'first this' } })
    expect(read([META, plan]).facts[1]?.fact).toMatchObject({ key: 'codex.item_completed' })
  })

  it('says once what an event of the other type says, too', () => {
    const text = event('user_message', { message: 'Any files?' })
    for (const events of [
      [text, typed],
      [typed, text],
    ])
      expect(reports(read([META, ...events, output]))).toEqual(talk)
  })

  it('loses a line that was torn, and nothing else', () => {
    const lines: readonly unknown[] = [META, prompt, typed, output, answer]
    for (let torn = 1; torn <= lines.length; torn += 1) {
      const cut = JSON.stringify(lines[torn - 1]).slice(0, 40)
      const { facts, notes } = read(lines.toSpliced(torn - 1, 1, cut), 'codex')
      expect(facts.filter(({ fact }) => 'quarantined' in fact)).toEqual([
        expect.objectContaining({ line: torn, fact: expect.objectContaining({ raw: cut }) }),
      ])
      expect(notes.some(({ what }) => what === 'invalid JSON')).toBe(true)
    }
    const cut = JSON.stringify(typed).slice(0, 40)
    expect(reports(read([META, prompt, cut, output, answer]))[1]).toBe('agent: a.txt')
  })
})
