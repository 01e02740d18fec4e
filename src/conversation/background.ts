import { completionId, completionOf, type CallProgress, PROGRESS_KEY } from '../event/completion.ts'
import { checkOptionNames, invalidArgument } from '../event/check-value.ts'
import { errorMessages, hasCode } from '../event/errors.ts'
import { isObject } from '../event/json.ts'
import type { Content, JsonValue } from '../event/shapes.ts'
import type { ActionEvent, Event, MessageEvent } from '../event/types.ts'
import { type EventEntry, isOnPathIn, loadedEvent } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import { openCallOf } from '../log/open-calls.ts'
import { listWorkingCalls, type WorkingCallInfo } from '../state/read.ts'
import type { State } from '../state/state.ts'
import type { Item } from '../store/contract/items.ts'
import type { Store } from '../store/contract/store.ts'
import { allItems } from '../store/kit/query/page.ts'
import { delayAfter, orAborted, pause } from './async.ts'
import type { EngineContext } from './engine-context.ts'
import { updateEvent } from './decide.ts'
import { type Job, Jobs } from './jobs.ts'
import { checkCompletion, decideComplete, workingTip } from './late-results.ts'
import type { Decision, Replica } from './replica.ts'
import { checkEvents } from './stamp.ts'
import { keyedId } from '../event/ids.ts'

/** The final result of a background call, whose work continued after the first result. */
export interface CallCompletion {
  /** Text, images and files for the model. */
  readonly content: string | readonly Content[]
  /** Whether the work succeeded. Default: `done`. */
  readonly outcome?: 'done' | 'failed'
}

/** A progress report of a working call. */
export type ProgressReport = Omit<CallProgress, 'action_id'>

/** Controls the work of a background call, in the process that does the work. */
export interface BackgroundWork {
  /**
   * Aborted when the call is cancelled, or is completed elsewhere; when another process takes over the work;
   * when the conversation is deleted; and when the engine closes. An interrupt does not abort this signal.
   */
  readonly signal: AbortSignal
  /**
   * Appends progress, which the model does not see. A `task` in the report replaces the task that `resume` receives.
   * Resolves only after the step has ended, so do not await it in the step.
   */
  readonly report: (progress: ProgressReport) => Promise<void>
  /** Completes the call when the promise settles. If the promise rejects, the outcome is `failed`. */
  readonly completeWith: (result: PromiseLike<CallCompletion>) => void
}

export interface StartedWork extends BackgroundWork {
  readonly call: EventEntry<ActionEvent>
  /** Pass true if the log records the call as working. Pass false to abort the work. */
  readonly confirm: (isWorking: boolean) => void
}

/** Continues the work of a call from its `task`. Returns null if the work cannot continue. */
export type ResumeWork = (
  call: ActionEvent & { readonly id: string },
  task: JsonValue,
  work: BackgroundWork,
) => PromiseLike<CallCompletion> | null

const COLLECTION = 'colloquy.background_calls'
/** Milliseconds until another process may continue a dead process's work. */
export const WORK_TTL = 30_000
const TRIES = 8

interface WorkRecord {
  readonly conversation_id: string
  readonly action_id: string
}

const jobsIn = (store: Store): Jobs<WorkRecord> =>
  new Jobs({
    store,
    collection: COLLECTION,
    ttl: WORK_TTL,
    keysOf: ({ conversation_id: conversation }) => ({ conversation }),
  })

const itemId = (conversationId: string, actionId: string): string => keyedId('work', conversationId, actionId)

