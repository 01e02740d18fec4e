/** Replaces an event's content with placeholders, without changing the log's tree, calls and units. */

import { WORKING } from './completion.ts'
import { isObject } from './json.ts'
import type { EventKind } from './kinds.ts'
import { type Fact, isQuarantined } from './quarantine.ts'
import { isOutputPart, isVisible, replyOf } from './reply.ts'
import type { JsonValue, Message, TextContent } from './shapes.ts'
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

/** `kept`: fields that an erased event keeps. `texts`: fields that become the placeholder unless they are blank. */
interface Erasure<K extends EventKind> {
  readonly kept?: readonly (keyof EventOf<K>)[]
  readonly texts?: readonly (keyof EventOf<K>)[]
}

// oxfmt-ignore
const ERASURES: { readonly [K in EventKind]: Erasure<K> } = {
  ServerErrorEvent: { kept: ['code'], texts: ['detail'] },
  ACPToolCallEvent: { kept: ['tool_call_id', 'status', 'tool_kind', 'is_error'], texts: ['title'] },
  Condensation: { kept: ['llm_response_id', 'forgotten_event_ids', 'summary_offset'], texts: ['summary'] },
  CondensationRequest: {},
  CondensationSummaryEvent: { texts: ['summary'] },
  ConversationErrorEvent: { kept: ['code'], texts: ['detail'] },
  ConversationStateUpdateEvent: { kept: ['key'] },
  HookExecutionEvent: {
    kept: ['hook_event_type', 'success', 'exit_code', 'tool_name', 'blocked', 'action_id', 'message_id'],
    texts: ['hook_command'],
  },
  LLMCompletionLogEvent: { kept: ['model_name', 'usage_id'], texts: ['filename', 'log_data'] },
  ActionEvent: { kept: ['tool_name', 'tool_call_id', 'llm_response_id', 'security_risk'] },
  MessageEvent: { kept: ['llm_response_id', 'activated_skills'] },
  AgentErrorEvent: { kept: ['tool_name', 'tool_call_id'], texts: ['error'] },
  ObservationEvent: { kept: ['tool_name', 'tool_call_id', 'action_id'] },
  UserRejectObservation: {
    kept: ['tool_name', 'tool_call_id', 'action_id', 'rejection_source'],
    texts: ['rejection_reason'],
  },
  SystemPromptEvent: { kept: ['tools'] },
  StreamingDeltaEvent: {},
  TokenEvent: {},
  InterruptEvent: {},
  PauseEvent: {},
}

/**
 * Erases texts, files, arguments, reasoning and names of people. Keeps id, parent, time, kind, source,
 * references to events, codes, statuses, usage, tool definitions, and names of tools, skills and models. An
 * empty content list stays empty, but a reply whose record has `output` gets a text, so it stays final. O(parts).
 */
export function erasedFact(fact: Fact): Fact {
  if (isQuarantined(fact)) return Object.freeze({ ...fact, raw: ERASED, issues: [] })
  const { kept = [], texts = [] } = ERASURES[fact.kind] as Erasure<EventKind>
  const stored = pick(fact, 'id', 'timestamp', 'parent_id', 'kind', 'source', ...kept, ...texts)
  const erased = texts.filter((field) => hasText(fact[field])).map((field) => [field, ERASED])
  return Object.freeze({ ...stored, ...Object.fromEntries(erased), ...otherContent(fact) }) as object as Event
}

function otherContent(event: Event): object {
  switch (event.kind) {
    case 'ConversationStateUpdateEvent':
      return defined({ value: erasedValue(event) })
    case 'ActionEvent':
      return actionContent(event)
    case 'MessageEvent':
      return messageContent(event)
    case 'ObservationEvent': {
      const { kind, is_error } = event.observation
      const erasedKind = kind === WORKING ? WORKING : 'ErasedObservation'
      return { observation: defined({ kind: erasedKind, content: TEXT, is_error }) }
    }
    case 'SystemPromptEvent':
      return { system_prompt: TEXT[0] }
    case 'TokenEvent':
      return { prompt_token_ids: [], response_token_ids: [] }
    default:
      return {}
  }
}

function actionContent(event: ActionEvent): object {
  const { thought, action, tool_call } = event
  const { id, name, origin } = tool_call
  return defined({
    // If the call had a thought or reasoning, it keeps a placeholder: such a call may start a new batch (U2).
    thought: thought.length === 0 ? [] : thought.some(({ text }) => hasText(text)) ? TEXT : SILENCE,
    ...reasoningOf(event),
    action: action === undefined || action === null ? action : { kind: 'ErasedAction' },
    tool_call: defined({ id, name, arguments: '{}', origin, reply: replyRecord(event) }),
  })
}

function messageContent(event: MessageEvent): object {
  const {
    role,
    content = [],
    tool_calls,
    completes,
  } = event.llm_message as Message & {
    readonly completes?: JsonValue
  }
  const isAgents = event.source === 'agent'
  // Only a reply with output is final, so another reply must not get a text as its content.
  const speaks = replyOf(event)?.output === true || content.some(isAgents ? isOutputPart : isVisible)
  const hasMore = !speaks && [...content, ...(event.extended_content ?? [])].some(isVisible)
  const call = isObject(completes)
    ? pick(completes, 'action_id', 'tool_call_id', 'tool_name', 'outcome')
    : undefined
  return {
    ...(hasMore && { extended_content: TEXT }),
    llm_message: defined({
      role,
      content: speaks ? TEXT : content.length === 0 ? event.llm_message.content : SILENCE,
      tool_calls: tool_calls?.map(({ id, name, origin }) => ({ id, name, arguments: '{}', origin })),
      ...reasoningOf(event.llm_message),
      completes: call,
      reply: replyRecord(event),
    }),
  }
}

/** Returns a placeholder for each thinking block, because thinking decides which events must stay together (U5). */
function reasoningOf(
  reply: Pick<Message, 'reasoning_content' | 'thinking_blocks' | 'responses_reasoning_item'>,
) {
  const { reasoning_content, thinking_blocks, responses_reasoning_item: item = null } = reply
  return {
    reasoning_content: hasText(reasoning_content) || item !== null ? ERASED : undefined,
    thinking_blocks: thinking_blocks?.map(() => ({ type: 'thinking', thinking: ERASED })),
  }
}

const RECORD_FIELDS = [
  'after',
  'grammar',
  'model',
  'requested_model',
  'stop_reason',
  'outcome',
  'output',
  'tokens',
  'usage',
  'waits',
  'interrupted',
] as const

/** Returns the reply record without content, container id and digests. Short texts can be guessed from digests. */
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

const defined = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const pick = <T extends object>(object: T, ...keys: readonly (keyof T)[]): object =>
  defined(Object.fromEntries(keys.map((key) => [key, object[key]])))
