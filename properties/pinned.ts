/** Short constructors for pinned logs. The first argument is the id. */

import type { Fact } from '../src/event/quarantine.ts'
import type { Event } from '../src/event/types.ts'

type More = Partial<Event>

const input = (event: Event, more: More = {}): Event => Object.freeze({ ...event, ...more }) as Event

export const user = (id: string, more: More = {}): Event =>
  input(
    { kind: 'MessageEvent', id, source: 'user', llm_message: { role: 'user', content: [{ text: id }] } },
    more,
  )

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

/** Requested when `after` was the latest event. */
export const callAskedAt = (after: string, id: string, callId: string, response: string): Event =>
  call(id, callId, response, {
    tool_call: { id: callId, name: 'ls', arguments: '{}', origin: 'completion', reply: { after } },
  } as More)

/** With signed thinking. */
export const thought = (id: string, callId: string, response: string): Event =>
  call(id, callId, response, { thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'sig' }] })

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

/** An error of the agent framework as a call's result. */
export const error = (id: string, callId: string): Event =>
  input({ kind: 'AgentErrorEvent', id, tool_name: 'ls', tool_call_id: callId, error: id })

/** `offset` adds a summary. */
export const condensation = (id: string, listed: readonly string[], offset?: number, summary = 'S'): Event =>
  input({
    kind: 'Condensation',
    id,
    llm_response_id: 'condenser',
    forgotten_event_ids: listed,
    ...(offset === undefined ? {} : { summary, summary_offset: offset }),
  })

export const update = (id: string, key: string, value: string | null): Event =>
  input({ kind: 'ConversationStateUpdateEvent', id, key, value })

export const pause = (id: string): Event => input({ kind: 'PauseEvent', id })

export interface Pinned {
  readonly title: string
  readonly facts: readonly Fact[]
  /** Ids of the events in the view. */
  readonly view: readonly string[]
  readonly cuts?: readonly number[]
  /** Ids of open calls. */
  readonly open?: readonly string[]
  /** Omitted results, as `id reason`. */
  readonly dropped?: readonly string[]
  readonly head?: string | null
  readonly status?: string
}
