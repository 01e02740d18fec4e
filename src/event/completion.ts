import { isLegalId } from './ids.ts'
import { isObject } from './json.ts'
import type { Content, JsonObject, JsonValue, Observation } from './shapes.ts'
import { hashText } from './text.ts'
import type { ActionEvent, Event, MessageEvent, ObservationEvent } from './types.ts'

export const WORKING = 'WorkingObservation'

/** The first result of a call whose work continues in the background. */
export interface WorkingObservation extends Observation {
  readonly kind: typeof WORKING
  /** Any JSON that another process needs to continue the work. */
  readonly task?: JsonValue
}

/** How the work of a call ended. */
export type CompletionOutcome = 'done' | 'failed' | 'cancelled' | 'lost'

export const OUTCOMES: readonly CompletionOutcome[] = ['done', 'failed', 'cancelled', 'lost']

/** Names the background call that a message completes, and the outcome of its work. */
export interface Completes {
  readonly action_id: string
  readonly tool_call_id: string
  readonly tool_name: string
  readonly outcome: CompletionOutcome
}

/** The value of a state update with the key `call_progress`. */
export interface CallProgress {
  readonly action_id: string
  /** A number from 0 to 1, or any JSON that the tool reports. */
  readonly progress?: JsonValue
  readonly content?: JsonValue
  readonly task?: JsonValue
}

export const PROGRESS_KEY = 'call_progress'

/**
 * Whether an event is the first result of a background call. O(1).
 * @example
 * isWorkingResult({ kind: 'ObservationEvent', tool_name: 'search', tool_call_id: 'c', action_id: 'a',
 *   observation: { kind: 'WorkingObservation' } }) // true
 */
export const isWorkingResult = (
  event: Event,
): event is ObservationEvent & { readonly observation: WorkingObservation } =>
  event.kind === 'ObservationEvent' && event.observation.kind === WORKING

/**
 * Returns the call that an event completes, or null if the event is not a completion. If several messages on
 * a branch name the same call, only the first completes it. O(1).
 * @example
 * completionOf({ kind: 'PauseEvent' }) // null
 */
export function completionOf(event: Event): Completes | null {
  if (event.kind !== 'MessageEvent' || event.source !== 'environment') return null
  const { role, completes } = event.llm_message as { readonly role: string; readonly completes?: JsonValue }
  if (role !== 'user' || !isObject(completes) || typeof completes['action_id'] !== 'string') return null
  const { action_id, tool_call_id, tool_name, outcome } = completes
  return {
    action_id,
    tool_call_id: typeof tool_call_id === 'string' ? tool_call_id : '',
    tool_name: typeof tool_name === 'string' ? tool_name : '',
    outcome: OUTCOMES.find((known) => known === outcome) ?? 'done',
  }
}

export function progressOf(event: Event): CallProgress | null {
  if (event.kind !== 'ConversationStateUpdateEvent') return null
  const { key, value } = event
  return key === PROGRESS_KEY && isObject(value) && typeof value['action_id'] === 'string'
    ? (value as JsonObject & CallProgress)
    : null
}

/**
 * Returns the id of the message that completes a call. Two completions of a call have the same id, so the
 * store appends only one.
 * @example
 * completionId('a1') // 'a1-completion'
 */
export function completionId(actionId: string): string {
  const id = `${actionId}-completion`
  return isLegalId(id) ? id : `${hashText(actionId)}-completion`
}

export const completionMessage = (
  { id, event }: { readonly id: string; readonly event: ActionEvent },
  content: readonly Content[],
  outcome: CompletionOutcome,
): MessageEvent => {
  const { tool_call_id, tool_name } = event
  const completes: Completes = { action_id: id, tool_call_id, tool_name, outcome }
  return {
    kind: 'MessageEvent',
    id: completionId(id),
    source: 'environment',
    llm_message: { role: 'user', content, completes },
  } as MessageEvent
}
