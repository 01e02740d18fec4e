/** The `--json` contract of every command except `check`, field by field. */

import { describe, expect, it } from 'vitest'
import { answered, answers, called, colloquy, folder, lines, SAMPLE, output } from './world.ts'

const PAUSE = { id: 'p', kind: 'PauseEvent' }

describe('replay', () => {
  it('tells the state', async () => {
    const { code, all } = await answers(['replay', SAMPLE])
    expect(code).toBe(0)
    expect(Object.keys(all[0])).toEqual([
      'file',
      'events',
      'status',
      'head',
      'error',
      'pending',
      'working',
      'branches',
      'quarantined',
    ])
    expect(all[0]).toMatchObject({
      file: SAMPLE,
      events: 47,
      status: 'waiting_for_confirmation',
      error: null,
      branches: 2,
      quarantined: 1,
    })
    expect(all[0].pending).toHaveLength(1)
  })

  it('tells the error', async () => {
    const failure = {
      id: 'f',
      source: 'environment',
      code: 'Boom',
      detail: 'it broke',
      kind: 'ConversationErrorEvent',
    }
    const index = folder({ 'a.jsonl': lines(output('m', 'hi'), failure) })
    const { all } = await answers(['replay', index('a.jsonl')])
    expect(all[0]).toMatchObject({
      status: 'error',
      error: { code: 'Boom', detail: 'it broke', event_id: 'f' },
    })
  })

  it('lists open calls in log order, forgotten ones too', async () => {
    const forget = { id: 'c', llm_response_id: 'r', forgotten_event_ids: ['b'], kind: 'Condensation' }
    const index = folder({
      'a.jsonl': lines(output('m', 'hi'), called('b', 'ls'), called('a', 'pwd'), forget),
    })
    expect((await answers(['replay', index('a.jsonl')])).all[0].pending).toEqual(['b', 'a'])
  })

  it('--at tells the state as it was', async () => {
    const index = folder({
      'a.jsonl': lines(output('m', 'hi'), called('a', 'ls'), answered('o', 'a', 'done'), PAUSE),
    })
    const { code, all } = await answers(['replay', index('a.jsonl'), '--at', 'a'])
    expect(code).toBe(0)
    expect(all[0]).toMatchObject({
      events: 2,
      status: 'running',
      head: 'a',
      pending: ['a'],
      working: [],
      branches: 1,
    })
  })

  it('has null for HEAD before every event, and no branch in an empty file', async () => {
    const move = { id: 'h', key: 'leaf_event_id', value: null, kind: 'ConversationStateUpdateEvent' }
    const index = folder({ 'a.jsonl': lines(PAUSE, move), 'empty.jsonl': '' })
    const { code, all } = await answers(['replay', index('a.jsonl'), index('empty.jsonl')])
    expect(code).toBe(0)
    expect(all).toMatchObject([
      { events: 2, head: null, branches: 1 },
      { events: 0, head: null, branches: 0 },
    ])
  })
})

describe('view', () => {
  const log = lines(
    output('m', 'hi'),
    called('a', 'ls'),
    answered('o', 'a', 'done'),
    answered('o2', 'a', 'done again'),
    answered('o3', 'nobody', 'who?'),
    {
      id: 'c',
      llm_response_id: 'r',
      forgotten_event_ids: ['m'],
      summary: 'greeted',
      summary_offset: 0,
      kind: 'Condensation',
    },
    called('b', 'pwd'),
    { id: 'q', kind: 'CondensationRequest' },
  )

  it('lists ids in order with derived summaries, pending and dropped answers apart', async () => {
    const index = folder({ 'a.jsonl': log })
    const { code, all } = await answers(['view', index('a.jsonl')])
    expect(code).toBe(0)
    expect(all).toEqual([
      {
        file: index('a.jsonl'),
        view: ['c-summary', 'a', 'o'],
        pending: ['b'],
        dropped: [
          { id: 'o2', reason: 'duplicate_result' },
          { id: 'o3', reason: 'orphan_result' },
        ],
        unhandled_condensation_request: true,
        cut_points: [0, 1, 3],
      },
    ])
    expect(Object.keys(all[0])).toEqual([
      'file',
      'view',
      'pending',
      'dropped',
      'unhandled_condensation_request',
      'cut_points',
    ])
  })

  it('--leaf looks from another event', async () => {
    const index = folder({ 'a.jsonl': log })
    const { all } = await answers(['view', index('a.jsonl'), '--leaf', 'a'])
    expect(all[0]).toMatchObject({ view: ['m'], pending: ['a'], dropped: [], cut_points: [0, 1] })
  })
})

