import { ColloquyError, errorMessages, hasCode, isError, nullOn } from '../../event/errors.ts'
import { attempt } from '../../event/json.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { ActionEvent, Event, HookEventType, MessageEvent } from '../../event/types.ts'
import { type EventEntry, eventKindOf } from '../../log/entry.ts'
import { openCallOf } from '../../log/open-calls.ts'
import { AFTER_FINISH, NO_RESULT } from '../../messages/phrases.ts'
import { type Branch, isAnswered } from '../../state/branch.ts'
import { granted } from '../../state/call-status.ts'
import type { State } from '../../state/state.ts'
import { hasNoPrompt } from '../../state/status.ts'
import type { Store } from '../../store/contract/store.ts'
import {
  callsOfRun,
  decideInterrupt,
  decideRunLost,
  errorResults,
  errorEvent,
  grantUpdate,
  isSettling,
  lostCallResults,
  rejection,
  openCallsOf,
  statusUpdate,
  updateEvent,
} from '../decide.ts'
import { onAbort } from '../async.ts'
import { WORK_TTL, workExpiresAt } from '../background.ts'
import type { Decision, Replica } from '../replica.ts'
import { isBranchEmpty, isReplied, isTurnOver } from '../turn.ts'
import { callStep, messageText } from './call-step.ts'
import { condense, CONDENSATION_REFUSED, requestIf } from './condense.ts'
import { add, readReplica, mustStop, type RunContext, unstarted, useBodies, withBodies } from './context.ts'
import { contextMessage, type HookInput, type HookVerdict, runHooks } from './hooks.ts'
import { awaitLease, type HeldLease, holdLease, recordsStarts, waitWithin } from './lease.ts'
import { MAX_ITERATIONS, type RunOptions, type RunResult } from './options.ts'
import { planCalls, planOf } from './plan-calls.ts'
import type { Step } from './step.ts'

type Prompt = EventEntry<MessageEvent>

/**
 * Finds the position from which this run shows messages to its hooks: after the last message that an earlier
 * run showed, else after the agent's last event. O(events after this position); O(n log n) after evictions.
 */
async function findPrompts(run: RunContext): Promise<void> {
  if (!listens(run, 'UserPromptSubmit')) return
  const { replica } = run
  run.promptedTo =
    startOf(replica.state) ?? startOf(await readReplica(run, (replica) => replica.whole())) ?? 0
}

const nextPrompt = (run: RunContext, state: State): Prompt | null =>
  listens(run, 'UserPromptSubmit') ? (promptsFrom(state, run.promptedTo)[0] ?? null) : null

const listens = ({ hooks }: RunContext, moment: HookEventType): boolean =>
  hooks.some(({ on }) => on === moment)

function callHooks(
  { hooks, replica, signal }: RunContext,
  moment: Omit<HookInput, 'conversation_id'>,
  call?: CallEntry,
): Promise<HookVerdict> {
  const about = call && {
    tool_name: call.event.tool_name,
    tool_input: (call.event.action ?? null) as JsonValue,
    action_id: call.id,
  }
  return runHooks(hooks, { conversation_id: replica.id, ...moment, ...about }, signal)
}

/** Shows a message to hooks, which can block it even after a pause. Records nothing after an interrupt. */
async function showPrompt(run: RunContext, { id, seq, event }: Prompt): Promise<void> {
  const moment = { event_type: 'UserPromptSubmit', message: messageText(event), message_id: id } as const
  const { events, blocked, context } = await callHooks(run, moment)
  const ids = { llm_response_id: `hook-${id}`, forgotten_event_ids: [id] }
  const block: Event = { kind: 'Condensation', source: 'environment', ...ids }
  await add(run, () => [...events, ...(blocked === null ? context.map(contextMessage) : [block])])
  run.promptedTo = seq + 1
}

/** Lists users' messages on HEAD's branch. Skips evicted bodies: these messages are outside the view. */
function promptsFrom({ log }: State, from: number): Prompt[] {
  const prompts: Prompt[] = []
  for (let entry = log.head; entry !== null && entry.seq >= from; entry = entry.parent as typeof entry) {
    const isPrompt = entry.event?.kind === 'MessageEvent' && entry.event.source === 'user'
    if (isPrompt && entry.id !== null) prompts.push(entry as Prompt)
  }
  return prompts.toReversed()
}

