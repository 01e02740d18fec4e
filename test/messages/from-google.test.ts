/** Replies of Gemini as events: what ended them, what they hold beside words, and pieces of arguments. */

import { FinishReason } from '@google/genai'
import { describe, expect, it } from 'vitest'
import { collectGoogle, fromGoogle } from '../../src/messages/google/read.ts'

const reply = (parts: object[], finishReason = 'STOP', more: object = {}) => ({
  responseId: 'r1',
  modelVersion: 'gemini',
  candidates: [{ content: { role: 'model', parts }, finishReason, ...more }],
})

describe('what ended a reply', () => {
  it.each([
    ['STOP', { type: 'done' }],
    ['MAX_TOKENS', { type: 'truncated', reason: 'MAX_TOKENS' }],
    ['CONTINUATION', { type: 'truncated', reason: 'CONTINUATION' }],
    ['SAFETY', { type: 'filtered', reason: 'SAFETY' }],
    ['RECITATION', { type: 'filtered', reason: 'RECITATION' }],
    ['MALFORMED_FUNCTION_CALL', { type: 'failed', explanation: 'MALFORMED_FUNCTION_CALL' }],
    ['A_REASON_TO_COME', { type: 'done' }],
  ])('%s', (reason, outcome) => {
    expect(fromGoogle(reply([{ text: 'Hi' }], reason)).outcome).toEqual(outcome)
  })

  it.each(Object.values(FinishReason))('%s of the SDK is known', (reason) => {
    const isDone = reason === 'STOP' || reason === 'FINISH_REASON_UNSPECIFIED'
    expect(fromGoogle(reply([{ text: 'Hi' }], reason)).outcome.type === 'done').toBe(isDone)
  })

  it('is that of the first candidate, also where pieces of others come before', () => {
    const stream = collectGoogle()
    stream.push({ candidates: [{ index: 1, content: { parts: [{ text: 'other' }] } }] })
    stream.push({ candidates: [{ index: 0, content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }] })
    expect(stream.end().events).toMatchObject([{ llm_message: { content: [{ text: 'Hi' }] } }])
  })

  it('says in the provider’s words why a call was malformed', () => {
    const failed = reply([], 'MALFORMED_FUNCTION_CALL', { finishMessage: 'print(1' })
    expect(fromGoogle(failed)).toEqual({ events: [], outcome: { type: 'failed', explanation: 'print(1' } })
  })

  it('is the filter where the prompt was blocked, and a failure where nothing came', () => {
    const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }
    const { events, outcome } = fromGoogle(blocked)
    expect(outcome).toEqual({ type: 'filtered', reason: 'PROHIBITED_CONTENT' })
    expect(events).toMatchObject([{ kind: 'MessageEvent', llm_message: { content: [] } }])
    expect(fromGoogle({}).outcome).toEqual({ type: 'failed', explanation: null })
    const error = { code: 503, message: 'Overloaded' }
    expect(fromGoogle({ error } as never).outcome).toEqual({ type: 'failed', explanation: 'Overloaded' })
    const stream = collectGoogle()
    stream.push(blocked)
    expect(stream.end()).toEqual(fromGoogle(blocked))
  })

  it('leaves the last call of one that was cut off undone', () => {
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
  it('holds signatures, tokens, and what is said of the reply', () => {
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

  it('is short where the fields of the event say it all', () => {
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

describe('arguments in pieces', () => {
  it('are put together by their paths', () => {
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
    'that fit nowhere make no call: %s',
    (jsonPath) => {
      const text = collect(
        { name: 'ls', willContinue: true },
        piece({ jsonPath: '$.a', stringValue: 'x' }, { jsonPath, stringValue: 'y' }),
        {},
      )
      expect(text).toBe('(in pieces that do not fit together)')
    },
  )
})
