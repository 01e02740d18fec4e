/**
 * What a run writes when it starts and stops, so that the log alone shows the next process whether anything is left to
 * do (I1, P8).
 */

import { hasCode } from '../../event/errors.ts'
import { type EventEntry, eventKindOf } from '../../log/entry.ts'
import type { ActionEvent, Event, HookEventType } from '../../event/types.ts'
import { granted } from '../../state/call-status.ts'
import type { State } from '../../state/state.ts'
import { openCallsOf, lostAnswers, grantUpdate, statusUpdate, stuckUpdate } from '../decide.ts'
import { hasNoPrompt, isTurnOver } from '../turn.ts'
import { add, mustStop, type RunContext, unstarted } from './context.ts'
import { contextMessage, runHooks, textOf } from './hooks.ts'
import { planOf } from './plan-calls.ts'
import { findPrompts } from './prompts.ts'

/**
 * Sets the status to running, and runs the hooks; false when there is nothing to run, or it was paused since the run
 * was asked for.
 */
export async function startRun(run: RunContext): Promise<boolean> {
  const begun = await add(run, (state) => {
    const { status } = state.header
    const { unhandledCondensationRequest: isRequested } = state.branch.view
    if (status === 'deleting' || (status === 'finished' && !(isRequested && run.condenser !== null)))
      return []
    if ((status === 'paused' || status === 'error') && isPausedSince(state, run.from)) return []
    if (status === 'waiting_for_confirmation' && planOf(run, state).execute.length === 0) return []
    if (isTurnOver(state.branch) || hasNoPrompt(state.branch)) return [statusUpdate('finished')]
    return [statusUpdate('running')]
  })
  if (begun.length === 0 || run.replica.state.header.status !== 'running') return false
  await findPrompts(run)
  await runSessionHooks(run, 'SessionStart')
  return true
}

/**
 * Whether the last that was said of going on, from a position of the log on, is a pause or an interrupt. O(events from
 * there).
 */
function isPausedSince({ log: { entries } }: State, from: number): boolean {
  for (const entry of entries.slice(from).toReversed()) {
    const { event } = entry
    // The kind is known also where the body was evicted.
    const kind = eventKindOf(entry)
    if (kind === 'PauseEvent' || kind === 'InterruptEvent') return true
    if (event?.kind === 'ConversationStateUpdateEvent' && event.key === 'execution_status') return false
  }
  return false
}

/**
 * Leaves pending calls as the next run should find them: where a pause holds, those that were not begun may be begun by
 * the run that resumes; where there was an error, those that no user is to be asked about are ended.
 */
export async function settlePendingCalls(run: RunContext): Promise<void> {
  await add(run, (state) => {
    const { status, callStatuses } = state.header
    if (status === 'error') return lostAnswers(state, unsettled(run, state), unstarted(run))
    if (status !== 'paused') return []
    const known = new Set(callStatuses.map(({ action_id }) => action_id))
    const held = openCallsOf(state).flatMap(({ id }) =>
      run.newCallIds.has(id) && !known.has(id) ? [id] : [],
    )
    return held.length > 0 ? [grantUpdate('held', held)] : []
  })
}

/** Ends a turn in which the agent gave its final reply, unless a hook or a new message has something against it. */
export async function confirmStop(run: RunContext): Promise<boolean> {
  const { hooks, replica, signal } = run
  const input = { event_type: 'Stop', conversation_id: replica.id } as const
  const { events, blocked } = await runHooks(hooks, input, signal)
  if (blocked !== null) {
    const feedback = contextMessage(`[Stop hook feedback] ${blocked}`)
    await add(run, (state) => [
      ...events,
      feedback,
      ...(mustStop(run, state) ? [] : [statusUpdate('running')]),
    ])
    return false
  }
  await add(run, (state) => {
    const { status } = state.header
    const ends = isTurnOver(state.branch) && status !== 'finished' && !mustStop(run, state)
    return [...events, ...(ends ? [statusUpdate('finished')] : [])]
  })
  return replica.state.header.status === 'finished' && isTurnOver(replica.state.branch)
}

/** Why a run may not ask again, as the events that say so; none when it may. */
export function endingOf(
  state: State,
  iterations: number,
  maxIterations: number,
  stuck: ((state: State) => string | null) | undefined,
): Event[] {
  if (iterations >= maxIterations) {
    const detail = `The run has asked the model ${maxIterations} times, which is the most it may.`
    return [{ kind: 'ConversationErrorEvent', source: 'environment', code: 'MaxIterationsReached', detail }]
  }
  const reason = stuck?.(state) ?? null
  return reason === null ? [] : [stuckUpdate(reason), statusUpdate('stuck')]
}

/**
 * What is appended when something of the caller's has thrown: a result for every call that may have been begun, and the
 * error.
 */
export function failureOf(run: RunContext, state: State, error: unknown): Event[] {
  const code = hasCode(error, 'context_too_long') ? 'ContextTooLong' : nameOf(error)
  const detail = textOf(error).toWellFormed()
  return [
    ...lostAnswers(state, unsettled(run, state), unstarted(run)),
    { kind: 'ConversationErrorEvent', source: 'environment', code: code || 'Error', detail },
  ]
}

/** The name of an error, which may be anything at all. Never throws. */
function nameOf(error: unknown): string {
  try {
    const name: unknown = error instanceof Error ? error.name : 'Error'
    return typeof name === 'string' ? name.toWellFormed() : 'Error'
  } catch {
    return 'Error'
  }
}

/** The pending calls that no user is to be asked about; where the policy itself fails, those that were begun. */
function unsettled(run: RunContext, state: State): EventEntry<ActionEvent>[] {
  const open = openCallsOf(state)
  try {
    const { confirm } = planOf(run, state)
    return open.filter((call) => !confirm.includes(call))
  } catch {
    const started = granted(state.header.callStatuses, 'started')
    return open.filter(({ id }) => started.has(id))
  }
}

/** Runs the hooks of the session's start or end, which nothing can block, and appends what they came to. */
export async function runSessionHooks(
  run: RunContext,
  moment: Extract<HookEventType, 'SessionStart' | 'SessionEnd'>,
): Promise<void> {
  const { hooks, replica, signal } = run
  if (!hooks.some(({ on }) => on === moment)) return
  const { events, context } = await runHooks(
    hooks,
    { event_type: moment, conversation_id: replica.id },
    signal,
  )
  // At the end there is no model left that would read it.
  await add(run, () => [...events, ...(moment === 'SessionStart' ? context.map(contextMessage) : [])])
}

/**
 * Whether an error is the store's, of this conversation, and not the step's: then nothing can be appended about it.
 */
export const isOfStore = ({ ofReplica }: RunContext, error: unknown): boolean =>
  ofReplica.has(error) && STORE_CODES.some((code) => hasCode(error, code))

const STORE_CODES = [
  'store_busy',
  'store_full',
  'store_read_only',
  'store_unavailable',
  'store_newer',
  'store_closed',
  'lease_lost',
  'unknown_conversation',
] as const
