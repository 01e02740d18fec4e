/** Values that no upcaster changes, and the laws of all upcasters. */

import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isEventKind } from '../../src/event/kinds.ts'
import type { JsonObject, JsonValue } from '../../src/event/shapes.ts'
import { namesOfTool, upcast, UPCASTERS } from '../../src/event/upcast.ts'
import { almostEvent, anyEvent } from './arbitrary.ts'
import { observation, OPENAI_CALL, raw, SAMPLES } from './samples.ts'

describe('upcast', () => {
  it.each<[string, JsonValue]>([
    [
      'both names of the skills',
      raw('MessageEvent', { activated_microagents: ['a'], activated_skills: ['b'] }),
    ],
    ['a status next to a key', { kind: 'ConversationStateUpdateEvent', agent_status: 'IDLE', key: 'a' }],
    ['a status that is not a string', { kind: 'ConversationStateUpdateEvent', agent_status: 5 }],
    [
      'an action without a kind, of a custom tool',
      raw('ActionEvent', { tool_name: 'fetch', action: { url: 'u' } }),
    ],
    ['an observation without a kind, of a custom tool', observation({ output: 'a' }, { tool_name: 'fetch' })],
    [
      'a call whose arguments are an object',
      raw('ActionEvent', { tool_call: { id: 'c', function: { name: 'a', arguments: {} } } }),
    ],
    [
      'a call with two different names',
      raw('ActionEvent', { tool_call: { ...OPENAI_CALL, name: 'another' } }),
    ],
    ['a call that has an origin', raw('ActionEvent', { tool_call: { ...OPENAI_CALL, origin: 'responses' } })],
    [
      'a tool with a name and a different title',
      raw('SystemPromptEvent', { tools: [{ type: 'function', function: { name: 'a' }, title: 'b' }] }),
    ],
    ['a tool without a name', raw('SystemPromptEvent', { tools: [{ type: 'function', function: {} }] })],
    [
      'output and error of a custom observation',
      observation({ kind: 'OwnObservation', output: 'a', error: 'b', message: 'c' }),
    ],
    [
      'output and error next to content',
      observation({ kind: 'TerminalObservation', content: [], output: 'a', error: 'b' }),
    ],
    [
      'a message field that belongs to the kind',
      observation({ kind: 'ApplyPatchObservation', message: 'patched' }),
    ],
    [
      'an error that is neither a flag nor a text',
      observation({ kind: 'BrowserObservation', output: 'a', error: { code: 1 } }),
    ],
    ['null in nullable fields', raw('ActionEvent', { action: null, summary: null, critic_result: null })],
    ['null in a required field', raw('ActionEvent', { thought: null })],
    [
      'enable_truncation outside of text content',
      raw('ConversationStateUpdateEvent', { value: { enable_truncation: true } }),
    ],
    ['an unknown kind', { kind: 'Nonsense', id: null, classification: 1 }],
    ['an object without a kind', { id: null }],
    ['a list', [null]],
    ['null', null],
  ])('does not change %s', (_, value) => {
    expect(upcast(value).value).toBe(value)
    expect(upcast(value).applied).toEqual([])
  })
})

describe('the upcasters', () => {
  it('have unique names, descriptions and known kinds', () => {
    expect(new Set(UPCASTERS.map(({ name }) => name)).size).toBe(UPCASTERS.length)
    for (const { name, description, kinds } of UPCASTERS) {
      expect(name).toMatch(/^[a-z]+\.[a-z_]+$/)
      expect(description.length).toBeGreaterThan(30)
      expect(kinds.length).toBeGreaterThan(0)
      expect(kinds.every(isEventKind)).toBe(true)
    }
  })

  it.each(SAMPLES)('do not change the minimal and the full $kind', ({ minimal, full }) => {
    for (const value of [minimal, full]) {
      expect(upcast(value as JsonObject).value).toBe(value)
      for (const upcaster of UPCASTERS) expect(upcaster.applies(value as JsonObject)).toBe(false)
    }
  })

  it('do not change any current event', () => {
    fc.assert(fc.property(anyEvent, (event) => upcast(event as JsonObject).value === event))
  })

  it('are pure, total and idempotent', () => {
    const seen = new Map<string, number>()
    fc.assert(
      fc.property(almostEvent, (input) => {
        const event = input as JsonObject
        const before = structuredClone(event)
        const { value, applied } = upcast(event)
        expect(isDeepStrictEqual(event, before)).toBe(true)
        expect(applied.length === 0).toBe(value === event)
        expect(upcast(value)).toEqual({ value, applied: [] })
        for (const upcaster of UPCASTERS) {
          const once = upcaster.upcast(event)
          expect(upcaster.applies(event)).toBe(once !== event)
          expect(upcaster.upcast(once)).toBe(once)
        }
        for (const name of applied) seen.set(name, (seen.get(name) ?? 0) + 1)
      }),
      // A fixed seed, with which every upcaster is applied.
      { numRuns: 1500, seed: 20_261_121 },
    )
    expect([...seen.keys()].toSorted()).toEqual(UPCASTERS.map(({ name }) => name).toSorted())
  })
})

describe('namesOfTool', () => {
  it.each([
    ['terminal', 'TerminalTool', 'TerminalAction', 'TerminalObservation'],
    ['execute_bash', 'TerminalTool', 'TerminalAction', 'TerminalObservation'],
    ['str_replace_editor', 'FileEditorTool', 'FileEditorAction', 'FileEditorObservation'],
    ['task_tracker', 'TaskTrackerTool', 'TaskTrackerAction', 'TaskTrackerObservation'],
    ['browser_get_state', 'BrowserGetStateTool', 'BrowserGetStateAction', 'BrowserObservation'],
    ['switch_llm', 'SwitchLLMTool', 'SwitchLLMAction', 'SwitchLLMObservation'],
    [
      'classify_and_switch_llm',
      'ClassifyAndSwitchLLMTool',
      'ClassifyAndSwitchLLMAction',
      'ClassifyAndSwitchLLMObservation',
    ],
    ['inspect_image_with_vision', 'VisionInspectTool', 'VisionInspectAction', 'VisionInspectObservation'],
  ])('returns the type names of %s', (name, tool, action, observation) => {
    expect(namesOfTool(name)).toEqual({ tool, action, observation })
  })

  it.each(['', 'fetch', 'Terminal ', 'toString', '__proto__'])('returns undefined for %j', (name) => {
    expect(namesOfTool(name)).toBeUndefined()
  })
})
