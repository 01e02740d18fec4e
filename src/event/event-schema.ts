import * as z from 'zod/mini'
import { EVENT_KINDS, type EventKind, KINDS } from './kinds.ts'
import { type JsonObject, HOOK_EVENT_TYPES } from './shapes.ts'
import { _default as withDefault } from 'zod/mini'
import { ID_RULE, LEGAL_ID } from './ids.ts'
import {
  action,
  checkers,
  criticResult,
  imageContent,
  integer,
  json,
  jsonObject,
  maybeText,
  message,
  messageToolCall,
  observation,
  reasoningItem,
  securityRisk,
  redactedThinkingBlock,
  source,
  textContent,
  thinkingBlock,
  thinkingBlocks,
  toolDefinition,
} from './shape-schema.ts'

const UNIQUE_RULE = 'Must list each id once.'

const identity = () => ({
  id: z.exactOptional(z.string().check(z.regex(LEGAL_ID, `Must be ${ID_RULE}.`))),
  timestamp: z.exactOptional(z.string()),
  parent_id: z.exactOptional(z.nullable(z.string())),
})

type SourceSchema<K extends EventKind> = K extends 'HookExecutionEvent'
  ? z.ZodMiniDefault<z.ZodMiniLiteral<'hook'>>
  : (typeof KINDS)[K]['defaultSource'] extends null
    ? ReturnType<typeof source>
    : z.ZodMiniDefault<ReturnType<typeof source>>

function sourceOf<K extends EventKind>(kind: K): SourceSchema<K> {
  const fallback = KINDS[kind].defaultSource
  const schema =
    fallback === null
      ? source()
      : fallback === 'hook'
        ? withDefault(z.literal('hook'), 'hook')
        : withDefault(source(), fallback)
  return schema as z.ZodMiniType as SourceSchema<K>
}

function event<K extends EventKind, Fields extends z.core.$ZodShape>(kind: K, fields: Fields) {
  return z.strictObject({ kind: z.literal(kind), ...identity(), source: sourceOf(kind), ...fields })
}

const extendedContent = () => withDefault(z.array(textContent()), [])

const link = () => ({ tool_name: z.string(), tool_call_id: z.string() })

const failureFields = () => ({ code: z.string(), detail: z.string() })