/** Returns the position from which hooks must still read messages; null if this depends on an evicted body. */
function startOf({ log }: State): number | null {
  const shown = new Set<string>()
  let since: number | null = null
  for (let entry = log.head; entry !== null; entry = entry.parent as typeof entry) {
    const { event, id, seq, quarantined } = entry
    if (event === null) {
      if (quarantined === null) return null
    } else if (event.kind === 'HookExecutionEvent') {
      if (event.hook_event_type === 'UserPromptSubmit' && event.message_id) shown.add(event.message_id)
    } else if (event.kind === 'MessageEvent') {
      if (id !== null && shown.has(id)) return seq + 1
      if (event.source === 'agent') since ??= seq
    } else if (event.kind === 'ActionEvent') since ??= seq
  }
  return since ?? 0
}

type CallEntry = EventEntry<ActionEvent>

const isOpen = (state: State, { event, seq }: CallEntry): boolean =>
  openCallOf(state.branch.pendingCalls, event.tool_call_id, seq) !== undefined

/** Executes calls. Records their starts first, so that no call starts twice. Skips calls that may not run now. */
async function execute(run: RunContext, calls: readonly CallEntry[]): Promise<void> {
  const allowed = new Set<string>()
  for (const call of calls) if (await passesHooks(run, call)) allowed.add(call.id)
  if (allowed.size === 0) return
  let begun: readonly CallEntry[] = []
  await add(run, (state) => {
    begun = mustStop(run, state) ? [] : planOf(run, state).execute.filter(({ id }) => allowed.has(id))
    if (begun.length === 0) return []
    const ids = begun.map(({ id }) => id)
    const running = state.header.status === 'running' ? [] : [statusUpdate('running')]
    return [...running, grantUpdate('started', ids)]
  })
  const { signal } = run
  let approved: readonly CallEntry[] = []
  await useBodies(run, async (state) => {
    approved = begun.filter((call) => isOpen(state, call))
    if (approved.length > 0 && !signal.aborted) await callStep(run, state, approved)
  })
  if (approved.length === 0 || signal.aborted) return
  await add(run, (now) => {
    const open = approved.filter((call) => isOpen(now, call))
    return errorResults(open, NO_RESULT)
  })
  for (const call of approved) await runPostHooks(run, call)
}

async function passesHooks(run: RunContext, call: CallEntry): Promise<boolean> {
  const { events, blocked, context } = await callHooks(run, { event_type: 'PreToolUse' }, call)
  if (events.length === 0) return true
  await add(run, (state) => {
    if (blocked === null) return [...events, ...context.map(contextMessage)]
    // Another writer may have ended the call in the meantime.
    return isOpen(state, call) ? [...events, rejection(call, blocked, 'hook')] : events
  })
  return blocked === null
}

async function runPostHooks(run: RunContext, call: CallEntry): Promise<void> {
  if (run.signal.aborted || !listens(run, 'PostToolUse')) return
  const tool_response = observationOf(await withBodies(run, run.replica.state), call.id)
  const moment = { event_type: 'PostToolUse', tool_response } as const
  const { events, blocked, context } = await callHooks(run, moment, call)
  // After the end of the turn, context is dropped, but an objection is not.
  await add(run, (state) => {
    const feedback = blocked === null ? (isTurnOver(state.branch) ? [] : context) : [blocked]
    return [...events, ...feedback.map(contextMessage)]
  })
}

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

interface RunParts {
  readonly store: Store
  readonly replica: Replica
  readonly step: Step
  readonly publish: (delta: Event) => void
  readonly startWork: RunContext['startWork']
  readonly runChild: RunContext['runChild']
  readonly takeOverWork: (now: number, append: (decide: Decision) => Promise<unknown>) => Promise<void>
  readonly owner: string
}

