/** `fromGoogle` and `collectGoogle`: outcomes, the record of a reply, and arguments in pieces. */

import { FinishReason } from '@google/genai'
import { describe, expect, it } from 'vitest'
import { collectGoogle, fromGoogle } from '../../src/messages/google/read.ts'

const reply = (parts: object[], finishReason = 'STOP', more: object = {}) => ({
  responseId: 'r1',
  modelVersion: 'gemini',
  candidates: [{ content: { role: 'model', parts }, finishReason, ...more }],
})

describe('the outcome of a reply', () => {
  it.each([
    ['STOP', { type: 'done' }],
    ['MAX_TOKENS', { type: 'truncated', reason: 'MAX_TOKENS' }],
    ['CONTINUATION', { type: 'truncated', reason: 'CONTINUATION' }],
    ['SAFETY', { type: 'filtered', reason: 'SAFETY' }],
    ['RECITATION', { type: 'filtered', reason: 'RECITATION' }],
    ['MALFORMED_FUNCTION_CALL', { type: 'failed', explanation: 'MALFORMED_FUNCTION_CALL' }],
    ['A_REASON_TO_COME', { type: 'done' }],
  ])('follows from the finish reason %s', (reason, outcome) => {
    expect(fromGoogle(reply([{ text: 'Hi' }], reason)).outcome).toEqual(outcome)
  })

  it.each(Object.values(FinishReason))('is `done` only for STOP and an unspecified reason: %s', (reason) => {
    const isDone = reason === 'STOP' || reason === 'FINISH_REASON_UNSPECIFIED'
    expect(fromGoogle(reply([{ text: 'Hi' }], reason)).outcome.type === 'done').toBe(isDone)
  })

  it('ignores other candidates, even if their parts arrive first', () => {
    const stream = collectGoogle()
    stream.push({ candidates: [{ index: 1, content: { parts: [{ text: 'other' }] } }] })
    stream.push({ candidates: [{ index: 0, content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }] })
    expect(stream.end().events).toMatchObject([{ llm_message: { content: [{ text: 'Hi' }] } }])
  })

  it("contains the provider's explanation of a malformed call", () => {
    const failed = reply([], 'MALFORMED_FUNCTION_CALL', { finishMessage: 'print(1' })
    expect(fromGoogle(failed)).toEqual({ events: [], outcome: { type: 'failed', explanation: 'print(1' } })
  })

  it('is `filtered` for a blocked prompt, and `failed` for an error or an empty response', () => {
    const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }
    const { events, outcome } = fromGoogle(blocked)
    expect(outcome).toEqual({ type: 'filtered', reason: 'PROHIBITED_CONTENT' })
    expect(events).toMatchObject([{ kind: 'MessageEvent', llm_message: { content: [] } }])
    expect(fromGoogle({}).outcome).toEqual({
      type: 'failed',
      explanation: 'The response is not a reply: {}',
    })
    const error = { code: 503, message: 'Overloaded' }
    expect(fromGoogle({ error } as never).outcome).toEqual({ type: 'failed', explanation: 'Overloaded' })
    const stream = collectGoogle()
    stream.push(blocked)
    expect(stream.end()).toEqual(fromGoogle(blocked))
  })

  it('the last call of a truncated reply is not executed', () => {
    const parts = [{ functionCall: { name: 'ls', args: {} } }, { functionCall: { name: 'ls', args: {} } }]
    const { events } = fromGoogle(reply(parts, 'MAX_TOKENS'))
    expect(events).toMatchObject([
      { action: { kind: 'LsAction' } },
      { action: null },
      { kind: 'AgentErrorEvent' },
    ])
  })
})

describe('the record of a reply', () => {
  it('contains signatures, token counts and grounding metadata', () => {
    const grounded = {
      ...reply([{ text: 'Hi', thoughtSignature: 'c2ln' }], 'STOP', {
        groundingMetadata: { webSearchQueries: ['oak'] },
        safetyRatings: [{ category: 'x' }],
      }),
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, thoughtsTokenCount: null },
    }
    const [event] = fromGoogle(grounded).events
    expect(event).toMatchObject({
      llm_response_id: 'r1',
      llm_message: {
        reply: {
          grammar: 'google',
          model: 'gemini',
          tokens: [3, 2],
          parts: [{ text: 0, more: { thoughtSignature: 'c2ln' } }],
          metadata: { groundingMetadata: { webSearchQueries: ['oak'] } },
        },
      },
    })
  })

  it('omits `parts` when the fields of the event are sufficient', () => {
    const [event] = fromGoogle(reply([{ text: 'Hi' }])).events
    expect(JSON.stringify(event)).not.toContain('parts')
  })
})

