/** The run loop: calls the step until the conversation waits for its user, rests, or ends. */

import { hasCode, ColloquyError } from '../../event/errors.ts'
import { type EventEntry, eventKindOf } from '../../log/entry.ts'
import type { ActionEvent, Event, HookEventType } from '../../event/types.ts'
import { granted } from '../../state/call-status.ts'
import type { State } from '../../state/state.ts'
import {
  openCallsOf,
  lostAnswers,
  grantUpdate,
  statusUpdate,
  stuckUpdate,
  decideInterrupt,
  decideRunLost,
  callsOfLostRun,
  errorAnswers,
} from '../decide.ts'
import { hasNoPrompt, isTurnOver, isReplied } from '../turn.ts'
import { add, mustStop, type RunContext, unstarted, latest } from './context.ts'
import { contextMessage, runHooks, textOf } from './hooks.ts'
import { planOf } from './plan-calls.ts'
import { findPrompts, nextPrompt, showPrompt } from './prompts.ts'
import { isAnswered } from '../../state/branch.ts'
import { callStep } from './call-step.ts'
import { requestFor, condense } from './condense.ts'
import { AFTER_FINISH } from '../../messages/phrases.ts'
import { pendingCallCount } from '../../log/open-calls.ts'
import type { Store } from '../../store/contract/store.ts'
import { type Decision, type Replica, waitForState } from '../replica.ts'
import { execute } from './execute.ts'
import { type HeldLease, holdLease, awaitLease } from './lease.ts'
import type { RunOptions, RunResult } from './options.ts'
import type { Step } from './step.ts'

/** What a run is made of, beside its options. */
export interface RunParts {
  readonly store: Store
  readonly replica: Replica
  readonly step: Step
  readonly publish: (delta: Event) => void
  readonly startWork: RunContext['startWork']
  readonly askChild: RunContext['askChild']
  /** Continues the work that other processes have left. */
  readonly takeOverWork: (append: (decide: Decision) => Promise<unknown>) => Promise<void>
  /** Names the run in the store; no two runs share one. */
  readonly owner: string
}

/**
 * Runs a conversation. @throws ColloquyError `already_running` while another run holds the lease, `lease_lost` when
 * another took it over, and what the store throws.
 */
export async function runLoop(parts: RunParts, options: RunOptions = {}): Promise<RunResult> {
  const { store, replica, owner } = parts
  const { leaseTtl = 45_000, signal, wait = false } = options
  // A pause or an interrupt that comes from now on is meant for this run, though it may not have begun.
  const { header, log } = await replica.refresh()
  const { from = log.entries.length } = options
  // A status that stays running once the lease is ours is what a run that died has left.
  let isLeft = header.status === 'running' && (await store.getLease(replica.id)) !== null
  // So is what a run has left that died while it was waited for.
  const first = wait
    ? await awaitLease(store, replica, owner, leaseTtl, signal, () => void (isLeft = true))
    : await holdLease(store, replica.id, owner, leaseTtl)
  let iterations = 0
  if (first === null) return { status: replica.state.header.status, iterations }
  let held = first
  for (;;) {
    const { length } = replica.state.log.entries
    let result: RunResult
    try {
      result = await runUnderLease(parts, held, options, { from, iterations, isLeft })
    } catch (error) {
      await giveUp(replica, held)
      throw error
    }
    await held.release()
    iterations = result.iterations
    isLeft = false
    // A caller that wanted to run it while the lease was still held got `already_running`; so that must not come to
    // nothing.
    const state = await awaitWork(replica, options)
    // Where nothing was appended, nothing would be the next time.
    const isSpent = state.log.entries.length === length
    const next =
      signal?.aborted !== true && !isSpent && wantsToGoOn(state)
        ? await holdAgain(store, replica.id, owner, leaseTtl)
        : null
    if (next === null) return result
    held = next
  }
}

/** The state once no call works on, or something else wants attention, where the run is to wait for that. */
async function awaitWork(replica: Replica, { until, signal }: RunOptions): Promise<State> {
  const state = await replica.refresh()
  const { length } = state.log.entries
  const isQuiet = ({ header, branch, log }: State): boolean =>
    header.status === 'finished' &&
    pendingCallCount(branch.workingCalls) > 0 &&
    !log.entries.slice(length).some((entry) => eventKindOf(entry) === 'InterruptEvent')
  if (until !== 'settled' || !isQuiet(state)) return state
  try {
    return await waitForState(replica, (now) => !isQuiet(now), signal)
  } catch (error) {
    if (signal?.aborted === true) return replica.state
    throw error
  }
}

