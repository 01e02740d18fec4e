/**
 * decodeEvent and decodeLine for every kind: required, optional and unknown fields, and an unchanged
 * body.
 */

import { describe, expect, it } from 'vitest'
import { type Decoded, decodeEvent, decodeLine } from '../../src/event/decode.ts'
import { KINDS } from '../../src/event/kinds.ts'
import { SAMPLES, sampleOf } from './samples.ts'

/** Paths and types of the issues. */
function issuesIn(decoded: Decoded): string[] {
  return decoded.ok ? [] : decoded.issues.map(({ loc, type }) => `${loc.join('.')} ${type}`)
}

const both = (value: unknown): Decoded[] => [decodeEvent(value), decodeLine(JSON.stringify(value))]

function message(llm_message: unknown): Decoded {
  return decodeEvent({ ...sampleOf('MessageEvent').minimal, llm_message })
}

function action(fields: object): Decoded {
  return decodeEvent({ ...sampleOf('ActionEvent').minimal, ...fields })
}

function condensation(fields: object): string[] {
  return issuesIn(decodeEvent({ ...sampleOf('Condensation').minimal, ...fields }))
}

function update(value: string): Decoded {
  return decodeLine(`{"kind":"ConversationStateUpdateEvent","value":${value}}`)
}

describe.each(SAMPLES)('$kind', ({ kind, minimal, full, required }) => {
  it.each([
    ['minimal', minimal],
    ['full', full],
  ])('accepts the %s event and keeps it unchanged', (_, value) => {
    for (const decoded of both(value)) {
      expect(issuesIn(decoded)).toEqual([])
      if (!decoded.ok) continue
      expect(decoded.event).toEqual(value)
      expect(JSON.stringify(decoded.event)).toBe(JSON.stringify(value))
    }
  })

  it.each(required)('requires %s', (key) => {
    const { [key]: _, ...rest } = full
    for (const decoded of both(rest)) expect(issuesIn(decoded)).toEqual([`${key} missing`])
  })

  it('rejects unknown fields', () => {
    for (const decoded of both({ ...minimal, zebra: 1, apple: null })) {
      expect(issuesIn(decoded)).toEqual(['zebra extra_forbidden', 'apple extra_forbidden'])
    }
  })

  it('rejects a field of another kind', () => {
    const other = kind === 'TokenEvent' ? 'code' : 'prompt_token_ids'
    for (const decoded of both({ ...full, [other]: [1] })) {
      expect(issuesIn(decoded)).toEqual([`${other} extra_forbidden`])
    }
  })

  it.each(Object.keys(full))('rejects %s of the wrong type', (key) => {
    if (['raw_input', 'raw_output', 'value'].includes(key)) return // accepts any JSON
    const value = typeof full[key] === 'number' ? 'text' : 7.5
    for (const decoded of both({ ...full, [key]: value })) {
      expect(decoded.ok).toBe(false)
      expect(issuesIn(decoded)[0]).toMatch(new RegExp(`^${key} `))
    }
  })

  it('accepts valid sources only, and requires one if there is no default', () => {
    const { source: _, ...without } = full
    const sources = ['agent', 'user', 'environment', 'hook']
    const accepted = sources.filter((source) => decodeEvent({ ...full, source }).ok)
    expect(accepted).toEqual(kind === 'HookExecutionEvent' ? ['hook'] : sources)
    expect(decodeEvent(without).ok).toBe(KINDS[kind].defaultSource !== null)
    expect(decodeEvent({ ...full, source: 'system' }).ok).toBe(false)
    expect(decodeEvent({ ...full, source: null }).ok).toBe(false)
  })

  it.each([
    ['parent_id', null, true],
    ['parent_id', '__root__', true],
    ['parent_id', '', true],
    ['parent_id', 5, false],
    ['id', '__root__', false],
    ['id', '', false],
    ['id', null, false],
    ['id', 'x'.repeat(200), true],
    ['id', 'x'.repeat(201), false],
    ['id', '😀'.repeat(200), true],
    ['id', 'a\nb', false],
    ['id', 'a\ud800', false],
    ['timestamp', 'whenever', true],
    ['timestamp', null, false],
    ['timestamp', 5, false],
  ])('with %s %j is valid: %s', (key, value, isValid) => {
    for (const decoded of both({ ...full, [key]: value })) expect(decoded.ok).toBe(isValid)
  })
})

