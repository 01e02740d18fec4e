/** `upcast` converts each old shape to the current one, and returns the names of the applied upcasters. */

import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../src/event/decode.ts'
import type { JsonObject, JsonValue } from '../../src/event/shapes.ts'
import { upcast, UPCASTERS } from '../../src/event/upcast.ts'
import { observation, OPENAI_CALL, raw } from './samples.ts'

const CALL = { id: 'c1', name: 'terminal', arguments: '{}', origin: 'completion' }
const text = (...texts: string[]): object[] => texts.map((each) => ({ type: 'text', text: each }))

const message = (llm_message: object): JsonValue => raw('MessageEvent', { llm_message })

describe('upcast', () => {
  it.each<[string, JsonValue, JsonValue]>([
    [
      'early.activated_microagents',
      raw('MessageEvent', { activated_microagents: ['git'] }),
      raw('MessageEvent', { activated_skills: ['git'] }),
    ],
    [
      'early.condensation_llm_response_id',
      { kind: 'Condensation', summary: 's' },
      { kind: 'Condensation', summary: 's', llm_response_id: '' },
    ],
    [
      'early.condensation_llm_response_id',
      { kind: 'Condensation', llm_response_id: null },
      { kind: 'Condensation', llm_response_id: '' },
    ],
    [
      'early.tool_kinds',
      raw('ActionEvent', {
        tool_name: 'execute_bash',
        action: { kind: 'ExecuteBashAction', command: 'ls', is_input: false },
      }),
      raw('ActionEvent', {
        tool_name: 'execute_bash',
        action: { kind: 'TerminalAction', command: 'ls', is_input: false },
      }),
    ],
    [
      'early.tool_kinds',
      raw('ActionEvent', { action: { kind: 'StrReplaceEditorAction', command: 'view', path: '/a' } }),
      raw('ActionEvent', { action: { kind: 'FileEditorAction', command: 'view', path: '/a' } }),
    ],
    [
      'early.tool_kinds',
      observation({ kind: 'ExecuteBashObservation', content: text('a') }),
      observation({ kind: 'TerminalObservation', content: text('a') }),
    ],
    [
      'results.text_content',
      observation({ kind: 'ThinkObservation', content: 'noted' }),
      observation({ kind: 'ThinkObservation', content: text('noted') }),
    ],
    [
      'results.text_content',
      observation({ kind: 'OwnObservation', content: '' }),
      observation({ kind: 'OwnObservation', content: [] }),
    ],
    [
      'results.output_and_error',
      observation({ kind: 'TerminalObservation', command: 'ls', output: 'a', error: false, timeout: false }),
      observation({
        kind: 'TerminalObservation',
        command: 'ls',
        timeout: false,
        content: text('a'),
        is_error: false,
      }),
    ],
    [
      'results.output_and_error',
      observation({ kind: 'TerminalObservation', command: 'ls', output: 'a', error: true }),
      observation({ kind: 'TerminalObservation', command: 'ls', content: text('a'), is_error: true }),
    ],
    [
      'results.output_and_error',
      observation({ kind: 'FileEditorObservation', command: 'view', output: '', error: 'No such file' }),
      observation({
        kind: 'FileEditorObservation',
        command: 'view',
        content: text('No such file'),
        is_error: true,
      }),
    ],
    [
      'results.output_and_error',
      observation({ kind: 'FileEditorObservation', command: 'view', output: 'half', error: 'cut off' }),
      observation({
        kind: 'FileEditorObservation',
        command: 'view',
        content: text('half', 'cut off'),
        is_error: true,
      }),
    ],
    [
      'results.output_and_error',
      observation({ kind: 'FileEditorObservation', command: 'view', output: 'a', error: '' }),
      observation({ kind: 'FileEditorObservation', command: 'view', content: text('a'), is_error: false }),
    ],
    [
      'results.output_and_error',
      observation({ kind: 'BrowserObservation', output: 'Clicked', error: null, screenshot_data: null }),
      observation({
        kind: 'BrowserObservation',
        screenshot_data: null,
        content: text('Clicked'),
        is_error: false,
      }),
    ],
    [
      'results.output_and_error',
      observation({ kind: 'FinishObservation', message: 'Done' }),
      observation({ kind: 'FinishObservation', content: text('Done') }),
    ],
    [
      'completion.tool_calls',
      raw('ActionEvent', { tool_call: OPENAI_CALL }),
      raw('ActionEvent', { tool_call: CALL }),
    ],
    [
      'completion.tool_calls',
      message({ role: 'assistant', content: [], tool_calls: [OPENAI_CALL, { ...CALL, id: 'c2' }] }),
      message({ role: 'assistant', content: [], tool_calls: [CALL, { ...CALL, id: 'c2' }] }),
    ],
    [
      'completion.tools',
      raw('SystemPromptEvent', {
        tools: [
          {
            type: 'function',
            function: { name: 'execute_bash', description: 'Runs', parameters: { type: 'object' } },
          },
        ],
      }),
      raw('SystemPromptEvent', {
        tools: [
          {
            kind: 'TerminalTool',
            title: 'execute_bash',
            description: 'Runs',
            action_type: 'TerminalAction',
            observation_type: 'TerminalObservation',
            parameters: { type: 'object' },
          },
        ],
      }),
    ],
    [
      'completion.tools',
      raw('SystemPromptEvent', {
        tools: [{ type: 'function', function: { name: 'fetch_fetch', strict: true }, own: 1 }],
      }),
      raw('SystemPromptEvent', {
        tools: [
          {
            title: 'fetch_fetch',
            description: '',
            action_type: 'MCPToolAction',
            observation_type: 'MCPToolObservation',
            strict: true,
            own: 1,
          },
        ],
      }),
    ],
    [
      'tab.agent_status',
      { kind: 'ConversationStateUpdateEvent', source: 'agent', agent_status: 'RUNNING' },
      { kind: 'ConversationStateUpdateEvent', source: 'agent', key: 'execution_status', value: 'running' },
    ],
    [
      'tab.iteration',
      { kind: 'ConversationStateUpdateEvent', iteration: 3 },
      { kind: 'ConversationStateUpdateEvent', key: 'iteration', value: 3 },
    ],
    [
      'tab.action_kind',
      raw('ActionEvent', { tool_name: 'terminal', action: { command: 'ls', timeout: 5 } }),
      raw('ActionEvent', {
        tool_name: 'terminal',
        action: { command: 'ls', timeout: 5, kind: 'TerminalAction' },
      }),
    ],
    [
      'tab.observation_kind',
      observation({ command: 'ls', stdout: 'a', stderr: 'b', exit_code: 1 }, { tool_name: 'terminal' }),
      observation(
        { command: 'ls', exit_code: 1, kind: 'TerminalObservation', content: text('a', 'b') },
        { tool_name: 'terminal' },
      ),
    ],
    [
      'tab.observation_kind',
      observation({ command: 'view' }, { tool_name: 'file_editor' }),
      observation({ command: 'view', kind: 'FileEditorObservation' }, { tool_name: 'file_editor' }),
    ],
    [
      'tab.message_content',
      message({ role: 'tool', content: 'a' }),
      message({ role: 'tool', content: text('a') }),
    ],
    [
      'tab.message_content',
      message({ role: 'assistant', content: null }),
      message({ role: 'assistant', content: [] }),
    ],
    [
      'surplus.enable_truncation',
      raw('SystemPromptEvent', {
        system_prompt: { text: 'a', enable_truncation: true },
        dynamic_context: { text: 'b', enable_truncation: false },
      }),
      raw('SystemPromptEvent', { system_prompt: { text: 'a' }, dynamic_context: { text: 'b' } }),
    ],
    [
      'surplus.enable_truncation',
      raw('ActionEvent', { thought: [{ text: 'a' }, { text: 'b', enable_truncation: true }] }),
      raw('ActionEvent', { thought: [{ text: 'a' }, { text: 'b' }] }),
    ],
    [
      'surplus.enable_truncation',
      raw('MessageEvent', {
        llm_message: { role: 'user', content: [{ text: 'a', enable_truncation: true }] },
        extended_content: [{ text: 'b', enable_truncation: true }],
      }),
      raw('MessageEvent', {
        llm_message: { role: 'user', content: [{ text: 'a' }] },
        extended_content: [{ text: 'b' }],
      }),
    ],
    [
      'surplus.enable_truncation',
      observation(
        { kind: 'Own', content: [{ text: 'a', enable_truncation: true }] },
        { extended_content: [{ text: 'b', enable_truncation: true }] },
      ),
      observation({ kind: 'Own', content: [{ text: 'a' }] }, { extended_content: [{ text: 'b' }] }),
    ],
    [
      'nulls.defaults',
      raw('ActionEvent', {
        thinking_blocks: null,
        security_risk: null,
        source: null,
        thought: [{ text: 'a', cache_prompt: null }],
      }),
      raw('ActionEvent', { thought: [{ text: 'a' }] }),
    ],
    [
      'nulls.defaults',
      raw('MessageEvent', {
        activated_skills: null,
        extended_content: null,
        llm_message: {
          role: 'user',
          thinking_blocks: null,
          responses_reasoning_item: { summary: null },
          name: null,
        },
      }),
      raw('MessageEvent', { llm_message: { role: 'user', responses_reasoning_item: {}, name: null } }),
    ],
    [
      'nulls.defaults',
      observation({ kind: 'Own', content: null, is_error: null }, { extended_content: null }),
      observation({ kind: 'Own' }),
    ],
    ['nulls.defaults', raw('Condensation', { forgotten_event_ids: null }), raw('Condensation', {})],
    [
      'nulls.defaults',
      raw('HookExecutionEvent', { blocked: null, stdout: null, stderr: null }),
      raw('HookExecutionEvent', {}),
    ],
    [
      'nulls.identity',
      { kind: 'PauseEvent', id: null, timestamp: null, parent_id: null },
      { kind: 'PauseEvent', parent_id: null },
    ],
    [
      'nulls.state_key',
      { kind: 'ConversationStateUpdateEvent', key: null, value: null },
      { kind: 'ConversationStateUpdateEvent', value: null },
    ],
  ])('applies %s to %j', (name, input, expected) => {
    const before = structuredClone(input)
    const result = upcast(input)
    expect(result.value).toEqual(expected)
    expect(result.applied).toEqual([name])
    expect(input).toEqual(before)
    expect(decodeEvent(result.value)).toMatchObject({ ok: true })
    const upcaster = UPCASTERS.find((each) => each.name === name)
    expect(upcaster?.applies(input as JsonObject)).toBe(true)
    expect(upcaster?.applies(result.value as JsonObject)).toBe(false)
  })

  it('applies several upcasters in order', () => {
    const input = observation(
      { output: 'a', error: '', kind: 'StrReplaceEditorObservation', command: 'view' },
      { extended_content: null, id: null },
    )
    expect(upcast(input).applied).toEqual([
      'early.tool_kinds',
      'results.output_and_error',
      'nulls.defaults',
      'nulls.identity',
    ])
  })
})
