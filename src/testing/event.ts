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
import { jsonObject, jsonValue, openFields } from './json.ts'
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

/** Generates legal ids from a small set, so that they collide. */
const eventId = (): fc.Arbitrary<string> =>
  weighed(
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
    { id: eventId(), timestamp: fc.constantFrom(...TIMESTAMPS), parent_id: orNull(eventId()) },
  )
  const body = fc.oneof(...EVENT_KINDS.map((kind): fc.Arbitrary<Event> => BODIES[kind]()))
  return fc.tuple(body, identity).map(([event, ids]) => frozen({ ...event, ...ids }))
}

export function frozen<T extends object>(value: T): T {
  freezeJson(value as object as JsonValue)
  return value
}

const toolName = (): fc.Arbitrary<string> =>
  weighed(
    [8, fc.constantFrom('terminal', 'think', 'my_tool', 'finish')],
    [1, fc.constantFrom('', 'a name.with:signs', 'x'.repeat(70))],
  )

const toolArguments = (): fc.Arbitrary<string> =>
  weighed(
    [5, fc.constantFrom('{}', '{"command":"ls"}', '{"deep":{"list":[1,null]}}')],
    [2, fc.constantFrom('', '{"command":', 'null', '[]', '"ls"', '7', '{"__proto__":1}', '{"a":1}{')],
    [1, anyText()],
  )

function toolCall(id: fc.Arbitrary<string>): fc.Arbitrary<MessageToolCall> {
  const call = shape(
    {
      id,
      name: toolName(),
      arguments: toolArguments(),
      origin: fc.constantFrom('completion' as const, 'responses' as const),
    },
    { responses_item_id: orNull(fc.constantFrom('fc_1', 'fc_2', '')) },
  )
  return fc.tuple(openFields(), call).map(([open, known]) => ({ ...open, ...known }))
}

function anyAction(): fc.Arbitrary<Action | null> {
  return weighed(
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
    [2, openFields().map((open) => ({ ...open, kind: 'ClientAction_mine' }))],
  )
}

function anyObservation(): fc.Arbitrary<Observation> {
  const known = shape(
    { kind: fc.constantFrom('ClientToolObservation', 'MyObservation') },
    { content: anyContent(), is_error: fc.boolean() },
  )
  return fc.tuple(openFields(), known).map(([open, rest]) => ({ ...open, ...rest }))
}

function anyMessage(role: 'user' | 'assistant'): fc.Arbitrary<Message> {
  const roles = weighed(
    [8, fc.constant(role)],
    [1, fc.constantFrom('user' as const, 'system' as const, 'assistant' as const, 'tool' as const)],
  )
  const common = shape({ role: roles }, { content: anyContent() })
  // Rare, because a message with calls neither merges with its neighbours nor ends a run.
  const rare = shape(
    {},
    {
      tool_calls: orNull(fc.array(toolCall(fc.constantFrom('c0', 'c1')), { maxLength: 2 })),
      tool_call_id: orNull(fc.constantFrom('c0', 'c9')),
      name: orNull(anyText()),
      reasoning_content: orNull(anyText()),
      thinking_blocks: fc.array(anyThinking(), { maxLength: 2 }),
      responses_reasoning_item: orNull(reasoningItem()),
    },
  )
  const extra = weighed([3, fc.constant({})], [1, rare])
  return fc.tuple(openFields(), common, extra).map(([open, known, more]) => ({ ...open, ...known, ...more }))
}

const signature = (): fc.Arbitrary<string> =>
  fc.integer({ min: 0, max: 0xffff }).map((n) => `sig/${n.toString(16)}+==`)

export const secretText = (): fc.Arbitrary<string> =>
  fc.integer({ min: 0, max: 0xffffff }).map((n) => `gAAAA-secret-${n.toString(16).padStart(6, '0')}`)

function anyThinking(): fc.Arbitrary<ThinkingBlock | RedactedThinkingBlock> {
  const type = fc.constant('thinking' as const)
  return weighed<ThinkingBlock | RedactedThinkingBlock>(
    [4, shape({ thinking: anyText() }, { type, signature: orNull(signature()) })],
    [1, shape({ data: anyText() }, { type: fc.constant('redacted_thinking' as const) })],
  )
}