export async function runLoop(
  parts: RunParts,
  options: RunOptions & { readonly leaseTtl: number },
): Promise<RunResult> {
  const { store, replica, owner } = parts
  const { leaseTtl, signal, wait = false } = options
  // A pause or interrupt from now on applies to this run, even if the run has not begun.
  const { header, log } = await replica.refresh()
  const { from = log.entries.length } = options
  // If the status is still `running` when this run holds the lease, the run that set it is dead.
  let lost = header.status === 'running' ? (await store.getLease(replica.id))?.owner : undefined
  // If another run held the lease and died while this run waited, the same applies.
  const first = wait
    ? await awaitLease(store, replica, owner, leaseTtl, signal, (other) => void (lost = other))
    : await holdLease(store, replica.id, owner, leaseTtl)
  let iterations = 0
  if (first === null) return toResult({ replica, iterations })
  let lease = first
  for (;;) {
    const { length } = replica.state.log.entries
    let result: RunResult
    try {
      result = await runUnderLease(parts, lease, options, { from, iterations, lost })
    } catch (error) {
      await endFailedRun(replica, lease)
      throw error
    }
    await lease.release()
    iterations = result.iterations
    const next = await nextLease(parts, options, length)
    if (next === null) {
      // While this run waited for working calls, a user may have paused the conversation.
      const hasChanged = options.until === 'settled' && replica.state.header.status !== result.status
      return hasChanged ? toResult({ replica, iterations }) : result
    }
    ;({ lease, lost } = next)
  }
}

/**
 * Waits for more work, and acquires the lease for it. Returns null if the run has ended. `lost`: the owner of
 * the run that held the lease meanwhile, which may have died.
 * @param length length of the log when the run began
 */
async function nextLease(
  { store, replica, owner }: RunParts,
  { until, signal, leaseTtl }: RunOptions & { readonly leaseTtl: number },
  length: number,
): Promise<{ readonly lease: HeldLease; readonly lost: string | undefined } | null> {
  await replica.refresh()
  const settles = until === 'settled'
  const isQuiet = (state: State): boolean => settles && isSettling(state)
  for (;;) {
    const isLost = isQuiet(replica.state) && (await waitForWork(store, replica, isQuiet, signal))
    // A caller that started a run while the lease was still held got `already_running`, so its work is picked
    // up here. A round that appended nothing is the last, because the next would append nothing either.
    const isWanted = (state: State): boolean =>
      (isLost && isQuiet(state)) ||
      (settles && state.header.status === 'running') ||
      (state.log.entries.length !== length && hasMoreWork(state))
    if (signal?.aborted === true || !isWanted(replica.state)) return null
    let lost: string | undefined
    const lease = settles
      ? await awaitLease(store, replica, owner, leaseTtl, signal, (other) => void (lost = other), isWanted)
      : await holdLease(store, replica.id, owner, leaseTtl).catch(nullOn('already_running'))
    // If another run has begun in the meantime, that run does the work.
    if (lease !== null || !settles) return lease && { lease, lost }
  }
}

/**
 * Waits until `isQuiet` returns false or the signal is aborted, then returns false. Returns true earlier if
 * the process that works on a call has died: a live process renews the job of the call before the job is due.
 */
async function waitForWork(
  store: Store,
  replica: Replica,
  isQuiet: (state: State) => boolean,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  for (let previous: number | null = null; ;) {
    if (!isQuiet(replica.state) || signal?.aborted === true) return false
    const expiry = await workExpiresAt(store, replica.id, replica.state).catch(() => null)
    if (expiry !== null && expiry === previous) return true
    previous = expiry
    const wait = Math.min(Math.max((expiry ?? Infinity) - Date.now(), WORK_TTL / 3), WORK_TTL)
    await waitWithin(wait, replica, (state) => !isQuiet(state), signal)
  }
}

async function endFailedRun(replica: Replica, lease: HeldLease): Promise<void> {
  const status = await replica.refresh().then(
    ({ header }) => header.status,
    (error: unknown) => (hasCode(error, 'unknown_conversation') ? null : 'running'),
  )
  if (status === 'running') await lease.abandon()
  else await lease.release()
}

/** Whether a run must follow an ended run: to execute approved or pending calls, or to reply. */
function hasMoreWork(state: State): boolean {
  const { header, branch } = state
  const open = openCallsOf(state)
  const approved = granted(header.callStatuses, 'approved')
  if (header.status === 'waiting_for_confirmation') return open.some(({ id }) => approved.has(id))
  const hasNothing = isTurnOver(branch) || hasNoPrompt(branch) || isBranchEmpty(branch)
  return header.status === 'idle' && (open.length > 0 || !hasNothing)
}