/** Stores a job for the call's work. After a crash, the next run finds the job in the store. */
export async function startWork(
  context: EngineContext,
  conversationId: string,
  call: EventEntry<ActionEvent>,
  claimed?: Job<WorkRecord>,
): Promise<StartedWork> {
  const record: WorkRecord = { conversation_id: conversationId, action_id: call.id }
  const id = itemId(conversationId, call.id)
  const job = claimed ?? ((await jobsIn(context.store).take(id, () => record)) as Job<WorkRecord>)
  const { replica, release } = await context.pin(conversationId).catch((error: unknown) => {
    job.abandon()
    throw error
  })
  const ended = new AbortController()
  const signal = AbortSignal.any([ended.signal, job.lost, context.closing, replica.gone])
  const isOpen = ({ state }: Replica): boolean =>
    !isCompleted(state, call) && (isWorkingIn(state, call) || isOnOtherBranch(state, call.id))
  const completion = completionId(call.id)
  // A loaded log may be long, and each call would read it again.
  let checked = isCompleted(replica.state, call) ? call.seq : replica.state.log.entries.length
  const check = ({ log: { entries } }: State): void => {
    // A restored log is shorter.
    for (checked = Math.min(checked, entries.length); checked < entries.length; checked += 1)
      if (entries.get(checked)?.id === completion) ended.abort()
  }
  const ends = [replica.follow(), replica.changes.add(check)]
  const confirmed = Promise.withResolvers<boolean>()
  let result: PromiseLike<CallCompletion> | null = null
  const finish = async (): Promise<void> => {
    for (const end of ends) end()
    release()
    // If the engine closes before the call is completed, the job is due at once, for the next run of any process.
    const isCutOff = context.closing.aborted && !ended.signal.aborted
    const isLeft = isCutOff || (!replica.gone.aborted && isOpen(replica))
    await (isLeft ? job.release(0) : job.finish()).catch(() => job.abandon())
  }
  const work = async (): Promise<void> => {
    try {
      if (!(await confirmed.promise) || result === null) return
      const completion = await orAborted(result, signal)
        .then((value) => (value === null ? null : decodeCompletion(value)))
        .catch(failed)
      if (completion === null) return
      await complete(replica, call.id, completion, signal)
    } finally {
      await finish()
    }
  }
  void context.track(work().catch(() => undefined))
  return {
    call,
    signal,
    report(progress) {
      const reported = confirmed.promise.then(async (isWorking) => {
        if (!isWorking) return
        await replica.commit((state) => decideProgress(state, call.id, progress), { depends: true })
      })
      // Marks a rejection as handled: a step need not await the promise.
      reported.catch(() => undefined)
      return reported
    },
    completeWith(promise) {
      // Marks a rejection as handled: it may happen before anything awaits it.
      void Promise.resolve(promise).catch(() => undefined)
      result = promise
    },
    confirm(isWorking) {
      if (!isWorking) ended.abort()
      confirmed.resolve(isWorking)
    },
  }
}

function decodeCompletion({ content, outcome = 'done' }: CallCompletion): CallCompletion {
  checkCompletion(content, outcome)
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const llm_message = { role: 'user', content: parts, completes: { outcome } }
  const [message] = checkEvents([{ kind: 'MessageEvent', source: 'environment', llm_message }])
  return { content: (message as MessageEvent).llm_message.content ?? [], outcome }
}

const failed = (error: unknown): CallCompletion => ({ content: errorMessages(error), outcome: 'failed' })

async function complete(
  replica: Replica,
  actionId: string,
  { content, outcome }: CallCompletion,
  signal: AbortSignal,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await replica.commit((state) => decideComplete(state, actionId, content, outcome), { depends: true })
      return
    } catch (error) {
      // Another caller has completed the call, or it is no longer a working call.
      if (signal.aborted || hasCode(error, 'unknown_call')) return
      if (tries === TRIES) throw error
      await pause(delayAfter(tries, { retryDelay: 30, maxRetryDelay: 2_000 }), signal)
    }
  }
}

export function decideProgress(state: State, actionId: string, progress: ProgressReport): readonly Event[] {
  if (!isObject(progress)) invalidArgument('progress', 'must be an object, such as { progress: 0.5 }')
  checkOptionNames(progress, 'progress content task')
  const tip = workingTip(state, actionId)
  if (tip === undefined) return []
  // If the call is on another branch, that branch's tip is the parent. This update does not move HEAD.
  const value = { ...progress, action_id: actionId }
  return checkEvents([{ ...updateEvent(PROGRESS_KEY, value), ...(tip !== null && { parent_id: tip.id }) }])
}

/**
 * For each working call on HEAD's branch, continues the work that a dead process left unfinished. If the work
 * cannot continue, completes the call as lost. If a call was completed on another branch, completes the call
 * on HEAD's branch too. A call without a stored job stays a working call until `complete` is called.
 * @param now milliseconds since 1970 on the store's clock, which may differ from this process's
 */
