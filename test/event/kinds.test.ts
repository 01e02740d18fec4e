/**
 * The table of kinds: the contract's 19 names in order, with their properties from interface 2.2 and the
 * design.
 */

import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../src/event/decode.ts'
import { EVENT_KINDS, isToolResult, isEventKind, KINDS } from '../../src/event/kinds.ts'
import type { KindFacts } from '../../src/event/kinds.ts'
import type { Event } from '../../src/event/types.ts'
import { kindCode, kindFrom } from '../../src/log/columnar/chunk.ts'
import { SAMPLES } from './samples.ts'

const facts: Readonly<Record<string, KindFacts>> = KINDS

const withFact = (holds: (fact: KindFacts) => boolean): string[] =>
  EVENT_KINDS.filter((kind) => holds(facts[kind] as KindFacts))

const withSource = (source: string | null): string[] => withFact((fact) => fact.defaultSource === source)

const withUnit = (unit: string): string[] => withFact((fact) => fact.unit === unit)

describe('the table of kinds', () => {
  it("has the contract's 19 kinds, in its order", () => {
    expect(EVENT_KINDS.join(', ')).toBe(
      'ServerErrorEvent, ACPToolCallEvent, Condensation, CondensationRequest, CondensationSummaryEvent, ConversationErrorEvent, ConversationStateUpdateEvent, HookExecutionEvent, LLMCompletionLogEvent, ActionEvent, MessageEvent, AgentErrorEvent, ObservationEvent, UserRejectObservation, SystemPromptEvent, StreamingDeltaEvent, TokenEvent, InterruptEvent, PauseEvent',
    )
  })

  it('contains the default sources of interface 2.2', () => {
    expect(withSource(null)).toEqual([
      'ServerErrorEvent',
      'ConversationErrorEvent',
      'MessageEvent',
      'TokenEvent',
    ])
    expect(withSource('agent')).toEqual([
      'ACPToolCallEvent',
      'ActionEvent',
      'AgentErrorEvent',
      'SystemPromptEvent',
      'StreamingDeltaEvent',
    ])
    expect(withSource('hook')).toEqual(['HookExecutionEvent'])
    expect(withSource('user')).toEqual(['InterruptEvent', 'PauseEvent'])
    expect(withSource('environment')).toHaveLength(7)
  })

  it('contains the role of each kind in the view', () => {
    expect(withUnit('message')).toEqual(['CondensationSummaryEvent', 'MessageEvent', 'SystemPromptEvent'])
    expect(withUnit('call')).toEqual(['ActionEvent'])
    expect([withUnit('condensation'), withUnit('condensation_request')]).toEqual([
      ['Condensation'],
      ['CondensationRequest'],
    ])
    expect(withUnit('result')).toEqual(['AgentErrorEvent', 'ObservationEvent', 'UserRejectObservation'])
  })

  it('contains the kinds that are not searchable, are not stored or change the status', () => {
    expect(withFact((fact) => !fact.searchable)).toEqual(['ConversationStateUpdateEvent'])
    expect(withFact((fact) => !fact.stored)).toEqual(['StreamingDeltaEvent'])
    expect(withFact((fact) => fact.movesStatus)).toEqual([
      'ConversationErrorEvent',
      'ConversationStateUpdateEvent',
      'ActionEvent',
      'MessageEvent',
      'AgentErrorEvent',
      'ObservationEvent',
      'UserRejectObservation',
      'InterruptEvent',
      'PauseEvent',
    ])
  })

  it('contains the snapshot code of each kind, which never changes', () => {
    expect(Object.fromEntries(EVENT_KINDS.map((kind) => [kind, KINDS[kind].code]))).toEqual({
      ServerErrorEvent: 1,
      ACPToolCallEvent: 2,
      Condensation: 3,
      CondensationRequest: 4,
      CondensationSummaryEvent: 5,
      ConversationErrorEvent: 6,
      ConversationStateUpdateEvent: 7,
      HookExecutionEvent: 8,
      LLMCompletionLogEvent: 9,
      ActionEvent: 10,
      MessageEvent: 11,
      AgentErrorEvent: 12,
      ObservationEvent: 13,
      UserRejectObservation: 14,
      SystemPromptEvent: 15,
      StreamingDeltaEvent: 16,
      TokenEvent: 17,
      InterruptEvent: 18,
      PauseEvent: 19,
    })
    const codes = EVENT_KINDS.map((kind) => kindCode(kind))
    expect(new Set([...codes, kindCode(null), kindCode('Later')]).size).toBe(EVENT_KINDS.length + 2)
    expect(codes.map(kindFrom)).toEqual(EVENT_KINDS)
  })

  it('contains the same kinds as the samples', () => {
    expect(SAMPLES.map(({ kind }) => kind)).toEqual(EVENT_KINDS)
  })
})

describe('isEventKind', () => {
  it.each(EVENT_KINDS)('accepts %s', (kind) => expect(isEventKind(kind)).toBe(true))

  it.each([
    '',
    'Event',
    'pauseevent',
    'toString',
    '__proto__',
    'constructor',
    null,
    undefined,
    1,
    {},
    ['PauseEvent'],
  ])('rejects %s', (value) => expect(isEventKind(value)).toBe(false))
})

describe('isToolResult', () => {
  it.each(SAMPLES)('returns whether $kind is a tool result', ({ kind, minimal }) => {
    const decoded = decodeEvent(minimal)
    expect(decoded.ok && isToolResult(decoded.event as Event)).toBe(facts[kind]?.unit === 'result')
  })
})