describe('decoding of other values', () => {
  it.each([null, true, 0, 'text', [], [{ kind: 'PauseEvent' }]])(
    'reports that %j is not an object',
    (value) => {
      for (const decoded of both(value)) expect(issuesIn(decoded)).toEqual([' dict_type'])
    },
  )

  it.each([
    [{}, 'kind missing'],
    [{ kind: null }, 'kind string_type'],
    [{ kind: ['PauseEvent'] }, 'kind string_type'],
    [{ kind: '' }, 'kind union_tag_invalid'],
    [{ kind: 'pauseevent' }, 'kind union_tag_invalid'],
    [{ kind: 'toString' }, 'kind union_tag_invalid'],
    [{ kind: '__proto__' }, 'kind union_tag_invalid'],
  ])('rejects %j: %s', (value, issue) => {
    for (const decoded of both(value)) expect(issuesIn(decoded)).toEqual([issue])
  })

  it.each([
    '',
    ' ',
    '{',
    '{"kind":"PauseEvent"',
    'nope',
    '{"kind":"PauseEvent"} x',
    "{'kind':'PauseEvent'}",
    '\ufeff{}',
  ])('reports that %j is invalid JSON', (text) =>
    expect(issuesIn(decodeLine(text))).toEqual([' json_invalid']),
  )

  it('does not quote invalid JSON, which may contain a secret', () => {
    const decoded = decodeLine('{"encrypted_content":"gAAA-secret" oops}')
    expect(JSON.stringify(decoded)).not.toContain('gAAA')
    expect(decoded.ok || decoded.issues[0]?.msg).toMatch(
      /^Invalid JSON.*\. Write one JSON object per line\.$/,
    )
  })
})

describe('nested shapes', () => {
  it.each([
    [{ role: 'developer' }, 'llm_message.role enum'],
    [{}, 'llm_message.role missing'],
    [null, 'llm_message dict_type'],
    [{ role: 'user', content: null }, 'llm_message.content list_type'],
    [{ role: 'user', content: 'hi' }, 'llm_message.content list_type'],
    [{ role: 'user', content: ['hi'] }, 'llm_message.content.0 dict_type'],
    [{ role: 'user', content: [{ text: 'a' }, { text: 5 }] }, 'llm_message.content.1.text string_type'],
    [{ role: 'user', content: [{ type: 'text' }] }, 'llm_message.content.0.text missing'],
    [{ role: 'user', content: [{ type: 'image' }] }, 'llm_message.content.0.image_urls missing'],
    [{ role: 'user', content: [{ image_urls: 'a' }] }, 'llm_message.content.0.image_urls list_type'],
    [{ role: 'user', content: [{ image_urls: [1] }] }, 'llm_message.content.0.image_urls.0 string_type'],
    [
      { role: 'user', content: [{ text: 'a', cache_prompt: 1 }] },
      'llm_message.content.0.cache_prompt bool_type',
    ],
    [{ role: 'user', content: [{ type: 7, text: 'a' }] }, 'llm_message.content.0.type literal_error'],
    [{ role: 'user', content: [{ type: '', text: 'a' }] }, 'llm_message.content.0.type string_too_short'],
    [{ role: 'user', content: [{ type: 'text', image_urls: [] }] }, 'llm_message.content.0.text missing'],
    [{ role: 'user', tool_calls: {} }, 'llm_message.tool_calls list_type'],
    [
      { role: 'user', thinking_blocks: [{ type: 'thinking', data: 'a' }] },
      'llm_message.thinking_blocks.0.thinking missing',
    ],
  ])('the message %j is rejected: %s', (value, issue) => {
    expect(issuesIn(message(value))[0]).toBe(issue)
  })

  it('text content, thinking and reasoning reject unknown fields', () => {
    expect(issuesIn(action({ thought: [{ text: 'a', enable_truncation: true }] }))).toEqual([
      'thought.0.enable_truncation extra_forbidden',
    ])
    expect(issuesIn(action({ thinking_blocks: [{ thinking: 'a', own: 1 }] }))).toEqual([
      'thinking_blocks.0.own extra_forbidden',
    ])
    expect(issuesIn(action({ thinking_blocks: [{ data: 'a', own: 1 }] }))).toEqual([
      'thinking_blocks.0.own extra_forbidden',
    ])
    expect(issuesIn(action({ responses_reasoning_item: { own: 1 } }))).toEqual([
      'responses_reasoning_item.own extra_forbidden',
    ])
  })

  it('messages, calls, tools, images, critics, actions and observations accept any fields', () => {
    const extra = { own: { deep: [1] } }
    const call = { id: 'c', name: 'n', arguments: 'no json', origin: 'completion', ...extra }
    const value = {
      ...sampleOf('MessageEvent').minimal,
      llm_message: {
        role: 'user',
        content: [{ image_urls: [], ...extra }],
        tool_calls: [call],
        ...extra,
      },
      critic_result: { score: 1, ...extra },
    }
    expect(decodeEvent(value)).toEqual({ ok: true, event: value, warnings: [] })
    expect(action({ tool_call: call, action: { kind: 'Own', ...extra } }).ok).toBe(true)
    const tools = [{ description: '', action_type: 'A', ...extra }]
    expect(decodeEvent({ ...sampleOf('SystemPromptEvent').minimal, tools }).ok).toBe(true)
  })

  it('the fields of content without a type determine its type', () => {
    expect(message({ role: 'user', content: [{ text: 'a' }, { image_urls: ['b'] }] }).ok).toBe(true)
    expect(action({ thinking_blocks: [{ thinking: 'a' }, { data: 'b' }] }).ok).toBe(true)
  })

  it.each([
    [{ score: 1.1 }, 'critic_result.score less_than_equal'],
    [{ score: -0.1 }, 'critic_result.score greater_than_equal'],
    [{ score: '1' }, 'critic_result.score float_type'],
    [{ message: null }, 'critic_result.score missing'],
    [{ score: 1, metadata: [] }, 'critic_result.metadata dict_type'],
  ])('the critic result %j is rejected: %s', (critic_result, issue) => {
    expect(issuesIn(action({ critic_result }))).toEqual([issue])
  })

  it('a critic result may omit its message and metadata, or have null there (W35)', () => {
    expect(action({ critic_result: { score: 0 } }).ok).toBe(true)
    expect(action({ critic_result: { score: 0, message: null, metadata: null } }).ok).toBe(true)
  })

  it('an action may be null or absent, but an observation may not', () => {
    expect(action({ action: null }).ok).toBe(true)
    expect(action({}).ok).toBe(true)
    expect(issuesIn(action({ action: {} }))).toEqual(['action.kind missing'])
    expect(issuesIn(action({ action: { kind: '' } }))).toEqual(['action.kind string_too_short'])
    const { observation: _, ...rest } = sampleOf('ObservationEvent').minimal
    expect(issuesIn(decodeEvent(rest))).toEqual(['observation missing'])
    expect(issuesIn(decodeEvent({ ...rest, observation: null }))).toEqual(['observation dict_type'])
    expect(issuesIn(decodeEvent({ ...rest, observation: { kind: 'Own', content: 'a' } }))).toEqual([
      'observation.content list_type',
    ])
    expect(issuesIn(decodeEvent({ ...rest, observation: { kind: 'Own', is_error: 'a' } }))).toEqual([
      'observation.is_error bool_type',
    ])
  })
})