/** Ends the lease of a run that has failed; where the log says that it runs still, so that a recovery finds it. */
async function giveUp(replica: Replica, held: HeldLease): Promise<void> {
  const status = await replica.refresh().then(
    ({ header }) => header.status,
    (error: unknown) => (hasCode(error, 'unknown_conversation') ? null : 'running'),
  )
  if (status === 'running') await held.abandon()
  else await held.release()
}

/** Null when another run has begun meanwhile: the other run continues. */
async function holdAgain(...args: Parameters<typeof holdLease>): Promise<HeldLease | null> {
  try {
    return await holdLease(...args)
  } catch (error) {
    if (hasCode(error, 'already_running')) return null
    throw error
  }
}

/**
 * Whether there is work that came when a run had ended already: no run leaves a conversation idle, or what was approved
 * undone.
 */
function wantsToGoOn(state: State): boolean {
  const { header, branch } = state
  const open = openCallsOf(state)
  if (header.status === 'waiting_for_confirmation') {
    const approved = granted(header.callStatuses, 'approved')
    return open.some(({ id }) => approved.has(id))
  }
  return header.status === 'idle' && (open.length > 0 || !(isTurnOver(branch) || hasNoPrompt(branch)))
}

async function runUnderLease(
  { replica, step, publish, startWork, askChild, takeOverWork }: RunParts,
  held: HeldLease,
  options: RunOptions,
  {
    from,
    iterations,
    isLeft,
  }: { readonly from: number; readonly iterations: number; readonly isLeft: boolean },
): Promise<RunResult> {
  const { policy = () => false, hooks = [], signal, onPrefix = () => undefined, condenser = null } = options
  const interrupted = new AbortController()
  const found = await replica.refresh()
  const run: RunContext = {
    replica,
    step,
    policy,
    hooks,
    condenser,
    signal: interrupted.signal,
    held,
    publish,
    onPrefix,
    startWork,
    askChild,
    from,
    newCallIds: new Set(),
    inherited: isLeft ? callsOfLostRun(found) : new Set(),
    promptedTo: 0,
    iterations,
    silences: 0,
    ofReplica: new Set(),
  }
  const { epoch } = replica
  let seen = Infinity
  // An interrupt counts as soon as it is in the log, whichever process appended it.
  const look = ({ header, log }: State): void => {
    for (; seen < log.entries.length; seen += 1) {
      if (log.entries.get(seen)?.event?.kind === 'InterruptEvent') interrupted.abort()
    }
    // Nothing of this run may come into a log that it did not begin with.
    if (header.status === 'deleting' || replica.epoch !== epoch) interrupted.abort()
  }
  let interrupting: Promise<unknown> = Promise.resolve()
  const quit = (): void => interrupted.abort()
  const stop = (): void => {
    quit()
    interrupting = replica.commit((state) => decideInterrupt(state, true), { depends: true })
    interrupting.catch(() => undefined)
  }
  const ends = [
    replica.follow(),
    replica.changes.add(look),
    listen(signal, stop),
    listen(held.lost, quit),
    listen(replica.gone, quit),
  ]
  try {
    seen = (await replica.refresh()).log.entries.length
    look(replica.state)
    const isOff = signal?.aborted === true && !interrupted.signal.aborted
    if (isLeft && !isOff) await add(run, decideRunLost)
    if (!isOff) await takeOverWork((decide) => add(run, decide))
    const result = isOff ? ended(run) : await loop(run, options)
    // Whatever the interrupt appends is in the log before the run is said to be over.
    await interrupting
    return { ...result, status: replica.state.header.status }
  } finally {
    for (const end of ends) end()
    await interrupting
    held.lost.throwIfAborted()
    replica.gone.throwIfAborted()
    checkLog(replica, epoch, held.lease.owner)
  }
}

/** @throws ColloquyError `lease_lost` when the log is another than at that epoch. */
function checkLog({ id: conversationId, epoch: now }: Replica, epoch: number, owner: string): void {
  if (now === epoch) return
  throw new ColloquyError(
    'lease_lost',
    'The log is no longer the one that the run began with: the conversation was made anew, or restored.',
    { conversationId, owner },
  )
}