async function runUnderLease(
  { replica, step, publish, startWork, runChild, takeOverWork }: RunParts,
  lease: HeldLease,
  options: RunOptions & { readonly leaseTtl: number },
  { from, iterations, lost }: Pick<RunContext, 'from' | 'iterations'> & { readonly lost: string | undefined },
): Promise<RunResult> {
  const { policy = () => false, hooks = [], signal, onPrefix = () => undefined, condenser = null } = options
  const interrupted = new AbortController()
  const state = await replica.refresh()
  const run: RunContext = {
    replica,
    step,
    policy,
    hooks,
    condenser,
    signal: interrupted.signal,
    lease,
    publish,
    onPrefix,
    within: options.within,
    startWork,
    runChild,
    from,
    newCallIds: new Set(),
    inherited: recordsStarts(lost) || state.header.status !== 'running' ? callsOfRun(state) : null,
    promptedTo: 0,
    iterations,
    emptyReplies: 0,
    ofReplica: new Set(),
  }
  const { epoch } = replica
  let seen = Infinity
  // An interrupt takes effect when it is in the log, whichever process appended it.
  const check = ({ header, log }: State): void => {
    for (; seen < log.entries.length; seen += 1) {
      if (log.entries.get(seen)?.event?.kind === 'InterruptEvent') interrupted.abort()
    }
    // If the log is deleted or replaced, this run must not append to the new log.
    if (header.status === 'deleting' || replica.epoch !== epoch) interrupted.abort()
  }
  let interrupting: Promise<unknown> = Promise.resolve()
  const quit = (): void => interrupted.abort()
  const interrupt = (now: State): Event[] => decideInterrupt(now, true, unstarted(run))
  const stop = (): void => {
    quit()
    // Appended under the lease: a run that has lost its lease must not interrupt the next run.
    interrupting = replica.commit(interrupt, { depends: true, lease: lease.lease })
    interrupting.catch(() => undefined)
  }
  const ends = [
    replica.follow(),
    replica.changes.add(check),
    onAbort(signal, stop),
    onAbort(lease.lost, quit),
    onAbort(replica.gone, quit),
  ]
  try {
    seen = (await replica.refresh()).log.entries.length
    check(replica.state)
    const isAbortedEarly = signal?.aborted === true && !interrupted.signal.aborted
    if (lost !== undefined && !isAbortedEarly) await add(run, decideRunLost)
    // When the lease was acquired, on the store's clock.
    const acquiredAt = lease.lease.expiresAt - options.leaseTtl
    if (!isAbortedEarly) await takeOverWork(acquiredAt, (decide) => add(run, decide))
    const thrown = isAbortedEarly ? undefined : await loop(run, options)
    // The interrupt's events must be in the log before the run returns.
    await interrupting
    return toResult(run, thrown)
  } finally {
    for (const end of ends) end()
    await interrupting
    lease.lost.throwIfAborted()
    replica.gone.throwIfAborted()
    checkLog(replica, epoch, lease.lease.owner)
  }
}

function checkLog({ id: conversationId, epoch: current }: Replica, epoch: number, owner: string): void {
  if (current === epoch) return
  throw new ColloquyError(
    'lease_lost',
    'The conversation was recreated or restored during the run. Read its state before you run it.',
    { conversationId, owner },
  )
}

type EndedRun = Pick<RunContext, 'replica' | 'iterations' | 'refusalCause'>

function toResult({ replica, iterations, refusalCause: cause }: EndedRun, thrown?: unknown): RunResult {
  const { state } = replica
  const { status, error } = state.header
  if (thrown !== undefined) return { status: 'error', iterations, error: thrown }
  if (status !== 'error' && status !== 'stuck') return { status, iterations }
  const { code, detail } = error ?? { code: 'Stuck', detail: stuckReason(state) }
  const options = code === CONDENSATION_REFUSED && cause !== undefined ? { cause } : undefined
  return { status, iterations, error: Object.assign(new Error(detail, options), { name: code }) }
}

function stuckReason({ log: { entries } }: State): string {
  for (let seq = entries.length - 1; seq >= 0; seq -= 1) {
    const event = entries.get(seq)?.event
    if (event?.kind === 'ConversationStateUpdateEvent' && event.key === 'stuck_reason')
      return String(event.value)
  }
  return 'The conversation is stuck.'
}

/** Takes actions until the run ends. Returns the thrown error, if an error ended the run. */
async function loop(run: RunContext, options: RunOptions): Promise<unknown> {
  let begun = false
  try {
    begun = await startRun(run)
    for (let continues = begun; continues; continues = await takeNextAction(run, options));
  } catch (error) {
    if (isOfStore(run, error) || (!begun && hasCode(error, 'empty_view'))) throw error
    // The interrupt has ended the step, so an error of the step no longer matters.
    if (run.signal.aborted) return undefined
    await add(run, (state) => failureOf(run, state, error))
    return error
  } finally {
    if (begun) await runSessionHooks(run, 'SessionEnd')
  }
  return undefined
}