export function signedThinking(): fc.Arbitrary<ThinkingBlock> {
  return fc
    .tuple(words(), signature())
    .map(([thinking, mark]) => ({ type: 'thinking', thinking, signature: mark }))
}

export function reasoningItem(): fc.Arbitrary<ReasoningItemModel> {
  return shape(
    {},
    {
      id: orNull(fc.constantFrom('rs_1', 'rs_2', '')),
      summary: fc.array(anyText(), { maxLength: 2 }),
      content: orNull(fc.array(anyText(), { maxLength: 2 })),
      encrypted_content: orNull(secretText()),
      status: orNull(fc.constantFrom('completed', 'in_progress')),
    },
  )
}

const source = (): fc.Arbitrary<Source> => fc.constantFrom('agent', 'user', 'environment', 'hook')
const callId = (): fc.Arbitrary<string> => fc.constantFrom('c0', 'c1', 'c2', 'c3')
const pooledEventId = (): fc.Arbitrary<string> => fc.constantFrom('e0', 'e1', 'e2', 'e3')
const responseId = (): fc.Arbitrary<string> => fc.constantFrom('r0', 'r1', 'r2', '')
const kind = <K extends EventKind>(name: K): fc.Arbitrary<K> => fc.constant(name)
const failureFields = { source: source(), code: words(), detail: anyText() }
const critic = () =>
  shape({ score: fc.constantFrom(0, 0.5, 1) }, { message: orNull(words()), metadata: orNull(jsonObject()) })
const risk = () => fc.constantFrom('UNKNOWN' as const, 'LOW' as const, 'MEDIUM' as const, 'HIGH' as const)
const extended = () => fc.array(textContent(), { maxLength: 2 })

function toolDefinition(): fc.Arbitrary<ToolDefinition> {
  const known = shape(
    { description: anyText(), action_type: fc.constantFrom('TerminalAction', 'ClientAction_mine') },
    {
      kind: fc.constantFrom('TerminalTool', 'MyTool'),
      title: orNull(words()),
      observation_type: orNull(words()),
      annotations: orNull(jsonObject()),
      meta: orNull(jsonObject()),
    },
  )
  return fc.tuple(openFields(), known).map(([open, rest]) => ({ ...open, ...rest }))
}

function actionBody(): fc.Arbitrary<EventOf<'ActionEvent'>> {
  const call = {
    kind: kind('ActionEvent'),
    tool_name: toolName(),
    tool_call_id: callId(),
    tool_call: toolCall(callId()),
    llm_response_id: responseId(),
  }
  const bare = shape({ ...call, thought: fc.constant([]) }, { action: anyAction() })
  const full = shape(
    { ...call, thought: fc.array(textContent(), { maxLength: 2 }) },
    {
      source: source(),
      reasoning_content: orNull(anyText()),
      thinking_blocks: fc.array(anyThinking(), { maxLength: 2 }),
      responses_reasoning_item: orNull(reasoningItem()),
      action: anyAction(),
      security_risk: risk(),
      critic_result: orNull(critic()),
      summary: orNull(anyText()),
    },
  )
  return weighed<EventOf<'ActionEvent'>>([2, bare], [1, full])
}

/** Creates `text` and `others` before the draw, because creating an arbitrary costs more than a draw. */
function messageBody(): fc.Arbitrary<EventOf<'MessageEvent'>> {
  const optional = {
    llm_response_id: orNull(responseId()),
    activated_skills: fc.array(fc.constantFrom('git', 'docker', ''), { maxLength: 2 }),
    extended_content: extended(),
    sender: orNull(words()),
    critic_result: orNull(critic()),
  }
  const from = (source: fc.Arbitrary<Source>, role: 'user' | 'assistant') =>
    shape({ kind: kind('MessageEvent'), source, llm_message: anyMessage(role) }, optional)
  const text = from(fc.constant('user'), 'user')
  const others = from(fc.constantFrom('agent', 'agent', 'environment'), 'assistant')
  return fc.boolean().chain((user) => (user ? text : others))
}

const link = { tool_name: toolName(), tool_call_id: callId() }

