/** Builds events in a few words: an id and what matters to a test go in, a whole event comes out. */

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

/** The fields of an event that a test may add or put in place of what the builder writes. */
type More<E> = Partial<Omit<E, 'kind' | 'id'>>

/** A piece of text. */
export const text = (words: string): TextContent => ({ type: 'text', text: words })

/** An image by its address. */
export const image = (...urls: string[]): Content => ({ type: 'image', image_urls: urls })

/** A message's content: one text, or the parts as given. */
const parts = (words: string | readonly Content[]): readonly Content[] =>
  typeof words === 'string' ? [text(words)] : words

/** A user's message; its words are its id unless others are given. */
export function user(
  id: string,
  words: string | readonly Content[] = id,
  more: More<MessageEvent> = {},
): MessageEvent {
  return {
    kind: 'MessageEvent',
    id,
    source: 'user',
    llm_message: { role: 'user', content: parts(words) },
    ...more,
  }
}

/** The agent's message. */
export function agent(
  id: string,
  words: string | readonly Content[] = id,
  more: More<MessageEvent> = {},
): MessageEvent {
  const llm_message = { role: 'assistant', content: parts(words) } as const
  return { kind: 'MessageEvent', id, source: 'agent', llm_message, ...more }
}

/** Messages of the user, one for each id. */
export const users = (...ids: string[]): MessageEvent[] => ids.map((id) => user(id))

/** Messages of the agent, `m0` and on. */
export const agents = (count: number, from = 0): MessageEvent[] =>
  Array.from({ length: count }, (_, index) => agent(`m${from + index}`))

/** What an action is made from; `thinking` gives it one signed block. */
export interface ActionOptions extends More<Omit<ActionEvent, 'thought'>> {
  readonly call?: string
  readonly response?: string
  readonly thinking?: boolean
  readonly thought?: string
  readonly tool?: string
  readonly args?: string
}

/** A tool call. Its call and its response are its own unless named. */
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

/** The result of a call. */
export function observe(
  id: string,
  of: ActionEvent,
  words: string | readonly Content[] = id,
  more: More<ObservationEvent> = {},
): ObservationEvent {
  return {
    kind: 'ObservationEvent',
    id,
    tool_name: of.tool_name,
    tool_call_id: of.tool_call_id,
    action_id: of.id ?? '',
    observation: { kind: 'AnyObservation', content: parts(words) },
    ...more,
  }
}

/** A refusal of a call, by the user unless a hook is named. */
export function reject(
  id: string,
  of: ActionEvent,
  more: More<UserRejectObservation> = {},
): UserRejectObservation {
  const { tool_name, tool_call_id } = of
  return { kind: 'UserRejectObservation', id, tool_name, tool_call_id, action_id: of.id ?? '', ...more }
}

/** The scaffold's error in answer to a call. */
export function fail(id: string, of: ActionEvent, error = id): AgentErrorEvent {
  return { kind: 'AgentErrorEvent', id, tool_name: of.tool_name, tool_call_id: of.tool_call_id, error }
}

/** A call `a<name>` and its result `o<name>`. */
export function pair(name: string, options: ActionOptions = {}): [ActionEvent, ObservationEvent] {
  const call = action(`a${name}`, options)
  return [call, observe(`o${name}`, call)]
}

/** Calls `a<name>` of one response, then their results `o<name>`; only the first carries thinking. */
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

/** A system prompt without tools. */
export function system(id: string, words = id, more: More<SystemPromptEvent> = {}): SystemPromptEvent {
  return { kind: 'SystemPromptEvent', id, system_prompt: text(words), tools: [], ...more }
}

/** A condensation that forgets the listed ids and, where both are given, puts a summary at an offset. */
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

/** A request for a condensation. */
export const request = (id: string): CondensationRequest => ({ kind: 'CondensationRequest', id })

/** A summary that stands in the log as an event of its own. */
export const summary = (id: string, words = id): CondensationSummaryEvent => ({
  kind: 'CondensationSummaryEvent',
  id,
  summary: words,
})

/** A state update. */
export const update = (id: string, key: string, value: JsonValue): ConversationStateUpdateEvent => ({
  kind: 'ConversationStateUpdateEvent',
  id,
  key,
  value,
})

/** The update that says in which status the conversation is. */
export const status = (id: string, value: Status): ConversationStateUpdateEvent =>
  update(id, 'execution_status', value)

/** The update that moves HEAD, to the empty HEAD for null. */
export const moveHead = (id: string, to: string | null): ConversationStateUpdateEvent =>
  update(id, 'leaf_event_id', to)

export const pause = (id: string): PauseEvent => ({ kind: 'PauseEvent', id })

export const interrupt = (id: string): InterruptEvent => ({ kind: 'InterruptEvent', id })

/** A failure of the run. */
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

/** A hook that ran and let things pass. */
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
