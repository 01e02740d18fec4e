import { type CallProgress, completionOf, isWorkingResult } from '../../event/completion.ts'
import type { CompletionOutcome, WorkingObservation } from '../../event/completion.ts'
import { keyedId } from '../../event/ids.ts'
import { isObject } from '../../event/json.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { ActionEvent, Event, MessageEvent, ObservationEvent } from '../../event/types.ts'
import { type EventEntry, pathToEntry } from '../../log/entry.ts'
import type { PendingCall } from '../../log/open-calls.ts'
import { progressIn } from '../../state/header.ts'
import type { State } from '../../state/state.ts'
import type { MessageUnit } from '../../view/units.ts'
import type { LogTitle } from '../log-document.ts'
import { type Replayed, stateOf } from './replayed.ts'

export interface WorkSpan {
  readonly action: EventEntry<ActionEvent>
  readonly result: EventEntry<ObservationEvent>
  /** The message that completes the call; null while the call is working. */
  readonly end: EventEntry<MessageEvent> | null
}

/** Returns the background calls of HEAD's branch, in log order of their first results. */
export function workSpans({ log }: State): WorkSpan[] {
  const spans = new Map<number, WorkSpan>()
  for (const entry of pathToEntry(log.head)) {
    const { event, unit } = entry
    if (event === null || unit === null) continue
    if (isWorkingResult(event)) {
      // The unit of a tool result is the pending call that the result ended.
      const { entry: action } = unit as PendingCall
      spans.set(action.seq, { action, result: entry as EventEntry<ObservationEvent>, end: null })
    } else if (completionOf(event) !== null) {
      const span = spans.get((unit as MessageUnit).completes?.seq ?? -1)
      if (span !== undefined) spans.set(span.action.seq, { ...span, end: entry as EventEntry<MessageEvent> })
    }
  }
  return [...spans.values()]
}

export interface WorkStatus {
  readonly outcome: 'working' | CompletionOutcome
  readonly task: JsonValue
  /** The latest progress before the completion. */
  readonly progress: CallProgress | null
}

/** Returns the status of a background call at a position or, if the call is completed, at its completion. */
export function workStatus(
  replayed: Replayed,
  position: number,
  { action, result, end }: WorkSpan,
): WorkStatus {
  const { header } = stateOf(replayed, end?.seq ?? position)
  const progress = progressIn(header.callProgress, { entry: action })
  const { task = null } = result.event.observation as WorkingObservation
  const outcome = end === null ? 'working' : (completionOf(end.event)?.outcome ?? 'done')
  return { outcome, task: progress?.task ?? task, progress }
}

/** Returns the names of the conversations that calls opened, by action id. The log takes precedence over `titles`. */
export function childNames(
  { document: { facts, name } }: Replayed,
  titles: readonly LogTitle[],
): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const children = new Map(titles.flatMap((title) => (title.parent === name ? [[title.name, title]] : [])))
  for (const { name: child, call } of children.values()) if (call !== null) names.set(call, child)
  for (const fact of facts) {
    if (isQuarantined(fact)) continue
    if (fact.kind === 'ActionEvent' && fact.id !== undefined) {
      const child = keyedId('child', name, fact.id)
      if (children.has(child)) names.set(fact.id, child)
    } else if (fact.kind === 'ObservationEvent') {
      const { kind, conversation_id: child, task } = fact.observation as Record<string, JsonValue | undefined>
      add(names, fact.action_id, kind === 'SubagentObservation' ? child : childIn(task))
    } else if (fact.kind === 'ConversationStateUpdateEvent' && isObject(fact.value))
      add(names, fact.value['action_id'], childIn(fact.value['task']))
  }
  return names
}

export function callOf(event: Event | null): string | null {
  if (event === null) return null
  if (event.kind === 'ActionEvent') return event.id ?? null
  if (event.kind === 'ObservationEvent') return event.action_id
  return completionOf(event)?.action_id ?? null
}

const childIn = (task: unknown): unknown => (isObject(task) ? task['subagent'] : undefined)

function add(names: Map<string, string>, action: unknown, child: unknown): void {
  if (typeof action === 'string' && typeof child === 'string') names.set(action, child)
}
