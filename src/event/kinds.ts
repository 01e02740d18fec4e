/** The one table of per-kind facts; out come the 19 names and the questions that every layer asks of a kind. */

import type { Source } from './shapes.ts'
import type { AnswerEvent, Event } from './types.ts'

/** What the engine knows about a kind before it looks at any event of it. */
export interface KindFacts {
  /** The source an event of this kind has when it names none; null where it must name one (interface 2.2). */
  readonly defaultSource: Source | null
  /** The part it plays in the view (design 4): a unit of its own, a tool call, an answer to one, or none. */
  readonly unit: 'message' | 'call' | 'answer' | null
  /** Whether the shared-event search may show it (interface 4.1). */
  readonly searchable: boolean
  /** Whether it is a fact of the log; a delta is for live readers only. */
  readonly stored: boolean
  /** Whether it can change the state's header (design 3). */
  readonly movesStatus: boolean
}

/**
 * The facts of every kind, in the order of interface 2.2.
 *
 * @example
 * KINDS.PauseEvent.defaultSource // 'user'
 */
// oxfmt-ignore
export const KINDS = {
  ServerErrorEvent: { defaultSource: null, unit: null, searchable: true, stored: true, movesStatus: false },
  ACPToolCallEvent: { defaultSource: 'agent', unit: null, searchable: true, stored: true, movesStatus: false },
  Condensation: { defaultSource: 'environment', unit: null, searchable: true, stored: true, movesStatus: false },
  CondensationRequest: { defaultSource: 'environment', unit: null, searchable: true, stored: true, movesStatus: false },
  CondensationSummaryEvent: { defaultSource: 'environment', unit: 'message', searchable: true, stored: true, movesStatus: false },
  ConversationErrorEvent: { defaultSource: null, unit: null, searchable: true, stored: true, movesStatus: true },
  ConversationStateUpdateEvent: { defaultSource: 'environment', unit: null, searchable: false, stored: true, movesStatus: true },
  HookExecutionEvent: { defaultSource: 'hook', unit: null, searchable: true, stored: true, movesStatus: false },
  LLMCompletionLogEvent: { defaultSource: 'environment', unit: null, searchable: true, stored: true, movesStatus: false },
  ActionEvent: { defaultSource: 'agent', unit: 'call', searchable: true, stored: true, movesStatus: true },
  MessageEvent: { defaultSource: null, unit: 'message', searchable: true, stored: true, movesStatus: true },
  AgentErrorEvent: { defaultSource: 'agent', unit: 'answer', searchable: true, stored: true, movesStatus: true },
  ObservationEvent: { defaultSource: 'environment', unit: 'answer', searchable: true, stored: true, movesStatus: true },
  UserRejectObservation: { defaultSource: 'environment', unit: 'answer', searchable: true, stored: true, movesStatus: true },
  SystemPromptEvent: { defaultSource: 'agent', unit: 'message', searchable: true, stored: true, movesStatus: false },
  StreamingDeltaEvent: { defaultSource: 'agent', unit: null, searchable: true, stored: false, movesStatus: false },
  TokenEvent: { defaultSource: null, unit: null, searchable: true, stored: true, movesStatus: false },
  InterruptEvent: { defaultSource: 'user', unit: null, searchable: true, stored: true, movesStatus: true },
  PauseEvent: { defaultSource: 'user', unit: null, searchable: true, stored: true, movesStatus: true },
} as const satisfies Readonly<Record<string, KindFacts>>

/** The name of one of the 19 kinds. */
export type EventKind = keyof typeof KINDS

/** The 19 names, in the contract's order. */
export const EVENT_KINDS: readonly EventKind[] = Object.freeze(Object.keys(KINDS) as EventKind[])

/**
 * Whether a value is the name of one of the 19 kinds. O(1).
 *
 * @example
 * isEventKind('PauseEvent') // true
 * isEventKind('toString') // false
 */
export function isEventKind(value: unknown): value is EventKind {
  return typeof value === 'string' && Object.hasOwn(KINDS, value)
}

/**
 * Whether an event answers a tool call: an observation, a rejection or the scaffold's error. O(1).
 *
 * @example
 * isAnswer({ kind: 'AgentErrorEvent', tool_name: 'ls', tool_call_id: 'c1', error: 'no such tool' }) // true
 */
export function isAnswer(event: Event): event is AnswerEvent {
  return KINDS[event.kind].unit === 'answer'
}
