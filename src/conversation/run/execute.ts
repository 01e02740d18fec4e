/** Executes the calls that may run: hooks are asked first, and each call has a result when it is over. */

import type { ActionEvent, Event } from '../../event/types.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { EventEntry } from '../../log/entry.ts'
import { openCallOf } from '../../log/open-calls.ts'
import type { State } from '../../state/state.ts'
import { errorAnswers, grantUpdate, statusUpdate } from '../decide.ts'
import type { StartedWork } from '../background.ts'
import { isTurnOver } from '../turn.ts'
import { NO_RESULT } from '../../messages/phrases.ts'
import { callStep } from './call-step.ts'
import { add, mustStop, type RunContext } from './context.ts'
import { contextMessage, type HookInput, type HookVerdict, runHooks } from './hooks.ts'
import { planOf } from './plan-calls.ts'

type Call = EventEntry<ActionEvent>

const isWorking = (state: State, { event, seq }: Call): boolean =>
  openCallOf(state.branch.workingCalls, event.tool_call_id, seq) !== undefined

const isOpen = (state: State, { event, seq }: Call): boolean =>
  openCallOf(state.branch.pendingCalls, event.tool_call_id, seq) !== undefined

/**
 * Executes calls. That they begin is recorded first, in the log, so that they are not begun again; a call that may no
 * longer be executed by then, because of a pause, another policy or a result, is not begun. @throws what the step
 * throws.
 */
export async function execute(run: RunContext, calls: readonly Call[]): Promise<void> {
  const allowed = new Set<string>()
  for (const call of calls) if (await isLetThrough(run, call)) allowed.add(call.id)
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
  const { state } = replica
  const approved = begun.filter((call) => isOpen(state, call))
  if (approved.length === 0 || signal.aborted) return
  const started: StartedWork[] = []
  try {
    await callStep(run, state, approved, async (call) => {
      const work = await run.startWork(call)
      started.push(work)
      return work
    })
  } finally {
    // A call whose working result was not appended, since the run was interrupted, is not completed later.
    for (const work of started) work.confirm(isWorking(replica.state, work.call))
  }
  await add(run, (now) =>
    errorAnswers(
      approved.filter((call) => isOpen(now, call)),
      NO_RESULT,
    ),
  )
  for (const call of approved) await tellAfter(run, call)
}

/** Whether the hooks let a call through; where one blocks it, it gets a result that tells why. */
async function isLetThrough(run: RunContext, call: Call): Promise<boolean> {
  const { id, event } = call
  const { events, blocked, context } = await showCall(run, call, { event_type: 'PreToolUse' })
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

/** Runs the hooks for a call that was executed. */
async function tellAfter(run: RunContext, call: Call): Promise<void> {
  const { hooks, replica, signal } = run
  if (signal.aborted || !hooks.some(({ on }) => on === 'PostToolUse')) return
  const { events, blocked, context } = await showCall(run, call, {
    event_type: 'PostToolUse',
    tool_response: answerTo(replica.state, call.id),
  })
  // Nothing more is said to a model that has finished, unless a hook objects.
  await add(run, (state) => {
    const said = blocked === null ? (isTurnOver(state.branch) ? [] : context) : [blocked]
    return [...events, ...said.map(contextMessage)]
  })
}

/** Shows a call to the hooks. */
const showCall = (
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

/** The observation that ended an action on HEAD's branch; null when it ended otherwise. */
function answerTo({ branch: { view } }: State, actionId: string): JsonValue {
  const { units } = view
  for (let at = units.length - 1; at >= 0; at -= 1) {
    const unit = units.get(at)
    if (unit?.type !== 'batch') continue
    for (const { call, entry } of unit.results) {
      if (call.id !== actionId) continue
      return entry.event.kind === 'ObservationEvent' ? (entry.event.observation as JsonValue) : null
    }
  }
  return null
}
