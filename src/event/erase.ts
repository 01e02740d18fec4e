/** Replaces an event's content with placeholders, without changing the log's tree, calls and units. */

import { isObject } from './json.ts'
import { type Fact, isQuarantined } from './quarantine.ts'
import { replyOf } from './reply.ts'
import { isTextPart, type JsonObject, type JsonValue, type Message, type TextContent } from './shapes.ts'
import { hasText } from './text.ts'
import type { ActionEvent, Event, EventOf, MessageEvent } from './types.ts'

export const ERASED = '[erased]'

const TEXT: readonly TextContent[] = [{ type: 'text', text: ERASED }]
const SILENCE: readonly TextContent[] = [{ type: 'text', text: '' }]

/** State updates with these keys keep their values: the fold needs them, and they contain no content. */
const FOLDED: ReadonlySet<unknown> = new Set([
  'execution_status',
  'confirmation_policy',
  'leaf_event_id',
  'approved_actions',
  'held_actions',
  'started_actions',
  'erased',
])

/**
 * Erases texts, files, arguments, reasoning and names of people. Keeps id, parent, time, kind, source,
 * references to events, codes, statuses, usage, tool definitions, and names of tools, skills and models. An
 * empty content list stays empty. O(parts).
 */
export function erasedFact(fact: Fact): Fact {
  if (isQuarantined(fact)) return Object.freeze({ ...fact, raw: ERASED, issues: [] })
  const base = pick(fact, 'id', 'timestamp', 'parent_id', 'kind', 'source')
  return Object.freeze({ ...base, ...erasableContent(fact) }) as object as Event
}

function erasableContent(event: Event): object {
  switch (event.kind) {
    case 'ServerErrorEvent':
    case 'ConversationErrorEvent':
      return { code: event.code, detail: ERASED }
    case 'ACPToolCallEvent':
      return defined({
        tool_call_id: event.tool_call_id,
        title: ERASED,
        status: event.status,
        tool_kind: event.tool_kind,
        is_error: event.is_error,
      })
    case 'Condensation':
      return defined({
        llm_response_id: event.llm_response_id,
        forgotten_event_ids: event.forgotten_event_ids,
        summary: eraseText(event.summary),
        summary_offset: event.summary_offset,
      })
    case 'CondensationSummaryEvent':
      return { summary: ERASED }
    case 'ConversationStateUpdateEvent':
      return defined({ key: event.key, value: erasedValue(event) })
    case 'HookExecutionEvent':
      return defined({
        hook_event_type: event.hook_event_type,
        hook_command: ERASED,
        success: event.success,
        exit_code: event.exit_code,
        tool_name: event.tool_name,
        blocked: event.blocked,
        action_id: event.action_id,
        message_id: event.message_id,
      })
    case 'LLMCompletionLogEvent':
      return defined({
        filename: ERASED,
        log_data: ERASED,
        model_name: event.model_name,
        usage_id: event.usage_id,
      })
    case 'ActionEvent':
      return actionContent(event)
    case 'MessageEvent':
      return messageContent(event)
    case 'AgentErrorEvent':
      return { tool_name: event.tool_name, tool_call_id: event.tool_call_id, error: ERASED }
    case 'ObservationEvent':
      return {
        tool_name: event.tool_name,
        tool_call_id: event.tool_call_id,
        action_id: event.action_id,
        observation: defined({
          kind: event.observation.kind === 'WorkingObservation' ? 'WorkingObservation' : 'ErasedObservation',
          content: TEXT,
          is_error: event.observation.is_error,
        }),
      }
    case 'UserRejectObservation':
      return defined({
        tool_name: event.tool_name,
        tool_call_id: event.tool_call_id,
        action_id: event.action_id,
        rejection_reason: event.rejection_reason === undefined ? undefined : ERASED,
        rejection_source: event.rejection_source,
      })
    case 'SystemPromptEvent':
      return { system_prompt: TEXT[0], tools: event.tools }
    case 'TokenEvent':
      return { prompt_token_ids: [], response_token_ids: [] }
    case 'CondensationRequest':
    case 'StreamingDeltaEvent':
    case 'InterruptEvent':
    case 'PauseEvent':
      return {}
  }
}

