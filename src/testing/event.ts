import * as fc from 'fast-check'
import { freezeJson } from '../event/freeze.ts'
import { EVENT_KINDS, type EventKind } from '../event/kinds.ts'
import type {
  Action,
  JsonValue,
  Message,
  MessageToolCall,
  Observation,
  ReasoningItemModel,
  RedactedThinkingBlock,
  Source,
  ThinkingBlock,
  ToolDefinition,
} from '../event/shapes.ts'
import type { Event, EventOf } from '../event/types.ts'
import { orNull, shape, weighed } from './shape.ts'
import { anyContent, textContent } from './content.ts'
import { jsonObject, jsonValue, openFields, withOpenFields } from './json.ts'
import { anyText, words } from './text.ts'

const TIMESTAMPS = [
  '2026-01-01T00:00:00Z',
  '2026-01-01T00:00:00',
  '2026-01-01T00:00:00.123456',
  '2026-01-01 01:00:00.5+0100',
  '2024-02-29T23:59:59.999999-08:00',
  '2026-02-30T00:00:00Z',
  'yesterday',
  '',
]

// Arbitraries are created once, because creating one costs more than a draw.

const source = fc.constantFrom<Source>('agent', 'user', 'environment', 'hook')
const callId = fc.constantFrom('c0', 'c1', 'c2', 'c3')
const pooledEventId = fc.constantFrom('e0', 'e1', 'e2', 'e3')
const responseId = fc.constantFrom('r0', 'r1', 'r2', '')

/** Generates legal ids from a small set, so that they collide. */
const eventId: fc.Arbitrary<string> = weighed(
  [8, fc.nat(9).map((n) => `e${n}`)],
  [1, fc.constantFrom('__proto__', 'constructor', 'e0-summary', 'é 😀', 'x'.repeat(200))],
)

/**
 * Generates valid events of all kinds, frozen.
 * @example
 * fc.assert(fc.property(anyEvent(), event => typeof event.kind === 'string'))
 */
export function anyEvent(): fc.Arbitrary<Event> {
  const identity = shape(
    {},
    { id: eventId, timestamp: fc.constantFrom(...TIMESTAMPS), parent_id: orNull(eventId) },
  )
  const body = fc.oneof(...EVENT_KINDS.map((kind): fc.Arbitrary<Event> => BODIES[kind]))
  return fc.tuple(body, identity).map(([event, ids]) => frozen({ ...event, ...ids }))
}

export function frozen<T extends object>(value: T): T {
  freezeJson(value as object as JsonValue)
  return value
}

const toolName: fc.Arbitrary<string> = weighed(
  [8, fc.constantFrom('terminal', 'think', 'my_tool', 'finish')],
  [1, fc.constantFrom('', 'a name.with:signs', 'x'.repeat(70))],
)

const toolArguments: fc.Arbitrary<string> = weighed(
  [5, fc.constantFrom('{}', '{"command":"ls"}', '{"deep":{"list":[1,null]}}')],
  [2, fc.constantFrom('', '{"command":', 'null', '[]', '"ls"', '7', '{"__proto__":1}', '{"a":1}{')],
  [1, anyText],
)

const toolCall = (id: fc.Arbitrary<string>): fc.Arbitrary<MessageToolCall> =>
  withOpenFields(
    shape(
      {
        id,
        name: toolName,
        arguments: toolArguments,
        origin: fc.constantFrom('completion' as const, 'responses' as const),
      },
      { responses_item_id: orNull(fc.constantFrom('fc_1', 'fc_2', '')) },
    ),
  )

const anyAction = weighed<Action | null>(
  [1, fc.constant(null)],
  [
    3,
    fc.constantFrom<Action>(
      { kind: 'TerminalAction', command: 'ls' },
      { kind: 'ThinkAction', thought: 'hm' },
      { kind: 'FinishAction', message: 'done' },
      { kind: 'FileEditorAction', command: 'view', path: '/etc/hosts' },
    ),
  ],
  [2, openFields.map((open) => ({ ...open, kind: 'ClientAction_mine' }))],
)

const anyObservation: fc.Arbitrary<Observation> = withOpenFields(
  shape(
    { kind: fc.constantFrom('ClientToolObservation', 'MyObservation') },
    { content: anyContent, is_error: fc.boolean() },
  ),
)