/** Takes one action. Returns false at the end of the run. */
async function takeNextAction(
  run: RunContext,
  { maxIterations = MAX_ITERATIONS, stuck }: RunOptions,
): Promise<boolean> {
  const state = await readReplica(run, (replica) => replica.refresh())
  const { status } = state.header
  if (mustStop(run, state) || status === 'error' || status === 'stuck') {
    await settlePendingCalls(run)
    return false
  }
  const endWith = async (events: readonly Event[]): Promise<boolean> =>
    (await add(run, (now) => (now.log.entries.length === state.log.entries.length ? events : []))).length ===
    0
  const { execute: calls, confirm, skip, interrupt } = planOf(run, state)
  if (interrupt.length > 0 || skip.length > 0) {
    await add(run, (now) => {
      const plan = planOf(run, now)
      return [
        ...errorResults(plan.skip, AFTER_FINISH),
        ...lostCallResults(now, plan.interrupt, unstarted(run)),
      ]
    })
  } else if (calls.length > 0) await execute(run, calls)
  else if (confirm.length > 0) return endWith([statusUpdate('waiting_for_confirmation')])
  else if (isTurnOver(state.branch)) return !(await confirmStop(run, isTurnOver))
  else if (hasNoPrompt(state.branch)) return endWith([statusUpdate('finished')])
  else {
    const end = isReplied(state.branch) ? [] : runEnding(state, run.iterations, maxIterations, stuck)
    if (end.length > 0) return endWith(end)
    const prompt = nextPrompt(run, state)
    if (prompt !== null) await showPrompt(run, prompt)
    else {
      const request = await withBodies(run, state)
      const condensing = await condense(run, request)
      if (condensing.next === 'end') return endWith(condensing.with)
      if (condensing.next === 'stop') return !(await confirmStop(run, isReplied))
      if (condensing.next === 'ask') await callModel(run, request)
    }
  }
  return true
}

/**
 * Calls the model once. If the request is too long and a condenser exists, requests a condensation instead.
 * Does nothing if the log now has a pause, a pending call, or a message that hooks must see first.
 */
async function callModel(run: RunContext, known: State): Promise<void> {
  await add(run, (state) =>
    state.header.status === 'running' || mustStop(run, state) ? [] : [statusUpdate('running')],
  )
  // The latest state is passed to the step without an `await`, so no event of this process can intervene.
  await useBodies(run, (state) => callLatest(run, state), known)
}

async function callLatest(run: RunContext, state: State): Promise<void> {
  const canCall = state.header.status === 'running' && !run.signal.aborted
  // A condensation request alone needs no model.
  if (!canCall || isReplied(state.branch) || !isAnswered(state.branch) || nextPrompt(run, state) !== null)
    return
  run.iterations += 1
  try {
    await callStep(run, state, [])
  } catch (error) {
    const requested = await add(run, (now) => requestIf(hasCode(error, 'context_too_long'), run, now))
    if (requested.length === 0) throw error
  }
}

/** Starts the run. Returns false if there is nothing to run, or if a pause or interrupt followed its request. */
async function startRun(run: RunContext): Promise<boolean> {
  const begun = await add(run, (state) => {
    const { status } = state.header
    const { unhandledCondensationRequest: isRequested } = state.branch.view
    if (status === 'deleting' || (status === 'finished' && !(isRequested && run.condenser !== null)))
      return []
    if ((status === 'paused' || status === 'error') && isPausedSince(state, run.from)) return []
    if (status === 'waiting_for_confirmation' && planOf(run, state).execute.length === 0) return []
    if (isTurnOver(state.branch) || hasNoPrompt(state.branch)) return [statusUpdate('finished')]
    if (isBranchEmpty(state.branch))
      throw new ColloquyError('empty_view', 'The conversation has no message to reply to. Send one first.')
    return [statusUpdate('running')]
  })
  if (begun.length === 0 || run.replica.state.header.status !== 'running') return false
  await findPrompts(run)
  await runSessionHooks(run, 'SessionStart')
  return true
}

function isPausedSince({ log: { entries } }: State, from: number): boolean {
  for (const entry of entries.slice(from).toReversed()) {
    const { event } = entry
    // The kind is known even where the body was evicted.
    const kind = eventKindOf(entry)
    if (kind === 'PauseEvent' || kind === 'InterruptEvent') return true
    if (event?.kind === 'ConversationStateUpdateEvent' && event.key === 'execution_status') return false
  }
  return false
}

