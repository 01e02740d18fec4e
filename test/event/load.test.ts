/** loadLine and loadValue turn any input into a fact: an event or a quarantined line (design D16). */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../src/event/decode.ts'
import { encodeEvent } from '../../src/event/encode.ts'
import { loadLine, loadValue } from '../../src/event/load.ts'
import { type Fact, isQuarantined, type Quarantined } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import { almostEvent } from './arbitrary.ts'

function quarantined(fact: Fact): Quarantined {
  if (!isQuarantined(fact)) throw new Error('was loaded')
  return fact
}

describe('loading', () => {
  it('decodes a current event without upcasters', () => {
    const line = '{"kind":"PauseEvent","id":"p1","source":"user"}'
    expect(loadLine(line)).toEqual({ fact: JSON.parse(line), upcasts: [], warnings: [] })
    expect(loadValue(JSON.parse(line))).toEqual(loadLine(line))
  })

  it('upcasts an old event, and returns the names of the upcasters', () => {
    const line = '{"kind":"AgentErrorEvent","id":null,"tool_name":"t","tool_call_id":"c","error":"e"}'
    const expected = {
      fact: { kind: 'AgentErrorEvent', tool_name: 't', tool_call_id: 'c', error: 'e' },
      upcasts: ['nulls.identity'],
      warnings: [],
    }
    expect(loadLine(line)).toEqual(expected)
    expect(loadValue(JSON.parse(line))).toEqual(expected)
  })

  it('freezes the event deeply', () => {
    const line = '{"kind":"MessageEvent","source":"user","llm_message":{"role":"user","content":"hi"}}'
    for (const { fact } of [loadLine(line), loadValue(JSON.parse(line))]) {
      const { llm_message: message } = fact as Event & { kind: 'MessageEvent' }
      expect([fact, message, message.content, message.content?.[0]].every(Object.isFrozen)).toBe(true)
    }
  })

  it('does not change or freeze its input', () => {
    const value = { kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content: 'hi' } }
    const before = structuredClone(value)
    loadValue(value)
    expect(value).toEqual(before)
    expect(Object.isFrozen(value) || Object.isFrozen(value.llm_message)).toBe(false)
  })

  it('quarantines an invalid line, byte for byte', () => {
    for (const line of [
      '',
      'nope',
      ' {"kind" : "Nonsense"}\r',
      '[]',
      '{"kind":"PauseEvent","source":"nobody","zebra":1}',
      '{"kind":"PauseEvent","quarantined":true}',
      'null',
    ]) {
      const fact = quarantined(loadLine(line).fact)
      expect(fact.raw).toBe(line)
      expect(fact.issues.length).toBeGreaterThan(0)
      expect(loadLine(line).upcasts).toEqual([])
      expect(Object.isFrozen(fact)).toBe(true)
    }
  })

  it('quarantines an invalid value as JSON, with null for values that are not JSON', () => {
    const fact = quarantined(
      loadValue({ kind: 'PauseEvent', id: 'p1', when: new Date(0), __: [1n, undefined] }).fact,
    )
    expect(fact.raw).toBe('{"kind":"PauseEvent","id":"p1","when":null,"__":[null,null]}')
    expect(fact.id).toBe('p1')
  })
})

describe('a quarantined line', () => {
  it.each<[string, object]>([
    ['{"kind":"Nonsense","id":"a","parent_id":"b"}', { id: 'a', parent_id: 'b', event_kind: 'Nonsense' }],
    ['{"kind":"Nonsense","id":"a","parent_id":null}', { id: 'a', parent_id: null, event_kind: 'Nonsense' }],
    ['{"kind":"PauseEvent","id":"a","source":1}', { id: 'a', event_kind: 'PauseEvent' }],
    ['{"id":"a"}', { id: 'a' }],
    ['{"kind":5,"id":"a"}', { id: 'a' }],
    ['{"kind":"Nonsense","id":"a","parent_id":5}', { event_kind: 'Nonsense' }],
    ['{"kind":"Nonsense","id":5,"parent_id":"b"}', { event_kind: 'Nonsense' }],
    ['{"kind":"Nonsense","id":"__root__","parent_id":"b"}', { event_kind: 'Nonsense' }],
    ['{"kind":"Nonsense","id":"","parent_id":"b"}', { event_kind: 'Nonsense' }],
    ['{"kind":"Nonsense","parent_id":"b"}', { event_kind: 'Nonsense' }],
    ['{"kind":"PauseEvent","id":null,"source":1}', { event_kind: 'PauseEvent' }],
    ['["id"]', {}],
    ['nope', {}],
  ])('has the valid ids and the kind of %s', (line, fields) => {
    const { quarantined: mark, raw, issues: _, ...rest } = quarantined(loadLine(line).fact)
    expect(rest).toEqual(fields)
    expect({ mark, raw }).toEqual({ mark: true, raw: line })
  })

  it('has its id and kind even if its value is nested too deeply', () => {
    const line = `{"kind":"ConversationStateUpdateEvent","id":"a","value":${'['.repeat(600)}${']'.repeat(600)}}`
    expect(quarantined(loadLine(line).fact)).toMatchObject({
      id: 'a',
      event_kind: 'ConversationStateUpdateEvent',
    })
  })
})

describe('a condensation that lists an id twice', () => {
  it('loads with a warning, forgets the event, and is written unchanged', () => {
    const line = '{"kind":"Condensation","id":"c","llm_response_id":"","forgotten_event_ids":["a","a"]}'
    const { fact, upcasts, warnings } = loadLine(line)
    expect(warnings).toMatchObject([{ loc: ['forgotten_event_ids'], type: 'not_unique' }])
    expect([upcasts, encodeEvent(fact as Event)]).toEqual([[], line])
    expect(decodeEvent(fact).ok).toBe(false)
    const message = loadLine(
      '{"kind":"MessageEvent","id":"a","source":"user","llm_message":{"role":"user","content":[{"text":"hi"}]}}',
    )
    expect(replay([message.fact]).branch.view.length).toBe(1)
    expect(replay([message.fact, fact]).branch.view.length).toBe(0)
  })
})

describe('a loaded arbitrary event', () => {
  it('decodes strictly, except for unknown fields and repeated ids, and loads as itself', () => {
    let upcast = 0
    let stored = 0
    fc.assert(
      fc.property(almostEvent, (value) => {
        const line = JSON.stringify(value)
        const { fact, upcasts, warnings } = loadLine(line)
        if (isQuarantined(fact)) {
          stored += 1
          expect(loadLine(fact.raw).fact).toEqual(fact)
          return
        }
        if (upcasts.length > 0) upcast += 1
        const isStrict = warnings.every(({ type }) => type !== 'unknown_field' && type !== 'not_unique')
        expect(decodeEvent(fact).ok).toBe(isStrict)
        const again = loadLine(encodeEvent(fact))
        expect(again.upcasts).toEqual([])
        expect(encodeEvent(again.fact as Event)).toBe(encodeEvent(fact))
      }),
      { numRuns: 600 },
    )
    expect(upcast).toBeGreaterThan(20)
    expect(stored).toBeGreaterThan(20)
  })
})
