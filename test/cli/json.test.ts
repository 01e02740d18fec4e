/** The `--json` contract of every command except `check`, field by field. */

import { describe, expect, it } from 'vitest'
import {
  resultEvent,
  runJson,
  callEvent,
  colloquy,
  folder,
  lines,
  SAMPLE,
  messageEvent,
} from './run-command.ts'

const PAUSE = { id: 'p', kind: 'PauseEvent' }

describe('replay', () => {
  it('prints the state', async () => {
    const { code, all } = await runJson(['replay', SAMPLE])
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

  it('prints the error', async () => {
    const failure = {
      id: 'f',
      source: 'environment',
      code: 'Boom',
      detail: 'it broke',
      kind: 'ConversationErrorEvent',
    }
    const pathOf = folder({ 'a.jsonl': lines(messageEvent('m', 'hi'), failure) })
    const { all } = await runJson(['replay', pathOf('a.jsonl')])
    expect(all[0]).toMatchObject({
      status: 'error',
      error: { code: 'Boom', detail: 'it broke', event_id: 'f' },
    })
  })

  it('lists pending calls in log order, including forgotten ones', async () => {
    const forget = { id: 'c', llm_response_id: 'r', forgotten_event_ids: ['b'], kind: 'Condensation' }
    const pathOf = folder({
      'a.jsonl': lines(messageEvent('m', 'hi'), callEvent('b', 'ls'), callEvent('a', 'pwd'), forget),
    })
    expect((await runJson(['replay', pathOf('a.jsonl')])).all[0].pending).toEqual(['b', 'a'])
  })

  it('prints the state at the event of --at', async () => {
    const pathOf = folder({
      'a.jsonl': lines(messageEvent('m', 'hi'), callEvent('a', 'ls'), resultEvent('o', 'a', 'done'), PAUSE),
    })
    const { code, all } = await runJson(['replay', pathOf('a.jsonl'), '--at', 'a'])
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

  it('prints a null HEAD before the first event, and 0 branches for an empty file', async () => {
    const move = { id: 'h', key: 'leaf_event_id', value: null, kind: 'ConversationStateUpdateEvent' }
    const pathOf = folder({ 'a.jsonl': lines(PAUSE, move), 'empty.jsonl': '' })
    const { code, all } = await runJson(['replay', pathOf('a.jsonl'), pathOf('empty.jsonl')])
    expect(code).toBe(0)
    expect(all).toMatchObject([
      { events: 2, head: null, branches: 1 },
      { events: 0, head: null, branches: 0 },
    ])
  })
})

describe('view', () => {
  const log = lines(
    messageEvent('m', 'hi'),
    callEvent('a', 'ls'),
    resultEvent('o', 'a', 'done'),
    resultEvent('o2', 'a', 'done again'),
    resultEvent('o3', 'nobody', 'who?'),
    {
      id: 'c',
      llm_response_id: 'r',
      forgotten_event_ids: ['m'],
      summary: 'greeted',
      summary_offset: 0,
      kind: 'Condensation',
    },
    callEvent('b', 'pwd'),
    { id: 'q', kind: 'CondensationRequest' },
  )

  it('lists ids in order, with summaries, pending calls and dropped results', async () => {
    const pathOf = folder({ 'a.jsonl': log })
    const { code, all } = await runJson(['view', pathOf('a.jsonl')])
    expect(code).toBe(0)
    expect(all).toEqual([
      {
        file: pathOf('a.jsonl'),
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

  it('prints the view at the event of --leaf', async () => {
    const pathOf = folder({ 'a.jsonl': log })
    const { all } = await runJson(['view', pathOf('a.jsonl'), '--leaf', 'a'])
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

  it('prints an array, or for five formats an object with a separate system prompt', async () => {
    for (const format of FORMATS) {
      const { code, all } = await runJson(['messages', SAMPLE, '--format', format])
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
    expect((await runJson(['messages', SAMPLE])).all).toEqual(
      (await runJson(['messages', SAMPLE, '--format', 'neutral'])).all,
    )
  })

  it('prints the same fields without a system prompt', async () => {
    const pathOf = folder({ 'a.jsonl': lines(messageEvent('m', 'hi')) })
    expect(
      (await runJson(['messages', pathOf('a.jsonl'), '--format', 'anthropic'])).all[0].messages,
    ).toMatchObject({ system: [] })
    expect(
      (await runJson(['messages', pathOf('a.jsonl'), '--format', 'openai-responses'])).all[0].messages,
    ).toMatchObject({ instructions: null })
    expect(
      (await runJson(['messages', pathOf('a.jsonl'), '--format', 'google'])).all[0].messages,
    ).toMatchObject({
      systemInstruction: null,
    })
  })

  it('prints no neutral message for an empty view, and fails in a provider’s format', async () => {
    const pathOf = folder({ 'a.jsonl': lines(PAUSE) })
    for (const format of FORMATS) {
      const { code, all } = await runJson(['messages', pathOf('a.jsonl'), '--format', format])
      if (format === 'neutral')
        expect({ code, all }).toEqual({ code: 0, all: [{ file: pathOf('a.jsonl'), messages: [] }] })
      else expect({ code, error: all[0].error?.code }).toEqual({ code: 1, error: 'empty_view' })
    }
  })

  it('prints the branch of --leaf', async () => {
    const pathOf = folder({
      'a.jsonl': lines(
        messageEvent('m', 'one'),
        messageEvent('n', 'two', { parent_id: 'm' }),
        messageEvent('o', 'three', { parent_id: 'm' }),
      ),
    })
    const { all } = await runJson(['messages', pathOf('a.jsonl'), '--leaf', 'n'])
    expect(JSON.stringify(all[0].messages)).toMatch(/one.*two/)
    expect(JSON.stringify(all[0].messages)).not.toContain('three')
  })
})

describe('tree', () => {
  it('prints the roots, and each event in the tree with its effective parent', async () => {
    const pathOf = folder({
      'a.jsonl': lines(
        messageEvent('m', 'one'),
        { id: 'u', key: 'x', value: 1, kind: 'ConversationStateUpdateEvent' },
        messageEvent('n', 'two'),
        { id: 'odd', kind: 'Odd', parent_id: 'm' },
        { id: 7 },
        messageEvent('r', 'a root', { parent_id: '__root__' }),
        messageEvent('r', 'again'),
      ),
    })
    const { code, all } = await runJson(['tree', pathOf('a.jsonl')])
    expect(code).toBe(0)
    expect(all[0]).toEqual({
      file: pathOf('a.jsonl'),
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
  it('are answered in order; an invalid one gets an error, and the exit code is 1', async () => {
    const pathOf = folder({ 'good.jsonl': lines(PAUSE), 'bad.jsonl': 'oops\n' })
    const { code, all, err } = await runJson([
      'replay',
      pathOf('good.jsonl'),
      pathOf('none.jsonl'),
      pathOf('bad.jsonl'),
      pathOf('good.jsonl'),
    ])
    expect(code).toBe(1)
    expect(all.map((answer) => [answer.file, answer.error?.code ?? null])).toEqual([
      [pathOf('good.jsonl'), null],
      [pathOf('none.jsonl'), 'not_found'],
      [pathOf('bad.jsonl'), 'not_json'],
      [pathOf('good.jsonl'), null],
    ])
    expect(all[1]).toEqual({
      file: pathOf('none.jsonl'),
      error: { code: 'not_found', message: expect.any(String) },
    })
    expect(err.split('\n')).toHaveLength(3)
  })

  it('fail with unknown_event only where the event is missing', async () => {
    const pathOf = folder({ 'a.jsonl': lines(PAUSE), 'b.jsonl': lines({ id: 'q', kind: 'PauseEvent' }) })
    for (const argv of [
      ['replay', '--at'],
      ['view', '--leaf'],
      ['messages', '--leaf'],
    ]) {
      const { code, all, err } = await runJson([...argv, 'q', pathOf('a.jsonl'), pathOf('b.jsonl')])
      expect(code).toBe(1)
      expect(all.map((answer) => answer.error?.code ?? null)).toEqual(['unknown_event', null])
      expect(err).toMatch(
        /^colloquy: .*a\.jsonl: No event "q" in this conversation\. Check the id and the conversation\.\n$/,
      )
    }
  })
})

it('--json prints only printable ASCII characters, and keeps the values', async () => {
  const text = '\u001b[2J\u009b31m\u007f\u2028\u202e\ufeff end'
  const pathOf = folder({ 'a.jsonl': lines(messageEvent('m', text)) })
  const { all } = await runJson(['messages', pathOf('a.jsonl')])
  expect(all[0].messages[0]?.content[0]?.text).toBe(text)
  expect((await colloquy(['messages', pathOf('a.jsonl'), '--json'])).out).toMatch(/^[\x20-\x7e]+\n$/)
})
