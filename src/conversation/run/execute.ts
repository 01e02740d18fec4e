/** Executes approved calls: hooks run first, and every call ends with a result. */

import type { ActionEvent, Event } from '../../event/types.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { EventEntry } from '../../log/entry.ts'
import { openCallOf } from '../../log/open-calls.ts'
import type { State } from '../../state/state.ts'
import { errorResults, grantUpdate, statusUpdate } from '../decide.ts'
import { isWorkingIn, type StartedWork } from '../background.ts'
import { isTurnOver } from '../turn.ts'
import { NO_RESULT } from '../../messages/phrases.ts'
import { callStep } from './call-step.ts'
import { add, mustStop, type RunContext, useBodies, withBodies } from './context.ts'
import { contextMessage, type HookInput, type HookVerdict, runHooks } from './hooks.ts'
import { planOf } from './plan-calls.ts'

type Call = EventEntry<ActionEvent>

const isOpen = (state: State, { event, seq }: Call): boolean =>
  openCallOf(state.branch.pendingCalls, event.tool_call_id, seq) !== undefined

/**
 * Executes calls, recording their beginning first, so that they never begin twice. A call excluded meanwhile
 * by a pause, policy or result is not begun. @throws the step's errors.
 */
export async function execute(run: RunContext, calls: readonly Call[]): Promise<void> {
  const allowed = new Set<string>()
  for (const call of calls) if (await passesHooks(run, call)) allowed.add(call.id)
  if (allowed.size === 0) return
  let begun: readonly Call[] = []
  await add(run, (state) => {
    begun = mustStop(run, state) ? [] : planOf(run, state).execute.filter(({ id }) => allowed.has(id))
    if (begun.length === 0) return []
    const running = state.header.status === 'running' ? [] : [statusUpdate('running')]
    return [
      ...running,
      grantUpdate(
        'started',
        begun.map(({ id }) => id),
      ),
    ]
  })
  const { replica, signal } = run
  let approved: readonly Call[] = []
  const started: StartedWork[] = []
  try {
    await useBodies(run, async (state) => {
      approved = begun.filter((call) => isOpen(state, call))
      if (approved.length === 0 || signal.aborted) return
      await callStep(run, state, approved, async (call) => {
        const work = await run.startWork(call)
        started.push(work)
        return work
      })
    })
  } finally {
    // A call whose working result was not appended because of an interrupt is not completed later.
    for (const work of started) work.confirm(isWorkingIn(replica.state, work.call))
  }
  if (approved.length === 0 || signal.aborted) return
  await add(run, (now) =>
    errorResults(
      approved.filter((call) => isOpen(now, call)),
      NO_RESULT,
    ),
  )
  for (const call of approved) await runPostHooks(run, call)
}

async function passesHooks(run: RunContext, call: Call): Promise<boolean> {
  const { id, event } = call
  const { events, blocked, context } = await runCallHooks(run, call, { event_type: 'PreToolUse' })
  const result: Event = {
    kind: 'UserRejectObservation',
    source: 'environment',
    tool_name: event.tool_name,
    tool_call_id: event.tool_call_id,
    action_id: id,
    rejection_reason: blocked ?? '',
    rejection_source: 'hook',
  }
  if (events.length === 0) return true
  await add(run, (state) => {
    if (blocked === null) return [...events, ...context.map(contextMessage)]
    // Another writer may have ended it meanwhile.
    return isOpen(state, call) ? [...events, result] : events
  })
  return blocked === null
}

async function runPostHooks(run: RunContext, call: Call): Promise<void> {
  const { hooks, replica, signal } = run
  if (signal.aborted || !hooks.some(({ on }) => on === 'PostToolUse')) return
  const { events, blocked, context } = await runCallHooks(run, call, {
    event_type: 'PostToolUse',
    tool_response: observationOf(await withBodies(run, replica.state), call.id),
  })
  // A finished model gets no more context, unless a hook objects.
  await add(run, (state) => {
    const feedback = blocked === null ? (isTurnOver(state.branch) ? [] : context) : [blocked]
    return [...events, ...feedback.map(contextMessage)]
  })
}

const runCallHooks = (
  { hooks, replica, signal }: RunContext,
  { id, event }: Call,
  moment: Pick<HookInput, 'event_type' | 'tool_response'>,
): Promise<HookVerdict> =>
  runHooks(
    hooks,
    {
      ...moment,
      conversation_id: replica.id,
      tool_name: event.tool_name,
      tool_input: (event.action ?? null) as JsonValue,
      action_id: id,
    },
    signal,
  )

function observationOf({ branch: { view } }: State, actionId: string): JsonValue {
  const { units } = view
  for (let index = units.length - 1; index >= 0; index -= 1) {
    const unit = units.get(index)
    if (unit?.type !== 'batch') continue
    for (const { call, entry } of unit.results) {
      if (call.id !== actionId) continue
      return entry.event.kind === 'ObservationEvent' ? (entry.event.observation as JsonValue) : null
    }
  }
  return null
}