const collect = (...calls: object[]) => {
  const stream = collectGoogle()
  for (const functionCall of calls) stream.push({ candidates: [{ content: { parts: [{ functionCall }] } }] })
  stream.push({ candidates: [{ finishReason: 'STOP' }] })
  const [event] = stream.end().events
  return event?.kind === 'ActionEvent' ? event.tool_call.arguments : null
}
const piece = (...partialArgs: object[]) => ({ partialArgs, willContinue: true })
const whole = (args: object) => ({ name: 'ls', args })
const x = (value: object) => ({ name: 'ls', partialArgs: [{ jsonPath: '$.x', ...value }] })

describe('arguments in pieces', () => {
  it('are assembled by their JSON paths', () => {
    expect(
      collect(
        { name: 'ls', willContinue: true },
        piece({ jsonPath: '$.a.b[0]', stringValue: 'x', willContinue: true }),
        piece({ jsonPath: '$.a.b[0]', stringValue: 'y' }, { jsonPath: '$.a.b[1]', numberValue: 2 }),
        piece(
          { jsonPath: "$['c d']['\\'\"']", boolValue: false },
          { jsonPath: '$["e"].__proto__', nullValue: 'NULL_VALUE' },
        ),
        {},
      ),
    ).toBe('{"a":{"b":["xy",2]},"c d":{"\'\\"":false},"e":{"__proto__":null}}')
  })

  it.each(['a', '$', '$.', '$[9]', '$.a.b', '$.a[0]', '$[*]', "$['\\x']"])(
    'are replaced by a note when a path does not fit: %s',
    (jsonPath) => {
      const text = collect(
        { name: 'ls', willContinue: true },
        piece({ jsonPath: '$.a', stringValue: 'x' }, { jsonPath, stringValue: 'y' }),
        {},
      )
      expect(text).toBe('(in pieces that do not fit together)')
    },
  )

  it.each<[string, object, object, string | null]>([
    ['a second object with another field', whole({ x: 1 }), { args: { y: 2 } }, '{"x":1,"y":2}'],
    ['a second object with the same value', whole({ x: 1, y: 2 }), { args: { x: 1 } }, '{"x":1,"y":2}'],
    ['a second object with another value', whole({ x: 1 }), { args: { x: 2 } }, null],
    [
      'a piece with another value',
      whole({ x: 1 }),
      { partialArgs: [{ jsonPath: '$.x', numberValue: 2 }] },
      null,
    ],
    ['an object with another value after a piece', x({ numberValue: 1 }), { args: { x: 2 } }, null],
    ['the same object after a piece', x({ numberValue: 1 }), { args: { x: 1 } }, '{"x":1}'],
    ['a piece with another number', x({ numberValue: 1 }), x({ numberValue: 2 }), null],
    ['a piece with another type', x({ boolValue: true }), x({ stringValue: 'true' }), null],
    ['a number after a text', x({ stringValue: 'x' }), x({ numberValue: 1 }), null],
    [
      'a field of a null',
      x({ nullValue: 'NULL_VALUE' }),
      { ...x({}), partialArgs: [{ jsonPath: '$.x.y', boolValue: true }] },
      null,
    ],
    ['the same number', x({ numberValue: 1 }), x({ numberValue: 1 }), '{"x":1}'],
  ])('are executed only if no part contradicts them: %s', (_, first, second, expected) => {
    const text = collect(
      { ...first, willContinue: 'partialArgs' in first && 'partialArgs' in second },
      second,
    )
    expect(text).toBe(expected ?? '(in pieces that do not fit together)')
  })

  it('are not executed if a third part repeats one of two contradictory parts', () => {
    expect(collect(whole({ x: 1 }), { args: { x: 2 } }, { args: { x: 2 } })).toBe(
      '(in pieces that do not fit together)',
    )
  })
})
