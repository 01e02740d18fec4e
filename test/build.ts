/** Builds whole events from an id and the fields that matter to a test. */

import type { Content, JsonValue, TextContent } from '../src/event/shapes.ts'
import type {
  ActionEvent,
  AgentErrorEvent,
  Condensation,
  CondensationRequest,
  CondensationSummaryEvent,
  ConversationErrorEvent,
  ConversationStateUpdateEvent,
  HookExecutionEvent,
  InterruptEvent,
  MessageEvent,
  ObservationEvent,
  PauseEvent,
  SystemPromptEvent,
  UserRejectObservation,
} from '../src/event/types.ts'
import type { Status } from '../src/state/status.ts'

/** Fields that a test adds or replaces. */
type More<E> = Partial<Omit<E, 'kind' | 'id'>>

export const text = (content: string): TextContent => ({ type: 'text', text: content })

export const image = (...urls: string[]): Content => ({ type: 'image', image_urls: urls })

const parts = (content: string | readonly Content[]): readonly Content[] =>
  typeof content === 'string' ? [text(content)] : content

/** The text defaults to the id. */
export function user(
  id: string,
  content: string | readonly Content[] = id,
  more: More<MessageEvent> = {},
): MessageEvent {
  return {
    kind: 'MessageEvent',
    id,
    source: 'user',
    llm_message: { role: 'user', content: parts(content) },
    ...more,
  }
}

export function agent(
  id: string,
  content: string | readonly Content[] = id,
  more: More<MessageEvent> = {},
): MessageEvent {
  const llm_message = { role: 'assistant', content: parts(content) } as const
  return { kind: 'MessageEvent', id, source: 'agent', llm_message, ...more }
}

export const users = (...ids: string[]): MessageEvent[] => ids.map((id) => user(id))

/** Messages of the agent, from `m0` on. */
export const agents = (count: number, from = 0): MessageEvent[] =>
  Array.from({ length: count }, (_, index) => agent(`m${from + index}`))

/** `thinking` adds one signed block. */
export interface ActionOptions extends More<Omit<ActionEvent, 'thought'>> {
  readonly call?: string
  readonly response?: string
  readonly thinking?: boolean
  readonly thought?: string
  readonly tool?: string
  readonly args?: string
}

/** A tool call, with its own call id and response id unless specified. */
export function action(id: string, options: ActionOptions = {}): ActionEvent {
  const {
    call = `call-${id}`,
    response = `reply-${id}`,
    thinking = false,
    thought,
    tool = 'ls',
    args = '{}',
    ...more
  } = options
  return {
    kind: 'ActionEvent',
    id,
    thought: thought === undefined ? [] : [text(thought)],
    ...(thinking
      ? { thinking_blocks: [{ type: 'thinking', thinking: `thinking of ${id}`, signature: `signed-${id}` }] }
      : {}),
    action: { kind: 'AnyAction' },
    tool_name: tool,
    tool_call_id: call,
    tool_call: { id: call, name: tool, arguments: args, origin: 'completion' },
    llm_response_id: response,
    ...more,
  }
}

export function observe(
  id: string,
  call: ActionEvent,
  content: string | readonly Content[] = id,
  more: More<ObservationEvent> = {},
): ObservationEvent {
  return {
    kind: 'ObservationEvent',
    id,
    tool_name: call.tool_name,
    tool_call_id: call.tool_call_id,
    action_id: call.id ?? '',
    observation: { kind: 'AnyObservation', content: parts(content) },
    ...more,
  }
}

/** Rejects a call, as the user or as the named hook. */
export function reject(
  id: string,
  call: ActionEvent,
  more: More<UserRejectObservation> = {},
): UserRejectObservation {
  const { tool_name, tool_call_id } = call
  return { kind: 'UserRejectObservation', id, tool_name, tool_call_id, action_id: call.id ?? '', ...more }
}

/** The scaffold's error for a call. */
export function fail(id: string, call: ActionEvent, error = id): AgentErrorEvent {
  return { kind: 'AgentErrorEvent', id, tool_name: call.tool_name, tool_call_id: call.tool_call_id, error }
}

/** A call `a<name>` and its result `o<name>`. */
export function pair(name: string, options: ActionOptions = {}): [ActionEvent, ObservationEvent] {
  const call = action(`a${name}`, options)
  return [call, observe(`o${name}`, call)]
}

/** Calls `a<name>` of one response, then their results `o<name>`. Only the first call has thinking. */
export function batch(
  response: string,
  names: readonly string[],
  thinking = false,
): (ActionEvent | ObservationEvent)[] {
  const calls = names.map((name, index) =>
    action(`a${name}`, { response, thinking: thinking && index === 0 }),
  )
  return [...calls, ...calls.map((call, index) => observe(`o${names[index]}`, call))]
}

export function system(id: string, content = id, more: More<SystemPromptEvent> = {}): SystemPromptEvent {
  return { kind: 'SystemPromptEvent', id, system_prompt: text(content), tools: [], ...more }
}

/** Forgets the listed ids. Inserts a summary if its text and offset are specified. */
export function condensation(
  id: string,
  forgotten: readonly string[],
  summary?: string,
  offset?: number,
): Condensation {
  return {
    kind: 'Condensation',
    id,
    llm_response_id: `reply-${id}`,
    forgotten_event_ids: forgotten,
    ...(summary === undefined ? {} : { summary }),
    ...(offset === undefined ? {} : { summary_offset: offset }),
  }
}

export const request = (id: string): CondensationRequest => ({ kind: 'CondensationRequest', id })

/** A summary as an event of the log. */
export const summary = (id: string, content = id): CondensationSummaryEvent => ({
  kind: 'CondensationSummaryEvent',
  id,
  summary: content,
})

export const update = (id: string, key: string, value: JsonValue): ConversationStateUpdateEvent => ({
  kind: 'ConversationStateUpdateEvent',
  id,
  key,
  value,
})

export const status = (id: string, value: Status): ConversationStateUpdateEvent =>
  update(id, 'execution_status', value)

/** Moves HEAD; null means the empty HEAD. */
export const moveHead = (id: string, to: string | null): ConversationStateUpdateEvent =>
  update(id, 'leaf_event_id', to)

export const pause = (id: string): PauseEvent => ({ kind: 'PauseEvent', id })

export const interrupt = (id: string): InterruptEvent => ({ kind: 'InterruptEvent', id })

export const trouble = (
  id: string,
  code = 'Trouble',
  more: More<ConversationErrorEvent> = {},
): ConversationErrorEvent => ({
  kind: 'ConversationErrorEvent',
  id,
  source: 'environment',
  code,
  detail: `detail of ${code}`,
  ...more,
})

/** A hook that allows everything. */
export const hook = (
  id: string,
  hook_event_type: HookExecutionEvent['hook_event_type'],
): HookExecutionEvent => ({
  kind: 'HookExecutionEvent',
  id,
  hook_event_type,
  hook_command: 'true',
  success: true,
  exit_code: 0,
})