describe('messages', () => {
  const FORMATS = [
    'neutral',
    'openai-chat',
    'openai-responses',
    'anthropic',
    'google',
    'interactions',
    'bedrock',
    'ai-sdk',
  ]

  it('gives an array, or for five grammars an object with the system prompt apart', async () => {
    for (const format of FORMATS) {
      const { code, all } = await answers(['messages', SAMPLE, '--format', format])
      expect(code).toBe(0)
      expect(Object.keys(all[0])).toEqual(['file', 'messages'])
      const messages = all[0].messages
      if (format === 'openai-responses')
        expect(Object.keys(messages).toSorted()).toEqual(['input', 'instructions'])
      else if (format === 'anthropic' || format === 'bedrock')
        expect(Object.keys(messages).toSorted()).toEqual(['messages', 'system'])
      else if (format === 'google')
        expect(Object.keys(messages).toSorted()).toEqual(['contents', 'systemInstruction'])
      else if (format === 'interactions')
        expect(Object.keys(messages).toSorted()).toEqual(['input', 'system_instruction'])
      else expect(messages[0]?.role).toBe('system')
    }
    expect((await answers(['messages', SAMPLE])).all).toEqual(
      (await answers(['messages', SAMPLE, '--format', 'neutral'])).all,
    )
  })

  it('has the same fields without a system prompt', async () => {
    const index = folder({ 'a.jsonl': lines(output('m', 'hi')) })
    expect(
      (await answers(['messages', index('a.jsonl'), '--format', 'anthropic'])).all[0].messages,
    ).toMatchObject({ system: [] })
    expect(
      (await answers(['messages', index('a.jsonl'), '--format', 'openai-responses'])).all[0].messages,
    ).toMatchObject({ instructions: null })
    expect(
      (await answers(['messages', index('a.jsonl'), '--format', 'google'])).all[0].messages,
    ).toMatchObject({
      systemInstruction: null,
    })
  })

  it('has no neutral message for an empty view, and an error in a provider’s grammar', async () => {
    const index = folder({ 'a.jsonl': lines(PAUSE) })
    for (const format of FORMATS) {
      const { code, all } = await answers(['messages', index('a.jsonl'), '--format', format])
      if (format === 'neutral')
        expect({ code, all }).toEqual({ code: 0, all: [{ file: index('a.jsonl'), messages: [] }] })
      else expect({ code, error: all[0].error?.code }).toEqual({ code: 1, error: 'empty_view' })
    }
  })

  it('--leaf writes another branch', async () => {
    const index = folder({
      'a.jsonl': lines(
        output('m', 'one'),
        output('n', 'two', { parent_id: 'm' }),
        output('o', 'three', { parent_id: 'm' }),
      ),
    })
    const { all } = await answers(['messages', index('a.jsonl'), '--leaf', 'n'])
    expect(JSON.stringify(all[0].messages)).toMatch(/one.*two/)
    expect(JSON.stringify(all[0].messages)).not.toContain('three')
  })
})

describe('tree', () => {
  it('gives roots, and every event that stands with its effective parent', async () => {
    const index = folder({
      'a.jsonl': lines(
        output('m', 'one'),
        { id: 'u', key: 'x', value: 1, kind: 'ConversationStateUpdateEvent' },
        output('n', 'two'),
        { id: 'odd', kind: 'Odd', parent_id: 'm' },
        { id: 7 },
        output('r', 'a root', { parent_id: '__root__' }),
        output('r', 'again'),
      ),
    })
    const { code, all } = await answers(['tree', index('a.jsonl')])
    expect(code).toBe(0)
    expect(all[0]).toEqual({
      file: index('a.jsonl'),
      roots: ['m', 'r'],
      events: [
        { id: 'm', kind: 'MessageEvent', parent: null, on_head_path: false },
        { id: 'u', kind: 'ConversationStateUpdateEvent', parent: 'm', on_head_path: false },
        { id: 'n', kind: 'MessageEvent', parent: 'm', on_head_path: false },
        { id: 'odd', kind: 'Odd', parent: 'm', on_head_path: false },
        { id: 'r', kind: 'MessageEvent', parent: null, on_head_path: true },
      ],
      subagents: [],
    })
  })
})

describe('several files', () => {
  it('are answered in the order given, the bad ones with an error, and the worst exit code counts', async () => {
    const index = folder({ 'good.jsonl': lines(PAUSE), 'bad.jsonl': 'oops\n' })
    const { code, all, err } = await answers([
      'replay',
      index('good.jsonl'),
      index('none.jsonl'),
      index('bad.jsonl'),
      index('good.jsonl'),
    ])
    expect(code).toBe(1)
    expect(all.map((answer) => [answer.file, answer.error?.code ?? null])).toEqual([
      [index('good.jsonl'), null],
      [index('none.jsonl'), 'not_found'],
      [index('bad.jsonl'), 'not_json'],
      [index('good.jsonl'), null],
    ])
    expect(all[1]).toEqual({
      file: index('none.jsonl'),
      error: { code: 'not_found', message: expect.any(String) },
    })
    expect(err.split('\n')).toHaveLength(3)
  })

  it('an unknown event is an error of the file that lacks it', async () => {
    const index = folder({ 'a.jsonl': lines(PAUSE), 'b.jsonl': lines({ id: 'q', kind: 'PauseEvent' }) })
    for (const argv of [
      ['replay', '--at'],
      ['view', '--leaf'],
      ['messages', '--leaf'],
    ]) {
      const { code, all, err } = await answers([...argv, 'q', index('a.jsonl'), index('b.jsonl')])
      expect(code).toBe(1)
      expect(all.map((answer) => answer.error?.code ?? null)).toEqual(['unknown_event', null])
      expect(err).toMatch(
        /^colloquy: .*a\.jsonl: No event "q" in this conversation\. Check the id and the conversation\.\n$/,
      )
    }
  })
})

it('prints nothing that could drive a terminal or break the line, and the same values', async () => {
  const text = '\u001b[2J\u009b31m\u007f\u2028\u202e\ufeff end'
  const index = folder({ 'a.jsonl': lines(output('m', text)) })
  const { all } = await answers(['messages', index('a.jsonl')])
  expect(all[0].messages[0]?.content[0]?.text).toBe(text)
  expect((await colloquy(['messages', index('a.jsonl'), '--json'])).out).toMatch(/^[\x20-\x7e]+\n$/)
})