const signature = fc.integer({ min: 0, max: 0xffff }).map((n) => `sig/${n.toString(16)}+==`)

export const secretText = fc
  .integer({ min: 0, max: 0xffffff })
  .map((n) => `gAAAA-secret-${n.toString(16).padStart(6, '0')}`)

const type = fc.constant('thinking' as const)

const thinkingBlocks = fc.array(
  weighed<ThinkingBlock | RedactedThinkingBlock>(
    [4, shape({ thinking: anyText }, { type, signature: orNull(signature) })],
    [1, shape({ data: anyText }, { type: fc.constant('redacted_thinking' as const) })],
  ),
  { maxLength: 2 },
)

export const signedThinking = fc
  .tuple(words, signature)
  .map(([thinking, mark]): ThinkingBlock => ({ type: 'thinking', thinking, signature: mark }))

export const reasoningItem: fc.Arbitrary<ReasoningItemModel> = shape(
  {},
  {
    id: orNull(fc.constantFrom('rs_1', 'rs_2', '')),
    summary: fc.array(anyText, { maxLength: 2 }),
    content: orNull(fc.array(anyText, { maxLength: 2 })),
    encrypted_content: orNull(secretText),
    status: orNull(fc.constantFrom('completed', 'in_progress')),
  },
)

function anyMessage(role: 'user' | 'assistant'): fc.Arbitrary<Message> {
  const roles = weighed(
    [8, fc.constant(role)],
    [1, fc.constantFrom('user' as const, 'system' as const, 'assistant' as const, 'tool' as const)],
  )
  const common = shape({ role: roles }, { content: anyContent })
  // Rare, because a message with calls neither merges with its neighbours nor ends a run.
  const rare = shape(
    {},
    {
      tool_calls: orNull(fc.array(toolCall(fc.constantFrom('c0', 'c1')), { maxLength: 2 })),
      tool_call_id: orNull(fc.constantFrom('c0', 'c9')),
      name: orNull(anyText),
      reasoning_content: orNull(anyText),
      thinking_blocks: thinkingBlocks,
      responses_reasoning_item: orNull(reasoningItem),
    },
  )
  const extra = weighed([3, fc.constant({})], [1, rare])
  return fc.tuple(openFields, common, extra).map(([open, known, more]) => ({ ...open, ...known, ...more }))
}

type Fields<K extends EventKind> = {
  readonly [F in Exclude<keyof EventOf<K>, 'kind'>]?: fc.Arbitrary<EventOf<K>[F]>
}

/** Generates events of a kind, with some of the optional fields. The source is optional by default. */
const body = <K extends EventKind>(
  kind: K,
  required: Fields<K>,
  optional: Fields<K> = {},
): fc.Arbitrary<EventOf<K>> => {
  const sources = 'source' in required ? {} : { source }
  return shape({ kind: fc.constant(kind), ...required }, { ...sources, ...optional }) as fc.Arbitrary<never>
}

const failure = { source, code: words, detail: anyText }
const critic = orNull(
  shape({ score: fc.constantFrom(0, 0.5, 1) }, { message: orNull(words), metadata: orNull(jsonObject) }),
)
const extended = fc.array(textContent, { maxLength: 2 })
const link = { tool_name: toolName, tool_call_id: callId }

const toolDefinition: fc.Arbitrary<ToolDefinition> = withOpenFields(
  shape(
    { description: anyText, action_type: fc.constantFrom('TerminalAction', 'ClientAction_mine') },
    {
      kind: fc.constantFrom('TerminalTool', 'MyTool'),
      title: orNull(words),
      observation_type: orNull(words),
      annotations: orNull(jsonObject),
      meta: orNull(jsonObject),
    },
  ),
)

const call = { ...link, tool_call: toolCall(callId), llm_response_id: responseId }

const messageFrom = (from: fc.Arbitrary<Source>, role: 'user' | 'assistant') =>
  body(
    'MessageEvent',
    { source: from, llm_message: anyMessage(role) },
    {
      llm_response_id: orNull(responseId),
      activated_skills: fc.array(fc.constantFrom('git', 'docker', ''), { maxLength: 2 }),
      extended_content: extended,
      sender: orNull(words),
      critic_result: critic,
    },
  )