function actionContent(event: ActionEvent): object {
  const { thought, action, tool_name, tool_call_id, tool_call, llm_response_id, security_risk } = event
  const { id, name } = tool_call
  const { reasoning_content, responses_reasoning_item } = event
  const hasReasoning = hasText(reasoning_content) || (responses_reasoning_item ?? null) !== null
  return defined({
    // The view depends on whether a call has a thought or reasoning: it may then start a new batch (U2).
    thought: thought.length === 0 ? [] : thought.some(({ text }) => hasText(text)) ? TEXT : SILENCE,
    reasoning_content: hasReasoning ? ERASED : undefined,
    thinking_blocks: thinkingOf(event),
    action: action === undefined || action === null ? action : { kind: 'ErasedAction' },
    tool_name,
    tool_call_id,
    tool_call: defined({ id, name, arguments: '{}', origin: tool_call.origin, reply: replyRecord(event) }),
    llm_response_id,
    security_risk,
  })
}

function messageContent(event: MessageEvent): object {
  const { llm_message, llm_response_id, activated_skills } = event
  const { role, content, tool_calls, completes } = llm_message as Message & { readonly completes?: JsonValue }
  const { action_id, tool_call_id, tool_name, outcome } = (isObject(completes) ? completes : {}) as JsonObject
  // Only a reply with text is final, so a reply without text must not get any.
  const speaks =
    event.source !== 'agent' || content?.some((part) => isTextPart(part) && hasText(part.text)) === true
  return defined({
    llm_message: defined({
      role,
      content: content === undefined || content.length === 0 ? content : speaks ? TEXT : SILENCE,
      tool_calls: tool_calls?.map(({ id, name, origin }) => ({ id, name, arguments: '{}', origin })),
      thinking_blocks: thinkingOf(llm_message),
      completes: isObject(completes) ? defined({ action_id, tool_call_id, tool_name, outcome }) : undefined,
      reply: replyRecord(event),
    }),
    llm_response_id,
    activated_skills,
  })
}

/**
 * Returns a placeholder for each thinking block, because thinking decides which events must stay together
 * (U5).
 */
const thinkingOf = ({ thinking_blocks }: Pick<Message, 'thinking_blocks'>): unknown =>
  thinking_blocks?.map(() => ({ type: 'thinking', thinking: ERASED }))

const RECORD_FIELDS = [
  'after',
  'grammar',
  'model',
  'requested_model',
  'stop_reason',
  'outcome',
  'tokens',
  'usage',
  'waits',
  'interrupted',
] as const

/**
 * Returns the reply record without content, container and digests: a short text can be guessed from its
 * digest.
 */
function replyRecord(event: Event): object | undefined {
  const reply = replyOf(event)
  return reply === null ? undefined : pick(reply, ...RECORD_FIELDS)
}

function erasedValue({ key, value }: EventOf<'ConversationStateUpdateEvent'>): JsonValue | undefined {
  if (FOLDED.has(key) || value === undefined) return value
  if (key === 'full_state' && isObject(value) && Object.hasOwn(value, 'execution_status'))
    return { execution_status: value['execution_status'] as JsonValue }
  if (key === 'call_progress' && isObject(value) && Object.hasOwn(value, 'action_id'))
    return { action_id: value['action_id'] as JsonValue }
  return null
}

const eraseText = (text: string | null | undefined): string | null | undefined =>
  hasText(text) ? ERASED : text

const defined = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const pick = <T extends object>(object: T, ...keys: readonly (keyof T)[]): object =>
  defined(Object.fromEntries(keys.map((key) => [key, object[key]])))