/**
 * After an error, ends the pending calls that need no confirmation. After a pause, marks new calls as held,
 * so that the next run may start them.
 */
async function settlePendingCalls(run: RunContext): Promise<void> {
  await add(run, (state) => {
    const { status, callStatuses } = state.header
    if (status === 'error') return lostCallResults(state, unsettled(run, state), unstarted(run))
    if (status !== 'paused') return []
    const known = new Set(callStatuses.map(({ action_id }) => action_id))
    const { execute: startable } = planCalls(state, () => false, run.newCallIds)
    const withheld = startable.flatMap(({ id }) => (known.has(id) ? [] : id))
    return withheld.length > 0 ? [grantUpdate('held', withheld)] : []
  })
}

/**
 * Whether a Stop hook has blocked since the user's last message. Null if an evicted body is needed. O(events
 * since the block or the message).
 */
function hasBlockedStop({ log }: State): boolean | null {
  for (let entry = log.head; entry !== null; entry = entry.parent as typeof entry) {
    const { event } = entry
    if (event === null && entry.quarantined === null) return null
    if (event?.kind === 'MessageEvent' && event.source === 'user') return false
    if (event?.kind === 'HookExecutionEvent' && event.hook_event_type === 'Stop' && event.blocked === true)
      return true
  }
  return false
}

/** Ends the turn after the final reply, unless a hook objects or a message has arrived. */
async function confirmStop(run: RunContext, isOver: (branch: Branch) => boolean): Promise<boolean> {
  const { replica } = run
  const stop_hook_active =
    listens(run, 'Stop') &&
    (hasBlockedStop(replica.state) ??
      hasBlockedStop(await readReplica(run, (replica) => replica.whole()))) === true
  const { events, blocked } = await callHooks(run, { event_type: 'Stop', stop_hook_active })
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
    const mayFinish = isOver(state.branch) && status !== 'finished' && !mustStop(run, state)
    return [...events, ...(mayFinish ? [statusUpdate('finished')] : [])]
  })
  return replica.state.header.status === 'finished' && isOver(replica.state.branch)
}

function runEnding(
  state: State,
  iterations: number,
  maxIterations: number,
  stuck: ((state: State) => string | null) | undefined,
): Event[] {
  if (iterations >= maxIterations) {
    const detail = `The run reached its maximum of ${maxIterations} requests to the model. Raise maxIterations, or run again.`
    return [errorEvent('MaxIterationsReached', detail)]
  }
  const reason: unknown = stuck?.(state) ?? null
  if (reason === null) return []
  if (typeof reason !== 'string') throw new TypeError('`stuck` must return a string or null.')
  return [updateEvent('stuck_reason', reason), statusUpdate('stuck')]
}

function failureOf(run: RunContext, state: State, error: unknown): Event[] {
  const name = attempt(() => (isError(error) ? `${(error as Error).name}`.toWellFormed() : ''), '')
  const code = hasCode(error, 'context_too_long') ? 'ContextTooLong' : name || 'Error'
  const calls = lostCallResults(state, unsettled(run, state), unstarted(run))
  return [...calls, errorEvent(code, errorMessages(error))]
}

/** Returns the pending calls that need no confirmation. If the policy throws, returns the started calls. */
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

/** Milliseconds that SessionEnd hooks have after an interrupt. */
const CLEANUP_TIMEOUT = 1_500

async function runSessionHooks(
  run: RunContext,
  moment: Extract<HookEventType, 'SessionStart' | 'SessionEnd'>,
): Promise<void> {
  if (!listens(run, moment)) return
  // An interrupt must not keep hooks from cleaning up.
  const isCutOff = moment === 'SessionEnd' && run.signal.aborted
  const signal = isCutOff ? AbortSignal.timeout(CLEANUP_TIMEOUT) : run.signal
  const { events, context } = await callHooks({ ...run, signal }, { event_type: moment })
  // At the end of a session, no model would read the context.
  await add(run, () => [...events, ...(moment === 'SessionStart' ? context.map(contextMessage) : [])])
}

/** Whether the error is the store's and not the step's. After a store error, nothing can be appended. */
const isOfStore = ({ ofReplica }: RunContext, error: unknown): boolean =>
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