const userMessage = messageFrom(fc.constant('user'), 'user')
const otherMessage = messageFrom(fc.constantFrom('agent', 'agent', 'environment'), 'assistant')

export const BODIES: { readonly [K in EventKind]: fc.Arbitrary<EventOf<K>> } = {
  ServerErrorEvent: body('ServerErrorEvent', failure),
  ACPToolCallEvent: body(
    'ACPToolCallEvent',
    { tool_call_id: callId, title: anyText },
    {
      status: orNull(words),
      tool_kind: orNull(words),
      raw_input: jsonValue,
      raw_output: jsonValue,
      content: orNull(fc.array(jsonValue, { maxLength: 2 })),
      is_error: fc.boolean(),
    },
  ),
  Condensation: body(
    'Condensation',
    { llm_response_id: responseId },
    {
      forgotten_event_ids: fc.uniqueArray(pooledEventId, { maxLength: 4 }),
      summary: orNull(anyText),
      summary_offset: orNull(fc.nat(9)),
    },
  ),
  CondensationRequest: body('CondensationRequest', {}),
  CondensationSummaryEvent: body('CondensationSummaryEvent', { summary: anyText }),
  ConversationErrorEvent: body('ConversationErrorEvent', failure),
  ConversationStateUpdateEvent: body('ConversationStateUpdateEvent', {}, { key: words, value: jsonValue }),
  HookExecutionEvent: body(
    'HookExecutionEvent',
    {
      hook_event_type: fc.constantFrom('PreToolUse', 'PostToolUse', 'Stop'),
      hook_command: words,
      success: fc.boolean(),
      exit_code: fc.integer({ min: -1, max: 2 }),
    },
    {
      source: fc.constant('hook'),
      tool_name: orNull(toolName),
      blocked: fc.boolean(),
      stdout: anyText,
      stderr: anyText,
      reason: orNull(anyText),
      additional_context: orNull(anyText),
      error: orNull(anyText),
      action_id: orNull(pooledEventId),
      message_id: orNull(pooledEventId),
      hook_input: orNull(jsonObject),
    },
  ),
  LLMCompletionLogEvent: body(
    'LLMCompletionLogEvent',
    { filename: words, log_data: anyText },
    { model_name: words, usage_id: words },
  ),
  ActionEvent: weighed<EventOf<'ActionEvent'>>(
    [
      2,
      shape({ kind: fc.constant('ActionEvent'), ...call, thought: fc.constant([]) }, { action: anyAction }),
    ],
    [
      1,
      body(
        'ActionEvent',
        { ...call, thought: fc.array(textContent, { maxLength: 2 }) },
        {
          reasoning_content: orNull(anyText),
          thinking_blocks: thinkingBlocks,
          responses_reasoning_item: orNull(reasoningItem),
          action: anyAction,
          security_risk: fc.constantFrom('UNKNOWN', 'LOW', 'MEDIUM', 'HIGH'),
          critic_result: critic,
          summary: orNull(anyText),
        },
      ),
    ],
  ),
  MessageEvent: fc.boolean().chain((isUser) => (isUser ? userMessage : otherMessage)),
  AgentErrorEvent: body('AgentErrorEvent', { ...link, error: anyText }),
  ObservationEvent: body(
    'ObservationEvent',
    { ...link, observation: anyObservation, action_id: pooledEventId },
    { extended_content: extended },
  ),
  UserRejectObservation: body(
    'UserRejectObservation',
    { ...link, action_id: pooledEventId },
    { rejection_reason: anyText, rejection_source: fc.constantFrom('user', 'hook') },
  ),
  SystemPromptEvent: body(
    'SystemPromptEvent',
    { system_prompt: textContent, tools: fc.array(toolDefinition, { maxLength: 2 }) },
    { dynamic_context: orNull(textContent) },
  ),
  StreamingDeltaEvent: body(
    'StreamingDeltaEvent',
    {},
    { content: orNull(anyText), reasoning_content: orNull(anyText) },
  ),
  TokenEvent: body('TokenEvent', {
    source,
    prompt_token_ids: fc.array(fc.nat(99), { maxLength: 3 }),
    response_token_ids: fc.array(fc.nat(99), { maxLength: 3 }),
  }),
  InterruptEvent: body('InterruptEvent', {}),
  PauseEvent: body('PauseEvent', {}),
}
