/** Short ways to write the facts of a pinned log. Ids are the first argument; a call and its answers share a tool call id. */

import type { Fact } from '../src/event/quarantine.ts'
import type { Event } from '../src/event/types.ts'

type More = Partial<Event>

/** A fact with everything that `more` says on top. */
const input = (event: Event, more: More = {}): Event => Object.freeze({ ...event, ...more }) as Event

/** A message of the user. */
export const user = (id: string, more: More = {}): Event =>
  input(
    { kind: 'MessageEvent', id, source: 'user', llm_message: { role: 'user', content: [{ text: id }] } },
    more,
  )

/** A message of the agent. */
export const agent = (id: string, more: More = {}): Event =>
  input(
    {
      kind: 'MessageEvent',
      id,
      source: 'agent',
      llm_message: { role: 'assistant', content: [{ text: id }] },
    },
    more,
  )

/** A call `callId` that response `response` makes. */
export const call = (id: string, callId: string, response: string, more: More = {}): Event =>
  input(
    {
      kind: 'ActionEvent',
      id,
      thought: [],
      tool_name: 'ls',
      tool_call_id: callId,
      tool_call: { id: callId, name: 'ls', arguments: '{}', origin: 'completion' },
      llm_response_id: response,
    },
    more,
  )

/** The same, by a model that was asked when the event `after` was the latest. */
export const callAskedAt = (after: string, id: string, callId: string, response: string): Event =>
  call(id, callId, response, {
    tool_call: { id: callId, name: 'ls', arguments: '{}', origin: 'completion', reply: { after } },
  } as More)

/** The same, by a model that thinks and signs it. */
export const thought = (id: string, callId: string, response: string): Event =>
  call(id, callId, response, { thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'sig' }] })

/** The result of the call that action `actionId` made. */
export const result = (id: string, callId: string, actionId: string, more: More = {}): Event =>
  input(
    {
      kind: 'ObservationEvent',
      id,
      tool_name: 'ls',
      tool_call_id: callId,
      action_id: actionId,
      observation: { kind: 'MyObservation', content: [{ text: id }] },
    },
    more,
  )

/** The scaffold's error in answer to a call. */
export const error = (id: string, callId: string): Event =>
  input({ kind: 'AgentErrorEvent', id, tool_name: 'ls', tool_call_id: callId, error: id })

/** A condensation of the listed events, with a summary when it has an offset. */
export const condensation = (id: string, listed: readonly string[], offset?: number, summary = 'S'): Event =>
  input({
    kind: 'Condensation',
    id,
    llm_response_id: 'condenser',
    forgotten_event_ids: listed,
    ...(offset === undefined ? {} : { summary, summary_offset: offset }),
  })

/** A state update. */
export const update = (id: string, key: string, value: string | null): Event =>
  input({ kind: 'ConversationStateUpdateEvent', id, key, value })

/** A pause. */
export const pause = (id: string): Event => input({ kind: 'PauseEvent', id })

/** A log with a name for its test. */
export interface Pinned {
  readonly title: string
  readonly facts: readonly Fact[]
  /** Ids of the events in the view. */
  readonly view: readonly string[]
  readonly cuts?: readonly number[]
  /** Ids of the calls that are open. */
  readonly open?: readonly string[]
  /** Answers that are left out, as `id reason`. */
  readonly dropped?: readonly string[]
  /** Id of HEAD. */
  readonly head?: string | null
  readonly status?: string
}
