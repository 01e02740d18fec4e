/** The kind table. For a new row, the compiler reports the other code that needs a change. */

import type { Source } from './shapes.ts'
import type { ToolResultEvent, Event, EventOf } from './types.ts'

/** Tools that change nothing, so their calls need no confirmation. */
export const BUILT_IN_TOOLS: ReadonlySet<string> = new Set(['finish', 'think'])

/** Properties of one kind of event. */
export interface KindFacts {
  /** Number of the kind in snapshots, from 1 to 254. It must never be changed or reused. */
  readonly code: number
  /** Source of an event without `source`; null where `source` is required (interface section 2.2). */
  readonly defaultSource: Source | null
  /** Role in the view (design section 4); null if the view excludes this kind. */
  readonly unit: 'message' | 'call' | 'result' | 'condensation' | 'condensation_request' | null
  /** Whether the search of shared events (interface section 4.1) may return this kind. */
  readonly searchable: boolean
  /** Whether logs contain events of this kind. Deltas are for live readers only. */
  readonly stored: boolean
  /** Whether an event of this kind can change the state's header (design section 3). */
  readonly movesStatus: boolean
}

/**
 * The facts about every kind, in the order of interface section 2.2.
 * @example
 * KINDS.PauseEvent.defaultSource // 'user'
 */
// oxfmt-ignore
export const KINDS = {
  ServerErrorEvent: { code: 1, defaultSource: null, unit: null, searchable: true, stored: true, movesStatus: false },
  ACPToolCallEvent: { code: 2, defaultSource: 'agent', unit: null, searchable: true, stored: true, movesStatus: false },
  Condensation: { code: 3, defaultSource: 'environment', unit: 'condensation', searchable: true, stored: true, movesStatus: false },
  CondensationRequest: { code: 4, defaultSource: 'environment', unit: 'condensation_request', searchable: true, stored: true, movesStatus: false },
  CondensationSummaryEvent: { code: 5, defaultSource: 'environment', unit: 'message', searchable: true, stored: true, movesStatus: false },
  ConversationErrorEvent: { code: 6, defaultSource: null, unit: null, searchable: true, stored: true, movesStatus: true },
  ConversationStateUpdateEvent: { code: 7, defaultSource: 'environment', unit: null, searchable: false, stored: true, movesStatus: true },
  HookExecutionEvent: { code: 8, defaultSource: 'hook', unit: null, searchable: true, stored: true, movesStatus: false },
  LLMCompletionLogEvent: { code: 9, defaultSource: 'environment', unit: null, searchable: true, stored: true, movesStatus: false },
  ActionEvent: { code: 10, defaultSource: 'agent', unit: 'call', searchable: true, stored: true, movesStatus: true },
  MessageEvent: { code: 11, defaultSource: null, unit: 'message', searchable: true, stored: true, movesStatus: true },
  AgentErrorEvent: { code: 12, defaultSource: 'agent', unit: 'result', searchable: true, stored: true, movesStatus: true },
  ObservationEvent: { code: 13, defaultSource: 'environment', unit: 'result', searchable: true, stored: true, movesStatus: true },
  UserRejectObservation: { code: 14, defaultSource: 'environment', unit: 'result', searchable: true, stored: true, movesStatus: true },
  SystemPromptEvent: { code: 15, defaultSource: 'agent', unit: 'message', searchable: true, stored: true, movesStatus: false },
  StreamingDeltaEvent: { code: 16, defaultSource: 'agent', unit: null, searchable: true, stored: false, movesStatus: false },
  TokenEvent: { code: 17, defaultSource: null, unit: null, searchable: true, stored: true, movesStatus: false },
  InterruptEvent: { code: 18, defaultSource: 'user', unit: null, searchable: true, stored: true, movesStatus: true },
  PauseEvent: { code: 19, defaultSource: 'user', unit: null, searchable: true, stored: true, movesStatus: true },
} as const satisfies Readonly<Record<string, KindFacts>>

/** The name of one of the 19 kinds. */
export type EventKind = keyof typeof KINDS

export type EventWith<Column extends keyof KindFacts, Value> = EventOf<
  { [K in EventKind]: (typeof KINDS)[K][Column] extends Value ? K : never }[EventKind]
>

/** The names of the 19 event kinds, in the order of interface section 2.2. */
export const EVENT_KINDS: readonly EventKind[] = /* @__PURE__ */ Object.freeze(
  /* @__PURE__ */ Object.keys(KINDS) as EventKind[],
)

/**
 * Whether a value is the name of one of the 19 kinds. O(1).
 * @example
 * isEventKind('PauseEvent') // true
 * isEventKind('toString') // false
 */
export function isEventKind(value: unknown): value is EventKind {
  return typeof value === 'string' && Object.hasOwn(KINDS, value)
}

/**
 * Whether an event is a tool result: an observation, a rejection, or an AgentErrorEvent. O(1).
 * @example
 * isToolResult({ kind: 'AgentErrorEvent', tool_name: 'ls', tool_call_id: 'c1', error: 'no such tool' }) // true
 */
export function isToolResult(event: Event): event is ToolResultEvent {
  return KINDS[event.kind].unit === 'result'
}
