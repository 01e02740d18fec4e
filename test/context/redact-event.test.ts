/** The parts of events that redaction changes, and the ids, names and other fields that it keeps. */

import { describe, expect, it } from 'vitest'
import { redact, redactLog } from '../../src/context/redaction/redact.ts'
import { type RedactionOptions, redactionRules } from '../../src/context/redaction/rules.ts'
import { loadLine } from '../../src/event/load.ts'
import type { Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, EVERYTHING, redacted, RULES, S, using } from './redact-events.ts'
import { MASK } from './redact-output.ts'

describe('redact', () => {
  it('returns the same object without secrets, else a frozen copy, and never changes its input', () => {
    const plain = action()
    expect(redact(plain, RULES)).toBe(plain)
    const event = action({ summary: S, action: { kind: 'X', deep: { list: [S] } } })
    const text = JSON.stringify(event)
    const after = redact(event, RULES) as object as { readonly action: { readonly deep: object } }
    expect(JSON.stringify(event)).toBe(text)
    expect([after, after.action, after.action.deep].map(Object.isFrozen)).toEqual([true, true, true])
    expect(Object.isFrozen(event)).toBe(false)
  })

  it('keeps the ids and values of the contract, even if a rule matches them', () => {
    const ids = { id: S, parent_id: S, tool_call_id: S, llm_response_id: S, action_id: S, message_id: S }
    const common = { id: S, parent_id: S, timestamp: '2026-01-01T00:00:00Z' }
    const call = { id: S, name: 'finish', arguments: '', origin: 'responses', responses_item_id: S }
    const events: object[] = [
      { kind: 'PauseEvent', ...common, source: 'user' },
      {
        kind: 'Condensation',
        ...common,
        source: 'environment',
        llm_response_id: S,
        forgotten_event_ids: [S],
        summary_offset: 1,
      },
      { kind: 'ConversationStateUpdateEvent', ...common, key: 'leaf_event_id', value: S },
      { kind: 'ConversationStateUpdateEvent', ...common, key: 'execution_status', value: 'idle' },
      { kind: 'ConversationStateUpdateEvent', ...common, key: 'approved_actions', value: [S] },
      {
        kind: 'ConversationStateUpdateEvent',
        ...common,
        key: 'confirmation_policy',
        value: { kind: 'ConfirmRisky', threshold: 'LOW' },
      },
      {
        kind: 'ActionEvent',
        ...common,
        thought: [],
        thinking_blocks: [],
        tool_name: 'finish',
        tool_call_id: S,
        tool_call: call,
        llm_response_id: S,
        security_risk: 'HIGH',
        critic_result: { score: 1 },
        responses_reasoning_item: { id: S },
        action: { kind: 'FinishAction', message: '' },
      },
      {
        kind: 'UserRejectObservation',
        ...common,
        tool_name: 'think',
        tool_call_id: S,
        action_id: S,
        rejection_source: 'hook',
      },
      { kind: 'TokenEvent', ...common, source: 'agent', prompt_token_ids: [1, 22], response_token_ids: [] },
      {
        kind: 'MessageEvent',
        ...common,
        source: 'user',
        llm_message: {
          role: 'user',
          tool_call_id: S,
          content: [{ type: 'text', text: ' ', cache_prompt: true }],
        },
      },
    ]
    for (const event of events) {
      expect(redacted(event)).toBe(event)
      const { kind, ...rest } = redacted(event, EVERYTHING)
      expect(kind).toBe((event as { kind: string }).kind)
      for (const [key, value] of Object.entries(ids)) if (key in rest) expect(rest[key]).toBe(value)
    }
    for (const event of events.filter((_, i) => ![3, 5, 6, 9].includes(i)))
      expect(redacted(event, EVERYTHING)).toBe(event)
  })

  it('keeps the commands, states and numbers of published tools, and masks them for other tools', () => {
    const rules = using({ patterns: [/str_replace|in_progress|\b4[0-9]{3}\b|command|path/] })
    const edit = {
      kind: 'FileEditorAction',
      command: 'str_replace',
      path: 'path/4711',
      insert_line: 4711,
      view_range: [4711, 4712],
    }
    expect(redacted(action({ action: edit }), rules)['action']).toEqual({
      kind: 'FileEditorAction',
      command: 'str_replace',
      path: `${MASK}/${MASK}`,
      insert_line: 4711,
      view_range: [4711, 4712],
    })
    const plan = {
      kind: 'TaskTrackerAction',
      task_list: Array.from({ length: 300 }, () => ({ title: 'str_replace', status: 'in_progress' })),
    }
    expect(redacted(action({ action: plan }), rules)['action']).toEqual({
      kind: 'TaskTrackerAction',
      task_list: Array.from({ length: 300 }, () => ({ title: MASK, status: 'in_progress' })),
    })
    const customAction = {
      kind: 'OwnAction',
      command: 'str_replace',
      pin: 4711,
      pins: [4711, 1],
      'a 4711': 1,
      'a 4712': 2,
      [`a ${MASK}`]: 3,
    }
    expect(redacted(action({ action: customAction }), rules)['action']).toEqual({
      kind: 'OwnAction',
      [MASK]: MASK,
      pin: MASK,
      pins: [MASK, 1],
      'a [redacted#2]': 1,
      'a [redacted#3]': 2,
      'a [redacted]': 3,
    })
  })

  it('keeps a valid timestamp, and redacts an invalid one like any text', () => {
    const rules = using({ patterns: [/2026/], secrets: [S] })
    expect(redacted({ kind: 'PauseEvent', timestamp: '2026-01-01T00:00:00Z' }, rules)['timestamp']).toBe(
      '2026-01-01T00:00:00Z',
    )
    expect(redacted({ kind: 'PauseEvent', timestamp: `at ${S}` }, rules)['timestamp']).toBe(`at ${MASK}`)
  })

  it('keeps __proto__ as a key, and masks keys that contain secrets', () => {
    const raw = JSON.parse(`{"kind":"X","__proto__":{"a":"${S}"},"${S}":1,"${S}!":2}`) as object
    expect(JSON.stringify(redacted(action({ action: raw }))['action'])).toBe(
      `{"kind":"X","__proto__":{"a":"${MASK}"},"${MASK}":1,"${MASK}!":2}`,
    )
  })
})

