/** The 19 events as zod schemas: the one definition that decoding checks with and JSON Schemas are made from. */

import * as z from 'zod'
import { LEGAL_ID } from './ids.ts'
import { KINDS, type EventKind } from './kinds.ts'
import { HOOK_EVENT_TYPES, type JsonObject } from './shapes.ts'
import {
  action,
  checker,
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
  type Check,
} from './shape-schema.ts'

const ID_RULE =
  'Must be 1 to 200 characters of well-formed Unicode, without control characters, and not "__root__"; give another id.'
const UNIQUE_RULE = 'Must not name an event twice; list each id once.'

/** What every event may carry. */
const identity = {
  id: z.string().regex(LEGAL_ID, ID_RULE).exactOptional(),
  timestamp: z.string().exactOptional(),
  parent_id: z.string().nullable().exactOptional(),
}

type SourceSchema<K extends EventKind> = K extends 'HookExecutionEvent'
  ? z.ZodDefault<z.ZodLiteral<'hook'>>
  : (typeof KINDS)[K]['defaultSource'] extends null
    ? typeof source
    : z.ZodDefault<typeof source>

/** The kinds table says what source an event has when it names none; only a hook may name no other. */
function sourceOf<K extends EventKind>(kind: K): SourceSchema<K> {
  const given = KINDS[kind].defaultSource
  const schema =
    given === null ? source : given === 'hook' ? z.literal('hook').default('hook') : source.default(given)
  return schema as z.ZodType as SourceSchema<K>
}

function event<K extends EventKind, Fields extends z.ZodRawShape>(kind: K, fields: Fields) {
  return z.strictObject({ kind: z.literal(kind), ...identity, source: sourceOf(kind), ...fields })
}

const extendedContent = z.array(textContent).default([])

const link = { tool_name: z.string(), tool_call_id: z.string() }

const failure = { code: z.string(), detail: z.string() }

/** The schema of every kind. */
export const eventSchemas = {
  ServerErrorEvent: event('ServerErrorEvent', failure),
  ACPToolCallEvent: event('ACPToolCallEvent', {
    tool_call_id: z.string(),
    title: z.string(),
    status: maybeText,
    tool_kind: maybeText,
    raw_input: json.exactOptional(),
    raw_output: json.exactOptional(),
    content: z.array(json).nullable().exactOptional(),
    is_error: z.boolean().default(false),
  }),
  Condensation: event('Condensation', {
    llm_response_id: z.string(),
    forgotten_event_ids: z
      .array(z.string())
      .refine((ids) => new Set(ids).size === ids.length, {
        error: UNIQUE_RULE,
        params: { type: 'not_unique' },
      })
      .meta({ uniqueItems: true })
      .default([]),
    summary: maybeText,
    summary_offset: integer.min(0).nullable().exactOptional(),
  }),
  CondensationRequest: event('CondensationRequest', {}),
  CondensationSummaryEvent: event('CondensationSummaryEvent', { summary: z.string() }),
  ConversationErrorEvent: event('ConversationErrorEvent', failure),
  ConversationStateUpdateEvent: event('ConversationStateUpdateEvent', {
    key: z.string().exactOptional(),
    value: json.exactOptional(),
  }),
  HookExecutionEvent: event('HookExecutionEvent', {
    hook_event_type: z.enum(HOOK_EVENT_TYPES),
    hook_command: z.string(),
    success: z.boolean(),
    exit_code: integer,
    tool_name: maybeText,
    blocked: z.boolean().default(false),
    stdout: z.string().default(''),
    stderr: z.string().default(''),
    reason: maybeText,
    additional_context: maybeText,
    error: maybeText,
    action_id: maybeText,
    message_id: maybeText,
    hook_input: jsonObject.nullable().exactOptional(),
  }),
  LLMCompletionLogEvent: event('LLMCompletionLogEvent', {
    filename: z.string(),
    log_data: z.string(),
    model_name: z.string().default('unknown'),
    usage_id: z.string().default('default'),
  }),
  ActionEvent: event('ActionEvent', {
    thought: z.array(textContent),
    reasoning_content: maybeText,
    thinking_blocks: thinkingBlocks,
    responses_reasoning_item: reasoningItem.nullable().exactOptional(),
    action: action.nullable().exactOptional(),
    ...link,
    tool_call: messageToolCall,
    llm_response_id: z.string(),
    security_risk: securityRisk.default('UNKNOWN'),
    critic_result: criticResult.nullable().exactOptional(),
    summary: maybeText,
  }),
  MessageEvent: event('MessageEvent', {
    llm_message: message,
    llm_response_id: maybeText,
    activated_skills: z.array(z.string()).default([]),
    extended_content: extendedContent,
    sender: maybeText,
    critic_result: criticResult.nullable().exactOptional(),
  }),
  AgentErrorEvent: event('AgentErrorEvent', { ...link, error: z.string() }),
  ObservationEvent: event('ObservationEvent', {
    ...link,
    observation,
    action_id: z.string(),
    extended_content: extendedContent,
  }),
  UserRejectObservation: event('UserRejectObservation', {
    ...link,
    action_id: z.string(),
    rejection_reason: z.string().default('User rejected the action'),
    rejection_source: z.enum(['user', 'hook']).default('user'),
  }),
  SystemPromptEvent: event('SystemPromptEvent', {
    system_prompt: textContent,
    tools: z.array(toolDefinition),
    dynamic_context: textContent.nullable().exactOptional(),
  }),
  StreamingDeltaEvent: event('StreamingDeltaEvent', { content: maybeText, reasoning_content: maybeText }),
  TokenEvent: event('TokenEvent', {
    prompt_token_ids: z.array(integer),
    response_token_ids: z.array(integer),
  }),
  InterruptEvent: event('InterruptEvent', {}),
  PauseEvent: event('PauseEvent', {}),
} satisfies { readonly [K in EventKind]: z.ZodType }

/** The check of every kind. */
export const eventChecks = Object.fromEntries(
  Object.entries(eventSchemas).map(([kind, schema]) => [kind, checker(schema)]),
) as { readonly [K in EventKind]: Check }

/** The JSON Schema (draft 2020-12) of one kind of event, as a producer must write it. */
export function describeEvent(kind: EventKind): JsonObject {
  const { $schema, ...schema } = z.toJSONSchema(eventSchemas[kind], { io: 'input', override: tidy })
  // zod types the document as the widest JSON Schema there is; all of it is JSON.
  return { $schema, title: kind, ...schema } as object as JsonObject
}

/** The shapes that stand in several kinds of events, by the names that the interface gives them. */
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
} as const satisfies Readonly<Record<string, z.ZodType>>

/** The JSON Schemas of the shapes that stand in several kinds of events, by their names, as they stand in those. */
export function describeShapes(): Readonly<Record<keyof typeof SHAPES, JsonObject>> {
  const described = Object.entries(SHAPES).map(([name, shape]) => {
    const { $schema: _dialect, ...schema } = z.toJSONSchema(shape, { io: 'input', override: tidy })
    return [name, schema]
  })
  return Object.fromEntries(described) as Record<keyof typeof SHAPES, JsonObject>
}

/** zod says aloud what JSON implies: that keys are strings, and that integers are exact up to 2^53 - 1. */
function tidy({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  delete jsonSchema.propertyNames
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
}