export async function takeOverWork(
  context: EngineContext,
  replica: Replica,
  resume: ResumeWork | undefined,
  now: number,
  append: (decide: Decision) => Promise<unknown>,
): Promise<void> {
  const calls = listWorkingCalls(replica.state)
  if (calls.length === 0) return
  const items = await itemsOf(context.store, replica.id)
  for (const info of calls) {
    const { action } = info
    const id = itemId(replica.id, action.id)
    const item = items.get(id)
    items.delete(id)
    if (isCompleted(replica.state, action)) await append((state) => decideSameCompletion(state, action.id))
    else if (item !== undefined && (item.dueAt ?? 0) <= now) {
      const claimed = await jobsIn(context.store).claimRead(item)
      if (claimed !== null) await continueOrLose(context, replica, info, claimed, resume, append)
    }
  }
  // Deletes the items of processes that died between a completion and the deletion of its item.
  for (const { collection, id, version: expected, dueAt, body } of items.values())
    if ((dueAt ?? 0) <= now && !isOnOtherBranch(replica.state, String(body['action_id'])))
      await context.store.changeItems([{ collection, id, expected, put: null }]).catch(() => undefined)
}

function isOnOtherBranch({ log }: State, actionId: string): boolean {
  const action = findEventIn(log, actionId)
  return action !== undefined && !isOnPathIn(action, log.head)
}

async function continueOrLose(
  context: EngineContext,
  replica: Replica,
  { action, task }: WorkingCallInfo,
  job: Job<WorkRecord>,
  resume: ResumeWork | undefined,
  append: (decide: Decision) => Promise<unknown>,
): Promise<void> {
  const work = await startWork(context, replica.id, action, job)
  let result: PromiseLike<CallCompletion> | null
  try {
    result = resume?.({ ...action.event, id: action.id }, task, work) ?? null
  } catch (error) {
    result = Promise.reject(error)
  }
  if (result !== null) {
    work.completeWith(result)
    work.confirm(true)
    return
  }
  try {
    await append((state) =>
      isWorkingIn(state, action) ? decideComplete(state, action.id, LOST, 'lost') : [],
    )
  } finally {
    // Unconfirmed work would keep its job, and `close` would wait for it.
    work.confirm(false)
  }
}

const LOST = 'The process that did the work has ended.'

export const isWorkingIn = ({ branch }: State, { event, seq }: EventEntry<ActionEvent>): boolean =>
  openCallOf(branch.workingCalls, event.tool_call_id, seq) !== undefined

const isCompleted = ({ log }: State, { id }: EventEntry<ActionEvent>): boolean =>
  findEventIn(log, completionId(id)) !== undefined

function decideSameCompletion(state: State, actionId: string): readonly Event[] {
  const entry = findEventIn(state.log, completionId(actionId))
  const event = entry === undefined ? null : loadedEvent(entry, ['MessageEvent'])
  const completes = event === null ? null : completionOf(event)
  if (event?.kind !== 'MessageEvent' || completes?.action_id !== actionId) return []
  return decideComplete(state, actionId, event.llm_message.content ?? [], completes.outcome, null)
}

/**
 * Returns the earliest time when a job of a working call on HEAD's branch is due, in milliseconds since 1970
 * on the store's clock. From then on, a run can continue or complete the call of this job. Null if no working
 * call has a job. O(jobs + k log k) for k working calls.
 */
export async function workExpiresAt(store: Store, id: string, state: State): Promise<number | null> {
  const items = await itemsOf(store, id)
  const times = listWorkingCalls(state).flatMap(({ action }) => items.get(itemId(id, action.id))?.dueAt ?? [])
  return times.length === 0 ? null : Math.min(...times)
}

async function itemsOf(store: Store, conversationId: string): Promise<Map<string, Item>> {
  const items = new Map<string, Item>()
  const query = { by: 'conversation', value: conversationId }
  for await (const item of allItems((start) => store.listItems(COLLECTION, { ...query, ...start })))
    items.set(item.id, item)
  return items
}