describe('numbers and lists', () => {
  it.each([
    [-1, 'greater_than_equal'],
    [1.5, 'int_type'],
    ['1', 'int_type'],
    [true, 'int_type'],
    [2 ** 53, 'less_than_equal'],
  ])('summary_offset %j is rejected: %s', (summary_offset, type) => {
    expect(condensation({ summary_offset })).toEqual([`summary_offset ${type}`])
  })

  it('summary_offset may be 0 or null', () => {
    expect(condensation({ summary_offset: 0 })).toEqual([])
    expect(condensation({ summary_offset: null })).toEqual([])
  })

  it('forgotten_event_ids are unique', () => {
    expect(condensation({ forgotten_event_ids: ['a', 'b', 'a'] })).toEqual(['forgotten_event_ids not_unique'])
    expect(condensation({ forgotten_event_ids: [] })).toEqual([])
  })

  it('numbers are finite, and -0 becomes 0', () => {
    expect(issuesIn(update('[1e999]'))).toEqual(['value.0 finite_number'])
    const zero = update('[-0]')
    expect(zero).toStrictEqual({
      ok: true,
      event: { kind: 'ConversationStateUpdateEvent', value: [0] },
      warnings: [],
    })
  })
})

describe('hostile keys', () => {
  it('__proto__ is an unknown field of an event', () => {
    const line = '{"kind":"PauseEvent","__proto__":{"id":"x"}}'
    expect(issuesIn(decodeLine(line))).toEqual(['__proto__ extra_forbidden'])
    expect(issuesIn(decodeEvent(JSON.parse(line)))).toEqual(['__proto__ extra_forbidden'])
  })

  it('__proto__ is kept as data in a value with any fields', () => {
    const line = '{"kind":"ConversationStateUpdateEvent","value":{"__proto__":{"polluted":true}}}'
    for (const decoded of [decodeLine(line), decodeEvent(JSON.parse(line))]) {
      expect(decoded.ok).toBe(true)
      expect(JSON.stringify(decoded.ok && decoded.event)).toBe(line)
    }
    expect(({} as { polluted?: true }).polluted).toBeUndefined()
  })

  it.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf'])('%s is an unknown field', (key) => {
    expect(issuesIn(decodeEvent({ kind: 'PauseEvent', [key]: 1 }))).toEqual([`${key} extra_forbidden`])
  })

  it('inherited fields are ignored', () => {
    const inherited = Object.create({ kind: 'PauseEvent' }) as object
    expect(decodeEvent(inherited).ok).toBe(false)
    expect(decodeEvent(Object.assign(Object.create(null) as object, { kind: 'PauseEvent' })).ok).toBe(true)
  })
})
