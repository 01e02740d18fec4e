import type {
  Action,
  CriticResult,
  HOOK_EVENT_TYPES,
  JsonObject,
  JsonValue,
  Message,
  MessageToolCall,
  Observation,
  ReasoningItemModel,
  RedactedThinkingBlock,
  SecurityRisk,
  Source,
  TextContent,
  ThinkingBlock,
  ToolDefinition,
} from './shapes.ts'

/**
 * Fields of every event. A live append assigns a missing `id` and `timestamp`; an import derives them (D15).
 * A missing or null `parent_id` means HEAD; `__root__` means no parent.
 */
interface EventBase {
  readonly id?: string
  readonly timestamp?: string
  readonly parent_id?: string | null
}

/** An error of the server itself, for example in an MCP connection or a socket. */
export interface ServerErrorEvent extends EventBase {
  readonly kind: 'ServerErrorEvent'
  readonly source: Source
  readonly code: string
  readonly detail: string
}

/** A tool call that an ACP server ran by itself; the model never sees it as a call. */
export interface ACPToolCallEvent extends EventBase {
  readonly kind: 'ACPToolCallEvent'
  readonly source?: Source
  readonly tool_call_id: string
  readonly title: string
  readonly status?: string | null
  readonly tool_kind?: string | null
  readonly raw_input?: JsonValue
  readonly raw_output?: JsonValue
  readonly content?: readonly JsonValue[] | null
  readonly is_error?: boolean
}

/** Removes events from the view, and can replace them with a summary. */
export interface Condensation extends EventBase {
  readonly kind: 'Condensation'
  readonly source?: Source
  readonly llm_response_id: string
  readonly forgotten_event_ids?: readonly string[]
  readonly summary?: string | null
  readonly summary_offset?: number | null
}

/** A request to condense the view before the next step. */
export interface CondensationRequest extends EventBase {
  readonly kind: 'CondensationRequest'
  readonly source?: Source
}

/** A summary that a condenser wrote. */
export interface CondensationSummaryEvent extends EventBase {
  readonly kind: 'CondensationSummaryEvent'
  readonly source?: Source
  readonly summary: string
}

/** A failure of the run; the model does not see it. */
export interface ConversationErrorEvent extends EventBase {
  readonly kind: 'ConversationErrorEvent'
  readonly source: Source
  readonly code: string
  readonly detail: string
}

/** An update of the conversation's state: the new `value` of `key`. */
export interface ConversationStateUpdateEvent extends EventBase {
  readonly kind: 'ConversationStateUpdateEvent'
  readonly source?: Source
  readonly key?: string
  readonly value?: JsonValue
}

/** When a hook runs. */
export type HookEventType = (typeof HOOK_EVENT_TYPES)[number]

/** A hook that ran, its output, and whether it blocked the call, the message or the end of the turn. */
export interface HookExecutionEvent extends EventBase {
  readonly kind: 'HookExecutionEvent'
  readonly source?: 'hook'
  readonly hook_event_type: HookEventType
  readonly hook_command: string
  readonly success: boolean
  readonly exit_code: number
  readonly tool_name?: string | null
  readonly blocked?: boolean
  readonly stdout?: string
  readonly stderr?: string
  readonly reason?: string | null
  readonly additional_context?: string | null
  readonly error?: string | null
  readonly action_id?: string | null
  readonly message_id?: string | null
  readonly hook_input?: JsonObject | null
}

/** The log of one request to a model. The server sends this log to the client instead of writing it to a file. */
export interface LLMCompletionLogEvent extends EventBase {
  readonly kind: 'LLMCompletionLogEvent'
  readonly source?: Source
  readonly filename: string
  readonly log_data: string
  readonly model_name?: string
  readonly usage_id?: string
}

/**
 * A tool call by the agent. A call with `action: null` cannot be executed. All calls of one reply have the
 * same `llm_response_id`.
 */