/** Redacted arguments of a call. */
function after(args: string, options: RedactionOptions = { secrets: [S] }): string {
  const call = { id: 'c1', name: 'terminal', arguments: args, origin: 'completion' }
  const { tool_call } = redacted(action({ tool_call: call }), using(options))
  return (tool_call as { readonly arguments: string }).arguments
}

const deep = (inner: string): string => '['.repeat(100_000) + inner + ']'.repeat(100_000)

describe('redaction of call arguments', () => {
  it('keeps every character outside of the secret', () => {
    expect(after(`{ "n": 1.0e2, "big":12345678901234567890,\n "a" : "${S}\\u0021", "a":null }`)).toBe(
      `{ "n": 1.0e2, "big":12345678901234567890,\n "a" : "${MASK}!", "a":null }`,
    )
    expect(after(`not json ${S}`)).toBe(`not json ${MASK}`)
  })

  it('keeps the JSON valid if the secret is a number or spans several strings', () => {
    const options: RedactionOptions = { secrets: ['4111111111111111'] }
    expect(after('{"card":4111111111111111,"n":[4111111111111111]}', options)).toBe(
      `{"card":"${MASK}","n":["${MASK}"]}`,
    )
    expect(after('4111111111111111', options)).toBe(`"${MASK}"`)
    expect(after('{"a":"1","b":"2"}', { secrets: ['{"a":"1","b":"2"}'] })).toBe(`{"redacted":"${MASK}"}`)
    expect(after('{"a":"x1","b":"2y"}', { patterns: [/1","b":"2/] })).toBe(`{"a":"x${MASK}y"}`)
    expect(after('[1,"x"]', { patterns: [/,"/] })).toBe(`{"redacted":"${MASK}"}`)
    expect(after('[1,2]', { patterns: [/[^]/], key: 'k' })).toMatch(
      /^\["\[redacted:\w{16}\]","\[redacted:\w{16}\]"\]$|^\{"redacted"/,
    )
  })

  it('numbers the masks of keys that become equal, and keeps all values', () => {
    const options: RedactionOptions = { patterns: [/S\d+/] }
    expect(after('{"S1":1,"a":{"S1":2,"S2":3},"S2":[{"S3":4}],"S3":5}', options)).toBe(
      `{"${MASK}":1,"a":{"${MASK}":2,"[redacted#2]":3},"[redacted#2]":[{"${MASK}":4}],"[redacted#3]":5}`,
    )
    // An existing mask as a key keeps its name.
    expect(after(`{"S1":1,"S2":2,"${MASK}":3,"a":4,"a":5}`, options)).toBe(
      `{"[redacted#2]":1,"[redacted#3]":2,"${MASK}":3,"a":4,"a":5}`,
    )
  })

  it('handles 100,000 levels of nesting', () => {
    expect(after(deep(`"${S}"`))).toBe(deep(`"${MASK}"`))
  })
})

const update = (key: string, value: unknown): unknown =>
  redacted({ kind: 'ConversationStateUpdateEvent', key, value })['value']

describe('redaction of state updates', () => {
  it('masks secrets, except in the fields that the engine reads', () => {
    expect(update('agent_state', { a: [S, 1] })).toEqual({ a: [MASK, 1] })
    expect(update('full_state', { execution_status: 'idle', id: S, title: S })).toEqual({
      execution_status: 'idle',
      id: S,
      title: MASK,
    })
    expect(redacted({ kind: 'ConversationStateUpdateEvent', key: S, value: 1 })['key']).toBe(MASK)
  })

  it('masks all texts and numbers of a value whose key names a secret', () => {
    expect(update('api_key', 'x')).toBe(MASK)
    expect(update('api_keys', 'x')).toBe('x')
    expect(update('token', ['x', { kind: 'y' }])).toEqual([MASK, { kind: MASK }])
    expect(update('password', { current: 'x', old: [{ pin: 12 }, true, null, ''] })).toEqual({
      current: MASK,
      old: [{ pin: MASK }, true, null, ''],
    })
    expect(update('password', 12345678)).toBe(MASK)
  })
})

describe('redaction of quarantined lines', () => {
  it('keeps ids and timestamps, so that the line can be loaded again', () => {
    const line = JSON.stringify({
      kind: 'FutureEvent',
      id: S,
      parent_id: S,
      timestamp: '2026-01-01T00:00:00Z',
      note: S,
      tool_call: { id: S, name: 'x', arguments: `{"a":"${S}"}` },
      thinking_blocks: [{ thinking: S, signature: 'sig' }],
    })
    const { fact } = loadLine(line)
    const after = redact(fact, RULES)
    expect(after).toMatchObject({ quarantined: true, id: S, parent_id: S, event_kind: 'FutureEvent' })
    expect(JSON.parse((after as { raw: string }).raw)).toEqual({
      kind: 'FutureEvent',
      id: S,
      parent_id: S,
      timestamp: '2026-01-01T00:00:00Z',
      note: MASK,
      tool_call: { id: S, name: 'x', arguments: `{"a":"${MASK}"}` },
      thinking_blocks: [{ thinking: MASK, signature: null }],
    })
    expect(redact(after, RULES)).toBe(after)
  })

  it.each([
    [`{"kind":"PauseEvent","note":"${S}`, `{"kind":"PauseEvent","note":"${MASK}`],
    [`no json: ${S}`, `no json: ${MASK}`],
    [`["${S}"]`, `["${MASK}"]`],
    ['no secret', 'no secret'],
    [
      `{"kind":"FutureEvent","ns":1764412345123456789,"x":[-0, 1e400],"note":"${S}"}`,
      `{"kind":"FutureEvent","ns":1764412345123456789,"x":[-0, 1e400],"note":"${MASK}"}`,
    ],
  ])('stores %s as %s', (line, raw) => {
    const { fact } = loadLine(line)
    expect(redact(fact, RULES)).toMatchObject({ quarantined: true, raw })
    expect(redact(fact, RULES) === fact).toBe(line === raw)
  })

  it('removes secrets from the line and from its issues', () => {
    const { fact } = loadLine(JSON.stringify({ kind: 'PauseEvent', [S]: S }))
    expect(JSON.stringify(fact)).toContain(S)
    expect(JSON.stringify(redact(fact, RULES))).not.toContain(S)
  })

  it('handles 50,000 levels of nesting', () => {
    const line = `${'{"a":'.repeat(50_000)}"${S}"${'}'.repeat(50_000)}`
    expect(JSON.stringify(redact(loadLine(line).fact, RULES))).not.toContain(S)
  })
})

const userMessage = (...content: readonly object[]): Event =>
  ({ kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content } }) as Event

describe('redaction of documents and files', () => {
  const rules = redactionRules({ secrets: [S], patterns: [/KEY\w{4}/] })
  const bytes = 'KEYABCDE'.repeat(40)

  it('masks secrets in nested texts', () => {
    const event = userMessage(
      {
        type: 'document',
        title: S,
        source: { type: 'text', media_type: 'text/plain', data: `a KEYABCD ${S}` },
      },
      { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: S }] },
    )
    const text = JSON.stringify(redact(event, rules))
    expect(text).not.toContain(S)
    expect(text).not.toContain('KEYABCD')
    expect(text).toContain('"type":"search_result"')
  })

  it('masks literal secrets in the bytes of a file, but no matches of patterns', () => {
    const files = [
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: bytes } },
      { type: 'file', file: { file_data: `data:application/pdf;base64,${bytes}` } },
      { type: 'file', mediaType: 'audio/wav', data: { type: 'data', data: bytes } },
      { type: 'input_audio', input_audio: { data: bytes, format: 'wav' } },
    ]
    const event = userMessage(...files)
    expect(redact(event, rules)).toBe(event)
    const literal = redactionRules({ secrets: ['ABCDEKEYABCDEKEY'] })
    expect(JSON.stringify(redact(event, literal))).not.toContain('ABCDEKEYABCDEKEY')
  })
})

describe('redactLog', () => {
  it('keeps the ids derived from the original bodies, so that references stay valid', () => {
    const text: Event = {
      kind: 'MessageEvent',
      source: 'user',
      llm_message: { role: 'user', content: [{ text: S }] },
    }
    const before = replay([{ kind: 'PauseEvent' }, text], { conversationId: 'c' })
    const id = before.log.entries.get(1)?.id ?? ''
    const forget: Event = {
      kind: 'Condensation',
      id: 'x',
      llm_response_id: 'r',
      forgotten_event_ids: [id],
      summary: 'gone',
      summary_offset: 0,
    }
    const facts = redactLog([{ kind: 'PauseEvent' }, text, forget], RULES, { conversationId: 'c' })
    expect(facts.map((fact) => fact.id)).toEqual([undefined, id, 'x'])
    const [first] = replay(facts, { conversationId: 'c' }).branch.view.units
    expect(first?.type === 'message' && first.item.id).toBe('x-summary')
    expect(redactLog([text], RULES, { conversationId: 'c', from: 1 })[0]?.id).toBe(id)
  })
})
