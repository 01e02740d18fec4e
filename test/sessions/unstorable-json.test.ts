/** A line whose JSON cannot be stored in an event is kept as text, and reported as a note. */

import { expect, it } from 'vitest'
import { readSession, SESSION_FORMATS } from '../../src/sessions/index.ts'
import type { JsonValue } from '../../src/event/index.ts'

const DEEP = 'JSON nested too deeply for an event, whose maximum is 512 levels'
const LARGE = 'JSON with a number that is too large'
const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

it.each([
  ['deep nesting', nested(5000), DEEP],
  ['nesting close to the limit of an event', nested(500), DEEP],
  ['a large number', '{"a":1e999}', LARGE],
])('every format keeps a line with %s as text, with a note', (_, raw, what) => {
  for (const from of SESSION_FORMATS) {
    const { facts, notes } = readSession([{ line: 1, raw, value: JSON.parse(raw) as JsonValue }], { from })
    expect(facts).toMatchObject([{ fact: { raw } }])
    expect(notes).toEqual([{ what, count: 1, line: 1 }])
  }
})

it.each([
  [{ type: 'user', uuid: 'u', parentUuid: null, sessionId: 's', message: { role: 'user', content: 'hi' } }],
  [{ timestamp: 't', type: 'response_item', payload: { type: 'message', role: 'user', content: [] } }],
])('a whole record behind an incomplete one on its line is read: %j', (record) => {
  const whole = JSON.stringify(record)
  const from = 'type' in record && record.type === 'user' ? 'claude-code' : 'codex'
  const records = (...raws: readonly string[]) =>
    raws.map((raw) => ({ line: 1, raw, value: raw === whole ? (record as JsonValue) : undefined }))
  for (let length = 1; length < whole.length; length += 1) {
    const torn = whole.slice(0, length).replace(/\}+$/, '')
    const [joined, apart] = [records(torn + whole), records(torn, whole)].map((all) =>
      readSession(all, { from }),
    )
    expect(joined).toEqual(apart)
    expect(joined?.notes).toContainEqual({ what: 'invalid JSON', count: 1, line: 1 })
  }
  expect(readSession(records(`${whole.slice(1)}{"id":1]`), { from }).facts).toHaveLength(1)
})

it.each([
  ['anthropic', { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'hi' }] }],
  ['openai-responses', { object: 'response', output: [{ type: 'message', role: 'assistant', content: [] }] }],
  ['gemini-cli', { $set: { messages: [{ id: 'm', type: 'user', content: 'hi' }] } }],
  [
    'codex',
    { timestamp: 't', type: 'response_item', payload: { type: 'message', role: 'user', content: [] } },
  ],
] as const)('no object inside an incomplete record of %s is read as a record', (from, record) => {
  const whole = JSON.stringify(record)
  for (let length = 1; length < whole.length; length += 1) {
    const raw = whole.slice(0, length)
    expect(readSession([{ line: 1, raw, value: undefined }], { from }).facts).toMatchObject([
      { fact: { raw } },
    ])
  }
})