export interface ActionEvent extends EventBase {
  readonly kind: 'ActionEvent'
  readonly source?: Source
  /** Text that the model wrote before the call. */
  readonly thought: readonly TextContent[]
  readonly reasoning_content?: string | null
  readonly thinking_blocks?: readonly (ThinkingBlock | RedactedThinkingBlock)[]
  readonly responses_reasoning_item?: ReasoningItemModel | null
  /** The parsed arguments; null if the call cannot be executed, for example because the tool is unknown. */
  readonly action?: Action | null
  readonly tool_name: string
  /** The provider's id of the call; results of the call have the same id. */
  readonly tool_call_id: string
  readonly tool_call: MessageToolCall
  readonly llm_response_id: string
  readonly security_risk?: SecurityRisk
  readonly critic_result?: CriticResult | null
  readonly summary?: string | null
}

/** A message of the user, the agent or the environment. */
export interface MessageEvent extends EventBase {
  readonly kind: 'MessageEvent'
  readonly source: Source
  readonly llm_message: Message
  readonly llm_response_id?: string | null
  readonly activated_skills?: readonly string[]
  readonly extended_content?: readonly TextContent[]
  readonly sender?: string | null
  readonly critic_result?: CriticResult | null
}

/** An error that is a call's result, for example after an interrupt or for an unknown tool. Has no `action_id`. */
export interface AgentErrorEvent extends EventBase {
  readonly kind: 'AgentErrorEvent'
  readonly source?: Source
  readonly tool_name: string
  readonly tool_call_id: string
  readonly error: string
}

/** The result of a tool call. */
export interface ObservationEvent extends EventBase {
  readonly kind: 'ObservationEvent'
  readonly source?: Source
  readonly tool_name: string
  readonly tool_call_id: string
  readonly observation: Observation
  readonly action_id: string
  readonly extended_content?: readonly TextContent[]
}

/** The result of a call that a user or a hook rejected. */
export interface UserRejectObservation extends EventBase {
  readonly kind: 'UserRejectObservation'
  readonly source?: Source
  readonly tool_name: string
  readonly tool_call_id: string
  readonly action_id: string
  readonly rejection_reason?: string
  readonly rejection_source?: 'user' | 'hook'
}

/** The system prompt and the tools that the model received. */
export interface SystemPromptEvent extends EventBase {
  readonly kind: 'SystemPromptEvent'
  readonly source?: Source
  readonly system_prompt: TextContent
  readonly tools: readonly ToolDefinition[]
  readonly dynamic_context?: TextContent | null
}

/** A piece of a reply in progress, for live readers only; logs do not contain it. */
export interface StreamingDeltaEvent extends EventBase {
  readonly kind: 'StreamingDeltaEvent'
  readonly source?: Source
  readonly content?: string | null
  readonly reasoning_content?: string | null
}

/** The token ids of one request and its reply. */
export interface TokenEvent extends EventBase {
  readonly kind: 'TokenEvent'
  readonly source: Source
  readonly prompt_token_ids: readonly number[]
  readonly response_token_ids: readonly number[]
}

/** The agent was stopped during a step. */
export interface InterruptEvent extends EventBase {
  readonly kind: 'InterruptEvent'
  readonly source?: Source
}

/** The run was paused between two steps. */
export interface PauseEvent extends EventBase {
  readonly kind: 'PauseEvent'
  readonly source?: Source
}

/** A tool result: an event that ends a tool call. */
export type ToolResultEvent = ObservationEvent | UserRejectObservation | AgentErrorEvent

/** Any event, distinguished by `kind`. */
export type Event =
  | ServerErrorEvent
  | ACPToolCallEvent
  | Condensation
  | CondensationRequest
  | CondensationSummaryEvent
  | ConversationErrorEvent
  | ConversationStateUpdateEvent
  | HookExecutionEvent
  | LLMCompletionLogEvent
  | ActionEvent
  | MessageEvent
  | ToolResultEvent
  | SystemPromptEvent
  | StreamingDeltaEvent
  | TokenEvent
  | InterruptEvent
  | PauseEvent

/** The event type of one kind. */
export type EventOf<K extends Event['kind']> = Extract<Event, { readonly kind: K }>