export const eventSchemas = {
  ServerErrorEvent: () => event('ServerErrorEvent', failureFields()),
  ACPToolCallEvent: () =>
    event('ACPToolCallEvent', {
      tool_call_id: z.string(),
      title: z.string(),
      status: maybeText(),
      tool_kind: maybeText(),
      raw_input: z.exactOptional(json()),
      raw_output: z.exactOptional(json()),
      content: z.exactOptional(z.nullable(z.array(json()))),
      is_error: withDefault(z.boolean(), false),
    }),
  Condensation: () =>
    event('Condensation', {
      llm_response_id: z.string(),
      forgotten_event_ids: withDefault(
        z.array(z.string()).check(
          z.refine((ids) => new Set(ids).size === ids.length, {
            error: UNIQUE_RULE,
            params: { type: 'not_unique' },
          }),
          z.meta({ uniqueItems: true }),
        ),
        [],
      ),
      summary: maybeText(),
      summary_offset: z.exactOptional(z.nullable(integer().check(z.gte(0)))),
    }),
  CondensationRequest: () => event('CondensationRequest', {}),
  CondensationSummaryEvent: () => event('CondensationSummaryEvent', { summary: z.string() }),
  ConversationErrorEvent: () => event('ConversationErrorEvent', failureFields()),
  ConversationStateUpdateEvent: () =>
    event('ConversationStateUpdateEvent', {
      key: z.exactOptional(z.string()),
      value: z.exactOptional(json()),
    }),
  HookExecutionEvent: () =>
    event('HookExecutionEvent', {
      hook_event_type: z.enum(HOOK_EVENT_TYPES),
      hook_command: z.string(),
      success: z.boolean(),
      exit_code: integer(),
      tool_name: maybeText(),
      blocked: withDefault(z.boolean(), false),
      stdout: withDefault(z.string(), ''),
      stderr: withDefault(z.string(), ''),
      reason: maybeText(),
      additional_context: maybeText(),
      error: maybeText(),
      action_id: maybeText(),
      message_id: maybeText(),
      hook_input: z.exactOptional(z.nullable(jsonObject())),
    }),
  LLMCompletionLogEvent: () =>
    event('LLMCompletionLogEvent', {
      filename: z.string(),
      log_data: z.string(),
      model_name: withDefault(z.string(), 'unknown'),
      usage_id: withDefault(z.string(), 'default'),
    }),
  ActionEvent: () =>
    event('ActionEvent', {
      thought: z.array(textContent()),
      reasoning_content: maybeText(),
      thinking_blocks: thinkingBlocks(),
      responses_reasoning_item: z.exactOptional(z.nullable(reasoningItem())),
      action: z.exactOptional(z.nullable(action())),
      ...link(),
      tool_call: messageToolCall(),
      llm_response_id: z.string(),
      security_risk: withDefault(securityRisk(), 'UNKNOWN'),
      critic_result: z.exactOptional(z.nullable(criticResult())),
      summary: maybeText(),
    }),
  MessageEvent: () =>
    event('MessageEvent', {
      llm_message: message(),
      llm_response_id: maybeText(),
      activated_skills: withDefault(z.array(z.string()), []),
      extended_content: extendedContent(),
      sender: maybeText(),
      critic_result: z.exactOptional(z.nullable(criticResult())),
    }),
  AgentErrorEvent: () => event('AgentErrorEvent', { ...link(), error: z.string() }),
  ObservationEvent: () =>
    event('ObservationEvent', {
      ...link(),
      observation: observation(),
      action_id: z.string(),
      extended_content: extendedContent(),
    }),
  UserRejectObservation: () =>
    event('UserRejectObservation', {
      ...link(),
      action_id: z.string(),
      rejection_reason: withDefault(z.string(), 'User rejected the action'),
      rejection_source: withDefault(z.enum(['user', 'hook']), 'user'),
    }),
  SystemPromptEvent: () =>
    event('SystemPromptEvent', {
      system_prompt: textContent(),
      tools: z.array(toolDefinition()),
      dynamic_context: z.exactOptional(z.nullable(textContent())),
    }),
  StreamingDeltaEvent: () =>
    event('StreamingDeltaEvent', { content: maybeText(), reasoning_content: maybeText() }),
  TokenEvent: () =>
    event('TokenEvent', { prompt_token_ids: z.array(integer()), response_token_ids: z.array(integer()) }),
  InterruptEvent: () => event('InterruptEvent', {}),
  PauseEvent: () => event('PauseEvent', {}),
} satisfies { readonly [K in EventKind]: () => z.ZodMiniType }

export const eventChecks = checkers(eventSchemas)

const SHAPES = {
  TextContent: textContent,
  ImageContent: imageContent,
  ThinkingBlock: thinkingBlock,
  RedactedThinkingBlock: redactedThinkingBlock,
  ReasoningItemModel: reasoningItem,
  MessageToolCall: messageToolCall,
  Message: message,
  ToolDefinition: toolDefinition,
  CriticResult: criticResult,
} as const satisfies Readonly<Record<string, () => z.ZodMiniType>>

/** Removes two rules from a schema: that names are strings (true of all JSON), and zod's integer limits. */
function tidy({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  delete jsonSchema.propertyNames
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
}

/**
 * Returns the JSON Schema (draft 2020-12) of one kind of event, as a new object.
 * @example
 * eventJsonSchema('PauseEvent').additionalProperties // false
 */
export function eventJsonSchema(kind: EventKind): JsonObject {
  const { $schema, ...schema } = z.toJSONSchema(eventSchemas[kind](), { io: 'input', override: tidy })
  // zod's type for the document is wider than JSON, but the document is plain JSON.
  return { $schema, title: kind, ...schema } as object as JsonObject
}

/**
 * Returns the JSON Schemas of all 19 kinds, in the order of interface section 2.2.
 * @example
 * eventJsonSchemas().PauseEvent.additionalProperties // false
 */
export function eventJsonSchemas(): Readonly<Record<EventKind, JsonObject>> {
  return Object.fromEntries(EVENT_KINDS.map((kind) => [kind, eventJsonSchema(kind)])) as Record<
    EventKind,
    JsonObject
  >
}

/**
 * Returns the JSON Schemas of shapes shared by events, by type name such as `TextContent`. They appear
 * unchanged in the events' schemas.
 */
export function shapeJsonSchemas(): Readonly<Record<string, JsonObject>> {
  const described = Object.entries(SHAPES).map(([name, shape]) => {
    const { $schema: _dialect, ...schema } = z.toJSONSchema(shape(), { io: 'input', override: tidy })
    return [name, schema]
  })
  return Object.fromEntries(described)
}
