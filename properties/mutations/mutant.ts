/** Helpers that insert a mistake into a log. */

import type { ActionEvent, Event, EventOf } from '../../src/event/types.ts'

export interface Mutant {
  readonly log: readonly (Event | string)[]
  /** One of the ids that the finding may blame. */
  readonly id: string | null
  readonly ended?: boolean
}

/** Null if the mistake does not fit the log. */
export type Mutation = readonly [law: string, mistake: string, make: (log: readonly Event[]) => Mutant | null]

export const update = (id: string, key: string, value: unknown): Event =>
  ({ kind: 'ConversationStateUpdateEvent', id, key, value }) as Event
export const status = (id: string, value: string): Event => update(id, 'execution_status', value)
export const text = (id: string, source: 'user' | 'agent', more: object = {}): Event => ({
  kind: 'MessageEvent',
  id,
  source,
  llm_message: {
    role: source === 'user' ? 'user' : 'assistant',
    content: [{ type: 'text', text: 'so' }],
    ...more,
  },
  ...(source === 'agent' && { llm_response_id: `of-${id}` }),
})
export const resultOf = (id: string, call: Event): EventOf<'ObservationEvent'> => {
  const { id: action_id = '', tool_name, tool_call_id } = call as ActionEvent
  return {
    kind: 'ObservationEvent',
    id,
    tool_name,
    tool_call_id,
    action_id,
    observation: { kind: 'X', content: [] },
  }
}
export const isCall = (event: Event): event is ActionEvent => event.kind === 'ActionEvent'
export const indexOf = (log: readonly Event[], is: (event: Event) => boolean): number => log.findIndex(is)

export function behindCall(
  log: readonly Event[],
  add: (call: ActionEvent) => readonly Event[],
): readonly Event[] | null {
  const index = indexOf(log, isCall)
  const call = log[index]
  return call === undefined ? null : [...log.slice(0, index + 1), ...add(call as ActionEvent)]
}

export function withEvent(
  log: readonly Event[],
  is: (event: Event) => boolean,
  change: (event: Event) => Event | string,
  idOf: (event: Event) => string | null = ({ id }) => id ?? null,
): Mutant | null {
  const index = indexOf(log, is)
  const event = log[index]
  return event === undefined ? null : { log: log.with(index, change(event) as Event), id: idOf(event) }
}

export const blames = (log: readonly Event[] | null, id: string, ended = false): Mutant | null =>
  log === null ? null : { log, id, ended }