/** Calls when a signal is aborted, if it is not yet; returns what ends it. */
function listen(signal: AbortSignal | undefined, call: () => void): () => void {
  signal?.addEventListener('abort', call, { once: true })
  return () => signal?.removeEventListener('abort', call)
}

const ended = ({ replica: { state }, iterations }: RunContext, error?: unknown): RunResult => ({
  status: state.header.status,
  iterations,
  ...(error !== undefined && { error }),
})

async function loop(run: RunContext, options: RunOptions): Promise<RunResult> {
  let begun = false
  try {
    begun = await startRun(run)
    for (let goesOn = begun; goesOn; goesOn = await takeTurn(run, options));
  } catch (error) {
    if (isOfStore(run, error)) throw error
    // An interrupt has ended the step, whatever it throws then.
    if (run.signal.aborted) return ended(run)
    await add(run, (state) => failureOf(run, state, error))
    return ended(run, error)
  } finally {
    if (begun) await runSessionHooks(run, 'SessionEnd')
  }
  return ended(run)
}

/**
 * Does the next thing that is to be done; false when there is none. @throws what the step, the policy and `stuck`
 * throw.
 */
async function takeTurn(run: RunContext, { maxIterations = 500, stuck }: RunOptions): Promise<boolean> {
  const state = await latest(run)
  const { status } = state.header
  if (mustStop(run, state) || status === 'error' || status === 'stuck') {
    await settlePendingCalls(run)
    return false
  }
  /** Ends the run with events, unless something was appended since. */
  const endWith = async (events: readonly Event[]): Promise<boolean> =>
    (await add(run, (now) => (isSame(state, now) ? events : []))).length === 0
  const { execute: calls, confirm, skip, interrupt } = planOf(run, state)
  if (interrupt.length > 0 || skip.length > 0) {
    await add(run, (now) => {
      const plan = planOf(run, now)
      return [...errorAnswers(plan.skip, AFTER_FINISH), ...lostAnswers(now, plan.interrupt, unstarted(run))]
    })
  } else if (calls.length > 0) await execute(run, calls)
  else if (confirm.length > 0) return endWith([statusUpdate('waiting_for_confirmation')])
  else if (isTurnOver(state.branch)) return !(await confirmStop(run))
  else if (hasNoPrompt(state.branch)) return endWith([statusUpdate('finished')])
  else {
    const end = endingOf(state, run.iterations, maxIterations, stuck)
    if (end.length > 0) return endWith(end)
    const prompt = nextPrompt(run, state)
    if (prompt !== null) await showPrompt(run, prompt)
    else {
      const condensing = await condense(run, state)
      if (condensing.next === 'end') return endWith(condensing.with)
      if (condensing.next === 'ask') await ask(run)
    }
  }
  return true
}

/** Whether nothing was appended since. */
const isSame = (state: State, now: State): boolean => state.log.entries.length === now.log.entries.length

/**
 * Asks once; where the provider says that this was too long, a condensation is requested instead, if there is a
 * condenser. It asks not at all when something came meanwhile: a pause, a call, a message that hooks have not seen.
 * @throws what the step throws.
 */
async function ask(run: RunContext): Promise<void> {
  await add(run, (state) =>
    state.header.status === 'running' || mustStop(run, state) ? [] : [statusUpdate('running')],
  )
  const { replica, signal } = run
  const { state } = replica
  // From here to the step there is no await: nothing that this process knows of comes between.
  const may = state.header.status === 'running' && !signal.aborted
  // Where a condenser takes requests, only what was said calls for the model.
  const isOver = run.condenser === null ? isTurnOver(state.branch) : isReplied(state.branch)
  if (!may || isOver || !isAnswered(state.branch) || nextPrompt(run, state) !== null) return
  run.iterations += 1
  try {
    await callStep(run, state, [])
  } catch (error) {
    const asked = await add(run, (now) => requestFor(run, error, now))
    if (asked.length === 0) throw error
  }
}

/**
 * Sets the status to running, and runs the hooks; false when there is nothing to run, or it was paused since the run
 * was asked for.
 */
async function startRun(run: RunContext): Promise<boolean> {
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
async function settlePendingCalls(run: RunContext): Promise<void> {
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
async function confirmStop(run: RunContext): Promise<boolean> {
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
function endingOf(
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
function failureOf(run: RunContext, state: State, error: unknown): Event[] {
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
async function runSessionHooks(
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