export const BODIES: { readonly [K in EventKind]: () => fc.Arbitrary<EventOf<K>> } = {
  ServerErrorEvent: () => shape({ kind: kind('ServerErrorEvent'), ...failureFields }),
  ACPToolCallEvent: () =>
    shape(
      { kind: kind('ACPToolCallEvent'), tool_call_id: callId(), title: anyText() },
      {
        source: source(),
        status: orNull(words()),
        tool_kind: orNull(words()),
        raw_input: jsonValue(),
        raw_output: jsonValue(),
        content: orNull(fc.array(jsonValue(), { maxLength: 2 })),
        is_error: fc.boolean(),
      },
    ),
  Condensation: () =>
    shape(
      { kind: kind('Condensation'), llm_response_id: responseId() },
      {
        source: source(),
        forgotten_event_ids: fc.uniqueArray(pooledEventId(), { maxLength: 4 }),
        summary: orNull(anyText()),
        summary_offset: orNull(fc.nat(9)),
      },
    ),
  CondensationRequest: () => shape({ kind: kind('CondensationRequest') }, { source: source() }),
  CondensationSummaryEvent: () =>
    shape({ kind: kind('CondensationSummaryEvent'), summary: anyText() }, { source: source() }),
  ConversationErrorEvent: () => shape({ kind: kind('ConversationErrorEvent'), ...failureFields }),
  ConversationStateUpdateEvent: () =>
    shape(
      { kind: kind('ConversationStateUpdateEvent') },
      { source: source(), key: words(), value: jsonValue() },
    ),
  HookExecutionEvent: () =>
    shape(
      {
        kind: kind('HookExecutionEvent'),
        hook_event_type: fc.constantFrom('PreToolUse' as const, 'PostToolUse' as const, 'Stop' as const),
        hook_command: words(),
        success: fc.boolean(),
        exit_code: fc.integer({ min: -1, max: 2 }),
      },
      {
        source: kind('HookExecutionEvent').map(() => 'hook' as const),
        tool_name: orNull(toolName()),
        blocked: fc.boolean(),
        stdout: anyText(),
        stderr: anyText(),
        reason: orNull(anyText()),
        additional_context: orNull(anyText()),
        error: orNull(anyText()),
        action_id: orNull(pooledEventId()),
        message_id: orNull(pooledEventId()),
        hook_input: orNull(jsonObject()),
      },
    ),
  LLMCompletionLogEvent: () =>
    shape(
      { kind: kind('LLMCompletionLogEvent'), filename: words(), log_data: anyText() },
      { source: source(), model_name: words(), usage_id: words() },
    ),
  ActionEvent: actionBody,
  MessageEvent: messageBody,
  AgentErrorEvent: () =>
    shape({ kind: kind('AgentErrorEvent'), ...link, error: anyText() }, { source: source() }),
  ObservationEvent: () =>
    shape(
      { kind: kind('ObservationEvent'), ...link, observation: anyObservation(), action_id: pooledEventId() },
      { source: source(), extended_content: extended() },
    ),
  UserRejectObservation: () =>
    shape(
      { kind: kind('UserRejectObservation'), ...link, action_id: pooledEventId() },
      {
        source: source(),
        rejection_reason: anyText(),
        rejection_source: fc.constantFrom('user' as const, 'hook' as const),
      },
    ),
  SystemPromptEvent: () =>
    shape(
      {
        kind: kind('SystemPromptEvent'),
        system_prompt: textContent(),
        tools: fc.array(toolDefinition(), { maxLength: 2 }),
      },
      { source: source(), dynamic_context: orNull(textContent()) },
    ),
  StreamingDeltaEvent: () =>
    shape(
      { kind: kind('StreamingDeltaEvent') },
      { source: source(), content: orNull(anyText()), reasoning_content: orNull(anyText()) },
    ),
  TokenEvent: () =>
    shape({
      kind: kind('TokenEvent'),
      source: source(),
      prompt_token_ids: fc.array(fc.nat(99), { maxLength: 3 }),
      response_token_ids: fc.array(fc.nat(99), { maxLength: 3 }),
    }),
  InterruptEvent: () => shape({ kind: kind('InterruptEvent') }, { source: source() }),
  PauseEvent: () => shape({ kind: kind('PauseEvent') }, { source: source() }),
}
