/** A minimal and a full event of every kind, and the fields that the contract requires. */

import type { EventKind } from '../../src/event/kinds.ts'
import type { JsonValue } from '../../src/event/shapes.ts'

type Fields = Readonly<Record<string, unknown>>

export interface Sample {
  readonly kind: EventKind
  /** Only required fields. */
  readonly minimal: Fields
  /** Every field of the contract, none at its default. */
  readonly full: Fields
  readonly required: readonly string[]
}

const IDENTITY = { id: 'e1', timestamp: '2026-11-21T10:00:00.000001', parent_id: 'e0' }
const TEXT = { type: 'text', text: 'hello', cache_prompt: true }
const IMAGE = { type: 'image', image_urls: ['data:image/png;base64,AA=='], cache_prompt: true }
const THINKING = [
  { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
  { type: 'redacted_thinking', data: 'ZGF0YQ==' },
]
const REASONING = {
  id: 'rs1',
  summary: ['so'],
  content: ['because'],
  encrypted_content: 'gAAA',
  status: 'done',
}
const CALL = {
  id: 'c1',
  name: 'terminal',
  arguments: '{"command":"ls"}',
  origin: 'responses',
  responses_item_id: 'fc1',
}
const CRITIC = { score: 0.5, message: 'fair', metadata: { event_ids: ['e0'] } }

function sample(kind: EventKind, required: Fields, optional: Fields, source = 'agent'): Sample {
  return {
    kind,
    minimal: { kind, ...required },
    full: { kind, ...IDENTITY, source, ...required, ...optional },
    required: ['kind', ...Object.keys(required)],
  }
}

export const SAMPLES: readonly Sample[] = [
  sample('ServerErrorEvent', { source: 'environment', code: 'MCPError', detail: 'no connection' }, {}),
  sample(
    'ACPToolCallEvent',
    { tool_call_id: 'c1', title: 'Read a file' },
    {
      status: 'completed',
      tool_kind: 'read',
      raw_input: { path: 'a', deep: [null, { n: 1.5 }] },
      raw_output: 'text',
      content: [{ type: 'content' }, 1, null],
      is_error: true,
    },
    'user',
  ),
  sample(
    'Condensation',
    { llm_response_id: 'r1' },
    { forgotten_event_ids: ['a', 'b'], summary: 'they met', summary_offset: 2 },
    'agent',
  ),
  sample('CondensationRequest', {}, {}),
  sample('CondensationSummaryEvent', { summary: 'they met' }, {}),
  sample('ConversationErrorEvent', { source: 'environment', code: 'Timeout', detail: 'too slow' }, {}),
  sample('ConversationStateUpdateEvent', {}, { key: 'execution_status', value: 'running' }),
  sample(
    'HookExecutionEvent',
    { hook_event_type: 'PreToolUse', hook_command: 'check', success: true, exit_code: 0 },
    {
      tool_name: 'terminal',
      blocked: true,
      stdout: 'out',
      stderr: 'err',
      reason: 'no',
      additional_context: 'note',
      error: 'failed',
      action_id: 'a1',
      message_id: 'm1',
      hook_input: { any: ['thing'] },
    },
    'hook',
  ),
  sample(
    'LLMCompletionLogEvent',
    { filename: 'a.json', log_data: '{}' },
    { model_name: 'm', usage_id: 'agent' },
  ),
  sample(
    'ActionEvent',
    {
      thought: [TEXT],
      tool_name: 'terminal',
      tool_call_id: 'c1',
      tool_call: CALL,
      llm_response_id: 'r1',
    },
    {
      reasoning_content: 'so',
      thinking_blocks: THINKING,
      responses_reasoning_item: REASONING,
      action: { kind: 'TerminalAction', command: 'ls', is_input: true, timeout: 1.5, reset: true, own: 1 },
      security_risk: 'LOW',
      critic_result: CRITIC,
      summary: 'list the files',
    },
    'user',
  ),
  sample(
    'MessageEvent',
    { source: 'user', llm_message: { role: 'user' } },
    {
      llm_message: {
        role: 'assistant',
        content: [TEXT, IMAGE],
        tool_calls: [CALL],
        tool_call_id: 'c0',
        name: 'terminal',
        reasoning_content: 'so',
        thinking_blocks: THINKING,
        responses_reasoning_item: REASONING,
        cache_enabled: true,
      },
      llm_response_id: 'r1',
      activated_skills: ['git'],
      extended_content: [TEXT],
      sender: 'planner',
      critic_result: CRITIC,
    },
  ),
  sample('AgentErrorEvent', { tool_name: 'terminal', tool_call_id: 'c1', error: 'no such tool' }, {}, 'user'),
  sample(
    'ObservationEvent',
    {
      tool_name: 'terminal',
      tool_call_id: 'c1',
      observation: { kind: 'TerminalObservation' },
      action_id: 'a1',
    },
    {
      observation: {
        kind: 'TerminalObservation',
        content: [TEXT, IMAGE],
        is_error: true,
        command: 'ls',
        exit_code: 1,
        timeout: true,
        metadata: { exit_code: 1, pid: 2, username: null, prefix: '', own: [] },
        full_output_save_dir: null,
        own: {},
      },
      extended_content: [TEXT],
    },
  ),
  sample(
    'UserRejectObservation',
    { tool_name: 'terminal', tool_call_id: 'c1', action_id: 'a1' },
    { rejection_reason: 'too dangerous', rejection_source: 'hook' },
  ),
  sample(
    'SystemPromptEvent',
    { system_prompt: TEXT, tools: [{ description: 'Runs commands', action_type: 'TerminalAction' }] },
    {
      tools: [
        {
          kind: 'TerminalTool',
          title: 'terminal',
          description: 'Runs commands',
          action_type: 'TerminalAction',
          observation_type: 'TerminalObservation',
          annotations: { readOnlyHint: false },
          meta: { any: 1 },
          own: true,
        },
      ],
      dynamic_context: TEXT,
    },
    'user',
  ),
  sample('StreamingDeltaEvent', {}, { content: 'Hel', reasoning_content: 'hm' }),
  sample('TokenEvent', { source: 'agent', prompt_token_ids: [1, 2], response_token_ids: [] }, {}),
  sample('InterruptEvent', {}, {}),
  sample('PauseEvent', {}, {}),
]

export function sampleOf(kind: EventKind): Sample {
  const match = SAMPLES.find((sample) => sample.kind === kind)
  if (match === undefined) throw new Error(`no sample of ${kind}`)
  return match
}

/** The minimal event with other fields, as an old version may have written it. */
export const raw = (kind: Parameters<typeof sampleOf>[0], fields: object): JsonValue =>
  ({ ...sampleOf(kind).minimal, ...fields }) as JsonValue

export const observation = (observation: object, fields: object = {}): JsonValue =>
  raw('ObservationEvent', { observation, ...fields })

/** A tool call as the provider's package represents it. */
export const OPENAI_CALL = {
  index: 0,
  function: { arguments: '{}', name: 'terminal' },
  id: 'c1',
  type: 'function',
}
